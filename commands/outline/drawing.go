package outline

import (
	"fmt"
	"strings"

	"tercet/commands/argspec"
	"tercet/formats"
)

// Format is a language of drawings.
type Format string

// The formats of drawings.
const (
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
	SVG     Format = "svg"
)

// Formats lists the formats of drawings.
func Formats() []Format { return []Format{Dot, Mermaid, SVG} }

// Draw draws the outline. A word outside Formats is a *formats.ValueError.
func (o *Outline) Draw(f Format) (string, error) {
	switch f {
	case Dot:
		return o.dot(), nil
	case Mermaid:
		return o.mermaid(), nil
	case SVG:
		return o.svg(), nil
	}
	return "", &formats.ValueError{
		What: "drawing format", Got: string(f),
		Want: []string{string(Dot), string(Mermaid), string(SVG)},
	}
}

// String is the way of a result in a few words: rejected → redo plan (max 2).
func (w Way) String() string {
	s := w.On
	if w.If != "" {
		s += " if " + w.If
	}
	s += " → " + w.To
	if len(w.Ask) > 0 {
		s += " " + strings.Join(w.Ask, ", ")
	}
	if len(w.Back) > 0 {
		s += " " + strings.Join(w.Back, ", ")
	}
	if w.Max > 0 {
		s += fmt.Sprintf(" (max %d)", w.Max)
	}
	return s
}

// heading is the title of a node for people; its role where it is not simply the next step.
func (n *Node) heading() string {
	title := n.Title
	if title == "" {
		title = n.ID
	}
	if n.Role != "" {
		title = n.Role + ": " + title
	}
	return title
}

// cut shortens a text to a width on the screen.
func cut(s string, width int) string {
	if argspec.Width(s) <= width {
		return s
	}
	out := ""
	for _, r := range s {
		if argspec.Width(out+string(r))+1 > width {
			break
		}
		out += string(r)
	}
	return strings.TrimRight(out, " ") + "…"
}

const labelWidth = 52

// edges gives the arrows of a sequence: from, to, label. Empty ends stand for start and end.
type edge struct{ from, to, label string }

func (o *Outline) edges() []edge {
	var out []edge
	var sequence func(list []*Node, side bool)
	sequence = func(list []*Node, side bool) {
		for i, n := range list {
			if !side && i > 0 {
				out = append(out, edge{list[i-1].ID, n.ID, ""})
			}
			for _, w := range n.Ways {
				for _, id := range w.Back {
					out = append(out, edge{n.ID, id, cut(w.On+" → "+w.To, labelWidth)})
				}
			}
			if len(n.Children) > 0 {
				if !n.Side {
					out = append(out, edge{n.ID, n.Children[0].ID, cut(n.Does, labelWidth)})
				} else {
					for _, c := range n.Children {
						out = append(out, edge{n.ID, c.ID, ""})
					}
				}
				sequence(n.Children, n.Side)
			}
		}
	}
	sequence(o.Steps, false)
	sequence(o.Errors, true)
	return out
}

// conditions says in words when a step runs: nothing where it always does.
func (n *Node) conditions() []string {
	var out []string
	if len(n.Tiers) > 0 {
		out = append(out, "tier "+strings.Join(n.Tiers, ", "))
	}
	if n.When != "" {
		out = append(out, "when "+n.When)
	}
	return out
}

// dot writes the outline for Graphviz.
func (o *Outline) dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  label=%s;\n  labelloc=t;\n  fontname=\"Helvetica\";\n", dotText(o.Command),
		dotText("/"+o.Command+": "+o.Description))
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", " +
		"fontsize=11];\n  edge [fontname=\"Helvetica\", fontsize=10, color=\"#64748b\"];\n")
	clusters := 0
	var draw func(list []*Node, indent string)
	draw = func(list []*Node, indent string) {
		for _, n := range list {
			lines := []string{cut(n.heading(), labelWidth), cut(n.Kind+" "+n.Does, labelWidth)}
			for _, c := range n.conditions() {
				lines = append(lines, cut(c, labelWidth))
			}
			fmt.Fprintf(&b, "%s%s [label=%s, color=%s];\n", indent, dotText(n.ID), dotText(strings.Join(lines, "\n")),
				dotText(ink(n.Kind)))
			if len(n.Children) > 0 {
				clusters++
				fmt.Fprintf(&b, "%ssubgraph cluster_%d {\n%s  label=%s;\n%s  color=\"#cbd5e1\";\n", indent, clusters, indent,
					dotText(cut(n.heading(), labelWidth)), indent)
				draw(n.Children, indent+"  ")
				b.WriteString(indent + "}\n")
			}
		}
	}
	draw(o.Steps, "  ")
	draw(o.Errors, "  ")
	for _, e := range o.edges() {
		style := ""
		if e.label != "" {
			style = " [label=" + dotText(e.label) + "]"
		}
		fmt.Fprintf(&b, "  %s -> %s%s;\n", dotText(e.from), dotText(e.to), style)
	}
	b.WriteString("}\n")
	return b.String()
}

func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func mermaidTexts(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = mermaidText(cut(line, labelWidth))
	}
	return out
}

// mermaid writes the outline as a flowchart.
func (o *Outline) mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\n---\nflowchart TD\n", "/"+o.Command+": "+o.Description)
	names := map[string]string{}
	o.Walk(func(n *Node) {
		if names[n.ID] == "" {
			names[n.ID] = fmt.Sprintf("s%d", len(names)+1)
		}
	})
	var draw func(list []*Node, indent string)
	draw = func(list []*Node, indent string) {
		for _, n := range list {
			text := mermaidText(cut(n.heading(), labelWidth)) + "<br/><i>" + mermaidText(cut(n.Kind+" "+n.Does, labelWidth)) +
				"</i>"
			text = strings.Join(append([]string{text}, mermaidTexts(n.conditions())...), "<br/>")
			open, closing := "[", "]"
			switch n.Kind {
			case "gate":
				open, closing = "{{", "}}"
			case "return", "fail":
				open, closing = "([", "])"
			}
			fmt.Fprintf(&b, "%s%s%s\"%s\"%s\n", indent, names[n.ID], open, text, closing)
			if len(n.Children) > 0 {
				fmt.Fprintf(&b, "%ssubgraph %s_body [\"%s\"]\n", indent, names[n.ID], mermaidText(cut(n.heading(), labelWidth)))
				draw(n.Children, indent+"  ")
				b.WriteString(indent + "end\n")
			}
		}
	}
	draw(o.Steps, "  ")
	draw(o.Errors, "  ")
	for _, e := range o.edges() {
		to := names[e.to]
		if to == "" {
			continue
		}
		if e.label == "" {
			fmt.Fprintf(&b, "  %s --> %s\n", names[e.from], to)
		} else {
			fmt.Fprintf(&b, "  %s -- \"%s\" --> %s\n", names[e.from], mermaidText(e.label), to)
		}
	}
	return b.String()
}

// mermaidText writes characters that mean something there as entities.
func mermaidText(s string) string {
	return strings.NewReplacer("&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "{", "#123;", "}", "#125;", "|",
		"#124;").Replace(s)
}

// ink is the colour of a kind of step.
func ink(kind string) string {
	switch kind {
	case "delegate":
		return "#2563eb"
	case "status", "publish":
		return "#0f766e"
	case "gate":
		return "#b45309"
	case "check":
		return "#7c3aed"
	case "return":
		return "#15803d"
	case "fail":
		return "#b91c1c"
	case "foreach", "until", "parallel", "group":
		return "#4338ca"
	default:
		return "#475569"
	}
}
