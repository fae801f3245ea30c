package editor

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Interrupts tells of each of some Ctrl-C on an empty line whether it leaves; each comes some time
// after the one before.
func Interrupts(after ...time.Duration) (leaves []bool) {
	var now time.Time
	e := New(Config{
		Now:   func() time.Time { return now },
		Lines: func() []string { return nil },
		Size:  func() (int, int) { return 80, 24 },
	})
	e.reset("")
	now = time.Unix(0, 0)
	for len(leaves) < len(after) {
		now = now.Add(after[len(leaves)])
		leaves = append(leaves, e.interrupt(""))
	}
	return leaves
}

// Decode gives the events of bytes that come in pieces, behind which nothing comes, and how many
// bytes are left.
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

// Typed gives the text of a line after some pieces were typed, each at once, and whether it was
// entered.
func Typed(c Config, pieces ...string) (text string, entered bool) {
	c.Now = time.Now
	c.Lines = func() []string { return nil }
	c.Size = func() (int, int) { return 80, 24 }
	e := New(c)
	e.reset("")
	for _, p := range pieces {
		for _, part := range []string{p, ""} { // nothing more comes in time
			e.decoder.feed([]byte(part))
			for ev, ok := e.decoder.next(); ok; ev, ok = e.decoder.next() {
				if line, over, _ := e.handleEvent(ev); over {
					return line, true
				}
			}
		}
		if e.dirty {
			e.updateMenu()
		}
	}
	return e.text.Value(), false
}
