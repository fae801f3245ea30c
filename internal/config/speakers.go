package config

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/strict"
)

// Speaker is an agent of the Agent Client Protocol: a known name, or a program with arguments.
type Speaker struct {
	Name string   // empty if Argv is given
	Argv []string // never a shell string
}

// RunnerACP is the runner name of the agent under the key `acp` without a name.
const RunnerACP = "acp"

// Reserved are runner names that an ACP agent cannot have.
func Reserved() []string {
	return append([]string{"auto", "builtin", "exec", "offline"}, formats.AgentCLIs()...)
}

// speakers takes one agent, which is that of the runner acp, or a map from runner to agent.
func (l *loader) speakers(e entry) {
	if e.v.Kind != md.Map {
		l.speaker(e, RunnerACP, entry{"acp." + RunnerACP, e.v, e.v})
		return
	}

	for key, v := range l.Entries(e.v, "") {
		name, ok := read(
			l,
			entry{e.name, key, key},
			"name of a runner",
			strict.Text(runnerForm().MatchString),
		)
		one := entry{e.name + "." + name, key, v}
		switch {
		case !ok:
		case slices.Contains(Reserved(), name):
			l.Refuse(
				CodeValue,
				key,
				"choose another name for the runner",
				fmt.Sprintf("expected a name that no other runner has for %s, got %q",
					e.name, name),
			)
		default:
			l.speaker(one, name, one)
		}
	}
}

// speaker takes the agent of one runner, which is listed under at.
func (l *loader) speaker(e entry, runner string, at entry) {
	bad := false
	s, ok := read(
		l, e,
		"name of an agent, or a list of program and arguments",
		func(v *md.Node) (s Speaker, ok bool) {
			if v.Kind != md.List {
				s.Name, ok = strict.Text(runnerForm().MatchString)(v)
				return s, ok
			}
			s.Argv, bad = l.argv(e, v.Items)
			return s, bad || len(s.Argv) > 0 && s.Argv[0] != ""
		},
	)
	if !ok || bad || !l.first(at) {
		return
	}
	if l.config.ACP == nil {
		l.config.ACP = map[string]Speaker{}
	}
	l.config.ACP[runner] = s
}

// argv reads a program and its arguments; bad tells that a word was refused.
func (l *loader) argv(e entry, words []*md.Node) (argv []string, bad bool) {
	for _, item := range words {
		w, ok := read(l, entry{e.name, item, item}, "a word", func(n *md.Node) (string, bool) {
			return n.Value, n.Kind == md.Scalar && !strings.ContainsRune(n.Value, 0)
		})
		argv = append(argv, w)
		bad = bad || !ok
	}
	return argv, bad
}

// notify takes a program and its arguments; one word alone is the program.
func (l *loader) notify(e entry) {
	const want = "a list of program and arguments for notify"
	argv, bad := l.argv(e, l.Items(e.v, want))
	switch {
	case bad || e.v.Kind == md.Map:
	case len(argv) == 0 || argv[0] == "":
		l.Wrong(e.v, want, "")
	case l.first(e):
		l.config.Notify = argv
	}
}
