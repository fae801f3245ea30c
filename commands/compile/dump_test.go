package compile_test

import (
	"fmt"
	"strings"

	"tercet/commands/compile"
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
	if d := p.During; d != nil {
		fmt.Fprintf(&b, "during %s: %s\n", d.Status, delegate(d.Begin))
		if d.When != nil {
			fmt.Fprintf(&b, "  when %s\n", d.When.Src)
		}
		if d.Failed != nil {
			fmt.Fprintf(&b, "  failed: %s\n", delegate(d.Failed))
		}
	}
	if p.Back != nil {
		fmt.Fprintf(&b, "back: %s\n", delegate(p.Back))
	}
	if p.Allow != nil {
		words := make([]string, len(p.Allow))
		for i, s := range p.Allow {
			words[i] = s.String()
		}
		fmt.Fprintf(&b, "allow %s\n", strings.Join(words, " "))
	}
	for _, l := range p.Loads {
		fmt.Fprintf(&b, "load %s\n", l.Name)
	}
	for _, r := range p.Requires {
		fmt.Fprintf(&b, "require %s else %s %s\n", r.When.Src, text(r.Else), r.Code)
	}
	ops(&b, "", p.Ops)
	for _, op := range p.Always {
		fmt.Fprintf(&b, "always %s\n", op.Always)
		ops(&b, "  ", []*compile.Op{op})
	}
	return b.String()
}

func ops(b *strings.Builder, indent string, list []*compile.Op) {
	for _, op := range list {
		fmt.Fprintf(b, "%s%s:", indent, op.ID)
		if op.When != nil {
			fmt.Fprintf(b, " when (%s)", op.When.Src)
		}
		if op.Table != nil {
			fmt.Fprintf(b, " table %s %v", op.Table.Rows.Src, op.Table.Columns)
		}
		action(b, op.Do)
		if op.Timeout != (formats.Timeout{}) {
			fmt.Fprintf(b, " timeout %s", op.Timeout.Total)
		}
		if r := op.Retry; r != nil && r.Max > 0 {
			fmt.Fprintf(b, " retry %d %v %vs *%v <%vs", r.Max, r.On, r.Backoff, r.Factor, r.Cap)
		}
		if op.Fallback != "" {
			fmt.Fprintf(b, " fallback %s", op.Fallback)
		}
		for _, r := range op.On {
			fmt.Fprintf(b, " on %s%s", r.Outcome, r.Class)
			for _, t := range r.Targets {
				target(b, t)
			}
		}
		if op.Return != nil {
			b.WriteString(" return " + text(op.Return.Message))
		}
		b.WriteString("\n")
		if f, ok := op.Do.(*compile.Foreach); ok {
			ops(b, indent+"  ", f.Body)
		}
	}
}

func action(b *strings.Builder, do compile.Action) {
	switch a := do.(type) {
	case *compile.Delegate:
		fmt.Fprintf(b, " %s", delegate(a))
	case *compile.Foreach:
		fmt.Fprintf(b, " foreach %s in %s", a.As, a.In.Src)
	case *compile.Gate:
		fmt.Fprintf(b, " gate %s", text(a.Question))
		for _, ch := range a.Choices {
			fmt.Fprintf(b, " [%s", ch.Label)
			target(b, ch.Target)
			b.WriteString("]")
		}
	case *compile.Check:
		fmt.Fprintf(b, " check %s%s", a.Document, value(a.File))
		if a.Expr != nil {
			b.WriteString(a.Expr.Src)
		}
	case *compile.Set:
		for _, v := range a.Values {
			fmt.Fprintf(b, " %s = %s", v.Name, v.Expr.Src)
		}
	case *compile.Fail:
		fmt.Fprintf(b, " fail %s %s", text(a.Message), a.Code)
	}
}

func target(b *strings.Builder, t *compile.Target) {
	names := map[compile.TargetKind]string{compile.ToNext: "next", compile.ToFail: "fail", compile.ToRedo: "redo", compile.ToReturn: "return", compile.ToGate: "gate"}
	fmt.Fprintf(b, " -> %s", names[t.Kind])
	if t.Kind == compile.ToRedo {
		fmt.Fprintf(b, " %v max %d", t.Redo, t.Max)
	}
	if t.Return != nil {
		b.WriteString(" " + text(t.Return.Message))
	}
}

func delegate(d *compile.Delegate) string {
	out := d.Agent + " " + value(d.With)
	if d.Link {
		out += " link"
	}
	return out
}

func text(t *compile.Text) string {
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

func value(v *compile.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Expr != nil:
		return v.Expr.Src
	case v.Text != nil:
		return text(v.Text)
	case v.IsMap:
		parts := make([]string, len(v.Fields))
		for i, f := range v.Fields {
			parts[i] = f.Key + ": " + value(f.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case v.IsList:
		parts := make([]string, len(v.Fields))
		for i, item := range v.Fields {
			parts[i] = value(item.Value)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.Lit)
}
