package outline

import (
	"cmp"
	"fmt"
	"strings"

	"tercet/internal/style"
)

// Draw draws the outline as text for Graphviz (dot) or Mermaid; ok is false for any other form.
func (o *Outline) Draw(format string) (string, bool) {
	draw, ok := map[string]func() string{"dot": o.dot, "mermaid": o.mermaid}[format]
	if !ok {
		return "", false
	}
	return draw(), true
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

// heading is the title of a node in a drawing, and its role where it is not simply the next step.
func (n *Node) heading() string {
	title := cmp.Or(n.Info.Step.Title, n.Info.ID)
	if n.Role != "" {
		title = n.Role + ": " + title
	}
	return title
}

// conditions says in words when a step runs: nothing where it always does.
func (n *Node) conditions() []string {
	var out []string
	if len(n.Tiers) > 0 {
		out = append(out, "tier "+strings.Join(n.Tiers, ", "))
	}
	if n.Info.Step.When != nil {
		out = append(out, "when "+n.Condition())
	}
	return out
}

// cut shortens a text to a width on the screen.
func cut(s string, width int) string {
	if style.Width(s) <= width {
		return s
	}
	out := ""
	for _, r := range s {
		if style.Width(out+string(r))+1 > width {
			break
		}
		out += string(r)
	}
	return strings.TrimRight(out, " ") + "…"
}

// label is a text as short as a drawing has it.
func label(s string) string {
	return cut(s, 52)
}

// language is how a language of drawings writes a step, the beginning and the end of what is inside
// of one, and an arrow.
type language struct {
	node func(n *Node, lines []string) string
	open func(n *Node) string
	end  string
	edge func(from, to, label string) string
}

// draw draws the steps, each with what is inside of it, and then the arrows.
func (o *Outline) draw(l language) string {
	var nodes, edges strings.Builder
	edge := func(from, to, text string) {
		edges.WriteString(l.edge(from, to, label(text)))
	}

	var draw func(list []*Node, side bool, indent string)
	draw = func(list []*Node, side bool, indent string) {
		for i, n := range list {
			lines := append([]string{n.heading(), n.Kind + " " + n.Does}, n.conditions()...)
			for k := range lines {
				lines[k] = label(lines[k])
			}
			nodes.WriteString(indent + l.node(n, lines) + "\n")

			if !side && i > 0 {
				edge(list[i-1].Info.ID, n.Info.ID, "")
			}
			for _, w := range n.Ways {
				for _, id := range w.Back {
					edge(n.Info.ID, id, w.On+" → "+w.To)
				}
			}

			if len(n.Children) == 0 {
				continue
			}

			if n.Side() {
				for _, c := range n.Children {
					edge(n.Info.ID, c.Info.ID, "")
				}
			} else {
				edge(n.Info.ID, n.Children[0].Info.ID, n.Does)
			}

			nodes.WriteString(indent + strings.ReplaceAll(l.open(n), "\n", "\n"+indent) + "\n")
			draw(n.Children, n.Side(), indent+"  ")
			nodes.WriteString(indent + l.end + "\n")
		}
	}

	draw(o.Steps, false, "  ")
	draw(o.Errors, true, "  ")
	return nodes.String() + edges.String()
}

// title is the name of the whole.
func (o *Outline) title() string {
	return "/" + o.Name + ": " + o.File.Front.Description.Text
}

// dot writes the outline for Graphviz.
func (o *Outline) dot() string {
	text := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
	}
	clusters := 0
	return fmt.Sprintf("digraph %s {\n  label=%s;\n  labelloc=t;\n  fontname=\"Helvetica\";\n",
		text(o.Name), text(o.title())) +
		"  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", " +
		"fontsize=11];\n" +
		"  edge [fontname=\"Helvetica\", fontsize=10, color=\"#64748b\"];\n" +
		o.draw(language{
			node: func(n *Node, lines []string) string {
				return fmt.Sprintf("%s [label=%s, color=%s];",
					text(n.Info.ID), text(strings.Join(lines, "\n")), text(ink(n.Kind)))
			},
			open: func(n *Node) string {
				clusters++
				return fmt.Sprintf("subgraph cluster_%d {\n  label=%s;\n  color=\"#cbd5e1\";",
					clusters, text(label(n.heading())))
			},
			end: "}",
			edge: func(from, to, label string) string {
				if label != "" {
					label = " [label=" + text(label) + "]"
				}
				return fmt.Sprintf("  %s -> %s%s;\n", text(from), text(to), label)
			},
		}) + "}\n"
}

// mermaid writes the outline as a flowchart.
func (o *Outline) mermaid() string {
	// Characters that mean something there are entities.
	text := strings.NewReplacer(
		"&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "{", "#123;", "}", "#125;", "|",
		"#124;",
	).Replace
	names := map[string]string{}
	o.Walk(func(n *Node) {
		if names[n.Info.ID] == "" {
			names[n.Info.ID] = fmt.Sprintf("s%d", len(names)+1)
		}
	})
	return fmt.Sprintf("---\ntitle: %q\n---\nflowchart TD\n", o.title()) + o.draw(language{
		node: func(n *Node, lines []string) string {
			for i := range lines {
				lines[i] = text(lines[i])
			}
			lines[1] = "<i>" + lines[1] + "</i>"
			open := "["
			closing := "]"
			switch n.Kind {
			case "gate":
				open = "{{"
				closing = "}}"
			case "return", "fail":
				open = "(["
				closing = "])"
			}
			return fmt.Sprintf("%s%s\"%s\"%s",
				names[n.Info.ID], open, strings.Join(lines, "<br/>"), closing)
		},
		open: func(n *Node) string {
			return fmt.Sprintf(
				"subgraph %s_body [\"%s\"]", names[n.Info.ID], text(label(n.heading())),
			)
		},
		end: "end",
		edge: func(from, to, label string) string {
			switch {
			case names[to] == "":
				return ""
			case label == "":
				return fmt.Sprintf("  %s --> %s\n", names[from], names[to])
			}
			return fmt.Sprintf("  %s -- \"%s\" --> %s\n", names[from], text(label), names[to])
		},
	})
}

// inks are the colours of kinds of steps.
var inks = map[string]string{
	"delegate": "#2563eb",
	"status":   "#0f766e",
	"publish":  "#0f766e",
	"gate":     "#b45309",
	"check":    "#7c3aed",
	"return":   "#15803d",
	"fail":     "#b91c1c",
	"foreach":  "#4338ca",
	"until":    "#4338ca",
	"parallel": "#4338ca",
	"group":    "#4338ca",
}

func ink(kind string) string {
	return cmp.Or(inks[kind], "#475569")
}
