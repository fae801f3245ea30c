package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/order"
)

// taskCommand is a command that works on one task: it has a status while it runs.
type taskCommand struct {
	name   string
	prog   *compile.Program
	during formats.TaskStatus
}

// LinesFor gives the lines that a task may be given from its status: those that bring it to one of
// the statuses in to if there is one, else all. An argument that the user has to write is in
// capitals.
func (c *Catalog) LinesFor(t *formats.Task, to []formats.TaskStatus) []string {
	var leading, starting []string
	for _, one := range c.taskCommands() {
		if !one.startsFrom(t) {
			continue
		}

		line := one.lineFor(t.Number)
		starting = append(starting, line)
		// work that is done again does not take a task back
		ahead := slices.DeleteFunc(slices.Clone(to), func(s formats.TaskStatus) bool {
			return s.Before(t.Status)
		})
		if one.leadsTo(ahead) {
			leading = append(leading, line)
		}
	}

	if len(leading) > 0 {
		return leading
	}
	slices.Reverse(starting) // what leads furthest stands first
	return starting
}

// taskCommands are the commands that work on a task, in the order of a task's life.
func (c *Catalog) taskCommands() []taskCommand {
	var out []taskCommand
	for _, e := range c.Entries {
		if _, foreign := c.Library.Foreign[e.Source]; foreign || e.Behind != "" {
			continue
		}
		prog, _, err := c.Library.Load(e.Source, e.File)
		if err != nil || prog.File.Front.Hidden {
			continue
		}

		during, _ := prog.During()
		if during == "" || len(prog.Args) == 0 || prog.Args[0].Type != argspec.Task {
			continue
		}
		out = append(out, taskCommand{name: e.Name, prog: prog, during: during})
	}

	order.Stable(out, func(a, b taskCommand) int {
		statuses := formats.TaskStatuses()
		return cmp.Compare(slices.Index(statuses, a.during), slices.Index(statuses, b.during))
	})
	return out
}

// startsFrom tells whether the command starts with a task as it is.
func (c taskCommand) startsFrom(t *formats.Task) bool {
	for _, l := range c.prog.File.Args.Load {
		if l.Document != nil && !l.Optional &&
			l.Document.Profile.Text == string(formats.ArtifactPlan) &&
			t.Newest(formats.ArtifactPlan) == nil {
			return false
		}
	}
	if c.prog.Allow != nil {
		return slices.Contains(c.prog.Allow, t.Status)
	}
	return formats.CanMove(t.Status, c.during)
}

// leadsTo tells whether a step of the command gives its task one of these statuses.
func (c taskCommand) leadsTo(to []formats.TaskStatus) bool {
	for info := range c.prog.Infos() {
		a, ok := info.Step.Action.(*syntax.Status)
		if !ok || a.Phase != nil || a.Task != nil || a.To == nil || a.To.Kind != syntax.Literal {
			continue
		}
		if slices.Contains(to, formats.TaskStatus(formats.As[string](a.To.Lit))) {
			return true
		}
	}
	return false
}

func (c taskCommand) lineFor(task int) string {
	words := []string{fmt.Sprintf("/%s %d", c.name, task)}
	for _, a := range c.prog.Args[1:] {
		if a.Required {
			words = append(words, strings.ToUpper(a.Name))
		}
	}
	return strings.Join(words, " ")
}
