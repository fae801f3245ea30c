package config

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/strict"
)

// ACPAgent is an agent of the Agent Client Protocol: a known name, or a program with arguments.
type ACPAgent struct {
	Name string   // empty if Argv is given
	Argv []string // never a shell string
}

// RunnerACP is the runner name of the agent under the key `acp` without a name.
const RunnerACP = "acp"

// Reserved are runner names that an ACP agent cannot have.
func Reserved() []string {
	return append([]string{"auto", "builtin", "exec", "offline"}, formats.AgentCLIs()...)
}

// readACPAgents parses one agent, for the runner acp, or a map from runner to agent.
func (l *loader) readACPAgents(e entry) {
	if e.v.Kind != md.Map {
		l.readACPAgent(e, RunnerACP, entry{"acp." + RunnerACP, e.v, e.v})
		return
	}

	for key, v := range l.Entries(e.v, "") {
		name, ok := l.readName(e, key, "name of a runner")
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
			l.readACPAgent(one, name, one)
		}
	}
}

// readACPAgent parses the agent of one runner, which is listed under at.
func (l *loader) readACPAgent(e entry, runner string, at entry) {
	bad := false
	s, ok := read(
		l, e,
		"name of an agent, or a list of program and arguments",
		func(v *md.Node) (s ACPAgent, ok bool) {
			if v.Kind != md.List {
				s.Name, ok = strict.Text(runnerForm().MatchString)(v)
				return s, ok
			}
			s.Argv, bad = l.readArgv(e, v.Items)
			return s, bad || len(s.Argv) > 0 && s.Argv[0] != ""
		},
	)
	if !ok || bad || !l.claimOrigin(at) {
		return
	}

	if l.config.ACP == nil {
		l.config.ACP = map[string]ACPAgent{}
	}
	l.config.ACP[runner] = s
}

// readArgv parses a program and its arguments; bad means that a word was refused.
func (l *loader) readArgv(e entry, words []*md.Node) (argv []string, bad bool) {
	for _, item := range words {
		w, ok := read(l, entry{e.name, item, item}, "a word", func(n *md.Node) (string, bool) {
			return n.Value, n.Kind == md.Scalar && !strings.ContainsRune(n.Value, 0)
		})
		argv = append(argv, w)
		bad = bad || !ok
	}
	return argv, bad
}

// readChecks parses a map from stack to program and arguments.
func (l *loader) readChecks(e entry) {
	if e.v.Kind != md.Map {
		l.Wrong(e.v,
			"a map from a stack, such as lean, to a program and its arguments for checks", "")
		return
	}
	for key, v := range l.Entries(e.v, "") {
		name, ok := l.readName(e, key, "name of a stack")
		want := "a list of program and arguments for checks." + name
		argv, bad := l.readArgv(entry{e.name + "." + name, key, v}, l.Items(v, want))
		switch {
		case !ok || bad:
		case len(argv) == 0 || argv[0] == "":
			l.Wrong(v, want, "")
		case l.claimOrigin(entry{e.name + "." + name, key, v}):
			if l.config.Checks == nil {
				l.config.Checks = map[string][]string{}
			}
			l.config.Checks[name] = argv
		}
	}
}

// readProgram parses a program and its arguments; a single word is the program.
func (l *loader) readProgram(e entry, to *[]string) {
	want := "a list of program and arguments for " + e.name
	argv, bad := l.readArgv(e, l.Items(e.v, want))
	switch {
	case bad || e.v.Kind == md.Map:
	case len(argv) == 0 || argv[0] == "":
		l.Wrong(e.v, want, "")
	case l.claimOrigin(e):
		*to = argv
	}
}
