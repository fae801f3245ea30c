package main

import (
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
func (a *app) explainVerb() *cobra.Command {
	tiers := false
	cmd := &cobra.Command{
		Use: "explain LINE|FILE|CODE", Short: "say what a command would do, or what a diagnostic means", Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := strings.ToUpper(args[0]); len(args) == 1 && isDiagnostic(code) {
				return a.explainCode(code)
			}
			w, err := a.world(cmd.Context())
			if err != nil {
				return err
			}
			e, err := w.explained(args)
			if err != nil {
				return err
			}
			switch {
			case a.flags.json:
				a.term.json(e.record())
			case tiers:
				a.term.answer("%s", passage(e.byTier()))
			default:
				a.term.answer("%s", passage(e.text()))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&tiers, "tiers", false, "the steps of each tier in the order in which they run")
	return cmd
}

func isDiagnostic(word string) bool { return regexp.MustCompile(`^[EW][0-9]{3}$`).MatchString(word) }

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
func (w *world) explained(args []string) (*explanation, error) {
	e := &explanation{}
	prog, err := w.programOf(args, e)
	if err != nil {
		return nil, err
	}
	e.prog, e.outline, e.effects = prog, outline.Of(prog), outline.EffectsOf(prog)
	e.bound = w.bound(prog)
	return e, nil
}

func (w *world) programOf(args []string, e *explanation) (*compile.Program, error) {
	if info, err := os.Stat(args[0]); err == nil && len(args) == 1 && !info.IsDir() {
		src, tooLarge, err := readCommand(args[0])
		if err != nil {
			return nil, err
		}
		if tooLarge != nil {
			return nil, &formats.Diagnostics{List: []formats.Diagnostic{*tooLarge}}
		}
		if isSubagent(src) && !isForeign(args[0]) {
			return nil, &formats.Failure{
				Code: formats.CodeUsage, Message: fmt.Sprintf("expected a command file, got %q, which is a subagent", args[0]),
				Help: "'tercet lint' checks it, and 'tercet prompt' shows what it is told",
			}
		}
		return w.library.Compile(args[0], src)
	}
	if strings.ContainsAny(args[0], "./\\") && !strings.HasPrefix(args[0], "/") {
		return nil, &formats.Failure{
			Code: formats.CodeUsage, Message: fmt.Sprintf("expected a slash command or a file, got %q, which is neither", args[0]),
			Help: "write the path of a file that exists, or a line such as \"/plan 196\"",
		}
	}
	if !strings.HasPrefix(args[0], "/") {
		args = append([]string{"/" + args[0]}, args[1:]...) // nothing else can be meant by a bare name
	}
	line := router.Line{Words: args}
	if len(args) == 1 {
		line = router.Line{Raw: args[0]}
	}
	route, err := w.table.Route(line)
	if err != nil {
		return nil, err
	}
	if done, err := w.explainPrompt(e, route); done || err != nil {
		return e.prog, err
	}
	prog, err := w.library.Load(route.Source, route.File)
	if err != nil {
		return nil, err
	}
	if route.Raw == "" && len(route.Words) == 0 {
		return prog, nil // the command itself, whatever its arguments
	}
	e.line = strings.Join(args, " ")
	e.values, err = argspec.Bind(route.Name, prog.Args, route.Raw, route.Words)
	return prog, err
}

// record is the explanation for programs.
func (e *explanation) record() map[string]any {
	out := map[string]any{
		"schema": "tercet.explain/1", "command": e.prog.Name, "file": e.prog.File, "agents": nonNil(e.outline.Agents()), "gates": nonNil(e.outline.Gates()),
		"reads": e.effects.Reads, "writes": e.effects.Writes, "bound": e.bound, "seconds": e.bound.Time.Seconds(), "program": outline.Compiled(e.prog),
	}
	if e.prompt != nil {
		out["dialect"], out["rules"], out["marks"] = e.prompt.Dialect, e.prompt.Rules(), marks(e.prompt)
		return out
	}
	if e.line != "" {
		out["line"], out["arguments"] = e.line, e.values.Map()
	}
	return out
}

func (e *explanation) text() string {
	var b strings.Builder
	o := e.outline
	fmt.Fprintf(&b, "%s\n%s\nfile: %s\n", argspec.Usage(o.Command, e.prog.Args), oneLine(o.Description), oneLine(o.File))
	e.arguments(&b)
	e.promptText(&b)
	if o.During != "" {
		fmt.Fprintf(&b, "\nthe task is %s while it runs\n", o.During)
	}
	if len(o.Allow) > 0 {
		fmt.Fprintf(&b, "starts from: %s\n", strings.Join(o.Allow, ", "))
	}
	if len(o.Loads) > 0 {
		fmt.Fprintf(&b, "loads: $%s\n", strings.Join(o.Loads, ", $"))
	}
	b.WriteString("\nsteps:\n")
	writeNodes(&b, o.Steps, 1)
	if len(o.Errors) > 0 {
		b.WriteString("\nerror handling:\n")
		writeNodes(&b, o.Errors, 1)
	}
	fmt.Fprintf(&b, "\nsubagents: %s\ngates: %s\nreads: %s\nwrites: %s\n", listed(o.Agents()), listed(o.Gates()), listed(e.effects.Reads), listed(e.effects.Writes))
	limits := e.prog.Limits.WithDefaults()
	fmt.Fprintf(&b, "at most: %s\ndepth: %d of %d\nlimits: %d steps, %d rollbacks, %d retries a step, %s%s\n",
		e.bound, e.bound.Depth, formats.MaxDepth, limits.Steps, limits.Rollbacks, limits.Retries, limits.Duration, budget(limits))
	fmt.Fprintf(&b, "worst case: %d calls of workers, depth %d, %s\nmoney: %s\n", e.bound.Worst.Agents, e.bound.Worst.Depth, e.bound.Worst.Time, moneyLine(e.bound.Worst))
	return b.String()
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

func listed(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// writeNodes writes the steps as a tree.
func writeNodes(b *strings.Builder, list []*outline.Node, depth int) {
	indent := strings.Repeat("  ", depth)
	width := 0
	for _, n := range list {
		width = max(width, len(strings.TrimSpace(n.Role+" "+n.ID)))
	}
	for _, n := range list {
		name := n.ID
		if n.Role != "" {
			name = n.Role + " " + name
		}
		fmt.Fprintf(b, "%s%-*s %s %s", indent, max(width, 24-len(indent))+1, name, n.Kind, n.Does)
		if len(n.Agents) > 1 && n.Kind == "delegate" {
			fmt.Fprintf(b, ", else %s", strings.Join(n.Agents[1:], ", "))
		}
		if len(n.Tiers) > 0 {
			fmt.Fprintf(b, " [%s]", strings.Join(n.Tiers, ", "))
		}
		b.WriteByte('\n')
		if n.When != "" {
			fmt.Fprintf(b, "%s    when %s\n", indent, strings.Join(strings.Fields(n.When), " "))
		}
		for _, w := range n.Ways {
			fmt.Fprintf(b, "%s    %s\n", indent, w)
		}
		if n.Side {
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
		name := tier
		if name == "" {
			name = "without tiers"
		}
		fmt.Fprintf(&b, "%s:\n", name)
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
