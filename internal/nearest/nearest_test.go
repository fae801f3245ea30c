package nearest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/nearest"
)

func TestNames(t *testing.T) {
	t.Parallel()
	commands := []string{
		"plan", "clean", "implement", "research", "review", "revise", "task", "todo",
	}
	for word, want := range map[string][]string{
		"plna":      {"plan"},
		"pan":       {"plan"},
		"reviwe":    {"revise", "review"},
		"tsak":      {"task"},
		"xyz":       nil,
		"":          nil,
		"implemnet": {"implement"},
	} {
		if diff := cmp.Diff(want, nearest.Names(word, commands)); diff != "" {
			t.Errorf("Names(%q) (-want +got):\n%s", word, diff)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	got := nearest.Help("plna", []string{"plan"})
	want := "did you mean 'plan'?"
	if got != want {
		t.Errorf("Help(plna) = %q, want %q", got, want)
	}
	if got := nearest.Help("zzzz", []string{"plan"}); got != "" {
		t.Errorf("Help(zzzz) = %q, want nothing", got)
	}
}
