package interp_test

import (
	"slices"
	"testing"

	"tercet/commands/interp"
)

// TestReviews: what judges said is told by their names, also of those that worked side by side; who
// judges nothing is left out.
func TestReviews(t *testing.T) {
	t.Parallel()

	judge := func(id, status string) map[string]any {
		return map[string]any{"id": id, "status": status, "summary": "it reads well"}
	}

	group := judge("", "approved")
	group["children"] = []any{judge("first", "approved"), judge("second", "completed"), nil}

	for _, tt := range []struct {
		result any
		want   []string
	}{
		{judge("x", "rejected"), []string{"Judge it: rejected: it reads well"}},
		{group, []string{"first: approved: it reads well"}},
		{judge("x", "completed"), nil},
		{"text", nil},
		{nil, nil},
	} {
		if got := interp.ReviewsIn("Judge it", tt.result); !slices.Equal(got, tt.want) {
			t.Errorf("reviewsIn(%v) = %q, want %q", tt.result, got, tt.want)
		}
	}
}
