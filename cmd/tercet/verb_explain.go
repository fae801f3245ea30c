package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/lazy"
	"tercet/internal/nearest"
	"tercet/internal/pages"
	"tercet/internal/plain"
	"tercet/router"
)

// explainVerb says what a command would do, or what a diagnostic means.
func explainVerb(cmd *cobra.Command, _ *app) run {
	tiers := cmd.Flags().Bool("tiers", false, "the steps of each tier in the order in which they run")
	return func(c call) error {
		if code := strings.ToUpper(c.args[0]); len(c.args) == 1 && diagnosticCode().MatchString(code) {
			return c.explainCode(code)
		} else if p, ok := pages.Explain(code); ok {
			c.explainFailure(p)
			return nil
		}
		var err error
		if c.world, err = c.app.world(c.ctx); err != nil {
			return err
		}
		e, err := c.explained()
		if err != nil {
			return err
		}
		switch {
		case c.document("tercet.explain/1", e.record()):
		case *tiers:
			c.term.answer("%s", plain.Passage(e.byTier()))
		default:
			c.term.answer("%s", plain.Passage(e.text()))
		}
		return nil
	}
}

var diagnosticCode = lazy.Regexp(`^[EW][0-9]{3}$`)

// explanation is a compiled command with the line that it would run for, if there is one.
type explanation struct {
	prog    *compile.Program
	outline *outline.Outline
	line    string
	values  argspec.Values
	bound   outline.Bound
	effects outline.Effects
	gates   []string
	prompt  *dialect.Command // of another tool, nil for tercet's own
	pieces  []dialect.Output // of it with the line's arguments
	page    strings.Builder
}

func (e *explanation) say(format string, args ...any) { fmt.Fprintf(&e.page, format, args...) }

// explained compiles the file that is named, or the one that the line is routed to, and binds the line's arguments.
func (c call) explained() (*explanation, error) {
	e, args := &explanation{}, c.args
	info, err := os.Stat(args[0])
	switch {
	case err == nil && len(args) == 1 && !info.IsDir():
		e.prog, err = c.programIn(args[0])
	case strings.ContainsAny(args[0], "./\\") && !strings.HasPrefix(args[0], "/"):
		err = formats.Fail(formats.CodeUsage, "write the path of a file that exists, or a line such as \"/plan 196\"",
			"expected a slash command or a file, got %q, which is neither", args[0])
	default:
		err = e.ofLine(c.world, args)
	}
	if err != nil {
		return nil, err
	}
	e.outline, e.effects = outline.Of(e.prog), outline.EffectsOf(e.prog)
	e.bound, e.gates = outline.BoundOf(e.prog, c.facts), e.outline.Gates(c.facts)
	if ask := (consent{c.world}).question(e.prog.File.Name); ask != "" {
		e.gates = slices.Insert(e.gates, 0, "trust: "+ask)
	}
	return e, nil
}

// programIn compiles the command in a file.
func (c call) programIn(name string) (*compile.Program, error) {
	src, err := readCommand(name)
	if err != nil {
		return nil, err
	}
	if isSubagent(src) && !isForeign(name) {
		return nil, formats.Fail(formats.CodeUsage, "'tercet lint' checks it, and 'tercet prompt' shows what it is told",
			"expected a command file, got %q, which is a subagent", name)
	}
	return c.library.Compile(name, src)
}

// ofLine compiles the command that a line is routed to. The slash of its name may be missing: nothing else can be meant
// by a bare name.
func (e *explanation) ofLine(w *world, args []string) error {
	if !strings.HasPrefix(args[0], "/") {
		args = append([]string{"/" + args[0]}, args[1:]...)
	}
	line := router.Line{Words: args}
	if len(args) == 1 {
		line = router.Line{Raw: args[0]}
	}
	r, err := w.table.Route(line)
	if err != nil {
		return err
	}
	if e.prog, e.prompt, err = w.library.Load(r.Source, r.File); err != nil || r.Raw == "" && len(r.Words) == 0 {
		return err // without arguments it is the command itself that is explained
	}
	if e.prompt != nil {
		raw := r.Raw
		if r.Words != nil {
			raw = rest(r.Words)
		}
		e.pieces, err = e.prompt.Expand(dialect.Args{Raw: raw, Words: r.Words})
		return err
	}
	e.line = rest(args)
	e.values, err = argspec.Bind(r.Name, e.prog.Args, r.Raw, r.Words)
	return err
}

// record is the explanation for programs.
func (e *explanation) record() fields {
	out := fields{
		"command": e.prog.Name, "file": e.prog.File.Name, "agents": nonNil(e.outline.Agents()),
		"gates": nonNil(e.gates), "reads": nonNil(e.effects.Reads), "writes": nonNil(e.effects.Writes),
		"bound": e.bound, "seconds": e.bound.Time.Seconds(), "program": outline.Compiled(e.prog),
	}
	if e.prompt != nil {
		out["dialect"], out["rules"], out["marks"] = e.prompt.Dialect, e.prompt.Rules(), e.prompt.Marks()
	}
	if e.line != "" {
		out["line"], out["arguments"] = e.line, e.values.Map()
	}
	return out
}

func (e *explanation) text() string {
	o := e.outline
	e.say("%s\n%s\nfile: %s\n", argspec.Usage(o.Name, o.Args),
		plain.Line(o.File.Front.Description.Text), plain.Line(o.File.Name))
	e.arguments()
	if e.prompt != nil {
		e.promptText()
	}
	if during, _ := o.During(); during != "" {
		e.say("\nthe task is %s while it runs\n", during)
	}
	var allow, loads []string
	for _, status := range o.Allow {
		allow = append(allow, status.String())
	}
	for _, l := range o.File.Args.Load {
		loads = append(loads, "$"+l.Name.Text)
	}
	if allow != nil {
		e.say("starts from: %s\n", strings.Join(allow, ", "))
	}
	if loads != nil {
		e.say("loads: %s\n", strings.Join(loads, ", "))
	}
	e.say("\nsteps:\n")
	e.nodes(o.Steps, 1)
	if len(o.Errors) > 0 {
		e.say("\nerror handling:\n")
		e.nodes(o.Errors, 1)
	}
	gates := cmp.Or(strings.Join(e.gates, "\n       "), "none")
	e.say("\nsubagents: %s\ngates: %s\nreads: %s\nwrites: %s\n", listed(o.Agents()), gates,
		listed(e.effects.Reads), listed(e.effects.Writes))
	limits, worst := o.Limits.WithDefaults(), e.bound.Worst
	e.say("at most: %s\ndepth: %d of %d\n", e.bound, e.bound.Depth, formats.MaxDepth)
	e.say("limits: %d steps, %d rollbacks, %d retries a step, %s%s\n",
		limits.Steps, limits.Rollbacks, limits.Retries, outline.Span(limits.Duration), budget(limits))
	long := ""
	if len(e.bound.Each) > 0 && worst.Agents != limits.Spawns {
		long = sprintf(" in loops over %d elements", limits.Elements)
	}
	e.say("worst case: %d calls of workers%s, depth %d, %s\nmoney: %s\n",
		worst.Agents, long, worst.Depth, outline.Span(worst.Time), worst.Money())
	return e.page.String()
}

// budget lists the limits that have no default.
func budget(l formats.Limits) string {
	out := ""
	if l.Spawns > 0 {
		out += sprintf(", %d calls of workers", l.Spawns)
	}
	if l.Tokens > 0 {
		out += sprintf(", %d tokens", l.Tokens)
	}
	if l.Cost > 0 {
		out += sprintf(", $%.2f", l.Cost)
	}
	return out
}

func (e *explanation) arguments() {
	if len(e.prog.Args) == 0 {
		return
	}
	e.say("\narguments:\n")
	for _, spec := range e.prog.Args {
		value := "not given"
		if e.line == "" {
			value = spec.Type.String()
			if spec.Required {
				value += ", required"
			}
		} else if v, ok := e.values.Get(spec.Name); ok {
			value = fmt.Sprint(v)
			if !e.values.Given(spec.Name) {
				value += " (default)"
			}
		}
		e.say("  %-18s %s\n", spec.Name, value)
	}
}

// promptText shows the rules of another tool, and what its prompt would run and read: with the arguments of the line,
// if it has any. It asks nothing and runs nothing.
func (e *explanation) promptText() {
	e.say("\na prompt of %s: %s\n", e.prompt.Dialect, e.prompt.Rules())
	for _, line := range e.prompt.Unused() {
		e.say("%s\n", plain.Line(line))
	}
	if e.pieces == nil {
		for _, m := range e.prompt.Marks() {
			e.say("%s\n", m)
		}
		return
	}
	for _, o := range e.pieces {
		switch {
		case o.Script != nil && o.Script.Refused != "":
			e.say("does not run line %d: %s: %s\n", o.Script.Pos.Line, o.Script.Source, o.Script.Refused)
		case o.Script != nil:
			e.say("runs line %d: %s\n", o.Script.Pos.Line, strings.TrimSpace(o.Script.Text))
			for _, kv := range o.Script.Env {
				name, value, _ := strings.Cut(kv, "=")
				e.say("  with %s=%q\n", name, value)
			}
		case o.Include != nil:
			e.say("reads, if it is there, line %d: %s\n", o.Include.Pos.Line, o.Include.Path)
		}
	}
}

func listed(list []string) string {
	return cmp.Or(strings.Join(list, ", "), "none")
}

// nodes writes the steps as a tree.
func (e *explanation) nodes(list []*outline.Node, depth int) {
	indent := strings.Repeat("  ", depth)
	width := 24 - len(indent)
	for _, n := range list {
		width = max(width, len(strings.TrimSpace(n.Role+" "+n.ID)))
	}
	for _, n := range list {
		e.say("%s%-*s %s %s", indent, width+1, strings.TrimSpace(n.Role+" "+n.ID), n.Kind, n.Does)
		if len(n.Agents) > 1 && n.Kind == "delegate" {
			e.say(", else %s", strings.Join(n.Agents[1:], ", "))
		}
		if len(n.Tiers) > 0 {
			e.say(" [%s]", strings.Join(n.Tiers, ", "))
		}
		e.say("\n")
		if n.When != nil {
			e.say("%s    when %s\n", indent, n.Condition())
		}
		for _, w := range n.Ways {
			e.say("%s    %s\n", indent, w)
		}
		if n.Side() {
			e.say("%s    side by side:\n", indent)
		}
		e.nodes(n.Children, depth+1)
	}
}

// byTier lists for each tier the steps that run in it; a command without tiers has one list.
func (e *explanation) byTier() string {
	tiers := e.outline.Tiers
	if len(tiers) == 0 {
		tiers = []string{""}
	}
	for _, tier := range tiers {
		e.say("%s:\n", cmp.Or(tier, "without tiers"))
		e.nodes(inTier(e.outline.Steps, tier), 1)
	}
	return e.page.String()
}

func inTier(list []*outline.Node, tier string) []*outline.Node {
	var out []*outline.Node
	for _, n := range list {
		if n.InTier(tier) {
			one := *n
			one.Tiers, one.Ways, one.Children = nil, nil, inTier(n.Children, tier)
			out = append(out, &one)
		}
	}
	return out
}

// graphVerb draws what a command file was compiled to.
func graphVerb(cmd *cobra.Command, _ *app) run {
	format := cmd.Flags().String("format", "mermaid", "dot, mermaid or svg")
	return func(c call) error {
		e, err := c.explained()
		if err != nil {
			return err
		}
		text, ok := e.outline.Draw(*format)
		if !ok {
			return usage("expected --format dot, mermaid, svg, got %q", *format)
		}
		if !c.document("tercet.graph/1", fields{
			"command": e.prog.Name, "file": e.prog.File.Name, "format": *format, "text": text,
		}) {
			c.term.raw([]byte(text))
		}
		return nil
	}
}

// explainFailure says what a code of failures means, which exit status it has and what to do.
func (c call) explainFailure(p pages.Code) {
	exit := formats.ExitFor(formats.Code(p.Code))
	if !c.document("tercet.code/1", fields{"code": p.Code, "meaning": p.Means, "exit": exit, "do": p.Do}) {
		c.term.answer("%s: exit status %d\n\n%s\n\n%s", p.Code, exit, p.Means, p.Do)
	}
}

// explainCode prints the page of a diagnostic.
func (c call) explainCode(code string) error {
	all, err := pages.All()
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Code
	}
	i := slices.Index(names, code)
	if i < 0 {
		return formats.Fail(formats.CodeUsage, nearest.Help(code, names), "no diagnostic has the code %s", code)
	}
	p := all[i]
	if !c.document("tercet.code/1", fields{
		"code": code, "meaning": p.Means, "text": p.Text, "wrong": p.Wrong.String(), "line": p.Wrong.Line,
		"right": p.Right.String(),
	}) {
		c.term.answer("%s: %s\n\n%s\n\nwrong:\n\n%s\nright:\n\n%s", code, p.Means, plain.Passage(p.Text),
			plain.Passage(p.Wrong.Shown()), plain.Passage(p.Right.Shown()))
	}
	return nil
}
