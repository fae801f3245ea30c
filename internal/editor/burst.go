package editor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Burst is what was typed or pasted at once: a text, in which Enter is a line feed, or another key
// by its name.
type Burst struct {
	Text   string
	Pasted bool
	Name   string
}

// burstGap is the longest time between two keys that count as typed at once: no person is so fast.
const burstGap = 20 * time.Millisecond

// Key shows a text, unless it is shown already, and returns what is typed next, without an echo.
// The terminal is in raw mode before it shows the text, and what was typed until then is dropped:
// no key that was meant for something else answers. After a change of the terminal's width Key
// calls text again and paints its result in place of the old one. The error is io.EOF if the
// terminal closed, else that of the context.
func (e *Editor) Key(ctx context.Context, text func() string, shown bool) (b Burst, err error) {
	if err := e.Keyboard.Raw(e.Out); err != nil {
		return b, err
	}
	defer func() {
		if err != nil { // the process may end at once, as in Read
			e.Keyboard.Settle(e.Out)
		}
		e.Keyboard.Restore(e.Out)
	}()

	if !shown {
		e.frame = frame{}
		e.frame.resize(e.Size())
		rows := e.frame.setRows(text())
		if err := e.Keyboard.Catch(ctx, e.Out, strings.Join(rows, "\r\n")); err != nil {
			return b, err
		}
	}

	for {
		if e.frame.resize(e.Size()) {
			e.repaint(text())
		}

		wait := e.decoder.readTimeout()
		if b.Text != "" && wait < 0 {
			wait = burstGap
		}
		data, err := e.Keyboard.Read(ctx, wait)
		if err != nil {
			return b, err
		}

		e.decoder.feed(data)
		over := b.Text != "" && len(data) == 0
		for ev, ok := e.decoder.next(); ok; ev, ok = e.decoder.next() {
			if b.add(ev) {
				over = true
				break
			}
		}

		if over {
			e.Keyboard.Unread(e.decoder.rest())
			return b, nil
		}
	}
}

// repaint shows a text in the place of one that Key showed.
func (e *Editor) repaint(text string) {
	back := "\r"
	if e.frame.row > 0 {
		back += fmt.Sprintf("\x1b[%dA", e.frame.row)
	}
	rows := e.frame.setRows(text)
	io.WriteString(e.Out, back+"\x1b[J"+strings.Join(rows, "\r\n")) //nolint:errcheck // as in draw
}

// add adds an event, and tells whether nothing can be added behind it.
func (b *Burst) add(ev any) (over bool) {
	switch ev := ev.(type) {
	case paste:
		b.Text += strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(ev.text)
		b.Pasted = true
		return true
	case typed:
		b.Text += string(ev)
	case tea.KeyPressMsg:
		name := ev.Keystroke()
		switch {
		case name == "enter", name == "kpenter", name == "ctrl+j":
			b.Text += "\n"
		case ev.Text != "":
			b.Text += ev.Text
		default: // what was typed before such a key is dropped with it
			*b = Burst{Name: name}
			return true
		}
	}
	return false
}
