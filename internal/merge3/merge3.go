// Package merge3 compares and merges texts by their lines.
//
// Promise: Align pairs the lines of a longest common subsequence. Merge takes every change that
// only one side made, byte for byte. It fails if both changed the same place. It will not write
// conflict markers. Its functions are pure.
package merge3

import (
	"slices"
	"strings"
)

// maxAligned bounds the lines that are compared one by one; longer pieces count as replaced.
const maxAligned = 2000

// Align gives for each line of a the index of its equal in b, or -1; the indexes ascend.
func Align(a, b []string) []int {
	out := make([]int, len(a))
	for i := range out {
		out[i] = -1
	}

	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		out[head] = head
		head++
	}

	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
		out[len(a)-tail] = len(b) - tail
	}

	alignMiddle(out[head:len(a)-tail], a[head:len(a)-tail], b[head:len(b)-tail], head)
	return out
}

// alignMiddle aligns the lines between a common head and a common tail; shift is where b begins.
func alignMiddle(out []int, a, b []string, shift int) {
	if len(a) > maxAligned || len(b) > maxAligned {
		return
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

	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out[i] = j + shift
			i++
			j++
		case same[i+1][j] >= same[i][j+1]:
			i++
		default:
			j++
		}
	}
}

// Merge merges two changed versions of a text. ok is false if both changed the same lines
// differently.
func Merge(base, yours, theirs string) (merged string, ok bool) {
	o := strings.SplitAfter(base, "\n")
	a := strings.SplitAfter(yours, "\n")
	b := strings.SplitAfter(theirs, "\n")
	toA := append(Align(o, a), len(a))
	toB := append(Align(o, b), len(b))

	var out strings.Builder
	i := 0
	j := 0
	k := 0
	for {
		next := i // the next line of the base that both have kept
		for next < len(o) && (toA[next] < 0 || toB[next] < 0) {
			next++
		}

		was := strings.Join(o[i:next], "")
		mine := strings.Join(a[j:toA[next]], "")
		other := strings.Join(b[k:toB[next]], "")
		switch {
		case mine == was, mine == other:
			out.WriteString(other)
		case other == was:
			out.WriteString(mine)
		default:
			return "", false
		}

		if next == len(o) {
			return out.String(), true
		}
		out.WriteString(o[next])
		i = next + 1
		j = toA[next] + 1
		k = toB[next] + 1
	}
}
