package meta

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/lint"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/subagents"
)

// analysis is the findings about the commands and subagents of a workspace.
type analysis struct {
	found   []string
	used    map[string]bool   // subagents that a command or another subagent names
	similar map[string]string // the first command with the same subagents in the same order
	known   Agents
}

func (a *analysis) tell(file string, line int, format string, args ...any) {
	a.found = append(
		a.found,
		fmt.Sprintf("%s:%d: ", file, max(1, line))+fmt.Sprintf(format, args...),
	)
}

// analyze reports deficiencies of the workspace's own commands and subagents. It changes nothing.
func (b *Builder) analyze() (formats.Return, error) {
	a := &analysis{
		used:    map[string]bool{},
		similar: map[string]string{},
		known:   b.Agents,
	}
	for _, e := range b.Catalog.Entries {
		prog, prompt, err := b.Catalog.Library.Load(e.Source, e.File)
		if prompt != nil {
			continue
		}
		if prog != nil {
			a.addUses(prog.File)
		}
		if e.Source != commandFolder {
			continue
		}
		file := path.Join(e.Source, e.File)
		for _, f := range lint.Of(file, prog, err) {
			a.tell(file, f.Pos.Line, "%s: %s", f.Code, f.Message)
		}
		if prog != nil {
			a.command(file, prog)
		}
	}

	if err := b.agents(a); err != nil {
		return formats.Return{}, err
	}
	ret := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: formats.Count(len(a.found), "finding"),
	}
	ret.Text = strings.Join(append([]string{ret.Summary + "\n"}, a.found...), "\n- ")
	ret.Text = formats.Clip(ret.Text, formats.MaxText/4) + "\n"
	return ret, nil
}

// addUses records the subagents that a command names.
func (a *analysis) addUses(file *syntax.File) {
	syntax.Walk(file, func(node any) bool {
		var named []syntax.Word
		switch n := node.(type) {
		case *syntax.Step:
			if n.Fallback != nil {
				named = append(named, *n.Fallback)
			}
		case *syntax.Delegate:
			named = append(n.Among, n.Agent)
		case *syntax.Target:
			named = n.Agents
		}
		for _, w := range named {
			a.used[w.Text] = true
		}
		return true
	})
}

// command examines one command: what leaves the project without a question, and similar commands.
func (a *analysis) command(file string, prog *compile.Program) {
	asked := false
	var team []string
	syntax.Walk(prog.File.Steps, func(node any) bool {
		if t, ok := node.(*syntax.Target); ok {
			asked = asked || t.Gate != nil
		}
		s, ok := node.(*syntax.Step)
		if !ok {
			return true
		}

		what := ""
		switch act := s.Action.(type) {
		case *syntax.Gate:
			asked = true
		case *syntax.Publish:
			what = "publishes"
		case *syntax.Delegate:
			name := act.Agent.Text
			if name != "general" { // it follows any prompt
				team = append(team, name)
			}
			info, _ := a.known.Agent(name)
			switch {
			case name == formats.AgentGitWorkflow && slices.ContainsFunc(s.With, publishing):
				what = "publishes"
			case slices.Contains(info.Tools, "net"):
				what = name + " may use the network"
			case slices.Contains(info.Runner, "exec") && info.Role != formats.RoleReviewer:
				what = name + " starts a program"
			}
		}

		if what != "" && !asked {
			a.tell(file, s.Pos.Line, "%s, and no gate stands before it: add a step with 'gate'",
				what)
		}
		return true
	})
	key := strings.Join(team, ",")
	if other := a.similar[key]; other != "" {
		a.tell(file, 1, "calls the same subagents in the same order as %s: %s",
			other, strings.Join(team, ", "))
	} else if key != "" {
		a.similar[key] = file
	}
}

func publishing(f syntax.Field) bool {
	return f.Key.Text == "action" && f.Value.Lit == "publish"
}

// agents examines the workspace's own subagents.
func (b *Builder) agents(a *analysis) error {
	names, err := fs.Glob(atomicfile.FS(b.Root), subagentFolder+"/*.md")
	if err != nil {
		return err
	}

	var defs []subagents.Definition
	for _, file := range names {
		src, err := atomicfile.ReadFile(b.Root, file)
		if err != nil {
			return formats.OnFile("read", file, err)
		}
		def, err := subagents.ParseDefinition(file, src)
		if err != nil {
			a.tell(file, 1, "cannot be used: run 'tercet lint %s'", file)
			continue
		}
		for _, name := range def.Info.CanDelegateTo {
			a.used[name] = true
		}
		defs = append(defs, def)
	}

	for i, def := range defs {
		name, _, _ := strings.Cut(def.Info.Name, "@")
		if !a.used[name] {
			a.tell(def.File, 1, "no command uses subagent %s", def.Info.Name)
		}
		if len(def.Argv) > 0 && strings.Contains(def.Argv[0], "/") {
			if _, err := b.Root.Stat(def.Argv[0]); err != nil {
				a.tell(def.File, 1, "its program %s is not there", def.Argv[0])
			}
		}
		for _, other := range defs[:i] {
			if def.Info.Role == other.Info.Role &&
				def.Facets.Instruction == other.Facets.Instruction && len(def.Argv) == 0 {
				a.tell(def.File, 1, "has the role and the instruction of %s", other.File)
			}
		}
	}

	return nil
}
