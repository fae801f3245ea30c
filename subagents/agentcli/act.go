package agentcli

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

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

// teller tells what one call of a program does, says and has used, when one of them has changed. A
// conversation and its record reach it from two goroutines.
type teller struct {
	to   trace.Sink // nil: no listener
	r    formats.Request
	name string // of the runner

	mu       sync.Mutex
	act      Act
	used     int64
	cost     float64
	speaking string // a text that comes in parts
	said     string // the last sentence
	told     string // the sentence that was told last
}

// update takes in what was read so far, and tells it.
func (t *teller) update(r *Reading) {
	if t.to == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()

	used := r.Tokens.Total()
	if t.act == r.act && t.used == used && t.said == t.told {
		return
	}
	t.act = r.act
	t.used = used
	t.cost = r.Cost
	t.tell()
}

// listen takes in a line of output. A text that comes in parts is told by the sentence.
func (t *teller) listen(line []byte) {
	if t.to == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range spoken(line) {
		switch {
		case s.Kind != Says:
			t.speaking = ""
		case s.part:
			t.speaking = formats.Clip(t.speaking, maxSpeaking) + s.Text
			t.say(completeSentences(t.speaking))
		default:
			t.speaking = ""
			t.say(s.Text)
		}
	}
}

// flush tells what listen took in and hear has not told.
func (t *teller) flush() {
	if t.to == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said != t.told {
		t.tell()
	}
}

// say notes the last sentence of a text.
func (t *teller) say(text string) {
	if last := lastSentence(text); last != "" {
		t.said = last
	}
}

// maxSpeaking bounds a text that comes in parts, in runes.
const maxSpeaking = 20_000

// completeSentences gives the beginning of a text, up to the end of its last complete sentence.
func completeSentences(text string) string {
	return text[:strings.LastIndexAny(text, ".!?:\n")+1]
}

// lastSentence is the last sentence of a text on one line; empty if it has none.
func lastSentence(text string) string {
	text = strings.TrimSpace(text)
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		text = text[at+1:]
	}
	text = strings.TrimSpace(text)
	for _, end := range []string{". ", "! ", "? ", "。"} {
		if at := strings.LastIndex(strings.TrimSuffix(text, "。"), end); at >= 0 {
			text = text[at+len(end):]
		}
	}
	return formats.Clip(strings.TrimSpace(text), maxTold)
}

// maxTold bounds a text of an event, in runes.
const maxTold = 500

func (t *teller) tell() {
	t.told = t.said

	on := t.act.On
	rel, err := filepath.Rel(t.r.Dir, on)
	if err == nil && filepath.IsAbs(on) && filepath.IsLocal(rel) {
		on = rel
	}

	attrs := map[string]any{
		"runner":   t.name,
		"did":      t.act.Kind,
		"tool":     t.act.Tool,
		"on":       formats.Clip(on, maxTold),
		"tokens":   t.used,
		"cost_usd": t.cost,
	}
	if t.said != "" {
		attrs["said"] = t.said
	}

	t.to.Emit(trace.Event{
		Run:       t.r.Run,
		Kind:      trace.Agent,
		Name:      t.r.Agent,
		Step:      t.r.Step,
		FromDepth: t.r.Depth.Int(),
		ToDepth:   t.r.Depth.Int(),
		Path:      slices.Clone(t.r.Path),
		Attrs:     attrs,
	})
}
