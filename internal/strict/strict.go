// Package strict decodes maps that were read from a file. It promises that one pass tells everything that is wrong:
// keys that the map does not have, with advice, keys without a value, and values of another type or form, each with its
// code and its place. A key that stands twice is reported by package md; here the first one counts.
//
// It does not know what a key means, and words no finding but "expected X, got Y" and that of an unknown key. Its
// caller chooses the codes and keeps the findings. A Decoder serves one goroutine; everything else is a pure function.
package strict

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"tercet/internal/md"
	"tercet/internal/nearest"
)

// Finding is something wrong in a map.
type Finding struct {
	Code     string
	Pos, End md.Pos
	Message  string
	Help     string
}

// Form is what one kind of map may hold.
type Form struct {
	// Unknown is the finding about a key that is not there, with a verb for the key: "unknown facet %q".
	Unknown string
	Keys    []string
	Foreign []string // keys of others, passed over
}

// Decoder reads maps and hands out its findings. Report is required.
type Decoder struct {
	Report func(Finding)
	// The codes of values of the wrong form, unknown keys, and keys without a value. Without a code for the last, such a
	// key counts as not there.
	Value, Key, Absent string
	// Full tells that no finding more is wanted, so that no advice is looked for; nil means never.
	Full func() bool
	// All goes before the list of all keys, the advice where no key is near.
	All string
	// Got describes a value in a message; nil means Describe.
	Got func(*md.Node) string
}

// Map yields the entries of a map whose keys are those of a form, in the order of the file, and reports the others.
// want describes the map in the message about a value that is none.
func (d *Decoder) Map(n *md.Node, want string, form Form) iter.Seq2[*md.Node, *md.Node] {
	return func(yield func(key, value *md.Node) bool) {
		for key, v := range d.Entries(n, want) {
			switch {
			case slices.Contains(form.Foreign, key.Value):
			case !slices.Contains(form.Keys, key.Value):
				d.Unknown(d.Key, key, form)
			case v.Absent():
				d.absent(key)
			case !yield(key, v):
				return
			}
		}
	}
}

// Free yields the entries of a map with keys of any name, but for those without a value, which it reports.
func (d *Decoder) Free(n *md.Node, want string) iter.Seq2[*md.Node, *md.Node] {
	return func(yield func(key, value *md.Node) bool) {
		for key, v := range d.Entries(n, want) {
			if v.Absent() {
				d.absent(key)
			} else if !yield(key, v) {
				return
			}
		}
	}
}

// Entries yields the entries of a map, and reports a value that is none.
func (d *Decoder) Entries(n *md.Node, want string) iter.Seq2[*md.Node, *md.Node] {
	return func(yield func(key, value *md.Node) bool) {
		if n.Kind != md.Map {
			d.Wrong(n, want, "")
			return
		}
		seen := make(map[string]bool, len(n.Entries))
		for _, e := range n.Entries {
			if seen[e.Key.Value] {
				continue
			}
			seen[e.Key.Value] = true
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

func (d *Decoder) absent(key *md.Node) {
	if d.Absent != "" {
		d.Refuse(d.Absent, key, "write a value, or remove the key", fmt.Sprintf("key '%s' has no value", key.Value))
	}
}

// Unknown reports a word that is none of a form's keys.
func (d *Decoder) Unknown(code string, word *md.Node, form Form) {
	if d.Full != nil && d.Full() {
		return
	}
	help := cmp.Or(nearest.Help(word.Value, form.Keys), d.All+strings.Join(form.Keys, ", "))
	d.Refuse(code, word, help, fmt.Sprintf(form.Unknown, word.Value))
}

// Wrong reports a value of another form than expected.
func (d *Decoder) Wrong(n *md.Node, want, help string) {
	got := Describe
	if d.Got != nil {
		got = d.Got
	}
	d.Refuse(d.Value, n, help, "expected "+want+", got "+got(n))
}

// Refuse reports any other finding about a key or a value.
func (d *Decoder) Refuse(code string, n *md.Node, help, message string) {
	d.Report(Finding{Code: code, Pos: n.Pos, End: n.End, Message: message, Help: help})
}

// Items gives the elements of a list. A value that is no map stands for a list of one; a map is reported.
func (d *Decoder) Items(n *md.Node, want string) []*md.Node {
	switch n.Kind {
	case md.List:
		return n.Items
	case md.Scalar:
		return []*md.Node{n}
	case md.Map:
		d.Wrong(n, want, "")
	}
	return nil
}

// As reads a value by a function that tells whether the value fits. One that does not is reported.
func As[T any](d *Decoder, n *md.Node, want string, read func(*md.Node) (T, bool)) (T, bool) {
	v, ok := read(n)
	if !ok {
		d.Wrong(n, want, "")
	}
	return v, ok
}

// Bool reads true or false.
func Bool(n *md.Node) (bool, bool) {
	v, ok := n.Any().(bool)
	return v, ok
}

// Int reads a whole number.
func Int(n *md.Node) (int, bool) {
	v, ok := n.Any().(int)
	return v, ok
}

// Positive reads a whole number above 0.
func Positive(n *md.Node) (int, bool) {
	v, ok := Int(n)
	return v, ok && v > 0
}

// Number reads a whole number or one with a fraction.
func Number(n *md.Node) (float64, bool) {
	if v, ok := Int(n); ok {
		return float64(v), true
	}
	v, ok := n.Any().(float64)
	return v, ok
}

// Duration reads a time above 0 such as 30m or 1h30m.
func Duration(n *md.Node) (time.Duration, bool) {
	d, err := time.ParseDuration(n.Value)
	return d, n.Kind == md.Scalar && err == nil && d > 0
}

// Text makes a reader of texts of one form.
func Text(fits func(string) bool) func(*md.Node) (string, bool) {
	return func(n *md.Node) (string, bool) { return n.Value, n.IsStr() && fits(n.Value) }
}

// Word is the reader of one of some words.
func Word(words ...string) func(*md.Node) (string, bool) {
	return Text(func(s string) bool { return slices.Contains(words, s) })
}

// Describe is a value as a message shows it.
func Describe(n *md.Node) string {
	switch {
	case n.Kind == md.Map:
		return "a map"
	case n.Kind == md.List:
		return "a list"
	case n.Absent():
		return "nothing"
	case n.Type == md.Null:
		return "null"
	case n.Type == md.Str:
		return fmt.Sprintf("%.40q", n.Value)
	default:
		return n.Value
	}
}
