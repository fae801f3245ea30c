package config

import (
	"fmt"
	"slices"
	"strings"

	"tercet/internal/md"
	"tercet/internal/strict"
)

// Speaker is an agent of the Agent Client Protocol: one that tercet knows by name, or a program and its arguments.
type Speaker struct {
	Name string   // empty if Argv is given
	Argv []string // never a shell string
}

// String is the agent as a listing shows it.
func (s Speaker) String() string {
	if s.Name != "" {
		return s.Name
	}
	return "[" + strings.Join(s.Argv, ", ") + "]"
}

// RunnerACP is the runner whose agent stands under the key `acp` without a name of its own.
const RunnerACP = "acp"

// Reserved are the words for runners that are no agents of the Agent Client Protocol.
func Reserved() []string {
	return []string{"auto", "builtin", "claude", "codex", "exec", "gemini", "offline", "opencode"}
}

// speakers takes one agent, which is that of the runner acp, or a map from runner to agent.
func (l *loader) speakers(v *md.Node) {
	if v.Kind != md.Map {
		l.speaker(v, keyACP, RunnerACP, v)
		return
	}
	for key, v := range l.Entries(v, "") {
		name, ok := strict.As(&l.Decoder, key, "name of a runner for "+keyACP, strict.Text(isRunner))
		switch {
		case !ok:
		case slices.Contains(Reserved(), name):
			l.Refuse(CodeValue, key, "choose another name for the runner",
				fmt.Sprintf("expected a name that no other runner has for %s, got %q", keyACP, name))
		default:
			l.speaker(v, keyACP+"."+name, name, key)
		}
	}
}

// speaker takes the agent of one runner.
func (l *loader) speaker(v *md.Node, key, runner string, at *md.Node) {
	word := func(n *md.Node) (string, bool) {
		return n.Value, n.Kind == md.Scalar && !strings.ContainsRune(n.Value, 0)
	}
	bad := false
	const want = "name of an agent, or a list of program and arguments for "
	s, ok := strict.As(&l.Decoder, v, want+key, func(v *md.Node) (s Speaker, ok bool) {
		if v.Kind != md.List {
			s.Name, ok = strict.Text(isRunner)(v)
			return s, ok
		}
		for _, item := range v.Items {
			w, ok := strict.As(&l.Decoder, item, "a word for "+key, word)
			s.Argv, bad = append(s.Argv, w), bad || !ok
		}
		return s, bad || len(s.Argv) > 0 && s.Argv[0] != ""
	})
	if !ok || bad || !l.first(keyACP+"."+runner, at) {
		return
	}
	if l.config.ACP == nil {
		l.config.ACP = map[string]Speaker{}
	}
	l.config.ACP[runner] = s
}
