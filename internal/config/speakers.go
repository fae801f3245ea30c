package config

import (
	"slices"
	"strings"

	"tercet/internal/md"
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
	for _, e := range v.Entries {
		name, ok := l.text(e.Key, keyACP, "name of a runner", isRunner)
		switch {
		case !ok:
		case slices.Contains(Reserved(), name):
			l.report(CodeValue, e.Key, "choose another name for the runner", "expected a name that no other runner has for %s, got %q", keyACP, name)
		default:
			l.speaker(e.Value, keyACP+"."+name, name, e.Key)
		}
	}
}

// speaker takes the agent of one runner.
func (l *loader) speaker(v *md.Node, key, runner string, at *md.Node) {
	var s Speaker
	ok := true
	switch v.Kind {
	case md.Scalar:
		s.Name, ok = l.text(v, key, "name of an agent, or a list of program and arguments", isRunner)
	case md.List:
		for _, item := range v.Items {
			if item.Kind != md.Scalar || strings.ContainsRune(item.Value, 0) {
				l.wrong(item, "a word", key)
				ok = false
				continue
			}
			s.Argv = append(s.Argv, item.Value)
		}
		if len(s.Argv) == 0 || s.Argv[0] == "" {
			if ok {
				l.wrong(v, "name of an agent, or a list of program and arguments", key)
			}
			ok = false
		}
	case md.Map:
		l.wrong(v, "name of an agent, or a list of program and arguments", key)
		ok = false
	}
	if !ok || !l.first(keyACP+"."+runner, at) {
		return
	}
	if l.config.ACP == nil {
		l.config.ACP = map[string]Speaker{}
	}
	l.config.ACP[runner] = s
}
