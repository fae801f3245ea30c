package live

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"tercet/formats"
	"tercet/internal/trace"
)

// Config is the input of a Screen. Out and Now are required.
type Config struct {
	Out io.Writer
	// Size returns the terminal's size; 0 columns if nothing may be redrawn; nil: no terminal.
	Size  func() (columns, rows int)
	Now   func() time.Time
	Style func() Style // nil: plain
	// CaptureKeys, if not nil, is called when the Screen takes over the keyboard and when it
	// releases it.
	CaptureKeys func(ours bool)
}

// Screen shows running runs.
type Screen struct {
	Config

	mu         sync.Mutex
	view       View
	widths     []int // of the lines of the running part on the terminal
	shown      string
	midLine    bool // other output left the cursor inside a line
	pauses     int
	lendings   int           // number of programs that have the terminal
	heldOutput []func()      // output printed meanwhile
	stop       chan struct{} // nil: not showing
	done       chan struct{}
}

// NewScreen returns an empty Screen.
func NewScreen(c Config) *Screen {
	if c.Style == nil {
		c.Style = func() Style { return Style{} }
	}
	if c.Size == nil {
		c.Size = func() (int, int) { return 0, 0 }
	}
	return &Screen{Config: c}
}

// Heartbeat is the interval of the heartbeat line without a terminal.
const Heartbeat = 30 * time.Second

// Begin starts to show emitted events; one goroutine draws until End, which must follow. parts and
// verbose are those of the View. past are earlier events that another process showed.
func (s *Screen) Begin(parts map[string]string, verbose bool, past iter.Seq2[trace.Event, error]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = View{Parts: parts, Verbose: verbose}
	if past != nil {
		for e, err := range past {
			if err == nil { // unreadable events are not shown
				s.view.Apply(e)
			}
		}
	}

	s.view.finished = nil
	s.view.seenIssues = nil
	s.view.shownIssues = nil
	s.view.last = nil
	s.view.previousScreens = 1

	s.stop = make(chan struct{})
	s.done = make(chan struct{})
	if s.CaptureKeys != nil {
		s.CaptureKeys(true)
	}
	go s.loop(s.stop, s.done)
}

// loop draws a frame at each tick.
func (s *Screen) loop(stop, done chan struct{}) {
	defer close(done)
	frames := time.NewTicker(frameTime)
	beats := time.NewTicker(Heartbeat)
	defer frames.Stop()
	defer beats.Stop()

	for {
		select {
		case <-stop:
			return
		case <-frames.C:
			s.mu.Lock()
			s.drawFrame()
			s.mu.Unlock()
		case <-beats.C:
			s.mu.Lock()
			if columns, _ := s.Size(); columns == 0 && s.lendings == 0 {
				if line := s.view.Heartbeat(s.Now(), s.Style()); line != "" {
					s.write(line + "\n")
				}
			}
			s.mu.Unlock()
		}
	}
}

// End prints the last finished lines and clears the running part.
func (s *Screen) End() {
	s.mu.Lock()
	stop := s.stop
	done := s.done
	if stop == nil {
		s.mu.Unlock()
		return
	}

	s.clear()
	s.stop = nil
	if s.CaptureKeys != nil && s.pauses == 0 {
		s.CaptureKeys(false)
	}
	s.mu.Unlock()

	close(stop)
	<-done
}

// Emit implements trace.Sink.
func (s *Screen) Emit(e trace.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Apply(e)
	if columns, _ := s.Size(); columns == 0 || s.stop == nil {
		s.clear()
	}
}

// Pause clears the running part and releases the keyboard until resume: for a question, or for
// another program on the terminal. fresh means that the cursor is then at the start of a line.
func (s *Screen) Pause() (resume func(fresh bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.clear()
	s.pauses++
	if s.pauses == 1 && s.stop != nil && s.CaptureKeys != nil {
		s.CaptureKeys(false)
	}

	return func(fresh bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.midLine = s.midLine && !fresh
		s.pauses--
		if s.pauses == 0 && s.stop != nil && s.CaptureKeys != nil {
			s.CaptureKeys(true)
		}
	}
}

// Lend holds back all output until done, while another program has the terminal.
func (s *Screen) Lend() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.clear()
	s.lendings++

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lendings--
		if s.lendings > 0 {
			return
		}
		for _, print := range s.heldOutput {
			print()
		}
		s.heldOutput = nil
	}
}

// clear removes the running part and prints finished lines that are not shown yet.
func (s *Screen) clear() {
	s.paint(nil)
}

// drawFrame redraws the running part if it has changed.
func (s *Screen) drawFrame() {
	columns, rows := s.Size()
	if columns <= minWidth || s.stop == nil || s.pauses > 0 || s.midLine {
		return
	}
	const spareRows = 2 // rows that the running part leaves free
	s.paint(s.view.Running(columns-1, max(1, rows-spareRows), s.Now(), s.Style()))
}

// paint replaces the running part by lines and prints finished lines above them, in one write.
func (s *Screen) paint(lines []string) {
	if s.lendings > 0 {
		return
	}
	columns, _ := s.Size()
	wide := 1000 // wider than any terminal
	if columns > 0 {
		wide = columns - 1
	}
	finished := s.view.Finished(wide, s.Style())
	now := strings.Join(lines, "\n")
	if len(finished) == 0 && now == s.shown {
		return
	}

	var b strings.Builder
	if up := s.height(columns); up > 0 {
		fmt.Fprintf(&b, "\x1b[?25l\r\x1b[%dA\x1b[J", up)
	}
	if s.midLine && len(finished) > 0 {
		b.WriteByte('\n')
		s.midLine = false
	}
	for _, l := range append(finished, lines...) {
		b.WriteString(l + "\n")
	}

	if len(s.widths) > 0 {
		b.WriteString("\x1b[?25h")
	}
	s.widths = s.widths[:0]
	s.shown = now
	for _, l := range lines {
		s.widths = append(s.widths, ansi.StringWidth(l))
	}

	s.write(b.String())
}

// height is the number of rows of the running part; a terminal that became narrower may have
// wrapped its lines.
func (s *Screen) height(columns int) int {
	rows := 0
	for _, w := range s.widths {
		rows += max(1, (w+columns-1)/max(1, columns))
	}
	return rows
}

func (s *Screen) write(text string) {
	io.WriteString(s.Out, text) //nolint:errcheck // a closed terminal ends the process by a signal
}

// UnshownIssues returns the issues that the Screen has not shown in full since Begin.
func (s *Screen) UnshownIssues(issues []formats.Issue) []formats.Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(issues), func(i formats.Issue) bool {
		return utf8.RuneCountInString(i.Description) <= maxText &&
			slices.Contains(s.view.shownIssues, formatIssue(i))
	})
}

// CursorMoved tells the Screen that other output moved the cursor. It then draws below it.
func (s *Screen) CursorMoved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.widths = nil
	s.shown = ""
}

// Above returns a writer for other output on the same terminal, which appears above the running
// part.
func (s *Screen) Above(to io.Writer) *Writer {
	return &Writer{s: s, to: to}
}

// Writer is returned by Screen.Above.
type Writer struct {
	s  *Screen
	to io.Writer
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()

	n := len(p)
	p = []byte(w.s.Style().Text(string(p)))
	if w.s.lendings > 0 {
		w.s.heldOutput = append(w.s.heldOutput, func() {
			w.to.Write(p) //nolint:errcheck // as in Screen.write
		})
		return n, nil
	}

	if w.s.stop != nil && len(p) > 0 {
		w.s.clear()
		w.s.midLine = p[len(p)-1] != '\n'
	}
	_, err := w.to.Write(p)
	return n, err
}

// Fd is the file descriptor of the terminal.
func (w *Writer) Fd() uintptr {
	if f, ok := w.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
