package formats_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
)

func done() formats.Return {
	return formats.Return{
		Status:    formats.StatusCompleted,
		Summary:   "s",
		Artifacts: []formats.Artifact{{Type: formats.ArtifactReview, Path: "r.md"}},
		Fields:    map[string]any{"n": 2, "items": []any{"a"}},
	}
}

func TestValidateContract(t *testing.T) {
	t.Parallel()
	fields := map[string]formats.Field{
		"n":     {Type: formats.TypeInteger},
		"items": {Type: formats.TypeList},
		"more":  {Type: formats.TypeString, Optional: true},
	}
	tests := []struct {
		name   string
		change func(r *formats.Return, info *formats.AgentInfo)
		want   []string
	}{
		{"nothing promised", func(*formats.Return, *formats.AgentInfo) {}, nil},
		{"fields", func(_ *formats.Return, i *formats.AgentInfo) {
			i.Fields = fields
		}, nil},
		{"field missing and wrong", func(r *formats.Return, i *formats.AgentInfo) {
			i.Fields = fields
			r.Fields = map[string]any{"n": "2", "items": nil, "more": 1}
		}, []string{
			"expected field items (list) as the contract says, got none",
			"expected field more to be of type string, got number",
			"expected field n to be of type integer, got string",
		}},
		{"fields of a blocked return", func(r *formats.Return, i *formats.AgentInfo) {
			i.Fields = fields
			r.Fields = nil
			r.Status = formats.StatusBlocked
			r.BlockedReason = "why"
		}, nil},
		{
			"reviewer without verdict",
			func(_ *formats.Return, i *formats.AgentInfo) {
				i.Role = formats.RoleReviewer
			},
			[]string{"expected a verdict of a reviewer, got none"},
		},
		{"reviewer who could not", func(r *formats.Return, i *formats.AgentInfo) {
			i.Role = formats.RoleReviewer
			r.Status = formats.StatusPartial
		}, nil},
		{"outcome not promised", func(r *formats.Return, i *formats.AgentInfo) {
			i.Statuses = []formats.Outcome{formats.OutcomeApproved, formats.OutcomeRejected}
		}, []string{"expected outcome approved, rejected as the contract says, got completed"}},
		{"outcome derived later", func(r *formats.Return, i *formats.AgentInfo) {
			i.Statuses = []formats.Outcome{formats.OutcomeApproved}
			i.StatusQuery = ".x"
		}, nil},
		{"failure is always honest", func(r *formats.Return, i *formats.AgentInfo) {
			i.Statuses = []formats.Outcome{formats.OutcomeApproved}
			i.Fields = fields
			*r = formats.Failed(errors.New("broke"))
		}, nil},
		{
			"no artifact",
			func(r *formats.Return, _ *formats.AgentInfo) { r.Artifacts = nil },
			[]string{"expected at least one artifact with status completed, got none"},
		},
		{"no artifact, none promised", func(r *formats.Return, i *formats.AgentInfo) {
			r.Artifacts = nil
			i.NoArtifacts = true
		}, nil},
		{"no artifact, skipped", func(r *formats.Return, _ *formats.AgentInfo) {
			r.Artifacts = nil
			r.Said = formats.OutcomeSkipped
		}, nil},
		{"artifact promised", func(_ *formats.Return, i *formats.AgentInfo) {
			i.Artifacts = []formats.ArtifactSpec{
				{Type: formats.ArtifactReview},
				{Type: formats.ArtifactPlan},
				{Type: formats.ArtifactPlan},
			}
		}, []string{"expected an artifact of type plan as the contract says, got none"}},
		{"words", func(r *formats.Return, _ *formats.AgentInfo) {
			r.Verdict = "fine"
			r.Issues = []formats.Issue{{Level: "bad"}}
			r.Artifacts[0].Type = "thing"
			r.Summary = strings.Repeat("x", formats.MaxSummary+1)
			r.Text = strings.Repeat("x", formats.MaxText+1)
		}, []string{
			`expected verdict approved, conditional, rejected, got "fine"`,
			"expected a summary of at most 500 characters, got 501",
			"expected a text of at most 262144 bytes, got 262145",
			`expected the type of artifact 1 to be one of report, plan, implementation, summary, review, documentation, got "thing"`,
			`expected level error, warning or suggestion in issue 1, got "bad"`,
			"expected a description in issue 1, got none",
		}},
		{"errors", func(r *formats.Return, _ *formats.AgentInfo) {
			r.Status = formats.StatusFailed
			r.Errors = []formats.ReturnError{{Code: "X", Type: "y"}}
		}, []string{
			"expected a message in error 1, got none",
			`expected a code of the table in error 1, got "X"`,
			`expected a type of the table in error 1, got "y"`,
		}},
		{
			"status of the engine",
			func(r *formats.Return, _ *formats.AgentInfo) {
				r.Status = formats.StatusSuspended
			},
			[]string{`expected status completed, partial, failed, blocked, got "suspended"`},
		},
		{
			"status",
			func(r *formats.Return, _ *formats.AgentInfo) { r.Status = "done" },
			[]string{`expected status completed, partial, failed, blocked, got "done"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := done()
			info := formats.AgentInfo{}
			tt.change(&r, &info)
			if diff := cmp.Diff(tt.want, formats.Validate(r, info)); diff != "" {
				t.Errorf("Validate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypeHolds(t *testing.T) {
	t.Parallel()
	big1 := new(big.Int).Lsh(big.NewInt(1), 80)
	tests := []struct {
		kind    formats.InputType
		yes, no []any
	}{
		{formats.TypeString, []any{"", "a"}, []any{1, nil}},
		{
			formats.TypeInteger,
			[]any{1, int64(2), 3.0, big1, json.Number("4")},
			[]any{1.5, "1", math.NaN(), json.Number("1.0")},
		},
		{formats.TypeNumber, []any{1, 1.5, json.Number("1e3")}, []any{"1", true}},
		{formats.TypeBoolean, []any{true}, []any{"true"}},
		{formats.TypeArray, []any{[]any{1, "a"}, []string{}}, []any{"a", nil}},
		{formats.TypeList, []any{[]any{"a"}, []any{}, []string{"b"}}, []any{[]any{"a", 1}}},
		{formats.TypeObject, []any{map[string]any{}}, []any{[]any{}}},
		{formats.TypeAny, []any{nil, 1, "a"}, nil},
		{"odd", nil, []any{1}},
	}
	for _, tt := range tests {
		for _, v := range tt.yes {
			if !tt.kind.Holds(v) {
				t.Errorf("%s.Holds(%#v) = false, want true", tt.kind, v)
			}
		}
		for _, v := range tt.no {
			if tt.kind.Holds(v) {
				t.Errorf("%s.Holds(%#v) = true, want false", tt.kind, v)
			}
		}
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	in := formats.Return{Fields: map[string]any{
		"n":    "1,200",
		"p":    "12.5",
		"b":    "Yes",
		"l":    "[a, 'b']",
		"none": "none",
		"one":  "a: b",
		"bad":  "x",
		"free": "7",
	}}
	kinds := map[string]formats.Field{
		"n":    {Type: formats.TypeInteger},
		"p":    {Type: formats.TypeNumber},
		"b":    {Type: formats.TypeBoolean},
		"l":    {Type: formats.TypeList},
		"none": {Type: formats.TypeArray},
		"one":  {Type: formats.TypeList},
		"bad":  {Type: formats.TypeInteger},
	}
	want := map[string]any{
		"n":    1200,
		"p":    12.5,
		"b":    true,
		"l":    []any{"a", "b"},
		"none": []any{},
		"one":  []any{"a: b"},
		"bad":  "x",
		"free": "7",
	}
	if diff := cmp.Diff(want, formats.Typed(in, kinds).Fields); diff != "" {
		t.Errorf("Typed (-want +got):\n%s", diff)
	}
	if in.Fields["n"] != "1,200" {
		t.Error("Typed changed the fields it was given")
	}
}

func TestParseReturnNumbers(t *testing.T) {
	t.Parallel()
	const src = `{"status": "partial", "summary": "s", "fields": {"i": -7, "f": 1.5, "e": 1e3, "far": -1e999, "big": 99999999999999999999}}`
	r, err := formats.ParseReturn([]byte(src), formats.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := new(big.Int).SetString("99999999999999999999", 10)
	want := map[string]any{"i": -7, "f": 1.5, "e": 1000.0, "far": -math.MaxFloat64, "big": whole}
	diff := cmp.Diff(
		want,
		r.Fields,
		cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
	)
	if diff != "" {
		t.Errorf("Fields (-want +got):\n%s", diff)
	}
}

func TestParseReturnClaims(t *testing.T) {
	t.Parallel()
	const src = `{"status": "partial", "summary": "s", "agent": "planner", "nonce": "n1"}`
	tests := []struct {
		opt  formats.ParseOptions
		want string
	}{
		{formats.ParseOptions{}, ""},
		{formats.ParseOptions{Agent: "planner", Nonce: "n1"}, ""},
		{formats.ParseOptions{Agent: "tester"}, `expected agent "tester", got "planner"`},
		{formats.ParseOptions{Nonce: "n2"}, "the nonce is not the one of this delegation"},
	}
	for _, tt := range tests {
		r, err := formats.ParseReturn([]byte(src), tt.opt)
		if tt.want == "" {
			if err != nil || r.Fields["nonce"] != nil {
				t.Errorf("ParseReturn(%+v) = %+v, %v, want no error and no nonce in the fields",
					tt.opt, r, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "n2") {
			t.Errorf("ParseReturn(%+v) = %v, want %q", tt.opt, err, tt.want)
		}
	}

	_, err := formats.ParseReturn(
		[]byte(`{"summary": "s", "status": "failed", "metadata": {}, "class": "quality"}`),
		formats.ParseOptions{Strict: true},
	)
	if err != nil {
		t.Errorf("ParseReturn(claims, strict) = %v, want nil: a claim is never a reason to refuse",
			err)
	}
}

func TestParseReturnBounds(t *testing.T) {
	t.Parallel()
	long := `{"status": "partial", "summary": "s", "text": "` +
		strings.Repeat("ä", formats.MaxText) + `"}`
	r, err := formats.ParseReturn([]byte(long), formats.ParseOptions{})
	if err != nil || len(r.Text) > formats.MaxText || !strings.HasSuffix(r.Text, "ä…") ||
		len(r.Warnings) != 1 {
		t.Errorf("ParseReturn(long text) = %d bytes, %q, %v, want a cut with a warning",
			len(r.Text), r.Warnings, err)
	}
	deep := `{"status": "partial", "summary": "s", "x": ` + strings.Repeat("[", 100) +
		strings.Repeat("]", 100) + `}`
	if _, err := formats.ParseReturn([]byte(deep), formats.ParseOptions{}); err == nil {
		t.Error("ParseReturn(deep) = nil, want an error")
	}
}

func TestGuessArtifactType(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]formats.ArtifactType{
		".tercet/specs/196_x/reports/research-001.md":     formats.ArtifactReport,
		".tercet/specs/196_x/plans/implementation-001.md": formats.ArtifactPlan,
		"summaries/implementation-summary-20260105.md":    formats.ArtifactSummary,
		"implementation-summary-20260105-2.md":            formats.ArtifactSummary,
		"implementation-002.md":                           formats.ArtifactPlan,
		"implementation-notes.md":                         formats.ArtifactDocumentation,
		"SECURITY_AUDIT.md":                               formats.ArtifactReview,
		"review.go":                                       formats.ArtifactImplementation,
		"plans/x.go":                                      formats.ArtifactImplementation,
		"docs/SPEC.md":                                    formats.ArtifactDocumentation,
		`reports\a.md`:                                    formats.ArtifactReport,
		"":                                                formats.ArtifactImplementation,
	} {
		if got := formats.GuessArtifactType(path); got != want {
			t.Errorf("GuessArtifactType(%q) = %s, want %s", path, got, want)
		}
	}
}

func TestSplitPair(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"SPEC: docs/SPEC.md":        {"SPEC", "docs/SPEC.md"},
		"SPEC.md (last_updated: d)": {},
		"a (b: c): d: e":            {"a (b: c)", "d: e"},
		"a:b":                       {},
		"a:":                        {"a", ""},
		": b":                       {},
		"":                          {},
		"x) y: z":                   {},
	} {
		key, value, ok := formats.SplitPair(in)
		if key != want[0] || value != want[1] || ok != (want[0] != "") {
			t.Errorf("SplitPair(%q) = %q, %q, %v, want %q", in, key, value, ok, want)
		}
	}
}

func TestPickResult(t *testing.T) {
	t.Parallel()
	all, _ := formats.ParseAgentResult(
		[]byte(
			"AGENT_RESULT: a\nSTATUS: success\n\nAGENT_RESULT: A\nSTATUS: error\n" +
				"AGENT_RESULT: b\nSTATUS: success\n",
		),
	)
	own, nested, ok := formats.PickResult(all, "a")
	if !ok || own.Status != "error" || len(nested) != 2 || nested[0].Status != "success" ||
		nested[1].Agent != "b" {
		t.Errorf("PickResult(a) = %+v, %+v, %v, want the last block of a", own, nested, ok)
	}
	if _, rest, ok := formats.PickResult(all, "c"); ok || len(rest) != 3 {
		t.Errorf("PickResult(c) = %v with %d others, want none and 3", ok, len(rest))
	}
}

func TestRenderedDocumentsPass(t *testing.T) {
	t.Parallel()
	const body = "# Top\n\nSetext\n===\n\n~~~\nopen\n<!--"
	rendered := map[string][]byte{
		formats.ProfileReport: formats.Draft{
			Profile: formats.ProfileReport,
			Title:   "x\ny",
			Texts: map[string]string{
				"Findings": body, "Executive Summary": "## Findings\n\ntext", "Effort": "<effort>",
				"Task": "1", "Started": "today", "Completed": "today", "Priority": "low",
				"Dependencies": "3", "Sources/Inputs": "a.go", "Artifacts": "b.md",
				"Standards": "c", "Context & Scope": "d", "Decisions": "e",
				"Recommendations": "f", "Appendix": "g",
			},
		}.Render(),
		formats.ProfileSummary: formats.Draft{
			Profile: formats.ProfileSummary,
			Texts: map[string]string{
				"What Changed": body, "Impacts": "TODO", "Overview": "a", "Decisions": "b",
				"Follow-ups": "c", "References": "d",
			},
		}.Render(),
		formats.ProfileReview: formats.Draft{
			Profile: formats.ProfileReview,
			Texts: map[string]string{
				"Findings": "- a.go:1: x\n", "Verdict": "<!-- nothing -->", "Scope": "a",
				"Checks": "b",
			},
		}.Render(),
	}
	for profile, src := range rendered {
		d, found := formats.ParseDocument(profile, profile+".md", src)
		if found != nil {
			t.Errorf("%s found %v in\n%s", profile, found, src)
		}
		if d.Title == "" {
			t.Errorf("%s has no title:\n%s", profile, src)
		}
	}

	report, _ := formats.ParseDocument(formats.ProfileReport, "", rendered[formats.ProfileReport])
	got := report.Sections["Executive Summary"]
	want := "#### Findings\n\ntext"
	if got != want {
		t.Errorf("Executive Summary = %q, want %q", got, want)
	}
	if got := report.Sections["Findings"]; !strings.Contains(got, body) {
		t.Errorf("Findings = %q, want the text in a fence", got)
	}
	_, found := formats.ParseDocument("plam", "x.md", nil)
	if !found.HasErrors() || !strings.Contains(found.List[0].Help, "plan") {
		t.Errorf("ParseDocument(plam) = %v, want an error that names plan", found)
	}
	for _, name := range formats.Profiles() {
		if name == formats.ProfileAutoApprove {
			continue // that it is there is all that it has to say
		}
		if _, found := formats.ParseDocument(name, "empty", nil); !found.HasErrors() {
			t.Errorf("ParseDocument(%s, empty) = nil, want an error", name)
		}
	}
}

func BenchmarkParseReturn(b *testing.B) {
	src, err := os.ReadFile(filepath.Join("testdata", "returns", "valid", "review.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := formats.ParseReturn(src, formats.ParseOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePlan(b *testing.B) {
	src := draft().Render()
	b.ReportAllocs()
	for b.Loop() {
		if _, found := formats.ParsePlan("plan.md", src); found != nil {
			b.Fatal(found)
		}
	}
}
