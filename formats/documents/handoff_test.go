package documents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
)

func TestHandoff(t *testing.T) {
	t.Parallel()

	src := "# Discovery\n\nproduct_type: service\n- **Has UI**: yes\n- open_questions: 3\n" +
		"PLAN: \"Light\"\ntypes: [a, b]\nnone: null\nplan: Full\n\n## Why\n\nBecause: it is so.\n" +
		"see https://x.test\n\n~~~\nhidden: 1\n~~~\n"

	d, found := documents.Parse(documents.ProfileAutoApprove, "auto", []byte(src))
	if found.HasErrors() {
		t.Fatal(found)
	}

	want := map[string]any{
		"product_type":   "service",
		"has_ui":         true,
		"open_questions": 3,
		"plan":           "Light",
		"types":          []any{"a", "b"},
		"none":           nil,
		"because":        "it is so.",
	}

	if diff := cmp.Diff(want, d.Any()["fields"]); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}

	if d.Title != "Discovery" || d.Sections["Why"] != "Because: it is so.\nsee https://x.test" {
		t.Errorf("title %q, section %q", d.Title, d.Sections["Why"])
	}

	_, found = documents.Parse("delivery", "x.md", []byte("# Delivery\n\nDone.\n"))
	if !found.HasErrors() {
		t.Error("a handoff without fields is accepted")
	}

	_, found = documents.Parse(documents.ProfileAutoApprove, ".auto", nil)
	if found.HasErrors() {
		t.Error(found)
	}

	got := documents.HandoffFiles("operations")
	if !slices.Equal(got, []string{"OPS_RESULT.md", "OPERATIONS_RESULT.md"}) ||
		documents.HandoffFiles("plan") != nil {
		t.Error("names of the files of handoffs")
	}
}

func document(tb testing.TB, name string) string {
	tb.Helper()
	src, err := os.ReadFile("testdata/documents/good/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(src)
}

// placed gives the place of a piece of a text as a finding has it.
func placed(tb testing.TB, src, piece string) string {
	tb.Helper()
	at := strings.Index(src, piece)
	if at < 0 {
		tb.Fatalf("%q is not in the document", piece)
	}
	return fmt.Sprintf("%d:%d: ",
		1+strings.Count(src[:at], "\n"), at-strings.LastIndex(src[:at], "\n"))
}

// refused tells whether a document has a finding of a code at a place.
func refused(tb testing.TB, what, file, src, at, code string, opt documents.Options) {
	tb.Helper()
	profile, _, _ := strings.Cut(file, ".")
	_, found := opt.Parse(profile, file, []byte(src))
	if found == nil || !slices.ContainsFunc(found.List, func(d formats.Diagnostic) bool {
		return strings.HasPrefix(d.Error(), file+":"+at+code+": ")
	}) {
		tb.Errorf("%s: want %s:%s%s, got\n%v\n%s", what, file, at, code, found, src)
	}
}

// TestHandoffKeys takes each required key of each profile away, empties it, writes it twice and
// makes it false.
func TestHandoffKeys(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ file, piece, value, heading, bad string }{
		{"discovery.en.md", "PRODUCT_TYPE: service", "service", "# Discovery", "banana"},
		{"discovery.en.md", "HAS_UI: true", "true", "# Discovery", "maybe"},
		{"discovery.en.md", "UI_TYPE: web", "web", "# Discovery", "Web"},
		{"discovery.ja.md", "**PRODUCT_TYPE**: `tool`", "tool", "# Discovery", "道具"},
		{"discovery.ja.md", "**Has UI**： false", "false", "# Discovery", "いいえ"},
		{"discovery.ja.md", "**UI_TYPE**： none", "none", "# Discovery", "なし"},
		{"delivery.en.md", "PRODUCT_TYPE: service", "service", "# Delivery", "saas"},
		{
			"delivery.en.md", "SPEC.md: present (resolved path: docs/SPEC.md)",
			"present (resolved path: docs/SPEC.md)", "## Artifacts", "there",
		},
		{"delivery.en.md", "ARCHITECTURE.md: N/A", "N/A", "## Artifacts", "なs"},
		{"delivery.en.md", "Total: 10", "10", "## Test Results", "ten"},
		{"delivery.en.md", "Pass: 9", "9", "## Test Results", "-1"},
		{"delivery.en.md", "Fail: 0", "0", "## Test Results", "0.5"},
		{"delivery.en.md", "CRITICAL: 0", "0", "## Security", "no"},
		{"delivery.en.md", "WARNING: 2", "2", "## Security", "two"},
		{"delivery.ja.md", "PRODUCT_TYPE: cli", "cli", "# Delivery", "CLI"},
		{
			"delivery.ja.md", "SPEC.md: あり（resolved path: docs/SPEC.md）",
			"あり（resolved path: docs/SPEC.md）", "## 成果物", "ある",
		},
		{"delivery.ja.md", "ARCHITECTURE.md: 該当なし", "該当なし", "## 成果物", "無"},
		{"delivery.ja.md", "合計: 3", "3", "## テスト結果", "三"},
		{"delivery.ja.md", "成功: 3", "3", "## テスト結果", "全部"},
		{"delivery.ja.md", "失敗: 0", "0", "## テスト結果", "なし"},
		{"delivery.ja.md", "CRITICAL: 0", "0", "## セキュリティ", "なし"},
		{"delivery.ja.md", "WARNING: 0", "0", "## セキュリティ", "なし"},
		{"maintenance.en.md", "REGRESSION_RISK: low", "low", "## impact", "LOW"},
		{"maintenance.en.md", "CRITICAL: 0", "0", "## security", "x"},
		{"maintenance.en.md", "WARNING: 1", "1", "## security", "x"},
		{"maintenance.en.md", "Recommended plan: Standard", "Standard", "## Handoff", "Light"},
		{"maintenance.ja.md", "PRODUCT_TYPE: library", "library", "# Maintenance", "lib"},
		{
			"maintenance.ja.md", "TARGET_FILES: clock.go, page.html", "clock.go, page.html",
			"## impact", "none",
		},
		{"maintenance.ja.md", "REGRESSION_RISK: high", "high", "## impact", "高"},
		{"maintenance.ja.md", "Recommended plan: Full", "Full", "## Handoff", "Major"},
		{"doc.en.md", "Slug: clock", "clock", "# Doc", ""},
		{"doc.en.md", "Output Language: en", "en", "# Doc", "fr"},
		{"doc.ja.md", "SLUG: clock", "clock", "# Doc", ""},
		{"doc.ja.md", "OUTPUT_LANG: ja", "ja", "# Doc", "日本語"},
	} {
		src := document(t, one.file)
		what := one.file + " " + one.piece
		head, tail, _ := strings.Cut(src, one.piece)
		empty := strings.Replace(one.piece, one.value, "", 1)
		check := func(how, src, at, code string) {
			refused(t, what+" "+how, one.file, src, at, code, documents.Options{})
		}
		check("removed", head+tail, placed(t, src, one.heading), "E442")
		key := placed(t, src, strings.TrimLeft(one.piece, "*"))
		check("emptied", head+empty+tail, key, "E443")
		check(
			"a placeholder",
			head+strings.Replace(one.piece, one.value, "{value}", 1)+tail,
			key,
			"E443",
		)
		rest, below, _ := strings.Cut(tail, "\n")
		twice := head + one.piece + rest + "\n- " + strings.Trim(one.piece, "*") + "\n" + below
		line, _, _ := strings.Cut(key, ":")
		n, _ := strconv.Atoi(line)
		check("doubled", twice, fmt.Sprintf("%d:3: ", n+1), "E446")
		if one.bad == "" {
			continue
		}
		wrong := strings.Replace(one.piece, one.value, one.bad, 1)
		at := placed(t, head+wrong+tail, wrong)
		var col int
		if _, err := fmt.Sscanf(at, "%d:%d", &n, &col); err != nil {
			t.Fatal(err)
		}
		check(
			"false",
			head+wrong+tail,
			fmt.Sprintf(
				"%d:%d: ",
				n,
				col+strings.Index(
					strings.TrimSuffix(wrong, "`"),
					strings.TrimSuffix(one.bad, "`"),
				)-strings.Count(wrong, "`")/2,
			),
			"E462",
		)
	}
}

// TestHandoffSections takes each required section of each profile away, empties it and writes it
// twice.
func TestHandoffSections(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		file, heading string
		// the code of an empty one; none where its keys or its table are what is missing
		empty string
	}{
		{"discovery.en.md", "## 1. Project Overview", "E445"},
		{"discovery.en.md", "## Requirements Summary (MVP)", "E445"},
		{"discovery.ja.md", "## プロジェクト概要", "E445"},
		{"discovery.ja.md", "## 要件サマリー（MVP）", "E445"},
		{"delivery.en.md", "## Artifacts", "E445"},
		{"delivery.en.md", "## Tech Stack", "E445"},
		{"delivery.en.md", "## Test Results", "E442"},
		{"delivery.en.md", "## Security Audit Results", "E442"},
		{"delivery.ja.md", "## 成果物", "E442"},
		{"delivery.ja.md", "## 技術スタック", "E445"},
		{"delivery.ja.md", "## テスト結果", "E445"},
		{"delivery.ja.md", "## セキュリティ監査結果", "E445"},
		{"operations.en.md", "## Artifacts", "E445"},
		{"operations.en.md", "## Deployment Readiness", "E445"},
		{"operations.ja.md", "## 成果物一覧", "E445"},
		{"operations.ja.md", "## デプロイ準備状態", "E445"},
		{"maintenance.en.md", "## Change Overview", "E445"},
		{"maintenance.en.md", "## impact-analyzer Findings", "E442"},
		{"maintenance.en.md", "## security-auditor Pre-audit Results", "E442"},
		{"maintenance.en.md", "## Handoff to delivery-flow", "E442"},
		{"doc.en.md", "## Generated Deliverables", "E445"},
		{"doc.en.md", "## Skipped Types", ""},
		{"doc.en.md", "## Suggested Next Steps", "E445"},
	} {
		src := document(t, one.file)
		head, tail, ok := strings.Cut(src, one.heading+"\n")
		if !ok {
			t.Fatalf("%s has no %s", one.file, one.heading)
		}
		_, below, more := strings.Cut(tail, "\n## ")
		if more {
			below = "## " + below
		}
		check := func(how, src, at, code string) {
			refused(
				t,
				one.file+" "+one.heading+" "+how,
				one.file,
				src,
				at,
				code,
				documents.Options{},
			)
		}
		check("removed", head+below, "1:1: ", "E444")
		at := placed(t, src, one.heading)
		if one.empty != "" {
			check("emptied", head+one.heading+"\n\n"+below, at, one.empty)
			check(
				"with a comment alone",
				head+one.heading+"\n\n<!-- later\nTBD -->\n\n"+below,
				at,
				one.empty,
			)
		}
		twice := src + "\n" + one.heading + "\n\nAgain.\n"
		check("doubled", twice, fmt.Sprintf("%d:1: ", strings.Count(src, "\n")+2), "E446")
	}
}

// TestHandoffRules holds the rules that are about more than one key.
func TestHandoffRules(t *testing.T) {
	t.Parallel()

	only := documents.Options{Exists: func(name string) bool {
		return name == "docs/SPEC.md"
	}}

	for what, one := range map[string]struct {
		file, old, new string
		at, code       string // empty: the document is valid
		opt            documents.Options
	}{
		"no title": {
			"discovery.en.md", "# Discovery Result: Clock", "", "1:1: ", "W441", only,
		},
		"the title of another": {
			"delivery.en.md", "# Delivery Result", "# Operations Result", "1:1: ", "E464", only,
		},
		"a date that is none": {
			"delivery.en.md", "2026-02-01", "2026-02-30", "3:12: ", "E462", only,
		},
		"a tier of another flow": {
			"operations.en.md", "Operations Plan: Full", "Operations Plan: Minimal", "3:42: ",
			"E462", only,
		},
		"a tier of none": {
			"discovery.en.md", "Discovery Plan: ", "Discovery Plan: Huge", "3:41: ", "E462", only,
		},
		"a tier of no doc flow": {
			"doc.en.md", "Doc Flow Plan: ", "Doc Flow Plan: Huge", "3:40: ", "E462", only,
		},
		"a change that is not major": {
			"maintenance.en.md", "Plan: Major", "Plan: Minor", "3:43: ", "E462", only,
		},
		"a trigger of its own": {
			"maintenance.en.md", "type: feature", "type: chore", "4:17: ", "E462", only,
		},
		"a priority of its own": {
			"maintenance.en.md", "Priority: P2", "Priority: P5", "4:37: ", "E462", only,
		},
		"a screen without an interface": {
			"discovery.ja.md", "**UI_TYPE**： none", "**UI_TYPE**： web", "8:18: ", "E463", only,
		},
		"an interface without a screen": {
			"discovery.en.md", "UI_TYPE: web", "UI_TYPE: none", "5:27: ", "E463", only,
		},
		"yes instead of true": {
			"discovery.en.md", "HAS_UI: true", "HAS_UI: yes", "5:11: ", "W462", only,
		},
		"more tests than there are": {
			"delivery.en.md", "Fail: 0", "Fail: 2", "18:1: ", "E463", only,
		},
		"tests outside of their section": {
			"delivery.en.md", "## Test Results\n\n- Total: 10", "Total: 1", "1:1: ", "E463", only,
		},
		"a file that is there": {"delivery.en.md", "", "", "", "", only},
		"a file that is not there": {
			"delivery.en.md", "docs/SPEC.md", "docs/SPEK.md", "9:36: ", "E462", only,
		},
		"a deliverable that is not": {"doc.en.md", "", "", "10:9: ", "E462", only},
		"another status": {
			"operations.ja.md", "| あり |", "| 完成 |", "10:31: ", "E462", only,
		},
		"an older name":  {"operations.en.md", "", "", "1:1: ", "W465", only},
		"another schema": {"planning.a.md", "", "", "", "", only},
		"seed, discovery": {
			"discovery.en.md",
			"> HAS_UI: true > UI_TYPE: web\n",
			"",
			"",
			"",
			documents.Options{Variant: documents.VariantSeed},
		},
		"seed, maintenance": {
			"maintenance.en.md",
			"## impact-analyzer Findings\n",
			"## Impact summary\n\nSmall.\n\n## Breaking changes\n\nnone\n\n## Regression risk\n\n" +
				"low\n\n## Files\n",
			"",
			"",
			documents.Options{Variant: documents.VariantSeed},
		},
		"seed without an impact": {
			"maintenance.en.md",
			"## impact-analyzer Findings\n",
			"## Breaking changes\n\nnone\n\n## Regression risk\n\nlow\n\n## Files\n",
			"1:1: ",
			"E442",
			documents.Options{Variant: documents.VariantSeed},
		},
		"seed without breaking changes": {
			"maintenance.en.md",
			"## impact-analyzer Findings\n",
			"## Impact summary\n\nSmall.\n\n## Regression risk\n\nlow\n\n## Files\n",
			"1:1: ",
			"E442",
			documents.Options{Variant: documents.VariantSeed},
		},
		"seed without a risk": {
			"maintenance.en.md",
			"## impact-analyzer Findings\n\n- TARGET_FILES:\n  - clock.go\n  - `page.html`\n" +
				"- BREAKING_API_CHANGES: none\n- DB_SCHEMA_CHANGES: false\n" +
				"- RECOMMENDED_TEST_SCOPE: unit\n- REGRESSION_RISK: low\n",
			"## Impact summary\n\nSmall.\n\n## Breaking changes\n\nnone\n\n## Files\n",
			"1:1: ",
			"E442",
			documents.Options{Variant: documents.VariantSeed},
		},
		"seed is not current": {
			"maintenance.en.md", "## impact-analyzer Findings\n",
			"## Impact summary\n\nSmall.\n\n## Files\n", "1:1: ", "E444", only,
		},
		"current is not seed": {
			"maintenance.en.md",
			"",
			"",
			"1:1: ",
			"E442",
			documents.Options{Variant: documents.VariantSeed},
		},
		"no mode of approval": {
			"planning.a.md", "auto_approve: false\n", "approval_mode: never\nauto_approve: false\n",
			"23:1: ", "E462", only,
		},
		"a payload in capitals": {
			"planning.a.md", "planning_doc_path", "PLANNING", "6:1: ", "E442", only,
		},
	} {
		src := strings.Replace(document(t, one.file), one.old, one.new, 1)
		file := one.file
		if what == "an older name" {
			file = "OPERATIONS_RESULT.md"
		}

		profile, _, _ := strings.Cut(one.file, ".")
		_, found := one.opt.Parse(profile, file, []byte(src))

		var got []string
		if found != nil {
			for _, d := range found.List {
				got = append(got, strings.TrimPrefix(d.Error(), file+":"))
			}
		}

		switch {
		case one.code == "" && len(got) > 0:
			t.Errorf("%s: got %q, want a valid document", what, got)
		case one.code != "" &&
			!slices.ContainsFunc(got, func(s string) bool {
				return strings.HasPrefix(s, one.at+one.code+": ")
			}):
			t.Errorf("%s: got %q, want %s%s", what, got, one.at, one.code)
		}
	}
}

// TestHandoffTiers holds which tiers each document may name: no more and no less.
func TestHandoffTiers(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ file, key, tiers string }{
		{"discovery.en.md", "Discovery Plan: ", "Minimal Light Standard Full"},
		{"delivery.en.md", "Delivery Plan: ", "Minimal Light Standard Full"},
		{"operations.en.md", "Operations Plan: ", "Light Standard Full"},
		{"maintenance.en.md", "Maintenance Plan: ", "Major"},
		{"maintenance.en.md", "Recommended plan: ", "Standard Full"},
		{"doc.en.md", "Doc Flow Plan: ", "Minimal Light Standard Full"},
	} {
		profile, _, _ := strings.Cut(one.file, ".")
		head, tail, ok := strings.Cut(document(t, one.file), one.key)
		_, tail, more := strings.Cut(tail, "\n")
		if !ok || !more {
			t.Fatalf("%s has no line %s", one.file, one.key)
		}
		for _, tier := range []string{
			"Minimal", "Light", "Standard", "Full", "Patch", "Minor", "Major", "Nano", "full",
		} {
			v, found := documents.Options{}.Parse(
				profile,
				one.file,
				[]byte(head+one.key+tier+"\n"+tail),
			)
			refused := found != nil &&
				slices.ContainsFunc(found.List, func(d formats.Diagnostic) bool {
					return d.Code == "E462" && strings.Contains(d.Message, "'"+tier+"'")
				})
			if want := !slices.Contains(strings.Fields(one.tiers), tier); refused != want {
				t.Errorf("%s%s: refused %v, want %v\n%v %v", one.key, tier, refused, want, v, found)
			}
		}
	}
}

// TestPayload: a payload in a result is held to the same keys, as text and as a map.
func TestPayload(t *testing.T) {
	t.Parallel()
	d, _ := documents.Parse(documents.ProfilePlanning, "p.md", []byte(document(t, "planning.a.md")))
	text := d.Values["payload_text"].(string)
	if got := documents.PayloadFaults(text); got != nil {
		t.Errorf("PayloadFaults(text) = %q, want none", got)
	}
	if got := documents.PayloadFaults(d.Values["payload"]); got != nil {
		t.Errorf("PayloadFaults(map) = %q, want none", got)
	}
	keys := "planning_doc_path slug branch_name issue_url issue_number issue_title issue_type " +
		"intake_summary proposals_source repo_state " +
		"artifact_paths auto_approve output_language" // approval_mode may be missing
	for key := range strings.FieldsSeq(keys) {
		got := documents.PayloadFaults(strings.Replace(
			"\n"+text,
			"\n"+key+":",
			"\nother_"+key+":",
			1,
		))
		if len(got) != 1 || !strings.Contains(got[0], "expected a line '"+key+": ...', got none") {
			t.Errorf("without %s: PayloadFaults = %q", key, got)
		}
	}

	for name, one := range map[string]struct{ text, want string }{
		"another schema": {strings.ToUpper(text), "another schema"},
		"a key is missing": {
			strings.Replace(text, "slug:", "slag:", 1),
			"expected a line 'slug: ...', got none",
		},
		"a number": {
			strings.Replace(text, "issue_number: 12", "issue_number: #12", 1),
			"expected a whole number for issue_number; got '#12'",
		},
	} {
		ret := formats.Return{
			Status:  formats.StatusCompleted,
			Summary: "x",
			Fields:  map[string]any{documents.FieldPayload: one.text},
		}
		got := returns.Validate(ret, formats.AgentInfo{
			NoArtifacts: true,
			Fields: map[string]formats.Field{
				documents.FieldPayload: {Type: formats.TypeString},
			},
		})
		if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), one.want) {
			t.Errorf("%s: Validate = %q, want %q", name, got, one.want)
		}
	}
}

// FuzzHandoff: whatever stands in a document, each finding has a place in it, and what was read is
// a JSON value that is read again in the same way.
func FuzzHandoff(f *testing.F) {
	for _, dir := range []string{"good", "bad"} {
		files, _ := filepath.Glob("testdata/documents/" + dir + "/*.[mtf]*")
		for _, file := range files {
			if src, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".golden") {
				f.Add(src)
			}
		}
	}

	f.Fuzz(func(t *testing.T, src []byte) {
		lines := 1 + strings.Count(string(src), "\n")
		for _, profile := range documents.Profiles() {
			if !documents.IsHandoff(profile) && profile != "payload" {
				continue
			}
			d, found := documents.Parse(profile, "f.md", src)
			if found != nil {
				for _, one := range found.List {
					if one.Pos.Line < 1 || one.Pos.Line > lines || one.Pos.Col < 1 {
						t.Fatalf("%s: %v, want a place in %q", profile, one, src)
					}
				}
			}
			again, _ := documents.Parse(profile, "f.md", src)
			if diff := cmp.Diff(d.Any(), again.Any()); d.Any()["fields"] == nil || diff != "" {
				t.Fatalf("%s: %q read twice: %s", profile, src, diff)
			}
		}
	})
}

// TestWithIssue: an issue goes into the line that names it and into the payload, and nowhere else;
// it is read again as it was written.
func TestWithIssue(t *testing.T) {
	t.Parallel()

	const url = "https://example.org/o/r/issues/31"
	payload := "<!-- analyst-handoff\n  issue_url: none\nissue_number: none\nissue_title: a: b\n" +
		"-->\n"

	for what, c := range map[string]struct{ src, want string }{
		"both": {
			"# A\n\n> GitHub Issue: none\n\n" + payload + "\nissue_number: 7\n",
			"# A\n\n> GitHub Issue: [#31](" + url + ")\n\n<!-- analyst-handoff\n  issue_url: " +
				url + "\nissue_number: 31\nissue_title: a: b\n-->\n\nissue_number: 7\n",
		},
		"bold": {
			"# A\n\n> **GitHub Issue**：なし\n",
			"# A\n\n> GitHub Issue: [#31](" + url + ")\n",
		},
		"no line":  {"# A\n\nText.\n", "# A\n\n> GitHub Issue: [#31](" + url + ")\n\nText.\n"},
		"no title": {"Text.\n", "\n> GitHub Issue: [#31](" + url + ")\nText.\n"},
		"two lines": {
			"# A\n\n> GitHub Issue: none\n\n> GitHub Issue: none\n",
			"# A\n\n> GitHub Issue: [#31](" + url + ")\n\n> GitHub Issue: none\n",
		},
	} {
		got := documents.WithIssue(c.src, 31, url)
		d, _ := documents.Parse(documents.ProfilePlanning, "x.md", []byte(got))

		if got != c.want || d.Values["issue_number"] != 31 && d.Values["payload"] == nil {
			t.Errorf("%s: WithIssue = %q, want %q; read %v", what, got, c.want, d.Values)
		}
	}
}
