package builtin_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/subagents/builtin"
)

type frozen struct{}

func (frozen) Now() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

type object = map[string]any

// phase is what $steps shows of a result.
func phase(fields object) object {
	return object{"status": "completed", "summary": "done", "fields": fields}
}

const interview = "# Interview Result: Clock\n\n## Project Overview\n\nShows the time.\n\n## Functional Requirements\n\n- FR-1: show it\n\n## Open Questions\n\n- Which zone?\n"

const design = "# Architecture: Clock\n\n## Technology Stack\n\nGo.\n\n## Environment\n\nPort 8080.\n"

func maintained(more object) object {
	out := object{
		"classify": phase(object{"TRIGGER_TYPE": "feature", "PRIORITY": "P2", "BREAKING_CHANGE": false, "SPEC_IMPACT": "minor", "ESTIMATED_FILES": 12}),
		"impact":   phase(object{"TARGET_FILES": []any{"clock.go", "page.html"}, "REGRESSION_RISK": "low", "DB_SCHEMA_CHANGES": false}),
		"analysis": phase(object{"ISSUE_SUMMARY": "Show the date:\n# today's", "ARCHITECT_BRIEF": "a second line", "ISSUE_TYPE": "feature"}),
		"security": phase(object{"CRITICAL_COUNT": 1.0, "WARNING_COUNT": 0, "INFO_COUNT": 0, "CRITICAL_ITEMS": []any{"escape the date"}}),
	}
	maps.Copy(out, more)
	return out
}

// TestDocumentWriter: of what the phases returned comes a document that its profile holds valid; what no source gives is
// named, and nothing is written.
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
			input: object{"document": "discovery", "tier": "Minimal", "results": object{}, "args": object{"ui": "tui", "product_type": "tool"}},
			want:  []string{"# Discovery Result: Clock\n\n> Created: 2026-01-31\n> Discovery Plan: Minimal\n> PRODUCT_TYPE: tool\n> HAS_UI: true\n> UI_TYPE: cli-tui\n", "Shows the time.", "### Functional Requirements\n\n- FR-1: show it", "## Unresolved Items\n\n- Which zone?"},
		},
		"discovery without an interview": {
			input: object{"document": "discovery", "results": object{}, "args": object{"ui": "cli"}},
			want:  []string{"the discovery result needs INTERVIEW_RESULT.md, which interviewer writes"}, fails: true,
		},
		"discovery without requirements": {
			files: map[string]string{"INTERVIEW_RESULT.md": "# Clock\n\n## Project Overview\n\nShows the time.\n"},
			input: object{"document": "discovery", "results": object{}, "args": object{"ui": "cli"}},
			want:  []string{"a PRODUCT_TYPE", "Requirements Summary, which INTERVIEW_RESULT.md should have given"}, fails: true,
		},
		"delivery": {
			files: map[string]string{"docs/ARCHITECTURE.md": design, "SPEC.md": "# SPEC: Clock\n"},
			input: object{"document": "delivery", "tier": "Light", "product_type": "service", "results": tests, "args": object{}, "overrides": []any{object{"step": "security", "summary": "one warning"}}},
			want:  []string{"# Delivery Result: Clock\n", "> Overrides: security, one warning", "- SPEC.md: present (resolved path: SPEC.md)", "- ARCHITECTURE.md: present (resolved path: docs/ARCHITECTURE.md)", "- UI_SPEC.md: absent", "## Tech Stack\n\nGo.", "- Total: 10\n- Pass: 9\n- Fail: 0", "- CRITICAL: 0\n- WARNING: 2", "## Handoff to Operations\n\nPort 8080."},
		},
		"delivery without tests": {
			files: map[string]string{"docs/ARCHITECTURE.md": design},
			input: object{"document": "delivery", "product_type": "service", "results": object{}, "args": object{}},
			want:  []string{"TOTAL, PASSED, FAILED of tester", "CRITICAL_COUNT, WARNING_COUNT, INFO_COUNT of security-auditor"}, fails: true,
		},
		"delivery with a count that cannot be": {
			files: map[string]string{"docs/ARCHITECTURE.md": design},
			input: object{"document": "delivery", "product_type": "service", "args": object{}, "results": object{
				"test": phase(object{"TOTAL": 1, "PASSED": 9, "FAILED": 0}), "security": tests["security"],
			}},
			want: []string{"expected Pass + Fail of at most Total; got 9 + 0 > 1"}, fails: true,
		},
		"maintenance": {
			input: object{"document": "maintenance", "product_type": "service", "results": maintained(nil), "args": object{}},
			want:  []string{"> Maintenance Plan: Major\n> Trigger type: feature\n> Priority: P2\n", "Show the date:\n\\# today's", "- TARGET_FILES:\n  - clock.go\n  - page.html\n", "- CRITICAL: 1\n", "- Recommended plan: Standard\n", "- Required pre-remediation items:\n  - escape the date\n"},
		},
		"maintenance that breaks something": {
			input: object{"document": "maintenance", "product_type": "service", "args": object{}, "results": maintained(object{
				"classify": phase(object{"TRIGGER_TYPE": "bug", "BREAKING_CHANGE": true}),
			})},
			want: []string{"- Recommended plan: Full\n"},
		},
		"doc": {
			files: map[string]string{"docs/deliverables/clock/hld.en.md": "x"},
			input: object{"document": "doc", "tier": "Minimal", "args": object{"slug": "clock", "lang": "en", "skipped": []any{object{"type": "user-manual", "reason": "UI_SPEC.md is missing"}}}, "results": object{
				"write": object{"status": "completed", "fields": object{}, "children": []any{
					object{"index": 0, "steps": object{"author": phase(object{"OUTPUT_FILE": "docs/deliverables/clock/hld.en.md", "TEMPLATE_VERSION": "1.0"})}},
					object{"index": 1, "steps": object{"author": object{"status": "skipped", "fields": object{"OUTPUT_FILE": "docs/deliverables/clock/api-reference.en.md", "SKIP_REASON": "no endpoints"}}}},
				}},
			}},
			want: []string{"| hld | docs/deliverables/clock/hld.en.md | created | 1.0 |", "- api-reference: no endpoints\n- user-manual: UI_SPEC.md is missing"},
		},
		"doc without a document": {
			input: object{"document": "doc", "args": object{"slug": "clock", "lang": "en"}, "results": object{}},
			want:  []string{"at least one OUTPUT_FILE"}, fails: true,
		},
		"another document": {
			input: object{"document": "spec", "results": object{}}, want: []string{"expected one of delivery, discovery, doc, maintenance as document"}, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := formats.Request{Agent: formats.AgentDocumentWriter, Input: one.input, Dir: t.TempDir(), Out: t.TempDir()}
			for file, text := range one.files {
				at := filepath.Join(r.Dir, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			ret, err := builtin.DocumentWriter{Clock: frozen{}}.Run(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(r.Out)
			if err != nil || one.fails != (len(entries) == 0) || one.fails != (ret.Status == formats.StatusFailed) {
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
