package builtin_test

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tercet/formats"
	"tercet/subagents/builtin"
)

type frozen struct{}

func (frozen) Now() time.Time {
	return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
}

type object = map[string]any

// phase is what $steps shows of a result.
func phase(fields object) object {
	return object{"status": "completed", "summary": "done", "fields": fields}
}

const interview = "# Interview Result: Clock\n\n## Project Overview\n\nShows the time.\n\n" +
	"## Functional Requirements\n\n- FR-1: show it\n\n## Open Questions\n\n- Which zone?\n"

const design = "# Architecture: Clock\n\n## Technology Stack\n\nGo.\n\n## Environment\n\n" +
	"Port 8080.\n"

func maintained(more object) object {
	out := object{
		"classify": phase(object{
			"TRIGGER_TYPE":    "feature",
			"PRIORITY":        "P2",
			"BREAKING_CHANGE": false,
			"SPEC_IMPACT":     "minor",
			"ESTIMATED_FILES": 12,
		}),
		"impact": phase(object{
			"TARGET_FILES":      []any{"clock.go", "page.html"},
			"REGRESSION_RISK":   "low",
			"DB_SCHEMA_CHANGES": false,
		}),
		"analysis": phase(object{
			"ISSUE_SUMMARY":   "Show the date:\n# today's",
			"ARCHITECT_BRIEF": "a second line",
			"ISSUE_TYPE":      "feature",
		}),
		"security": phase(object{
			"CRITICAL_COUNT": 1.0,
			"WARNING_COUNT":  0,
			"INFO_COUNT":     0,
			"CRITICAL_ITEMS": []any{"escape the date"},
		}),
	}
	maps.Copy(out, more)
	return out
}

// TestDocumentWriter: of what the phases returned comes a document that its profile holds valid;
// what no source gives is named, and nothing is written.
func TestDocumentWriter(t *testing.T) {
	t.Parallel()
	tests := object{
		"test":     phase(object{"TOTAL": 10, "PASSED": 9, "FAILED": 0}),
		"security": phase(object{"CRITICAL_COUNT": 0, "WARNING_COUNT": 2, "INFO_COUNT": 1}),
	}
	for name, one := range map[string]struct {
		files map[string]string
		input object
		want  []string // of the document; else of the refusal
		fails bool
	}{
		"discovery": {
			files: map[string]string{"docs/INTERVIEW_RESULT.md": interview},
			input: object{
				"document": "discovery",
				"tier":     "Minimal",
				"results":  object{},
				"args":     object{"ui": "tui", "product_type": "tool"},
			},
			want: []string{
				"# Discovery Result: Clock\n\n> Created: 2026-01-31\n> Discovery Plan: Minimal\n" +
					"> PRODUCT_TYPE: tool\n> HAS_UI: true\n> UI_TYPE: cli-tui\n",
				"Shows the time.", "### Functional Requirements\n\n- FR-1: show it",
				"## Unresolved Items\n\n- Which zone?",
			},
		},
		"discovery without an interview": {
			input: object{
				"document": "discovery",
				"results":  object{},
				"args":     object{"ui": "cli"},
			},
			want: []string{
				"the discovery result needs INTERVIEW_RESULT.md, which interviewer writes",
			},
			fails: true,
		},
		"discovery without requirements": {
			files: map[string]string{
				"INTERVIEW_RESULT.md": "# Clock\n\n## Project Overview\n\nShows the time.\n",
			},
			input: object{
				"document": "discovery",
				"results":  object{},
				"args":     object{"ui": "cli"},
			},
			want: []string{
				"a PRODUCT_TYPE",
				"Requirements Summary, which INTERVIEW_RESULT.md should have given",
			},
			fails: true,
		},
		"delivery": {
			files: map[string]string{"docs/ARCHITECTURE.md": design, "SPEC.md": "# SPEC: Clock\n"},
			input: object{
				"document":     "delivery",
				"tier":         "Light",
				"product_type": "service",
				"results":      tests,
				"args":         object{},
				"overrides":    []any{object{"step": "security", "summary": "one warning"}},
			},
			want: []string{
				"# Delivery Result: Clock\n", "> Overrides: security, one warning",
				"- SPEC.md: present (resolved path: SPEC.md)",
				"- ARCHITECTURE.md: present (resolved path: docs/ARCHITECTURE.md)",
				"- UI_SPEC.md: absent", "## Tech Stack\n\nGo.", "- Total: 10\n- Pass: 9\n- Fail: 0",
				"- CRITICAL: 0\n- WARNING: 2", "## Handoff to Operations\n\nPort 8080.",
			},
		},
		"delivery of documents without the name of the product": {
			files: map[string]string{
				"docs/ARCHITECTURE.md": strings.Replace(
					design, "# ",
					"# Architecture Design\n\n## ",
					1,
				),
				"SPEC.md": "# SPEC\n",
			},
			input: object{
				"document":     "delivery",
				"product_type": "service",
				"args":         object{},
				"results": object{
					"test": phase(object{
						"TOTAL":        10,
						"PASSED":       8,
						"FAILED":       2,
						"FAILED_TESTS": []any{"TC-003", "TC-007"},
					}),
					"security": tests["security"],
				},
				"overrides": []any{object{"step": "test", "summary": "2 of 10 fail"}},
			},
			want: []string{
				"# Delivery Result: sundial\n",
				"> Overrides: test, 2 of 10 fail; accepted as failing: TC-003, TC-007\n",
			},
		},
		"delivery without tests": {
			files: map[string]string{"docs/ARCHITECTURE.md": design},
			input: object{
				"document":     "delivery",
				"product_type": "service",
				"results":      object{},
				"args":         object{},
			},
			want: []string{
				"TOTAL, PASSED, FAILED of tester",
				"CRITICAL_COUNT, WARNING_COUNT, INFO_COUNT of security-auditor",
			},
			fails: true,
		},
		"delivery with a count that cannot be": {
			files: map[string]string{"docs/ARCHITECTURE.md": design},
			input: object{
				"document":     "delivery",
				"product_type": "service",
				"args":         object{},
				"results": object{
					"test":     phase(object{"TOTAL": 1, "PASSED": 9, "FAILED": 0}),
					"security": tests["security"],
				},
			},
			want:  []string{"expected Pass + Fail of at most Total; got 9 + 0 > 1"},
			fails: true,
		},
		"maintenance": {
			input: object{
				"document":     "maintenance",
				"product_type": "service",
				"results":      maintained(nil),
				"args":         object{},
			},
			want: []string{
				"> Maintenance Plan: Major\n> Trigger type: feature\n> Priority: P2\n",
				"Show the date:\n\\# today's", "- TARGET_FILES:\n  - clock.go\n  - page.html\n",
				"- CRITICAL: 1\n", "- Recommended plan: Standard\n",
				"- Required pre-remediation items:\n  - escape the date\n",
			},
		},
		"maintenance that breaks something": {
			input: object{
				"document":     "maintenance",
				"product_type": "service",
				"args":         object{},
				"results": maintained(object{
					"classify": phase(object{"TRIGGER_TYPE": "bug", "BREAKING_CHANGE": true}),
				}),
			},
			want: []string{"- Recommended plan: Full\n"},
		},
		"doc": {
			files: map[string]string{"docs/deliverables/clock/hld.en.md": "x"},
			input: object{
				"document": "doc",
				"tier":     "Minimal",
				"args": object{
					"slug": "clock",
					"lang": "en",
					"skipped": []any{object{
						"type":   "user-manual",
						"reason": "UI_SPEC.md is missing",
					}},
				},
				"results": object{
					"write": object{
						"status": "completed",
						"fields": object{},
						"children": []any{
							object{
								"index": 0,
								"steps": object{"author": phase(object{
									"OUTPUT_FILE":      "docs/deliverables/clock/hld.en.md",
									"TEMPLATE_VERSION": "1.0",
								})},
							},
							object{
								"index": 1,
								"steps": object{"author": object{
									"status": "skipped",
									"fields": object{
										"OUTPUT_FILE": "docs/deliverables/clock/api-reference.en.md",
										"SKIP_REASON": "no endpoints",
									},
								}},
							},
						},
					},
				},
			},
			want: []string{
				"| hld | docs/deliverables/clock/hld.en.md | created | 1.0 |",
				"- api-reference: no endpoints\n- user-manual: UI_SPEC.md is missing",
			},
		},
		"doc without a document": {
			input: object{
				"document": "doc",
				"args":     object{"slug": "clock", "lang": "en"},
				"results":  object{},
			},
			want:  []string{"at least one OUTPUT_FILE"},
			fails: true,
		},
		"another document": {
			input: object{"document": "spec", "results": object{}},
			want: []string{
				"expected one of delivery, discovery, doc, draft, maintenance as document",
			},
			fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := formats.Request{
				Agent: formats.AgentDocumentWriter,
				Input: one.input,
				Dir:   t.TempDir(),
				Out:   t.TempDir(),
			}
			for file, text := range one.files {
				at := filepath.Join(r.Dir, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			ret, err := builtin.DocumentWriter{Clock: frozen{}, Project: "sundial"}.Run(
				t.Context(), r,
			)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(r.Out)
			if err != nil || one.fails != (len(entries) == 0) ||
				one.fails != (ret.Status == formats.StatusFailed) {
				t.Fatalf("Run = %+v, %d files, %v; fails: %t", ret, len(entries), err, one.fails)
			}
			var got string
			if one.fails {
				got = ret.Errors[0].Message
			} else {
				data, err := os.ReadFile(filepath.Join(r.Out, ret.Artifacts[0].Path))
				if err != nil {
					t.Fatal(err)
				}
				got = string(data)
			}

			for _, want := range one.want {
				if !strings.Contains(got, want) {
					t.Errorf("got\n%s\nwant %q in it", got, want)
				}
			}
		})
	}
}

const hld = "---\ntemplate_version: 1.0\n---\n\n# {{project.name}}: design\n" +
	"<!-- template_version: 1.0 -->\n<!-- generated_at: {{doc.generated_at}} -->\n\n## Overview\n" +
	"\n{{spec.summary}}\n\n## Screens\n\n{{ ui_spec.screens }}\n\n## Technology\n\n" +
	"{{architecture.tech_stack}} ({{doc.lang}}, {{doc.type}}, {{project.slug}}, " +
	"{{doc.template_version}})\n"

// TestDraft: a template is filled in one pass, from the first place that has it; what has no source
// says so in the language of the document, and what is there already in another version is asked
// about.
func TestDraft(t *testing.T) {
	t.Parallel()
	const to = "docs/deliverables/clock/hld.en.md"
	input := func(more object) object {
		out := object{
			"document":    "draft",
			"type":        "hld",
			"lang":        "en",
			"slug":        "clock",
			"output_path": to,
		}
		maps.Copy(out, more)
		return out
	}
	own := func(name, text string) fstest.MapFS {
		return fstest.MapFS{name: {Data: []byte(text)}}
	}
	documents := map[string]string{
		"docs/SPEC.md": "# SPEC: Clock\n\n## 1. Overview\n\nThe {{project.slug}}.\n\n```text\n" +
			"12:00\n```\n",
		"ARCHITECTURE.md": design,
	}
	before := map[string]string{to: "# Clock\n<!-- template_version: 2.3 -->\n"}
	for name, one := range map[string]struct {
		templates, shipped fstest.MapFS
		files              map[string]string
		input              object
		status             formats.ReturnStatus
		want               []string // of the text, else of the message
		used               string
		skipped            []any
		backup             string
	}{
		"filled": {
			templates: own("hld.en.md", hld),
			files:     documents,
			input:     input(nil),
			used:      ".tercet/templates/hld.en.md",
			skipped:   []any{"Screens"},
			want: []string{
				"# Clock: design\n<!-- template_version: 1.0 -->\n" +
					"<!-- generated_at: 2026-01-31T12:00:00Z -->\n",
				"The {{project.slug}}.\n\n```text\n12:00\n```\n", "Not available: UI_SPEC.md",
				"Go. (en, hld, clock, 1.0)",
			},
		},
		"in Japanese, without any source": {
			shipped: own("hld.ja.md", hld),
			input:   input(object{"lang": "ja"}),
			used:    "the pack flows/hld.ja.md",
			skipped: []any{"Overview", "Screens", "Technology"},
			want: []string{
				"# clock: design", "情報なし: SPEC.md", "情報なし: UI_SPEC.md", "情報なし: ARCHITECTURE.md (ja",
			},
		},
		"the template of the pack in the workspace": {
			templates: own("flows/hld.md", hld),
			shipped:   own("hld.en.md", "x"),
			input:     input(nil),
			used:      ".tercet/templates/flows/hld.md",
			skipped:   []any{"Overview", "Screens", "Technology"},
		},
		"no template": {
			input:  input(nil),
			status: formats.StatusFailed,
			want:   []string{"no template of hld in en"},
		},
		"another placeholder": {
			templates: own("hld.md", "\n{{spec.sumary}}\n"),
			input:     input(nil),
			status:    formats.StatusFailed,
			want: []string{
				".tercet/templates/hld.md:2:1: E471: unknown placeholder 'spec.sumary'",
			},
		},
		"another major version": {
			templates: own("hld.md", hld),
			files:     before,
			input:     input(nil),
			status:    formats.StatusBlocked,
			want:      []string{to + " was made of template 2.3, now it is 1.0"},
		},
		"backed up": {
			templates: own("hld.md", hld),
			files:     before,
			input:     input(object{"template": "Back up"}),
			used:      ".tercet/templates/hld.md",
			backup:    to + ".v2.3.bak",
		},
		"overwritten": {
			templates: own("hld.md", hld),
			files:     before,
			input:     input(object{"template": "Overwrite"}),
			used:      ".tercet/templates/hld.md",
		},
		"a path that is none": {
			templates: own("hld.md", hld),
			input:     input(object{"output_path": "../x"}),
			status:    formats.StatusFailed,
			want:      []string{"expected a path inside the project as output_path"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := formats.Request{
				Agent: formats.AgentDocumentWriter,
				Input: one.input,
				Dir:   t.TempDir(),
				Out:   t.TempDir(),
			}
			for file, text := range one.files {
				at := filepath.Join(r.Dir, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			w := builtin.DocumentWriter{Clock: frozen{}}
			if one.templates != nil {
				w.Templates = one.templates
			}
			if one.shipped != nil {
				w.Shipped = one.shipped
			}
			ret, err := w.Run(t.Context(), r)
			if err != nil || ret.Status != cmp.Or(one.status, formats.StatusCompleted) {
				t.Fatalf("Run = %+v, %v, want %s", ret, err, one.status)
			}
			got := ret.Text
			if one.status != "" {
				got = ret.Summary
			}
			for _, want := range one.want {
				if !strings.Contains(got, want) {
					t.Errorf("got\n%s\nwant %q in it", got, want)
				}
			}

			if one.used != "" && ret.Fields["TEMPLATE_USED"] != one.used {
				t.Errorf("used %v, want %s", ret.Fields["TEMPLATE_USED"], one.used)
			}
			skipped, _ := ret.Fields["SKIPPED_SECTIONS"].([]any)
			if one.skipped != nil && !slices.Equal(skipped, one.skipped) {
				t.Errorf("skipped %v, want %v", skipped, one.skipped)
			}
			if one.status == formats.StatusBlocked && ret.BlockedReason != "template_major_bump" {
				t.Errorf("blocked for %q", ret.BlockedReason)
			}
			if _, err := os.Stat(filepath.Join(r.Dir, one.backup)); one.backup != "" && err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEveryTemplate: the twelve templates of the pack are filled in, with every source and without
// any; then each chapter without one says so in its language.
func TestEveryTemplate(t *testing.T) {
	t.Parallel()
	shipped := os.DirFS("../../templates/packs/flows/templates")
	full := t.TempDir()
	empty := t.TempDir()
	for name, text := range map[string]string{
		"SPEC.md": "# SPEC: Clock\n\n## Overview\n\nA clock.\n\n## User Stories\n\n" +
			"UC-001.\n",
		"ARCHITECTURE.md":   design + "\n## Modules\n\nOne.\n",
		"UI_SPEC.md":        "# UI\n\n## Screens\n\nOne.\n",
		"TEST_PLAN.md":      "# Tests\n\n## Policy\n\nAll.\n",
		"SECURITY_AUDIT.md": "# Audit\n\n## Summary\n\nClean.\n",
		"OPS_PLAN.md":       "# Plan\n\n## Runbook\n\nStart it.\n",
	} {
		if err := os.WriteFile(filepath.Join(full, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	files, err := fs.Glob(shipped, "*.md")
	if err != nil || len(files) != 12 {
		t.Fatalf("Glob = %q, %v, want twelve", files, err)
	}
	for _, file := range files {
		kind, rest, _ := strings.Cut(file, ".")
		lang := strings.TrimSuffix(rest, ".md")
		absent := map[string]string{"en": "Not available: ", "ja": "情報なし: "}[lang]
		counts := map[string]int{}
		for _, dir := range []string{full, empty} {
			r := formats.Request{
				Agent: formats.AgentDocumentWriter,
				Dir:   dir,
				Out:   t.TempDir(),
				Input: object{
					"document":    "draft",
					"type":        kind,
					"lang":        lang,
					"slug":        "clock",
					"output_path": "docs/deliverables/clock/" + file,
				},
			}
			ret, err := builtin.DocumentWriter{Clock: frozen{}, Shipped: shipped}.Run(
				t.Context(), r,
			)
			if err != nil || ret.Status != formats.StatusCompleted ||
				strings.Contains(ret.Text, "{{") {
				t.Errorf("%s: Run = %+v, %v, want it filled in", file, ret, err)
			}
			counts[dir] = strings.Count(ret.Text, absent)
			skipped, _ := ret.Fields["SKIPPED_SECTIONS"].([]any)
			if (len(skipped) > 0) != (counts[dir] > 0) {
				t.Errorf("%s: skipped %v, and %d chapters say so", file, skipped, counts[dir])
			}
		}
		if counts[empty] == 0 || counts[full] >= counts[empty] {
			t.Errorf("%s: %d chapters without a source, and %d with every document, want fewer",
				file, counts[empty], counts[full])
		}
	}
}
