package exchange

import (
	"fmt"
	"strconv"
	"strings"

	"tercet/formats"
)

// The forms of a drawing of tasks.
const (
	GraphDot     = "dot"
	GraphMermaid = "mermaid"
)

// Graph draws tasks: a solid arrow leads from each task to its dependents, a dashed one to its
// parent. A referenced task outside the list shows only its number.
func Graph(tasks []formats.Task, format string) (string, error) {
	dot := format == GraphDot
	_, err := formats.OneOf("--format dot, mermaid", format, []string{GraphDot, GraphMermaid})
	if err != nil {
		return "", err
	}

	var b strings.Builder
	known := map[int]bool{}
	node := func(n int, lines ...string) {
		known[n] = true
		if dot {
			text := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
			fmt.Fprintf(&b, "  t%d [label=\"%s\"];\n",
				n, strings.Join([]string{text(lines[0]), text(lines[1])}, `\n`))
			return
		}
		// Escape the characters that Mermaid interprets.
		text := strings.NewReplacer(
			"&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;",
		).Replace
		fmt.Fprintf(&b, "  t%d[\"%s<br/><i>%s</i>\"]\n", n, text(lines[0]), text(lines[1]))
	}
	edge := func(from, to int, part bool) {
		arrow := "-->"
		style := ""
		if part {
			arrow = "-.->"
			style = " [style=dashed]"
		}
		if dot {
			arrow = "->"
		} else {
			style = ""
		}
		fmt.Fprintf(&b, "  t%d %s t%d%s\n", from, arrow, to, style)
	}
	b.WriteString(map[bool]string{
		true:  "digraph tasks {\n  rankdir=LR;\n  node [shape=box];\n",
		false: "flowchart LR\n",
	}[dot])
	for i := range tasks {
		node(
			tasks[i].Number,
			strconv.Itoa(tasks[i].Number)+" "+tasks[i].Title,
			tasks[i].Status.String(),
		)
	}

	refer := func(n int) int {
		if !known[n] {
			node(n, strconv.Itoa(n), "archived")
		}
		return n
	}
	for i := range tasks {
		t := &tasks[i]
		for _, n := range t.Dependencies {
			edge(refer(n), t.Number, false)
		}
		if t.Parent != nil {
			edge(t.Number, refer(*t.Parent), true)
		}
	}

	if dot {
		b.WriteString("}\n")
	}
	return b.String(), nil
}
