package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
)

// Check lists errors and oddities in another tool's file. file is its path inside a place; findings
// use name.
func Check(p Place, inside, name string, src []byte) (list []formats.Diagnostic) {
	var err error
	if p.Agents {
		var a *Agent
		a, err = ParseAgent(p, inside, src)
		if err == nil {
			list = a.Warnings
		}
	} else {
		var c *Command
		c, err = Parse(p, inside, src)
		if err == nil {
			list = c.Warnings
		}
	}
	if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
		list = d.List
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].File = name
	}
	return list
}

// readWishes reads the model and the tools that a command asks for. What a runner cannot be held to
// is noted.
func (c *Command) readWishes(keys keySet) {
	switch c.Dialect {
	case Claude, OpenCode, Gemini:
		if formats.IsModel(c.Model) && c.Model != "inherit" {
			c.Wishes.Model = map[string]string{c.Dialect.String(): c.Model}
		}
	case Tercet, Codex, Copilot, Cursor:
	}

	k, ok := keys.get("allowed-tools")
	if c.Dialect != Claude || !ok || k.Value == nil {
		return
	}

	reader := &Agent{Dialect: c.Dialect}
	granted := map[string]bool{}
	reader.readTools(keys, k, granted, &notes{})
	c.Wishes.Tools = slices.DeleteFunc(slices.Clone(allTools), func(t string) bool {
		return !granted[t]
	})
	c.Wishes.Commands = reader.Commands
	c.unfollowed = reader.Unfollowed
}

// Unused lists the settings of a command that a workflow made of it does not have.
func (c *Command) Unused() []string {
	const not = " not used: the subagent that does it has its own"
	var out []string
	if c.Model != "" {
		out = append(out, "model "+c.Model+" is"+not)
	}
	if len(c.Tools) > 0 {
		out = append(out, "tools "+strings.Join(c.Tools, ", ")+" are"+not)
	}
	if c.Hooks {
		out = append(out, "hooks are never run")
	}
	return out
}

// Settings says what becomes of the settings of a command, and which of them are not followed.
func (c *Command) Settings() []string {
	var out []string
	switch {
	case c.Wishes.Model != nil:
		out = append(out, fmt.Sprintf("model %s is passed on to %s; other runners have their own",
			c.Model, c.Dialect))
	case c.Model != "":
		out = append(out, "model "+c.Model+" is not used: the subagent that does it has its own")
	}

	switch {
	case c.Wishes.Tools != nil:
		tools := cmp.Or(strings.Join(c.Wishes.Tools, ", "), "none")
		out = append(out, "tools "+strings.Join(c.Tools, ", ")+" limit the worker to "+tools+
			"; a worker that is no agent CLI is not held to them")
	case len(c.Tools) > 0:
		out = append(out, "tools "+strings.Join(c.Tools, ", ")+
			" are not used: the subagent that does it has its own")
	}

	out = append(out, c.unfollowed...)
	if c.Hooks {
		out = append(out, "hooks are never run")
	}
	return out
}

// Explain lists whose rules a prompt follows, and what it would run and read with the arguments;
// for the bare command, its marks. It asks nothing and runs nothing.
func (c *Command) Explain(a Args, bare bool) (lines []string, err error) {
	lines = append(lines, fmt.Sprintf("\na prompt of %s: %s", c.Dialect, c.Rules()))
	for _, line := range c.Settings() {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}

	if bare {
		return append(lines, c.explainMarks(a)...), nil
	}

	pieces, err := c.Expand(a)
	for _, o := range pieces {
		switch {
		case o.Script != nil && o.Script.Refused != "":
			lines = append(
				lines,
				fmt.Sprintf("does not run line %d: %s: %s",
					o.Script.Pos.Line, o.Script.Source, o.Script.Refused),
			)
		case o.Script != nil:
			lines = append(
				lines,
				fmt.Sprintf("runs line %d: %s",
					o.Script.Pos.Line, strings.TrimSpace(o.Script.Text)),
			)
			for _, kv := range o.Script.Env {
				name, value, _ := strings.Cut(kv, "=")
				lines = append(lines, fmt.Sprintf("  with %s=%q", name, value))
			}
		case o.Include != nil:
			lines = append(
				lines,
				fmt.Sprintf("reads, if it is there, line %d: %s",
					o.Include.Pos.Line, o.Include.Path),
			)
		}
	}

	return lines, err
}

// explainMarks lists the marks of a command without arguments, and which of them never run.
func (c *Command) explainMarks(a Args) (lines []string) {
	refused := map[int]string{}
	pieces, err := c.Expand(Args{Vars: a.Vars})
	for _, o := range pieces {
		if err == nil && o.Script != nil && o.Script.Refused != "" {
			refused[o.Script.Pos.Line] = o.Script.Refused
		}
	}

	for _, m := range c.Marks() {
		line := m.String()
		if reason := refused[m.Line]; reason != "" {
			line = fmt.Sprintf("does not run line %d: %s: %s", m.Line, m.Text, reason)
		}
		lines = append(lines, line)
	}
	return lines
}

// Refusal is the error of a prompt with a refused script, if its tool would stop too. Other tools
// continue without the output.
func (c *Command) Refusal(pieces []Output) error {
	for _, o := range pieces {
		if o.Script == nil || o.Script.Refused == "" || !toolFor(c.Dialect).stopsOnRefusal {
			continue
		}
		return formats.Fail(formats.CodeInvalidCommand,
			"give another argument, or change the command in that line",
			"%s:%d: %s is not run: %s", c.File, o.Script.Pos.Line, oneLine(o.Script.Source),
			o.Script.Refused)
	}
	return nil
}

// Mark is a command to run or a file to read.
type Mark struct {
	Does string `json:"does"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// String is the mark in one line, or in several if its text has them.
func (m Mark) String() string {
	return fmt.Sprintf("%s line %d: %s", m.Does, m.Line, m.Text)
}

// Marks lists what a command would run and read.
func (c *Command) Marks() []Mark {
	out := []Mark{}
	for _, p := range c.Parts {
		if p.Kind == Shell {
			out = append(out, Mark{"runs", p.Pos.Line, strings.TrimSpace(p.Text)})
		}
		if p.Kind == Include {
			out = append(out, Mark{"reads, if it is there,", p.Pos.Line, p.Text})
		}
	}
	return out
}
