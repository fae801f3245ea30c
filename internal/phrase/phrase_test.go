package phrase_test

import (
	"regexp"
	"slices"
	"testing"

	"tercet/internal/phrase"
)

// TestBothLanguagesHaveEveryText: no text lacks its Japanese, is the same in both languages, or
// loses a place that is filled in.
func TestBothLanguagesHaveEveryText(t *testing.T) {
	t.Parallel()
	place := regexp.MustCompile(`\{\w+\}`)
	for en, ja := range phrase.All() {
		if ja == "" || ja == en || en == "" {
			t.Errorf("%q is %q in Japanese", en, ja)
		}
		want := place.FindAllString(en, -1)
		got := place.FindAllString(ja, -1)
		if !slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))) {
			t.Errorf("%q has the places %q, and %q in Japanese", en, want, got)
		}
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language, text string
		with           []string
		want           string
	}{
		{"", "Abort", nil, "Abort"},
		{phrase.English, "Abort", nil, "Abort"},
		{phrase.Japanese, "Abort", nil, "中断"},
		{phrase.Japanese, "Ship it", nil, "Ship it"},
		{
			phrase.English,
			"Phase {N}/{M}: launching {agent}",
			[]string{"{N}", "1", "{M}", "3", "{agent}", "{N}"},
			"Phase 1/3: launching {N}",
		},
		{
			phrase.Japanese,
			"Phase {N}/{M}: launching {agent}",
			[]string{"{N}", "1", "{M}", "3", "{agent}", "tester"},
			"Phase 1/3: tester を起動します",
		},
	} {
		if got := phrase.In(tt.language, tt.text, tt.with...); got != tt.want {
			t.Errorf("In(%q, %q, %q) = %q, want %q", tt.language, tt.text, tt.with, got, tt.want)
		}
	}
}
