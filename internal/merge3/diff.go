package merge3

import "strings"

// Diff gives the differing lines of two texts like a patch, with "-" and "+" and two lines of
// context. most limits the number of lines; the last one then says so.
func Diff(before, after string, most int) []string {
	a := split(before)
	b := split(after)
	all := editLines(a, b)

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

// editLines aligns two lists of lines.
func editLines(a, b []string) (out []string) {
	j := 0
	for i, at := range Align(a, b) {
		if at < 0 {
			out = append(out, "-"+a[i])
			continue
		}
		for ; j < at; j++ {
			out = append(out, "+"+b[j])
		}
		out = append(out, " "+a[i])
		j++
	}
	for ; j < len(b); j++ {
		out = append(out, "+"+b[j])
	}
	return out
}
