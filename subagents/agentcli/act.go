package agentcli

import (
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/trace"
)

// Act is one tool use of an agent.
type Act struct {
	Kind string // edit, run, read, search, fetch; empty for other tools
	Tool string // the agent's name for it
	On   string // its file, command or question
}

// toolKinds are the kinds of tools by the words in their names, the first that fits.
var toolKinds = []struct{ kind, words string }{
	{"fetch", "fetch web"},
	{"edit", "edit write replace patch create delete move change"},
	{"run", "bash shell exec command terminal run"},
	{"search", "grep glob search find"},
	{"read", "read view list ls cat"},
}

// actOf is a call of a tool by its name and input.
func actOf(tool string, input any) Act {
	named, _ := input.(map[string]any) //nolint:errcheck // any other input names nothing
	a := Act{Tool: tool}
	name := strings.ToLower(tool)
	for _, k := range toolKinds {
		among := func(word string) bool { return strings.Contains(name, word) }
		if slices.ContainsFunc(strings.Fields(k.words), among) {
			a.Kind = k.kind
			break
		}
	}
	for _, key := range []string{
		"command", "cmd", "file_path", "filePath", "absolute_path", "notebook_path", "path",
		"pattern", "query", "url",
	} {
		if text, ok := named[key].(string); ok && text != "" {
			a.On = text
			break
		}
	}
	return a
}

// teller tells what one call of a program does and has used, when either has changed.
type teller struct {
	to   trace.Sink // nil: no listener
	r    formats.Request
	name string // of the runner
	act  Act
	used int64
}

func (t *teller) hear(r *Reading) {
	used := r.Tokens.Total()
	if t.to == nil || t.act == r.act && t.used == used {
		return
	}

	t.act = r.act
	t.used = used
	on := t.act.On
	rel, err := filepath.Rel(t.r.Dir, on)
	if err == nil && filepath.IsAbs(on) && filepath.IsLocal(rel) {
		on = rel
	}
	const most = 500
	t.to.Emit(trace.Event{
		Run:       t.r.Run,
		Kind:      trace.Agent,
		Name:      t.r.Agent,
		Step:      t.r.Step,
		FromDepth: t.r.Depth.Int(),
		ToDepth:   t.r.Depth.Int(),
		Path:      slices.Clone(t.r.Path),
		Attrs: map[string]any{
			"runner":   t.name,
			"did":      t.act.Kind,
			"tool":     t.act.Tool,
			"on":       formats.Clip(on, most),
			"tokens":   used,
			"cost_usd": r.Cost,
		},
	})
}
