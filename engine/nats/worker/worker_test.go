package worker //nolint:testpackage // what it tests is not exported

import (
	"slices"
	"testing"
)

// TestWithoutJoinWord: a run and its agents never get the secret of the team.
func TestWithoutJoinWord(t *testing.T) {
	t.Parallel()
	got := withoutJoinWord([]string{"A=1", "TERCET_TEAM=secret", "TERCET_TEAMS=no secret"})
	if want := []string{"A=1", "TERCET_TEAMS=no secret"}; !slices.Equal(got, want) {
		t.Errorf("withoutJoinWord = %q, want %q", got, want)
	}
}
