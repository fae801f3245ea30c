package editor

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"tercet/internal/keyboard"
)

// Item is a row of the menu.
type Item struct {
	Value string // the text to insert
	About string // its description
	Open  bool   // the word continues: no space follows
}

// Word is a part of the usage hint.
type Word struct {
	Text string
	Bold bool
}

// Offer is the completions at the cursor.
type Offer struct {
	From, To int    // start of the replaced bytes of the line
	Items    []Item // best first
	Hint     []Word
	// Needed means that the line is not complete without one of the items.
	Needed bool
}

// Config is what an Editor needs. Keys, Runs, Suspend and Leaves are optional.
type Config struct {
	Keyboard *keyboard.Keyboard
	Out      io.Writer // the terminal
	Size     func() (columns, rows int)
	Prompt   string
	Colour   bool
	UTF8     bool
	Keys     []string // help for the keys, one a row
	// Lines gives the history, oldest first.
	Lines func() []string
	// Offer gives the completions at a byte of a line, after each key.
	Offer func(line string, at int) Offer
	// Runs reports whether a line names something that can be run; nil: every line does.
	Runs func(line string) bool
	Now  func() time.Time
	// Suspend stops the process until it continues; the terminal is restored meanwhile.
	Suspend func()
	// Leaves makes the first Ctrl-C leave, as where the line answers a question.
	Leaves bool
}

// Editor reads lines from a terminal.
type Editor struct {
	Config

	text    textarea.Model
	decoder decoder
	frame   frame
	menu    menu
	search  *search // nil: no search

	history history
	notice  string // a row that the next key takes away
	help    bool   // the keys are shown
	leaving time.Time
	dirty   bool // the menu is of an older text
	stop    bool // the process is to be stopped
}

// history are the lines that were entered before.
type history struct {
	lines []string
	at    int    // the one that is shown; len(lines): none
	draft string // what was typed before they were looked at
}

// MaxPaste bounds a paste, in bytes.
const MaxPaste = 128 << 10

// quitWindow is how long after a first Ctrl-C a second one leaves.
const quitWindow = 2 * time.Second

// ErrQuit means that the user typed Ctrl-\, which ends tercet as SIGQUIT does.
var ErrQuit = errors.New("quit")

// New makes an editor.
func New(c Config) *Editor {
	return &Editor{Config: c}
}

// Read lets the user edit a line that begins with a text, and returns it. The error is io.EOF if
// the user leaves or the terminal closes, else the context's.
func (e *Editor) Read(ctx context.Context, begun string) (line string, err error) {
	if err := e.Keyboard.Raw(e.Out); err != nil {
		return "", err
	}
	defer func() {
		if err != nil { // the process may end at once, and a signal would discard the output
			e.Keyboard.Settle(e.Out)
		}
		e.Keyboard.Restore(e.Out)
	}()

	e.reset(begun)

	for {
		if e.dirty {
			e.updateMenu()
		}
		e.paint(false)
		data, err := e.Keyboard.Read(ctx, e.decoder.readTimeout())
		if err != nil {
			e.paint(true)
			return "", err
		}

		e.decoder.feed(data)
		for ev, ok := e.decoder.next(); ok; ev, ok = e.decoder.next() {
			if line, over, err := e.handleEvent(ev); over {
				e.paint(true)
				e.Keyboard.Unread(e.decoder.rest())
				return line, err
			}
		}

		if e.stop {
			e.stop = false
			e.paint(true)
			e.Keyboard.Restore(e.Out)
			e.Suspend()
			e.frame.row = 0
			if err := e.Keyboard.Raw(e.Out); err != nil {
				return "", err
			}
		}
		e.resize()
	}
}

// reset empties the editor for the next line.
func (e *Editor) reset(begun string) {
	e.text = textarea.New()
	e.text.SetStyles(textarea.Styles{})
	e.text.ShowLineNumbers = false
	e.text.DynamicHeight = true
	e.text.MaxHeight = 0
	e.text.MaxWidth = 0
	e.text.SetVirtualCursor(false)

	indent := lipgloss.Width(e.Prompt)
	e.text.SetPromptFunc(indent, func(i textarea.PromptInfo) string {
		if i.LineNumber == 0 {
			return e.Prompt
		}
		return strings.Repeat(" ", max(indent-2, 0)) + "> "
	})

	e.text.KeyMap = keyMap()
	e.text.Focus()

	e.frame = frame{}
	e.menu = menu{picked: -1}
	e.search = nil
	e.notice = ""
	e.help = false
	e.dirty = false
	e.history = history{lines: e.Lines()}
	e.history.at = len(e.history.lines)
	e.resize()

	if begun != "" {
		e.set(begun, len(begun))
		e.updateMenu()
	}
}

// keyMap is that of the library without what selects and without the clipboard of the system: it
// would start programs.
func keyMap() textarea.KeyMap {
	m := textarea.DefaultKeyMap()
	none := key.NewBinding(key.WithDisabled())
	m.Paste = none
	m.CopySelection = none
	m.SelectAll = none
	m.SelectCharacterForward = none
	m.SelectCharacterBackward = none
	m.SelectWordForward = none
	m.SelectWordBackward = none
	m.SelectLineUp = none
	m.SelectLineDown = none
	m.LineNext.SetKeys("down")
	m.LinePrevious.SetKeys("up")
	m.InsertNewline.SetKeys("alt+enter", "ctrl+j")
	return m
}

// handleEvent does what an event of the keyboard asks for. It tells whether the line is over.
func (e *Editor) handleEvent(ev any) (line string, over bool, err error) {
	e.notice = ""
	switch ev := ev.(type) {
	case paste:
		e.insertPaste(ev)
	case typed:
		e.help = false
		if e.search != nil {
			e.search.query += string(ev)
			e.search.find(e.history.lines)
			break
		}
		e.text.InsertString(string(ev))
		e.dirty = true
	case tea.KeyPressMsg:
		name := ev.Keystroke()
		if e.help && name != "?" {
			e.help = false
		}
		if e.search != nil {
			e.searchKey(name, ev)
			return "", false, nil
		}
		return e.pressKey(name, ev)
	}
	return "", false, nil
}

// pressKey does what a key means outside of a search.
func (e *Editor) pressKey(name string, k tea.KeyPressMsg) (line string, over bool, err error) {
	value := e.text.Value()
	switch name {
	case "tab", "shift+tab", "esc", "up", "down":
		if e.dirty { // typed in one go with what is to be chosen from
			e.updateMenu()
		}
	}

	switch name {
	case "ctrl+c":
		return "", e.interrupt(value), io.EOF
	case `ctrl+\`:
		return "", true, ErrQuit
	case "ctrl+d":
		if value == "" {
			return "", true, io.EOF
		}
		e.edit(k)
	case "enter", "kpenter":
		return e.enter(value)
	case "tab":
		e.complete()
	case "shift+tab":
		e.menu.move(-1)
	case "esc", "ctrl+g":
		e.menu.close()
	case "up", "down":
		e.moveVertically(name, k)
	case "ctrl+p":
		e.walkHistory(-1)
	case "ctrl+n":
		e.walkHistory(1)
	case "ctrl+r":
		e.search = &search{}
		e.search.find(e.history.lines)
	case "ctrl+l":
		e.clear()
	case "ctrl+z":
		e.stop = e.Suspend != nil
	case "?":
		if value == "" && e.Keys != nil {
			e.help = !e.help
			break
		}
		e.edit(k)
	default:
		e.edit(k)
	}

	return "", false, nil
}

// interrupt empties the line; on an empty one the second time leaves, or the first with Leaves.
func (e *Editor) interrupt(value string) (leave bool) {
	now := e.Now()
	if e.Leaves || value == "" && now.Sub(e.leaving) < quitWindow {
		return true
	}

	e.set("", 0)
	e.menu = menu{picked: -1}
	e.history.at = len(e.history.lines)
	e.leaving = now

	if value != "" {
		e.leaving = time.Time{}
	} else {
		e.notice = "press Ctrl-C again or Ctrl-D to quit"
	}
	return false
}

// enter takes what is picked in the menu, or its only entry, goes on with a line that ends with a
// backslash, and gives any other. A line that begins no command stays while the menu shows several
// that it may mean.
func (e *Editor) enter(value string) (line string, over bool, err error) {
	switch {
	case e.menu.picked >= 0, e.takesOnly(value):
		e.complete()
		return "", false, nil
	case e.mustChoose(value):
		e.notice = "no command of that name: Up and Down choose, Esc leaves the menu"
		return "", false, nil
	}
	if n := len(value) - len(strings.TrimRight(value, `\`)); n%2 == 1 {
		e.set(value[:len(value)-1]+"\n", len(value))
		e.menu.close()
		return "", false, nil
	}
	return value, true, nil
}

// takesOnly reports whether Enter takes the only entry of the menu: the word at the cursor was
// begun and is not that entry yet, or the line lacks it. What was typed in one go with Enter saw no
// menu.
func (e *Editor) takesOnly(value string) bool {
	o := e.menu.offer
	if e.dirty || !e.menu.open() || len(o.Items) != 1 || o.To != len(value) {
		return false
	}
	typed := value[o.From:o.To]
	if typed == "" {
		return o.Needed
	}
	return strings.TrimRight(o.Items[0].Value, " ") != typed
}

// mustChoose reports whether the line is the beginning of several commands, and none itself.
func (e *Editor) mustChoose(value string) bool {
	return !e.dirty && e.menu.open() && e.menu.offer.From == 0 && e.Runs != nil && !e.Runs(value)
}

// edit hands a key to the text and looks at what may stand there then.
func (e *Editor) edit(k tea.KeyPressMsg) {
	before := e.text.Value()
	at := e.cursor()
	e.text, _ = e.text.Update(k) // its command is one of a program that has an event loop
	e.dirty = e.dirty || e.text.Value() != before || e.cursor() != at
}

// insertPaste inserts a text as it is, but for what controls a terminal.
func (e *Editor) insertPaste(p paste) {
	switch {
	case e.search != nil:
	case p.long:
		e.notice = "the paste is longer than 128 KiB and was not taken; write it to a file and " +
			"name that"
	default:
		e.text.InsertString(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(p.text))
		e.updateMenu()
		e.menu.close()
	}
}

// updateMenu asks what may stand at the cursor.
func (e *Editor) updateMenu() {
	e.dirty = false
	e.menu = menu{picked: -1, offer: e.Offer(e.text.Value(), e.cursor())}
}

// complete inserts the item that is picked, else what all items begin with, else the first.
func (e *Editor) complete() {
	if e.dirty || e.menu.closed || len(e.menu.offer.Items) == 0 {
		e.updateMenu()
	}

	o := e.menu.offer
	if len(o.Items) == 0 {
		return
	}

	item := o.Items[max(e.menu.picked, 0)]
	value := e.text.Value()
	if e.menu.picked < 0 {
		if common := o.commonPrefix(); len(common) > o.To-o.From &&
			strings.HasPrefix(common, value[o.From:o.To]) {
			item = Item{Value: common, Open: true}
		}
	}

	tail := value[o.To:]
	if !item.Open && !strings.HasPrefix(tail, " ") {
		item.Value += " "
	}
	at := o.From + len(item.Value)
	if !item.Open && strings.HasPrefix(tail, " ") {
		at++
	}
	e.set(value[:o.From]+item.Value+tail, at)
	e.updateMenu()
}

// commonPrefix is the text with which all items begin, empty for a single one.
func (o Offer) commonPrefix() string {
	if len(o.Items) < 2 {
		return ""
	}
	text := o.Items[0].Value
	for _, i := range o.Items[1:] {
		n := 0
		for at, r := range text {
			if !strings.HasPrefix(i.Value[at:], string(r)) {
				break
			}
			n = at + utf8.RuneLen(r)
		}
		text = text[:n]
	}
	return text
}

// moveVertically moves in the menu, else between the rows of the text, else in the history.
func (e *Editor) moveVertically(name string, k tea.KeyPressMsg) {
	step := 1
	if name == "up" {
		step = -1
	}

	info := e.text.LineInfo()
	first := e.text.Line() == 0 && info.RowOffset == 0
	last := e.text.Line() == e.text.LineCount()-1 && info.RowOffset >= info.Height-1

	switch {
	case e.menu.open() && (step > 0 || e.menu.picked >= 0):
		e.menu.move(step)
	case step < 0 && !first, step > 0 && !last:
		e.edit(k)
	default:
		e.walkHistory(step)
	}
}

// walkHistory shows an older or a newer line of the history.
func (e *Editor) walkHistory(step int) {
	p := &e.history
	to := p.at + step
	if to < 0 || to > len(p.lines) {
		return
	}
	if p.at == len(p.lines) {
		p.draft = e.text.Value()
	}

	line := p.draft
	p.at = to
	if to < len(p.lines) {
		line = p.lines[to]
	}

	e.set(line, len(line))
	e.updateMenu()
	e.menu.close()
}

// set replaces the text and puts the cursor at a byte of it.
func (e *Editor) set(text string, at int) {
	e.text.SetValue(text[:at])
	row := e.text.Line()
	col := e.text.Column()
	if at < len(text) {
		e.text.InsertString(text[at:])
		for e.text.Line() > row {
			e.text.CursorUp()
		}
		e.text.SetCursorColumn(col)
	}
}

// cursor is the byte of the text at which the cursor stands.
func (e *Editor) cursor() int {
	at := 0
	rest := e.text.Value()
	for range e.text.Line() {
		n := strings.IndexByte(rest, '\n') + 1
		at += n
		rest = rest[n:]
	}

	for range e.text.Column() {
		_, n := utf8.DecodeRuneInString(rest)
		at += n
		rest = rest[n:]
	}
	return at
}
