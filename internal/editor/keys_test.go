package editor_test

import (
	"strings"
	"testing"

	"tercet/internal/editor"
)

// TestEnterAndTab: Enter takes the only entry of a menu that was shown, and keeps a menu of several
// while the line is no command; what was typed in one go with Enter saw no menu. Tab inserts what
// all entries begin with.
func TestEnterAndTab(t *testing.T) {
	t.Parallel()
	words := []string{"/plan", "/planets", "/task", "/日本", "/日没"}
	c := editor.Config{
		Offer: func(line string, at int) editor.Offer {
			o := editor.Offer{From: strings.LastIndex(line[:at], " ") + 1, To: at}
			list := words
			if o.From > 0 {
				list = []string{"one"}
				o.Needed = strings.HasPrefix(line, "/plan ")
			}
			for _, w := range list {
				if strings.HasPrefix(w, line[o.From:at]) {
					o.Items = append(o.Items, editor.Item{Value: w})
				}
			}
			return o
		},
		Runs: func(line string) bool {
			return strings.HasPrefix(line, "/plan") || strings.HasPrefix(line, "/task")
		},
	}
	for _, tt := range []struct {
		keys    string // pieces that are typed at once, between blanks; _ is a blank
		want    string
		entered bool
	}{
		{"/ta \r", "/task ", false},                      // the only one
		{"/ta\r", "/ta", true},                           // nobody saw it
		{"/task \r", "/task", true},                      // it stands there
		{"/pl \r", "/pl", false},                         // two, and no command
		{"/plan \r", "/plan", true},                      // two, and a command
		{"/plan_ \r", "/plan one ", false},               // what the line lacks
		{"/task_ \r", "/task ", true},                    // what it may lack
		{"/task_o \r", "/task one ", false},              // what was begun
		{"/p \t", "/plan", false},                        // what both begin with
		{"/p \t \t", "/plan ", false},                    // and then the first
		{"/日 \t", "/日本 ", false},                         // no half of a letter
		{"/plan \n x \r", "/plan\nx", true},              // Ctrl-J begins a row
		{"/pl \x1b \r", "/pl", true},                     // no menu any more
		{"/pl \x1b[B \r", "/plan ", false},               // picked
		{"x \r", "x", true},                              // no menu
		{"/task_x_ \x7f\x7fo \r \r", "/task one ", true}, // taken, and then entered
	} {
		var pieces []string
		// Only the spaces of a row part its pieces: keys that are white space are other bytes
		// meanwhile.
		hide := strings.NewReplacer("\r", "\x00", "\t", "\x01", "\n", "\x02")
		show := strings.NewReplacer("\x00", "\r", "\x01", "\t", "\x02", "\n", "_", " ")
		for p := range strings.FieldsSeq(hide.Replace(tt.keys)) {
			pieces = append(pieces, show.Replace(p))
		}
		got, entered := editor.Typed(c, pieces...)
		if got != tt.want || entered != tt.entered {
			t.Errorf(
				"%q gives %q, entered: %v, want %q, %v", tt.keys, got, entered, tt.want, tt.entered,
			)
		}
	}
}
