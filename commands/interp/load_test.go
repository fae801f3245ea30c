package interp_test

import (
	"strings"
	"testing"

	"tercet/formats"
)

// TestLoad: what the block `yaml args` loads, and what is not found.
func TestLoad(t *testing.T) {
	t.Parallel()

	const plan = "# Plan: fix it\n\n- **Status**: [NOT STARTED]\n\n## Overview\n\nText.\n\n" +
		"## Phases\n\n### Phase 1: One [NOT STARTED]\n\n- [ ] do it\n"
	const twice = "### Phase 1: One\n\n### Phase 1: Two\n"
	const doc = "## Summary\n\nIt works.\n\n## Findings\n\nNone.\n\n## Recommendations\n\nNone.\n" +
		"\n## References\n\nNone.\n\n## Next Steps\n\nNone.\n"

	for name, c := range map[string]struct {
		load, expr string
		want       string
		warns      int
	}{
		"jq":       {"v: 1 + 1", "$v", "completed 0: 2", 0},
		"in order": {"a: '2'\n  b: $a * 3", "$b", "completed 0: 6", 0},
		"null is not found": {
			"v: 'null'", "$v", "failed 6 NOT_FOUND: x.md:10:3: nothing found for 'v': null", 0,
		},
		"nothing is not found": {
			"v: 'empty'", "$v", "failed 6 NOT_FOUND: x.md:10:3: nothing found for 'v': empty", 0,
		},
		"null with a question mark": {"v?: 'null'", "$v | type", "completed 0: null", 0},
		"false is found":            {"v: 'false'", "$v", "completed 0: false", 0},
		"an empty list is found":    {"v: '[]'", "$v | length", "completed 0: 0", 0},
		"a document": {
			"d: {document: report-short, path: [docs/none.md, docs/r.md]}",
			"$d.path + \" \" + $d.profile", "completed 0: docs/r.md report-short", 0,
		},
		"its sections": {
			"d: {document: report-short, path: docs/r.md}", "$d.sections.Summary",
			"completed 0: It works.", 0,
		},
		"a path by jq": {
			"d: {document: report-short, path: '$args | [\"docs/none.md\", \"docs/r.md\"]'}",
			"$d.path", "completed 0: docs/r.md", 0,
		},
		"two that exist": {
			"d: {document: report-short, path: [docs/r.md, docs/copy.md]}", "$d.path",
			"completed 0: docs/r.md", 1,
		},
		"no such document": {
			"d: {document: report-short, path: [docs/none.md, b.md]}", "$d",
			`failed 6 NOT_FOUND: x.md:10:3: no report-short found at "docs/none.md", "b.md"`, 0,
		},
		"no path": {
			"d: {document: plan, path: '$args | null'}", "$d",
			"failed 6 NOT_FOUND: x.md:10:3: no plan found: its path is empty", 0,
		},
		"no document, a question mark": {
			"d?: {document: plan, path: [b.md]}", "$d | type", "completed 0: null", 0,
		},
		"a document that is broken": {
			"d: {document: plan, path: twice.md}", "$d", "failed 1 VALIDATION_FAILED: twice.md:", 0,
		},
		"a plan of others": {
			"d: {document: plan, path: docs/p.md}", "$d.phases[0].name", "completed 0: One", 1,
		},
		"files": {
			"f: {files: [\"docs/*\"]}", "$f",
			`completed 0: ["docs/copy.md","docs/p.md","docs/r.md"]`, 0,
		},
		"no files": {
			"f: {files: [\"none/*\", \"b*\"]}", "$f", "completed 0: []", 0,
		},
		"no files, a question mark": {
			"f?: {files: [\"none/*\"]}", "$f | type", "completed 0: null", 0,
		},
		"files in two places": {
			"f: {files: [\"docs/{r,p}.md\", \"{r,p}.md\"]}\n" +
				"  g: {files: [\"docs/r.md\", \"r.md\"]}",
			"$f", `completed 0: ["docs/p.md","docs/r.md","r.md"]`, 1,
		},
		"files by a star": {
			"f: {files: [\"docs/r*\", \"r*\"]}", "$f", `completed 0: ["docs/r.md","r.md"]`, 0,
		},
		"an error": {
			"v: $args | .[0]", "$v",
			"failed 1 VALIDATION_FAILED: x.md:10:6: $args | .[0]: expected an array but got: " +
				"object ({\"_raw\":\"\"})",
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)

			w.docs["docs/r.md"] = doc
			w.docs["docs/copy.md"] = doc
			w.docs["docs/p.md"] = plan
			w.docs["twice.md"] = twice
			w.docs["r.md"] = doc

			ret := w.run(
				t.Context(),
				file(
					"",
					"load:\n  "+c.load,
					"A: return: \"${{ "+strings.ReplaceAll(c.expr, `"`, `\"`)+" }}\"",
				),
				"",
			)

			got := describeReturn(ret)
			if strings.HasSuffix(c.want, ":") {
				got = got[:min(len(got), len(c.want))]
			}

			if got != c.want || len(ret.Warnings) != c.warns {
				t.Errorf("Run = %s %q, want %s and %d warnings", got, ret.Warnings, c.want, c.warns)
			}

			if ret.Status == formats.StatusFailed && len(w.log) > 0 {
				t.Errorf("log = %q, want nothing before everything is loaded", w.log)
			}
		})
	}
}

// TestRequire: preconditions in order, each with its message and code; they see what is loaded.
func TestRequire(t *testing.T) {
	t.Parallel()

	args := "load:\n  v: $args.n * 2\nrequire:\n  - when: $v > 2\n" +
		"    else: \"${{ $v }} is too little\"\n    exit: USAGE\n  - when: $v < 100\n" +
		"    exit: 6\n  - when: $v != 50\n    else: not fifty"

	for line, want := range map[string]string{
		"1":  "failed 2 USAGE: 2 is too little",
		"60": "failed 6 NOT_FOUND: a precondition of /x does not hold: $v < 100",
		"25": "failed 1 PRECONDITION: not fifty",
		"9":  "completed 0: went on",
	} {
		w := newWorld(t)
		ret := w.run(
			t.Context(),
			file("arguments: [{name: n, type: integer}]\n", args, "A: return: went on"),
			line,
		)

		if got := describeReturn(ret); got != want {
			t.Errorf("Run(%s) = %s, want %s", line, got, want)
		}
	}
}
