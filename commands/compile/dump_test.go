package compile_test

import (
	"fmt"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// dump writes a program as text, one line a step, so that tests can say what they expect.
func dump(p *compile.Program) string {
	var b strings.Builder
	for _, a := range p.Args {
		low := ""
		if a.Min != nil {
			low = fmt.Sprintf(" min %v", *a.Min)
		}
		fmt.Fprintf(&b, "arg %s %s%s\n", a.Name, a.Type, low)
	}

	if status, _ := p.During(); status != "" {
		fmt.Fprintf(&b, "during %s: %s\n", status, call(p.EngineCalls.Begin))
		if when := p.File.Front.During.When; when != nil {
			fmt.Fprintf(&b, "  when %s\n", when.Src)
		}
		if p.EngineCalls.Failed != nil {
			fmt.Fprintf(&b, "  failed: %s\n", call(p.EngineCalls.Failed))
		}
	}
	if p.EngineCalls.Back != nil {
		fmt.Fprintf(&b, "back: %s\n", call(p.EngineCalls.Back))
	}
	if p.Allow != nil {
		words := make([]string, len(p.Allow))
		for i, s := range p.Allow {
			words[i] = s.String()
		}
		fmt.Fprintf(&b, "allow %s\n", strings.Join(words, " "))
	}
	for _, l := range p.File.Args.Load {
		fmt.Fprintf(&b, "load %s\n", l.Name.Text)
	}

	for _, r := range p.File.Args.Require {
		code, _ := compile.ExitCode(r.Exit)
		fmt.Fprintf(&b, "require %s else %s %s\n", r.When.Src, text(r.Else), code)
	}
	d := dumper{&b, p}
	d.steps("", p.File.Steps)
	for _, s := range p.File.Errors {
		fmt.Fprintf(&b, "always %s\n", s.Always.Text)
		d.steps("  ", []*syntax.Step{s})
	}

	return b.String()
}

type dumper struct {
	*strings.Builder
	prog *compile.Program
}

func (d dumper) steps(indent string, list []*syntax.Step) {
	for _, s := range list {
		info := d.prog.Info(s)
		fmt.Fprintf(d, "%s%s:", indent, info.ID)
		if info.Step.When != nil {
			fmt.Fprintf(d, " when (%s)", info.Step.When.Src)
		}
		if t := info.Step.Table; t != nil {
			var columns []string
			for _, w := range t.Columns {
				columns = append(columns, w.Text)
			}
			fmt.Fprintf(d, " table %s %v", t.Rows.Src, columns)
		}
		d.action(info)
		if t := info.Terms.Timeout; t != (formats.Timeout{}) {
			fmt.Fprintf(d, " timeout %s", t.Total)
		}
		if r := info.Terms.Retry; r != nil && r.Max > 0 {
			var on []string
			for _, w := range r.On {
				on = append(on, w.Text)
			}
			fmt.Fprintf(d, " retry %d %v %vs *%v <%vs", r.Max, on, r.Backoff, r.Factor, r.Cap)
		}
		if info.Fallback != nil {
			fmt.Fprintf(d, " fallback %s", info.Fallback.Agent)
		}
		for _, r := range info.On {
			fmt.Fprintf(d, " on %s", r.Status.Text)
			for _, t := range r.Targets {
				d.target(info, t)
			}
		}
		if info.Step.Return != nil {
			d.WriteString(" return " + text(info.Step.Return.Message))
		}
		d.WriteString("\n")
		if _, ok := info.Step.Action.(*syntax.Foreach); ok {
			d.steps(indent+"  ", info.Step.Body)
		}
	}
}

func (d dumper) action(info *compile.Info) {
	if info.Call != nil {
		fmt.Fprintf(d, " %s", call(info.Call))
		return
	}

	switch a := info.Step.Action.(type) {
	case *syntax.Foreach:
		fmt.Fprintf(d, " foreach %s in %s", a.As.Text, a.In.Src)
	case *syntax.Gate:
		fmt.Fprintf(d, " gate %s", text(a.Question))
		for _, ch := range a.Choices {
			fmt.Fprintf(d, " [%s", ch.Label.Text)
			d.target(info, ch.Target)
			d.WriteString("]")
		}
	case *syntax.Check:
		d.WriteString(" check ")
		if a.Document != nil {
			d.WriteString(a.Document.Text)
		}
		d.WriteString(value(a.File))
		if a.Expr != nil {
			d.WriteString(a.Expr.Src)
		}
	case *syntax.Set:
		for _, v := range a.Values {
			fmt.Fprintf(d, " %s = %s", v.Name.Text, v.Expr.Src)
		}
	case *syntax.Fail:
		code, _ := compile.ExitCode(a.Code)
		fmt.Fprintf(d, " fail %s %s", text(a.Message), code)
	}
}

func (d dumper) target(info *compile.Info, t *syntax.Target) {
	names := map[syntax.TargetKind]string{
		syntax.ToNext:   "next",
		syntax.ToFail:   "fail",
		syntax.ToRedo:   "redo",
		syntax.ToReturn: "return",
		syntax.ToGate:   "gate",
	}

	fmt.Fprintf(d, " -> %s", names[t.Kind])
	if t.Kind == syntax.ToRedo {
		fmt.Fprintf(d, " %v max %d", info.Reruns(t), t.Max)
	}

	if t.Return != nil {
		d.WriteString(" " + text(t.Return.Message))
	}
}

func call(c *compile.Call) string {
	out := c.Agent + " " + fields(c.With)
	if c.Link {
		out += " link"
	}
	return out
}

func text(t *syntax.Text) string {
	if t == nil {
		return ""
	}

	var b strings.Builder

	for _, p := range t.Parts {
		if p.Expr != nil {
			b.WriteString("${{" + p.Expr.Src + "}}")
		} else {
			b.WriteString(p.Lit)
		}
	}

	return b.String()
}

func fields(list []syntax.Field) string {
	parts := make([]string, len(list))
	for i, f := range list {
		parts[i] = f.Key.Text + ": " + value(f.Value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func value(v *syntax.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Expr != nil:
		return v.Expr.Src
	case v.Text != nil:
		return text(v.Text)
	case v.Kind == syntax.Map:
		return fields(v.Fields)
	case v.Kind == syntax.List:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = value(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.Lit)
}
