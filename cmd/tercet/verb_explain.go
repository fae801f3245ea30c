package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/router"
)

// explainVerb says what a command would do, or what a diagnostic means.
func explainVerb(cmd *cobra.Command, _ *app) run {
	tiers := cmd.Flags().Bool("tiers", false, "the steps of each tier in the order in which they run")
	return func(c call) error {
		if code := strings.ToUpper(c.args[0]); len(c.args) == 1 && diagnosticCode.MatchString(code) {
			return c.explainCode(code)
		}
		var err error
		if c.w, err = c.world(c.ctx); err != nil {
			return err
		}
		e, err := c.explained()
		if err != nil {
			return err
		}
		switch {
		case c.document("tercet.explain/1", e.record()):
		case *tiers:
			c.term.answer("%s", passage(e.byTier()))
		default:
			c.term.answer("%s", passage(e.text()))
		}
		return nil
	}
}

var diagnosticCode = regexp.MustCompile(`^[EW][0-9]{3}$`)

// explanation is a compiled command with the line that it would run for, if there is one.
type explanation struct {
	prog    *compile.Program
	outline *outline.Outline
	line    string
	values  argspec.Values
	bound   outline.Bound
	effects outline.Effects
	prompt  *dialect.Command // of another tool, nil for tercet's own
	pieces  []dialect.Output // of it with the line's arguments
}

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
		err = e.ofLine(c.w, args)
	}
	if err != nil {
		return nil, err
	}
	e.outline, e.effects = outline.Of(e.prog), outline.EffectsOf(e.prog)
	e.bound = outline.BoundOf(e.prog, c.w.facts)
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
	return c.w.library.Compile(name, src)
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
	if e.prompt, _, err = w.library.Prompt(r.Source, r.File); err != nil {
		return err
	}
	if e.prog, err = w.library.Load(r.Source, r.File); err != nil || r.Raw == "" && len(r.Words) == 0 {
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
		"gates": nonNil(e.outline.Gates()), "reads": nonNil(e.effects.Reads), "writes": nonNil(e.effects.Writes),
		"bound": e.bound, "seconds": e.bound.Time.Seconds(), "program": outline.Compiled(e.prog),
	}
	if e.prompt != nil {
		out["dialect"], out["rules"], out["marks"] = e.prompt.Dialect, e.prompt.Rules(), marks(e.prompt)
	}
	if e.line != "" {
		out["line"], out["arguments"] = e.line, e.values.Map()
	}
	return out
}

func (e *explanation) text() string {
	var b strings.Builder
	o := e.outline
	fmt.Fprintf(&b, "%s\n%s\nfile: %s\n", argspec.Usage(o.Name, o.Args),
		oneLine(o.File.Front.Description.Text), oneLine(o.File.Name))
	e.arguments(&b)
	if e.prompt != nil {
		e.promptText(&b)
	}
	if during, _ := o.During(); during != "" {
		fmt.Fprintf(&b, "\nthe task is %s while it runs\n", during)
	}
	var allow, loads []string
	for _, status := range o.Allow {
		allow = append(allow, status.String())
	}
	for _, l := range o.File.Args.Load {
		loads = append(loads, "$"+l.Name.Text)
	}
	if allow != nil {
		fmt.Fprintf(&b, "starts from: %s\n", strings.Join(allow, ", "))
	}
	if loads != nil {
		fmt.Fprintf(&b, "loads: %s\n", strings.Join(loads, ", "))
	}
	b.WriteString("\nsteps:\n")
	writeNodes(&b, o.Steps, 1)
	if len(o.Errors) > 0 {
		b.WriteString("\nerror handling:\n")
		writeNodes(&b, o.Errors, 1)
	}
	fmt.Fprintf(&b, "\nsubagents: %s\ngates: %s\nreads: %s\nwrites: %s\n",
		listed(o.Agents()), listed(o.Gates()), listed(e.effects.Reads), listed(e.effects.Writes))
	limits, worst := o.Limits.WithDefaults(), e.bound.Worst
	fmt.Fprintf(&b, "at most: %s\ndepth: %d of %d\n", e.bound, e.bound.Depth, formats.MaxDepth)
	fmt.Fprintf(&b, "limits: %d steps, %d rollbacks, %d retries a step, %s%s\n",
		limits.Steps, limits.Rollbacks, limits.Retries, limits.Duration, budget(limits))
	fmt.Fprintf(&b, "worst case: %d calls of workers, depth %d, %s\nmoney: %s\n",
		worst.Agents, worst.Depth, worst.Time, worst.Money())
	return b.String()
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

func (e *explanation) arguments(b *strings.Builder) {
	if len(e.prog.Args) == 0 {
		return
	}
	b.WriteString("\narguments:\n")
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
		fmt.Fprintf(b, "  %-18s %s\n", spec.Name, value)
	}
}

// promptText shows the rules of another tool, and what its prompt would run and read: with the arguments of the line,
// if it has any. It asks nothing and runs nothing.
func (e *explanation) promptText(b *strings.Builder) {
	fmt.Fprintf(b, "\na prompt of %s: %s\n", e.prompt.Dialect, e.prompt.Rules())
	for _, line := range unused(e.prompt) {
		fmt.Fprintf(b, "%s\n", oneLine(line))
	}
	if e.pieces == nil {
		for _, m := range marks(e.prompt) {
			fmt.Fprintf(b, "%s\n", m)
		}
		return
	}
	for _, o := range e.pieces {
		switch {
		case o.Script != nil && o.Script.Refused != "":
			fmt.Fprintf(b, "does not run line %d: %s: %s\n", o.Script.Pos.Line, o.Script.Source, o.Script.Refused)
		case o.Script != nil:
			fmt.Fprintf(b, "runs line %d: %s\n", o.Script.Pos.Line, strings.TrimSpace(o.Script.Text))
			for _, kv := range o.Script.Env {
				name, value, _ := strings.Cut(kv, "=")
				fmt.Fprintf(b, "  with %s=%q\n", name, value)
			}
		case o.Include != nil:
			fmt.Fprintf(b, "reads, if it is there, line %d: %s\n", o.Include.Pos.Line, o.Include.Path)
		}
	}
}

func listed(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// writeNodes writes the steps as a tree.
func writeNodes(b *strings.Builder, list []*outline.Node, depth int) {
	indent := strings.Repeat("  ", depth)
	width := 24 - len(indent)
	for _, n := range list {
		width = max(width, len(strings.TrimSpace(n.Role+" "+n.ID)))
	}
	for _, n := range list {
		fmt.Fprintf(b, "%s%-*s %s %s", indent, width+1, strings.TrimSpace(n.Role+" "+n.ID), n.Kind, n.Does)
		if len(n.Agents) > 1 && n.Kind == "delegate" {
			fmt.Fprintf(b, ", else %s", strings.Join(n.Agents[1:], ", "))
		}
		if len(n.Tiers) > 0 {
			fmt.Fprintf(b, " [%s]", strings.Join(n.Tiers, ", "))
		}
		b.WriteByte('\n')
		if n.When != nil {
			fmt.Fprintf(b, "%s    when %s\n", indent, n.Condition())
		}
		for _, w := range n.Ways {
			fmt.Fprintf(b, "%s    %s\n", indent, w)
		}
		if n.Side() {
			fmt.Fprintf(b, "%s    side by side:\n", indent)
		}
		writeNodes(b, n.Children, depth+1)
	}
}

// byTier lists for each tier the steps that run in it; a command without tiers has one list.
func (e *explanation) byTier() string {
	var b strings.Builder
	tiers := e.outline.Tiers
	if len(tiers) == 0 {
		tiers = []string{""}
	}
	for _, tier := range tiers {
		fmt.Fprintf(&b, "%s:\n", cmp.Or(tier, "without tiers"))
		writeNodes(&b, inTier(e.outline.Steps, tier), 1)
	}
	return b.String()
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
