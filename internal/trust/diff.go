package trust

import (
	"slices"
	"strings"
)

// maxDiff bounds the lines of a text that are compared one by one; longer ones are shown as replaced.
const maxDiff = 2000

// Diff gives the lines that differ between two texts as a patch shows them, "-" and "+" before a line, with two lines
// of their surroundings; most bounds how many there are, and the last line then says so.
func Diff(before, after string, most int) []string {
	a, b := split(before), split(after)
	all := edits(a, b)
	near := make([]bool, len(all))
	for i, line := range all {
		if line[0] == ' ' {
			continue
		}
		for j := max(0, i-2); j < min(len(all), i+3); j++ {
			near[j] = true
		}
	}
	var out []string
	for i, line := range all {
		switch {
		case near[i]:
			out = append(out, line)
		case i > 0 && near[i-1]:
			out = append(out, "...")
		}
		if len(out) >= most {
			return append(out, "... (more is not shown)")
		}
	}
	return out
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// edits aligns two lists of lines by their longest common sequence.
func edits(a, b []string) []string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out := marked(nil, " ", a[:head])
	out = middle(out, a[head:len(a)-tail], b[head:len(b)-tail])
	return marked(out, " ", a[len(a)-tail:])
}

func marked(out []string, mark string, lines []string) []string {
	for _, line := range lines {
		out = append(out, mark+line)
	}
	return out
}

func middle(out, a, b []string) []string {
	if len(a) > maxDiff || len(b) > maxDiff {
		return marked(marked(out, "-", a), "+", b)
	}
	// same[i][j] is the length of the longest common sequence of a[i:] and b[j:].
	same := make([][]int, len(a)+1)
	for i := range same {
		same[i] = make([]int, len(b)+1)
	}
	for i, before := range slices.Backward(a) {
		for j, after := range slices.Backward(b) {
			if before == after {
				same[i][j] = same[i+1][j+1] + 1
			} else {
				same[i][j] = max(same[i+1][j], same[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case same[i+1][j] >= same[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return marked(marked(out, "-", a[i:]), "+", b[j:])
}
