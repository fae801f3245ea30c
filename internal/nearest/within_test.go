package nearest_test

import (
	"testing"

	"tercet/internal/nearest"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		word, text string
		rank       int
		ok         bool
	}{
		{"plan", "Plan", 0, true},
		{"pl", "plan", 1, true},
		{"la", "plan", 2, true},
		{"pn", "plan", 3, true},
		{"pn", "open plan", 4, true},
		{"np", "plan", 0, false},
		{"", "plan", 1, true},
		{"", "", 0, true},
		{"x", "", 0, false},
		{"題", "日本語の題名", 2, true},
		{"日名", "日本語の題名", 3, true},
		{"\xff", "a\xff", 2, true},
		{"\xff\xfe", "a", 0, false},
	} {
		if rank, ok := nearest.Within(tt.word, tt.text); rank != tt.rank || ok != tt.ok {
			t.Errorf("Within(%q, %q) = %d, %t, want %d, %t",
				tt.word, tt.text, rank, ok, tt.rank, tt.ok)
		}
	}
}

func FuzzWithin(f *testing.F) {
	f.Add("pn", "plan")
	f.Add("\xff", "日本\xff")
	f.Fuzz(func(t *testing.T, word, text string) {
		if rank, ok := nearest.Within(word, text); rank < 0 || rank > 4 || !ok && rank != 0 {
			t.Errorf("Within(%q, %q) = %d, %t", word, text, rank, ok)
		}
		if _, ok := nearest.Within(word, word+" "+text); !ok {
			t.Errorf("%q is not within %q", word, word+" "+text)
		}
	})
}
