package editor

import (
	"bytes"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// decoder makes events of what a keyboard sends: a tea.KeyPressMsg, typed or paste.
type decoder struct {
	buf       []byte
	timedOut  bool // nothing came in time: what stands in buf is all there is
	pasting   bool
	truncated bool // of the paste: some was dropped
	keys      uv.EventDecoder
}

// typed is plain text that came at once.
type typed string

// paste is a text between the marks of a bracketed paste.
type paste struct {
	text string
	long bool // it is longer than MaxPaste, and not here
}

const (
	pasteFrom = "\x1b[200~"
	pasteTo   = "\x1b[201~"

	sequenceTimeout = 40 * time.Millisecond // for the rest of a sequence
	pasteTimeout    = time.Second           // for the rest of a paste
)

// readTimeout is how long to wait for more input; negative: without end.
func (d *decoder) readTimeout() time.Duration {
	switch {
	case d.pasting:
		return pasteTimeout
	case len(d.buf) > 0:
		return sequenceTimeout
	}
	return -1
}

// feed adds what was read. Nothing means that nothing came in time.
func (d *decoder) feed(data []byte) {
	d.timedOut = len(data) == 0
	d.buf = append(d.buf, data...)
}

// rest takes what was not decoded.
func (d *decoder) rest() []byte {
	out := d.buf
	d.buf = nil
	d.pasting = false
	return out
}

// next gives the next event; not ok: more has to come first.
func (d *decoder) next() (event any, ok bool) {
	for {
		switch {
		case d.pasting:
			return d.nextPaste()
		case len(d.buf) == 0:
			return nil, false
		case bytes.HasPrefix(d.buf, []byte(pasteFrom)):
			d.buf = d.buf[len(pasteFrom):]
			d.pasting = true
			d.truncated = false
			continue
		}

		if n := printableLen(d.buf); n > 0 && utf8.RuneCount(d.buf[:n]) > 1 {
			event = typed(d.buf[:n])
			d.buf = d.buf[n:]
			return event, true
		}
		if !d.timedOut && isIncomplete(d.buf) {
			return nil, false
		}
		if n := strayEscapeLen(d.buf); n > 0 {
			d.buf = d.buf[n:]
			continue
		}
		if r, size := utf8.DecodeRune(d.buf); r == utf8.RuneError && size == 1 {
			// no letter; the decoder would take some for the beginning of a sequence
			d.buf = d.buf[1:]
			continue
		}

		n, ev := d.sequence()
		size := sequenceLen(d.buf[:n])
		d.buf = d.buf[size:]
		if k, is := ev.(uv.KeyPressEvent); is && size == n {
			return tea.KeyPressMsg(k), true
		}
	}
}

// sequence decodes what the buffer begins with. The library fails at a report of the mouse that is
// too short: of that the first byte is dropped.
func (d *decoder) sequence() (n int, ev uv.Event) {
	defer func() {
		if recover() != nil {
			n = 1
			ev = nil
		}
	}()
	n, ev = d.keys.Decode(d.buf)
	return min(max(n, 1), len(d.buf)), ev
}

// nextPaste gives a paste that has ended, or whose end did not come.
func (d *decoder) nextPaste() (any, bool) {
	end := bytes.Index(d.buf, []byte(pasteTo))
	rest := end + len(pasteTo)
	if end < 0 && d.timedOut {
		end = len(d.buf)
		rest = len(d.buf)
	}

	if end < 0 || end > MaxPaste {
		if n := len(d.buf) - len(pasteTo); n > MaxPaste { // only what may be the end is kept
			d.buf = d.buf[n:]
			d.truncated = true
		}
		if end < 0 {
			return nil, false
		}
		end = 0
		rest = len(d.buf)
		if at := bytes.Index(d.buf, []byte(pasteTo)); at >= 0 {
			rest = at + len(pasteTo)
		}
		d.truncated = true
	}

	p := paste{text: string(d.buf[:end]), long: d.truncated}
	if p.long {
		p.text = ""
	}
	d.buf = d.buf[rest:]
	d.pasting = false
	return p, true
}

// printableLen is the length of the printable text at the beginning.
func printableLen(buf []byte) int {
	n := 0
	for n < len(buf) {
		r, size := utf8.DecodeRune(buf[n:])
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			break
		}
		n += size
	}
	return n
}

// isIncomplete tells whether more may belong to the first letter or the first sequence.
func isIncomplete(buf []byte) bool {
	if buf[0] != 0x1b {
		return buf[0] >= 0x80 && !utf8.FullRune(buf)
	}
	if len(buf) == 1 {
		return true
	}
	switch buf[1] {
	case 0x1b:
		return isIncomplete(buf[1:])
	case 'O':
		return len(buf) == 2
	case '[':
		return !bytes.ContainsFunc(buf[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	}
	return false
}

// sequenceLen is how much of a sequence belongs to it: up to the Escape that begins the next one.
// Else what is left of one that was broken off takes the beginning of a paste, whose rows are then
// keys.
func sequenceLen(seq []byte) int {
	from := 1
	if bytes.HasPrefix(seq, []byte("\x1b\x1b")) && !bytes.HasPrefix(seq[1:], []byte(pasteFrom)) {
		from = 2 // a key with Alt
	}
	end := bytes.TrimSuffix(seq, []byte("\x1b\\")) // of a text of the terminal's
	if at := bytes.IndexByte(end[min(from, len(end)):], 0x1b); at >= 0 {
		return from + at
	}
	return len(seq)
}

// strayEscapeLen is the length of an Escape and the letter that begins a text of the terminal's, if
// that text has no end. Otherwise all that is typed behind it would belong to the text.
func strayEscapeLen(buf []byte) int {
	if len(buf) < 2 || buf[0] != 0x1b || !bytes.ContainsAny(buf[1:2], "]P_^X") {
		return 0
	}
	if bytes.ContainsAny(buf[2:], "\a") || bytes.Contains(buf[2:], []byte("\x1b\\")) {
		return 0
	}
	return 2
}
