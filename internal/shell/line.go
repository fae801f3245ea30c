package shell

import (
	"slices"
	"strings"
)

// option is one option of a command line.
type option struct {
	name  string
	value word
}

// line is a command line taken apart: options, and what is left.
type line struct {
	options []option
	rest    []word
}

// split takes words apart. valued names the options that take a value: " -n --name ". The first
// word that is no option does not end them unless first is set, as it does for programs that start
// others.
func split(ws []word, valued string, first bool) line {
	var l line
	valued = " " + valued + " "
	takes := func(name string) bool {
		return strings.Contains(valued, " "+name+" ")
	}

	for i := 0; i < len(ws); i++ {
		w := ws[i]
		switch {
		case w.text == "--":
			l.rest = append(l.rest, ws[i+1:]...)
			return l
		case len(w.text) < 2 || w.text[0] != '-':
			if first {
				l.rest = append(l.rest, ws[i:]...)
				return l
			}
			l.rest = append(l.rest, w)
		case strings.HasPrefix(w.text, "--"):
			name, value, ok := strings.Cut(w.text, "=")
			o := option{name: name, value: w}
			o.value.text = value
			if !ok && takes(name) && i+1 < len(ws) {
				i++
				o.value = ws[i]
			}
			l.options = append(l.options, o)
		default:
			i += l.splitShort(ws, i, takes)
		}
	}

	return l
}

// splitShort takes one word of short options apart and tells how many words more it used.
func (l *line) splitShort(ws []word, i int, takes func(string) bool) int {
	w := ws[i]
	if takes(w.text) && i+1 < len(ws) { // also programs with long options behind one dash
		l.options = append(l.options, option{w.text, ws[i+1]})
		return 1
	}

	for k := 1; k < len(w.text); k++ {
		name := "-" + w.text[k:k+1]
		if !takes(name) {
			l.options = append(l.options, option{name: name})
			continue
		}
		if k+1 < len(w.text) {
			v := w
			v.text = w.text[k+1:]
			l.options = append(l.options, option{name, v})
			return 0
		}
		if i+1 < len(ws) {
			l.options = append(l.options, option{name, ws[i+1]})
			return 1
		}
		l.options = append(l.options, option{name: name})
	}
	return 0
}

// has tells whether one of the options is given; NAME=PATTERN asks for its value too.
func (l line) has(names ...string) bool {
	return slices.ContainsFunc(l.options, func(o option) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return n == o.name ||
				strings.Contains(n, "=") &&
					matchesPattern(strings.ToLower(o.name+"="+o.value.text), strings.ToLower(n))
		})
	})
}

// get gives the value of the last of the options that is given.
func (l line) get(names ...string) (word, bool) {
	for _, o := range slices.Backward(l.options) {
		if slices.Contains(names, o.name) {
			return o.value, true
		}
	}
	return word{}, false
}

// arg gives the text of the n-th word that is no option.
func (l line) arg(n int) string {
	if n < len(l.rest) {
		return l.rest[n].text
	}
	return ""
}
