package returns_test

import (
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/returns"
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
			`expected the type of artifact 1 to be one of report, plan, implementation, ` +
				`summary, review, documentation, got "thing"`,
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

			if diff := cmp.Diff(tt.want, returns.Validate(r, info)); diff != "" {
				t.Errorf("Validate (-want +got):\n%s", diff)
			}
		})
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

	if diff := cmp.Diff(want, returns.Typed(in, kinds).Fields); diff != "" {
		t.Errorf("Typed (-want +got):\n%s", diff)
	}

	if in.Fields["n"] != "1,200" {
		t.Error("Typed changed the fields it was given")
	}
}

func TestParseNumbers(t *testing.T) {
	t.Parallel()

	const src = `{"status": "partial", "summary": "s", "fields": {"i": -7, "f": 1.5, ` +
		`"e": 1e3, "far": -1e999, "big": 99999999999999999999}}`

	r, err := returns.Parse([]byte(src), returns.ParseOptions{})
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

func TestParseClaims(t *testing.T) {
	t.Parallel()
	const src = `{"status": "partial", "summary": "s", "agent": "planner", "nonce": "n1"}`
	tests := []struct {
		opt  returns.ParseOptions
		want string
	}{
		{returns.ParseOptions{}, ""},
		{returns.ParseOptions{Agent: "planner", Nonce: "n1"}, ""},
		{returns.ParseOptions{Agent: "tester"}, `expected agent "tester", got "planner"`},
		{returns.ParseOptions{Nonce: "n2"}, "the nonce is not the one of this delegation"},
	}
	for _, tt := range tests {
		r, err := returns.Parse([]byte(src), tt.opt)
		if tt.want == "" {
			if err != nil || r.Fields["nonce"] != nil {
				t.Errorf("Parse(%+v) = %+v, %v, want no error and no nonce in the fields",
					tt.opt, r, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "n2") {
			t.Errorf("Parse(%+v) = %v, want %q", tt.opt, err, tt.want)
		}
	}

	_, err := returns.Parse(
		[]byte(`{"summary": "s", "status": "failed", "metadata": {}, "class": "quality"}`),
		returns.ParseOptions{Strict: true},
	)
	if err != nil {
		t.Errorf("Parse(claims, strict) = %v, want nil: a claim is never a reason to refuse",
			err)
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()

	long := `{"status": "partial", "summary": "s", "text": "` +
		strings.Repeat("ä", formats.MaxText) + `"}`

	r, err := returns.Parse([]byte(long), returns.ParseOptions{})
	if err != nil || len(r.Text) > formats.MaxText || !strings.HasSuffix(r.Text, "ä…") ||
		len(r.Warnings) != 1 {
		t.Errorf("Parse(long text) = %d bytes, %q, %v, want a cut with a warning",
			len(r.Text), r.Warnings, err)
	}

	deep := `{"status": "partial", "summary": "s", "x": ` + strings.Repeat("[", 100) +
		strings.Repeat("]", 100) + `}`
	if _, err := returns.Parse([]byte(deep), returns.ParseOptions{}); err == nil {
		t.Error("Parse(deep) = nil, want an error")
	}
}

func TestPickResult(t *testing.T) {
	t.Parallel()

	all, _ := returns.ParseAgentResult([]byte(
		"AGENT_RESULT: a\nSTATUS: success\n\nAGENT_RESULT: A\nSTATUS: error\n" +
			"AGENT_RESULT: b\nSTATUS: success\n",
	))

	own, nested, ok := returns.PickResult(all, "a")
	if !ok || own.Status != "error" || len(nested) != 2 || nested[0].Status != "success" ||
		nested[1].Agent != "b" {
		t.Errorf("PickResult(a) = %+v, %+v, %v, want the last block of a", own, nested, ok)
	}

	if _, rest, ok := returns.PickResult(all, "c"); ok || len(rest) != 3 {
		t.Errorf("PickResult(c) = %v with %d others, want none and 3", ok, len(rest))
	}
}

func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile(filepath.Join("testdata", "returns", "valid", "review.json"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := returns.Parse(src, returns.ParseOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBridge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		word    string
		status  formats.ReturnStatus
		outcome formats.Outcome
		code    formats.Code
		class   formats.Class
	}{
		{"success", "completed", "completed", "", ""},
		{"skipped", "completed", "skipped", "", ""},
		{"approved", "completed", "approved", "", ""},
		{"conditional", "completed", "conditional", "", ""},
		{"rejected", "completed", "rejected", "", ""},
		{"partial", "partial", "partial", "", ""},
		{"suspended", "partial", "suspended", "", ""},
		{"failure", "failed", "rejected", "VALIDATION_FAILED", "quality"},
		{"error", "failed", "failed", "TRANSIENT", "transient"},
		{"Blocked", "blocked", "blocked", "", ""},
	}
	for _, tt := range tests {
		r, err := returns.AgentResult{
			Agent:  "a",
			Status: tt.word,
			Next:   "b",
		}.Return()
		if err != nil || r.Status != tt.status || r.Outcome() != tt.outcome || r.Class != tt.class {
			t.Errorf("Return(%s) = %s, %s, %s, %v, want %s, %s, %s",
				tt.word, r.Status, r.Outcome(), r.Class, err, tt.status, tt.outcome, tt.class)
		}
		if tt.code != "" && (len(r.Errors) != 1 || r.Errors[0].Code != tt.code) {
			t.Errorf("Return(%s).Errors = %v, want %s", tt.word, r.Errors, tt.code)
		}
		if r.Fields["NEXT"] != "b" {
			t.Errorf("Return(%s).Fields = %v, want NEXT", tt.word, r.Fields)
		}
	}

	if _, err := (returns.AgentResult{Status: "completed"}).Return(); err == nil {
		t.Error("Return(completed) = nil, want an error: the word is not in the table")
	}
}
