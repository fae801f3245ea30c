// Package strict decodes maps that were read from a file. It promises that one pass reports every
// mistake with code and place. Mistakes are unknown keys, with advice, keys without a value, and
// values of the wrong type or form. Package md reports duplicate keys; here the first one counts.
//
// It does not know what a key means; its only messages are "expected X, got Y" and the one about an
// unknown key. The caller chooses the codes and stores the findings. A Decoder serves one
// goroutine; everything else is a pure function.
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

// Finding is one mistake in a map.
type Finding struct {
	Code     string
	Pos, End md.Pos
	Message  string
	Help     string
}

// Form is the keys that a kind of map may have.
type Form struct {
	// Unknown is the message about an unknown key, with a verb for the key: "unknown facet %q".
	Unknown string
	Keys    []string
	Foreign []string // foreign keys, ignored
}

// Decoder reads maps and reports findings. Report is required.
type Decoder struct {
	Report func(Finding)
	// The codes of wrong values, unknown keys, and keys without a value. Without a code for the
	// last, such a key counts as absent.
	Value, Key, Absent string
	// Full means that no more findings are wanted, so advice is not computed; nil means never.
	Full func() bool
	// All is the beginning of the advice that lists all keys, if no key is near.
	All string
	// Advise gives the advice for an unknown key that means something in other tools; nil or empty:
	// there is none.
	Advise func(word string, form Form) string
	// Got describes a value in a message; nil means Describe.
	Got func(*md.Node) string
}

// Map yields the entries of a map with known keys, in file order, and reports the others. want
// describes the map in the message about a value of another kind.
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

// Free yields the entries of a map with keys of any name; it reports those without a value.
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

// Entries yields the entries of a map, and reports a value that is not a map.
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
		d.Refuse(
			d.Absent,
			key,
			"write a value, or remove the key",
			fmt.Sprintf("key '%s' has no value", key.Value),
		)
	}
}

// Unknown reports a word that is not a key of the form.
func (d *Decoder) Unknown(code string, word *md.Node, form Form) {
	if d.Full != nil && d.Full() {
		return
	}
	help := ""
	if d.Advise != nil {
		help = d.Advise(word.Value, form)
	}
	help = cmp.Or(help, nearest.Help(word.Value, form.Keys), d.listKeys(word.Value, form.Keys))
	d.Refuse(code, word, help, fmt.Sprintf(form.Unknown, word.Value))
}

// maxListed is how many keys an advice lists; of more it names the nearest.
const maxListed = 15

// listKeys is the advice that lists the keys.
func (d *Decoder) listKeys(word string, keys []string) string {
	if len(keys) <= maxListed {
		return d.All + strings.Join(keys, ", ")
	}
	return "the nearest keys are " + strings.Join(nearest.Closest(word, keys, 3), ", ")
}

// Wrong reports a value of the wrong form.
func (d *Decoder) Wrong(n *md.Node, want, help string) {
	got := Describe
	if d.Got != nil {
		got = d.Got
	}
	d.Refuse(d.Value, n, help, "expected "+want+", got "+got(n))
}

// Refuse reports any other finding about a key or a value.
func (d *Decoder) Refuse(code string, n *md.Node, help, message string) {
	d.Report(Finding{
		Code:    code,
		Pos:     n.Pos,
		End:     n.End,
		Message: message,
		Help:    help,
	})
}

// Items gives the elements of a list. A scalar counts as a list of one; a map is reported.
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

// As parses a value with a function whose ok says whether the value fits, and reports one that does
// not.
func As[T any](d *Decoder, n *md.Node, want string, read func(*md.Node) (T, bool)) (T, bool) {
	v, ok := read(n)
	if !ok {
		d.Wrong(n, want, "")
	}
	return v, ok
}

// Bool parses true or false.
func Bool(n *md.Node) (bool, bool) {
	v, ok := n.Any().(bool)
	return v, ok
}

// Int parses a whole number.
func Int(n *md.Node) (int, bool) {
	v, ok := n.Any().(int)
	return v, ok
}

// Positive parses a whole number above 0.
func Positive(n *md.Node) (int, bool) {
	v, ok := Int(n)
	return v, ok && v > 0
}

// Number parses an integer or a decimal number.
func Number(n *md.Node) (float64, bool) {
	if v, ok := Int(n); ok {
		return float64(v), true
	}
	v, ok := n.Any().(float64)
	return v, ok
}

// Duration parses a duration above 0 such as 30m or 1h30m.
func Duration(n *md.Node) (time.Duration, bool) {
	d, err := time.ParseDuration(n.Value)
	return d, n.Kind == md.Scalar && err == nil && d > 0
}

// Text makes a parser of texts of one form.
func Text(fits func(string) bool) func(*md.Node) (string, bool) {
	return func(n *md.Node) (string, bool) { return n.Value, n.IsStr() && fits(n.Value) }
}

// Word makes a parser of one of some words.
func Word(words ...string) func(*md.Node) (string, bool) {
	return Text(func(s string) bool { return slices.Contains(words, s) })
}

// Describe is a value in a message.
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
