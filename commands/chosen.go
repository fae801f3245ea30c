package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/nearest"
)

// choice is a subagent that a line names, and the input that the line gives it.
type choice struct {
	lib           *Library
	inv           formats.Invocation
	prog          *compile.Program
	values        argspec.Values
	arg           string // that names it
	info          formats.AgentInfo
	input         map[string]any
	missingInputs []lack
}

// lack is an input that a subagent needs and a line does not give: an argument of the command, or
// NAME=VALUE.
type lack struct {
	spec  argspec.Spec // of the argument that gives it
	input string       // its name; empty: the argument is the input
	what  formats.Input
}

// choose compiles a program for the subagents that its line names, so that their contracts are held
// as if the file named them. What they need and the line lacks is asked for.
func (l *Library) choose(ctx context.Context, inv *formats.Invocation, prog **compile.Program,
	values *argspec.Values,
) error {
	var tree *syntax.File
	for _, spec := range (*prog).Args {
		name, ok := valueOf(values, spec.Name).(string)
		if spec.Type != argspec.Subagent || !ok {
			continue
		}
		c := choice{
			lib:    l,
			inv:    *inv,
			prog:   *prog,
			values: *values,
			arg:    spec.Name,
			input:  map[string]any{},
		}
		if err := c.lookUp(ctx, name); err != nil {
			return err
		}
		if len(c.missingInputs) > 0 {
			whole, err := c.ask(ctx)
			if err == nil {
				*inv = whole
				*values, err = argspec.Bind(inv.Name, (*prog).Args, inv.Raw, inv.Words)
			}
			if err != nil {
				return err
			}
			return l.choose(ctx, inv, prog, values)
		}
		if tree == nil {
			tree = syntax.Read((*prog).File.Name, (*prog).File.Src)
		}
		c.nameSubagent(tree)
	}

	if tree == nil {
		return nil
	}
	settled, err := compile.Compile(tree, l.Env)
	if err == nil {
		*prog = settled
	}
	return err
}

// ResolveSubagents is the program of a line as it would run, with the subagents that the line
// names. It never asks the user.
func (l *Library) ResolveSubagents(
	ctx context.Context,
	name string,
	prog *compile.Program,
	values argspec.Values,
) (
	*compile.Program, error,
) {
	quiet := *l
	inv := formats.Invocation{Name: name}
	quiet.Ask = nil
	err := quiet.choose(ctx, &inv, &prog, &values)
	return prog, err
}

func valueOf(values *argspec.Values, name string) any {
	v, _ := values.Get(name)
	return v
}

// lookUp looks the subagent up, and reads what the line gives it.
func (c *choice) lookUp(ctx context.Context, name string) error {
	name = c.lib.calledByLine(name)
	info, ok := c.lib.Env.Agent(name)
	switch {
	case !ok:
		help := "'/agent' lists the subagents"
		if near := nearest.Help(name, c.lib.Env.Names()); near != "" {
			help = near
		}
		return formats.Fail(formats.CodeNotFound, help, "unknown subagent %q", name)
	case info.Builtin:
		return formats.Fail(formats.CodeDenied, "'/agent' lists those that you can run alone",
			"subagent %s is built in: only commands call it", name)
	}

	c.info = info
	c.info.Name = name // of a variant for a language too

	for i := range c.prog.Args {
		spec := &c.prog.Args[i]
		if v := valueOf(&c.values, spec.Name); spec.Of == c.arg && v != nil {
			if err := c.readInput(ctx, v); err != nil {
				return err
			}
		}
	}

	c.findLacking()
	return nil
}

// calledByLine is the subagent that a user means by a name: the project's own before the shipped
// one, and that of a pack by its plain name if no other pack has one of it.
func (l *Library) calledByLine(name string) string {
	workers, ok := l.Env.(compile.Workers)
	if ok && workers.ForLibrary(name) != name {
		return dialect.Project.String() + ":" + name
	}
	if _, known := l.Env.Agent(name); known {
		return name
	}
	if packed := OfPack(name, l.Env.Names()); packed != "" {
		return packed
	}
	return name
}

// OfPack is the full name of the subagent that is in one pack alone by its plain name, among the
// names of all subagents; empty: in none, or in several.
func OfPack(plain string, names []string) string {
	found := ""
	for _, full := range names {
		pack, rest, _ := strings.Cut(full, ":")
		if rest != plain || dialect.IsScope(pack) {
			continue
		}
		if found != "" {
			return ""
		}
		found = full
	}
	return found
}

// readInput takes what one argument gives: a text, or pairs.
func (c *choice) readInput(ctx context.Context, v any) error {
	if text, ok := v.(string); ok {
		for _, name := range []string{"request", "prompt", "question", "text"} {
			if _, takes := c.info.Inputs[name]; takes || c.info.Inputs == nil {
				c.input[name] = text
				return nil
			}
		}
		return c.usageError(text, c.inputs(), "subagent %s takes no text", c.info.Name)
	}

	list, _ := v.([]any) //nolint:errcheck // the compiler takes a text or a repeated string here, nothing else
	for _, one := range list {
		pair, _ := one.(string) //nolint:errcheck // the same
		name, text, _ := strings.Cut(pair, "=")
		in, takes := c.info.Inputs[name]
		if _, twice := c.input[name]; twice {
			return c.usageError(pair, "leave one out", "expected input %s once, got it again", name)
		}
		switch {
		case c.info.Inputs == nil:
		case !takes:
			help := cmp.Or(nearest.Help(name, slices.Sorted(maps.Keys(c.info.Inputs))), c.inputs())
			return c.usageError(pair, help, "subagent %s takes no input %q", c.info.Name, name)
		}
		value, want := inputValue(in, text)
		if want != "" {
			return c.usageError(pair, "", "expected %s for input %s, got %.60q", want, name, text)
		}
		if in.Document != "" {
			if ok, err := c.exists(ctx, text); err != nil {
				return err
			} else if !ok {
				return c.usageError(pair, "",
					"expected a file of the project for input %s, got %.60q", name, text)
			}
		}
		c.input[name] = value
	}

	return nil
}

func (c *choice) exists(ctx context.Context, file string) (bool, error) {
	if c.lib.Docs == nil {
		return false, noWorkspaceError(c.inv.Name)
	}
	return c.lib.Docs.Exists(ctx, file)
}

// inputValue reads an input: a text as it is, everything else as JSON. What was wanted is told
// where it is none.
func inputValue(in formats.Input, text string) (value any, want string) {
	if in.Type == "" || in.Type == formats.TypeAny || in.Type == formats.TypeString {
		return text, ""
	}
	if json.Unmarshal([]byte(text), &value) == nil && in.Type.Holds(value) {
		return value, ""
	}
	want = string(in.Type)
	switch in.Type { //nolint:exhaustive // the others are words that everybody knows
	case formats.TypeArray, formats.TypeList, formats.TypeObject:
		want += " as JSON"
	}
	return nil, want
}

// inputs lists what the subagent can be given.
func (c *choice) inputs() string {
	if len(c.info.Inputs) == 0 {
		return "it takes no input"
	}
	return "its inputs are " + strings.Join(slices.Sorted(maps.Keys(c.info.Inputs)), ", ")
}

// findLacking finds the inputs that are required and not given: by the line, by an argument of the
// same name, or by the file.
func (c *choice) findLacking() {
	var pairs *argspec.Spec
	args := map[string]*argspec.Spec{}
	for i := range c.prog.Args {
		spec := &c.prog.Args[i]
		args[spec.Name] = spec
		if spec.Of == c.arg && spec.Repeat {
			pairs = spec
		}
	}

	if name := argspec.TaskName(c.prog.Args); name != "" {
		args["task"] = args[name] // which binds $task
	}

	for _, name := range slices.Sorted(maps.Keys(c.info.Inputs)) {
		in := c.info.Inputs[name]
		if _, given := c.input[name]; given || !in.Required {
			continue
		}
		arg := args[name]
		switch {
		case arg != nil && valueOf(&c.values, arg.Name) == nil:
			c.missingInputs = append(c.missingInputs, lack{spec: *arg})
		case arg == nil && pairs != nil && !c.isGivenInFile(name):
			c.missingInputs = append(c.missingInputs, lack{*pairs, name, in})
		}
	}
}

// isGivenInFile tells whether the file gives an input.
func (c *choice) isGivenInFile(name string) bool {
	d := c.prog.File.Defaults
	found := d != nil && hasField(d.With, name)
	syntax.Walk(c.prog.File.Steps, func(n any) bool {
		s, ok := n.(*syntax.Step)
		found = found || ok && c.delegate(s) != nil && hasField(s.With, name)
		return true
	})
	return found
}

func hasField(list []syntax.Field, name string) bool {
	return slices.ContainsFunc(list, func(f syntax.Field) bool { return f.Key.Text == name })
}

// delegate is that of a step which calls the chosen subagent, nil for another one.
func (c *choice) delegate(s *syntax.Step) *syntax.Delegate {
	d := s.Delegation()
	if d == nil || d.Pick == nil || len(d.Among) > 0 {
		return nil
	}
	if c.prog.File.Front.Chosen(d.Pick) != c.arg {
		return nil
	}
	return d
}

// nameSubagent names the subagent in the steps that call it, with its input.
func (c *choice) nameSubagent(tree *syntax.File) {
	for _, list := range [][]*syntax.Step{tree.Steps, tree.Between, tree.Errors} {
		syntax.Walk(list, func(n any) bool {
			s, ok := n.(*syntax.Step)
			if !ok {
				return true
			}
			d := c.delegate(s)
			if d == nil {
				return true
			}
			d.Agent = syntax.Word{Pos: d.Pos, Text: c.info.Name}
			d.Pick = nil
			for _, name := range slices.Sorted(maps.Keys(c.input)) {
				if !hasField(s.With, name) {
					value := &syntax.Value{Pos: d.Pos, Lit: c.input[name]}
					s.With = append(s.With, syntax.Field{
						Key:   syntax.Word{Pos: d.Pos, Text: name},
						Value: value,
					})
				}
			}
			return true
		})
	}
}

// usageError is the usage error about a word of the line.
func (c *choice) usageError(word, help, format string, args ...any) error {
	e := noFileError(c.inv.Name, c.prog.Args, fmt.Sprintf(format, args...), word, c.values.Raw)
	e.Advice = help
	return e
}

// ask asks for what is lacking and gives the whole line; if it may not ask, the error says what is
// missing.
func (c *choice) ask(ctx context.Context) (formats.Invocation, error) {
	var missing, examples []string
	var questions []Question
	for _, one := range c.missingInputs {
		if one.input == "" {
			open := &argspec.UsageError{Open: []argspec.Spec{one.spec}}
			q := c.lib.questions(open, []string{""})[0]
			q.Optional = false
			questions = append(questions, q)
			missing = append(missing, one.spec.Label())
			examples = append(examples, strings.Trim(one.spec.Shape(), "[]"))
			continue
		}
		label := one.spec.Label() + " " + one.input + "="
		missing = append(missing, label+string(one.what.Type))
		examples = append(examples, label+"...")
		questions = append(questions, Question{
			Name: one.input,
			Text: "input of " + c.info.Name,
			Check: func(answer string) string {
				if _, want := inputValue(one.what, answer); want != "" {
					return fmt.Sprintf("expected %s for input %s, got %.60q",
						want, one.input, answer)
				}
				return ""
			},
		})
	}

	use := &argspec.UsageError{
		Command: c.inv.Name,
		Message: "subagent " + c.info.Name + " needs " + strings.Join(missing, ", "),
		Advice:  "add " + strings.Join(examples, " "),
		Specs:   c.prog.Args,
		Line:    "/" + c.inv.Name + " " + c.values.Raw,
	}
	use.Pos = len(use.Line) + 1
	use.End = len(use.Line) + 1
	if c.lib.Ask == nil {
		return formats.Invocation{}, use
	}
	return c.lib.interview(ctx, use, questions, func(answers []string) formats.Invocation {
		var open []argspec.Spec
		texts := slices.Clone(answers)
		for i, one := range c.missingInputs[:len(answers)] {
			open = append(open, one.spec)
			if one.input != "" && texts[i] != "" {
				texts[i] = one.input + "=" + texts[i]
			}
		}
		return withAnswers(c.inv, open, texts)
	})
}
