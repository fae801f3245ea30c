package outline

import (
	"cmp"
	"fmt"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/plain"
)

// Page is the text of `tercet explain`.
type Page struct {
	*Outline
	Bound   Bound
	Effects Effects
	Asks    []string       // what it asks the user about
	Line    string         // the line that it explains; empty: none
	Values  argspec.Values // the arguments of the line
	// for the prompt of another tool: whose it is, and what it would run and read
	Prompt  []string
	Models  []Model // requested models of the subagents
	Missing error   // a task or file in the line that does not exist; nil: all exist
	// Parallel is how many tasks run side by side, if the line names several.
	Parallel int

	text strings.Builder
}

// PageOf makes the page of a program; known gives the cost of one call of a subagent.
func PageOf(prog *compile.Program, known func(agent string) Facts) *Page {
	o := Of(prog)
	none := argspec.Values{}
	return &Page{
		Outline: o,
		Bound:   BoundOf(prog, known, none),
		Effects: EffectsOf(prog),
		Asks:    o.Gates(known),
		Models:  o.models(known),
	}
}

// For adds what a line decides.
func (p *Page) For(line string, v argspec.Values, known func(agent string) Facts) (err error) {
	p.Line = line
	p.Values = v
	p.Bound = BoundOf(p.Program, known, v)
	p.Asks = p.forLine(v).Gates(known)
	p.Parallel, err = v.Parallel()
	return err
}

func (p *Page) printf(format string, args ...any) {
	fmt.Fprintf(&p.text, format, args...)
}

// Text is the whole page.
func (p *Page) Text() string {
	p.text.Reset()
	p.printf("%s\n%s\nfile: %s\n", argspec.Usage(p.Name, p.Args),
		plain.Line(p.File.Front.Description.Text), plain.Line(p.File.Name))
	p.arguments()
	if list := p.Values.Tasks(); len(list) > 1 {
		p.printf("%s\n", tasks(list, p.Parallel))
	}
	if p.Missing != nil {
		p.printf("would not begin: %s (exit %d)\n",
			plain.Line(p.Missing.Error()), formats.ExitFor(formats.CodeOf(p.Missing)))
	}
	for _, line := range p.Prompt {
		p.printf("%s\n", line)
	}

	if during, _ := p.During(); during != "" {
		p.printf("\nthe task is %s while it runs\n", during)
	}
	var allow, loads []string
	for _, status := range p.Allow {
		allow = append(allow, status.String())
	}

	for _, l := range p.File.Args.Load {
		loads = append(loads, "$"+l.Name.Text)
	}
	if allow != nil {
		p.printf("starts from: %s\n", strings.Join(allow, ", "))
	}
	if loads != nil {
		p.printf("loads: %s\n", strings.Join(loads, ", "))
	}
	p.printf("\nsteps:\n")
	p.nodes(p.Steps, 1)
	if len(p.Errors) > 0 {
		p.printf("\nerror handling:\n")
		p.nodes(p.Errors, 1)
	}
	asks := cmp.Or(strings.Join(p.Asks, "\n       "), "none")
	p.printf("\nsubagents: %s\ngates: %s\nreads: %s\nwrites: %s\n", joinOrNone(p.Agents()), asks,
		joinOrNone(p.Effects.Reads), joinOrNone(p.Effects.Writes))
	for _, m := range p.Models {
		p.printf("model of %s\n", m)
	}

	limits := p.Limits.WithDefaults()
	worst := p.Bound.Worst
	p.printf("limits: %d steps, %d rollbacks, %d retries a step, %s%s\n",
		limits.Steps, limits.Rollbacks, limits.Retries, Span(limits.Duration), budget(limits))
	if limits.AutoResume > 0 {
		p.printf(
			"auto resume: 'tercet watch' goes on with a run that waits for a time, up to %s "+
				"after it stopped\n",
			Span(limits.AutoResume),
		)
	}
	for _, each := range p.Bound.Each {
		p.printf("%s\n", each)
	}
	long := ""
	if len(p.Bound.Each) > 0 && worst.Agents != limits.Spawns {
		long = fmt.Sprintf(" in loops over %d elements", limits.Elements)
	}
	p.printf("worst case: %s of workers%s, depth %d of %d, %s, %s\n",
		formats.Count(worst.Agents, "call"), long,
		worst.Depth, formats.MaxDepth, Span(worst.Time), worst.Money())
	return p.text.String()
}

// tasks tells how the tasks of a line are done.
func tasks(list []int, parallel int) string {
	how := "one after the other"
	if parallel > 1 {
		how = fmt.Sprintf("at most %d side by side", parallel)
	}
	return fmt.Sprintf("tasks: %s: a run each, %s; what follows is for each run",
		strings.Join(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), ", "), how)
}

// budget lists the limits that have no default.
func budget(l formats.Limits) string {
	out := ""
	if l.Spawns > 0 {
		out += ", " + formats.Count(l.Spawns, "call") + " of workers"
	}
	if l.Tokens > 0 {
		out += fmt.Sprintf(", %d tokens", l.Tokens)
	}
	if l.Cost > 0 {
		out += fmt.Sprintf(", $%.2f", l.Cost)
	}
	return out
}

func (p *Page) arguments() {
	if len(p.Args) == 0 {
		return
	}
	p.printf("\narguments:\n")
	for _, spec := range p.Args {
		value := "not given"
		if p.Line == "" {
			value = spec.Type.String()
			if spec.Required {
				value += ", required"
			}
		} else if v, ok := p.Values.Get(spec.Name); ok {
			value = fmt.Sprint(v)
			if !p.Values.Given(spec.Name) {
				value += " (default)"
			}
		}
		p.printf("  %-18s %s\n", spec.Name, value)
	}
}

func joinOrNone(list []string) string {
	return cmp.Or(strings.Join(list, ", "), "none")
}

// nodes writes the steps as a tree.
func (p *Page) nodes(list []*Node, depth int) {
	indent := strings.Repeat("  ", depth)
	width := 24 - len(indent)
	for _, n := range list {
		width = max(width, len(n.label()))
	}

	for _, n := range list {
		p.printf("%s%-*s %s %s", indent, width+1, n.label(), n.Kind, n.Does)
		if len(n.Agents) > 1 && n.Kind == "delegate" {
			p.printf(", else %s", strings.Join(n.Agents[1:], ", "))
		}
		if len(n.Tiers) > 0 {
			p.printf(" [%s]", strings.Join(n.Tiers, ", "))
		}
		p.printf("\n")

		if n.Info.Step.When != nil {
			p.printf("%s    when %s\n", indent, n.Condition())
		}
		for _, w := range n.Ways {
			p.printf("%s    %s\n", indent, w)
		}
		if n.Side() {
			p.printf("%s    side by side:\n", indent)
		}
		p.nodes(n.Children, depth+1)
	}
}

// Tiered lists the steps of each tier; a command without tiers has one list.
func (p *Page) Tiered() string {
	p.text.Reset()
	tiers := p.Tiers
	if len(tiers) == 0 {
		tiers = []string{""}
	}
	for _, tier := range tiers {
		p.printf("%s:\n", cmp.Or(tier, "without tiers"))
		p.nodes(inTier(p.Steps, tier), 1)
	}
	return p.text.String()
}

func inTier(list []*Node, tier string) []*Node {
	var out []*Node
	for _, n := range list {
		if n.InTier(tier) {
			one := *n
			one.Tiers = nil
			one.Ways = nil
			one.Children = inTier(n.Children, tier)
			out = append(out, &one)
		}
	}
	return out
}

// Record is the page as data for JSON.
func (p *Page) Record() map[string]any {
	out := map[string]any{
		"command": p.Name,
		"file":    p.File.Name,
		"agents":  list(p.Agents()),
		"gates":   list(p.Asks),
		"reads":   list(p.Effects.Reads),
		"writes":  list(p.Effects.Writes),
		"bound":   p.Bound,
		"seconds": p.Bound.Time.Seconds(),
		"program": Compiled(p.Program),
	}

	if len(p.Models) > 0 {
		out["models"] = p.Models
	}
	if p.Missing != nil {
		out["missing"] = p.Missing.Error()
	}
	if p.Line != "" {
		out["line"] = p.Line
		out["arguments"] = p.Values.Map()
	}

	if list := p.Values.Tasks(); len(list) > 1 {
		out["tasks"] = list
		out["parallel"] = p.Parallel
	}
	return out
}

// list is a list that JSON shows as one, also without elements.
func list(of []string) []string {
	return append([]string{}, of...)
}

// label is the id of the step, behind its role if it has one.
func (n *Node) label() string {
	return strings.TrimSpace(n.Role + " " + n.Info.ID)
}
