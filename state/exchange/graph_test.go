package exchange_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/state/exchange"
)

func TestGraph(t *testing.T) {
	t.Parallel()
	two := 2
	tasks := []formats.Task{
		{Number: 2, Title: `Say "a & b"`, Status: formats.Planned, Dependencies: []int{1}},
		{
			Number:       3,
			Title:        `Back\slash #1`,
			Status:       formats.NotStarted,
			Dependencies: []int{2},
			Parent:       &two,
		},
	}
	for format, want := range map[string]string{
		exchange.GraphDot: "digraph tasks {\n  rankdir=LR;\n  node [shape=box];\n" +
			"  t2 [label=\"2 Say \\\"a & b\\\"\\nplanned\"];\n" +
			"  t3 [label=\"3 Back\\\\slash #1\\nnot_started\"];\n  t1 [label=\"1\\narchived\"];\n" +
			"  t1 -> t2\n  t2 -> t3\n  t3 -> t2 [style=dashed]\n}\n",
		exchange.GraphMermaid: "flowchart LR\n  t2[\"2 Say #quot;a #amp; " +
			"b#quot;<br/><i>planned</i>\"]\n  t3[\"3 Back\\slash " +
			"#35;1<br/><i>not_started</i>\"]\n  t1[\"1<br/><i>archived</i>\"]\n  t1 --> t2\n" +
			"  t2 --> t3\n  t3 -.-> t2\n",
	} {
		got, err := exchange.Graph(tasks, format)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Graph(%s) = %v (-want +got):\n%s", format, err, diff)
		}
	}

	if _, err := exchange.Graph(tasks, "svg"); err == nil {
		t.Error("Graph(svg) = nil, want an error")
	}
}
