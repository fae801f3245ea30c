package editor

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// Decode gives the events of bytes that come in pieces, behind which nothing comes, and how many bytes are left.
func Decode(pieces ...string) (events []string, left int) {
	var d decoder
	for _, p := range append(pieces, "", "") {
		d.feed([]byte(p))
		for ev, ok := d.next(); ok; ev, ok = d.next() {
			switch ev := ev.(type) {
			case tea.KeyPressMsg:
				events = append(events, ev.Keystroke())
			case paste:
				events = append(events, fmt.Sprintf("paste(%q %t)", ev.text, ev.long))
			default:
				events = append(events, fmt.Sprintf("%q", ev))
			}
		}
	}
	return events, len(d.buf)
}
