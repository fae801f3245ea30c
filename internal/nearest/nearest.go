// Package nearest finds known names that resemble a misspelt one. It promises a deterministic
// order, and allocates in proportion to the candidates only; it does not know what the names are
// for. Its functions are pure and safe for concurrent use.
package nearest

import (
	"cmp"
	"slices"
	"strings"

	"tercet/internal/order"
)

// Names gives at most three similar candidates, nearest first, ties in alphabetical order. The
// distance is optimal string alignment (a transposition costs one), less 0.3 for the same first and
// 0.1 for the same last letter. It accepts a distance of at most a third of the word's length, and
// at least one.
func Names(word string, candidates []string) []string {
	type scored struct {
		name  string
		score float64
	}
	reach := max(1, len(word)/3)
	var found []scored
	for _, name := range candidates {
		d := Distance(word, name)
		if d > reach || name == "" || word == "" {
			continue
		}
		score := float64(d)
		if name[0] == word[0] {
			score -= 0.3
		}
		if name[len(name)-1] == word[len(word)-1] {
			score -= 0.1
		}
		found = append(found, scored{name, score})
	}

	order.Stable(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found {
		if len(out) < 3 && !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}

	return out
}

// Closest gives the n candidates that are nearest to a word, however far they are.
func Closest(word string, candidates []string, n int) []string {
	out := slices.Clone(candidates)
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Compare(Distance(word, a), Distance(word, b))
	})
	return out[:min(n, len(out))]
}

// Help is the advice for a misspelt name: `did you mean 'plan'?`; empty if no name is near.
func Help(word string, candidates []string) string {
	names := Names(word, candidates)
	if len(names) == 0 {
		return ""
	}
	return "did you mean '" + strings.Join(names, "' or '") + "'?"
}

// Candidate extracts the name from the advice of Help; ok is false for any other text, and for
// several names.
func Candidate(help string) (string, bool) {
	name, ok := strings.CutPrefix(help, "did you mean '")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, "'?")
	return name, ok && name != "" && !strings.Contains(name, "'")
}

// Distance is the optimal string alignment distance in bytes: insert, delete, replace and swap of
// neighbours cost one.
func Distance(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}

	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
