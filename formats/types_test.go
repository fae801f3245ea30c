package formats_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"tercet/formats"
)

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
