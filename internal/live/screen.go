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
	// Size is the terminal's size, 0 columns if nothing may be redrawn; nil: no terminal.
	Size  func() (columns, rows int)
	Now   func() time.Time
	Style func() Style // nil: plain
	// Keys, if not nil, is called when the Screen takes over the keyboard and when it releases it.
	Keys func(ours bool)
}

// Screen shows running runs.
type Screen struct {
	Config

	mu     sync.Mutex
	view   View
	widths []int // of the lines of the present part that stand on the terminal
	drawn  string
	within bool // what others printed ends inside of a line
	pauses int
	lent   int           // programs that have the terminal
	held   []func()      // what was printed meanwhile
	stop   chan struct{} // nil: nothing is shown
	done   chan struct{}
}

// NewScreen makes an empty Screen.
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

// Begin starts showing emitted events; one goroutine draws until End, which must follow. parts and
// verbose are those of the View. past are earlier events that another process showed.
func (s *Screen) Begin(parts map[string]string, verbose bool, past iter.Seq2[trace.Event, error]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = View{Parts: parts, Verbose: verbose}
	if past != nil {
		for e, err := range past {
			if err == nil { // it is only shown
				s.view.Apply(e)
			}
		}
	}
	s.view.news = nil
	s.view.told = nil
	s.view.last = nil
	s.view.old = 1
	s.stop = make(chan struct{})
	s.done = make(chan struct{})
	if s.Keys != nil {
		s.Keys(true)
	}
	go s.turn(s.stop, s.done)
}

// turn draws at each turn of the spinner.
func (s *Screen) turn(stop, done chan struct{}) {
	defer close(done)
	frames := time.NewTicker(turn)
	beats := time.NewTicker(Heartbeat)
	defer frames.Stop()
	defer beats.Stop()
	for {
		select {
		case <-stop:
			return
		case <-frames.C:
			s.mu.Lock()
			s.frame()
			s.mu.Unlock()
		case <-beats.C:
			s.mu.Lock()
			if columns, _ := s.Size(); columns == 0 && s.lent == 0 {
				if line := s.view.Alive(s.Now(), s.Style()); line != "" {
					s.put(line + "\n")
				}
			}
			s.mu.Unlock()
		}
	}
}

// End prints the last news and clears the running part.
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
	if s.Keys != nil && s.pauses == 0 {
		s.Keys(false)
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
	if s.pauses == 1 && s.stop != nil && s.Keys != nil {
		s.Keys(false)
	}
	return func(fresh bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.within = s.within && !fresh
		s.pauses--
		if s.pauses == 0 && s.stop != nil && s.Keys != nil {
			s.Keys(true)
		}
	}
}

// Lend holds back all output until done, while another program has the terminal.
func (s *Screen) Lend() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.lent++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lent--
		if s.lent > 0 {
			return
		}
		for _, print := range s.held {
			print()
		}
		s.held = nil
	}
}

// clear takes the present part away, and prints what was told and is not shown yet.
func (s *Screen) clear() {
	s.paint(nil)
}

// frame draws the present part anew where it has changed.
func (s *Screen) frame() {
	columns, rows := s.Size()
	if columns <= leastWide || s.stop == nil || s.pauses > 0 || s.within {
		return
	}
	const beside = 2 // rows that the present part leaves
	s.paint(s.view.Present(columns-1, max(1, rows-beside), s.Now(), s.Style()))
}

// paint puts lines in the place of the present part, and what was told since above them, in one
// write.
func (s *Screen) paint(lines []string) {
	if s.lent > 0 {
		return
	}
	columns, _ := s.Size()
	wide := 1000 // what no terminal breaks
	if columns > 0 {
		wide = columns - 1
	}
	news := s.view.News(wide, s.Style())
	now := strings.Join(lines, "\n")
	if len(news) == 0 && now == s.drawn {
		return
	}

	var b strings.Builder
	if up := s.height(columns); up > 0 {
		fmt.Fprintf(&b, "\x1b[?25l\r\x1b[%dA\x1b[J", up)
	}
	if s.within && len(news) > 0 {
		b.WriteByte('\n')
		s.within = false
	}
	for _, l := range append(news, lines...) {
		b.WriteString(l + "\n")
	}

	if len(s.widths) > 0 {
		b.WriteString("\x1b[?25h")
	}
	s.widths = s.widths[:0]
	s.drawn = now
	for _, l := range lines {
		s.widths = append(s.widths, ansi.StringWidth(l))
	}

	s.put(b.String())
}

// height is how many rows the present part takes; a terminal that has become narrower may have
// broken its lines.
func (s *Screen) height(columns int) int {
	rows := 0
	for _, w := range s.widths {
		rows += max(1, (w+columns-1)/max(1, columns))
	}
	return rows
}

func (s *Screen) put(text string) {
	io.WriteString(s.Out, text) //nolint:errcheck // a terminal that is gone ends the process by its signal
}

// Untold gives those issues that the Screen has not shown in full since Begin.
func (s *Screen) Untold(issues []formats.Issue) []formats.Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(issues), func(i formats.Issue) bool {
		return utf8.RuneCountInString(i.Description) <= mostText &&
			slices.Contains(s.view.told, issue(i))
	})
}

// Moved says that other output moved the cursor; the Screen draws below it.
func (s *Screen) Moved() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.widths = nil
	s.drawn = ""
}

// Over gives a writer for other output on the same terminal, which appears above the running part.
func (s *Screen) Over(to io.Writer) *Writer {
	return &Writer{s: s, to: to}
}

// Writer is returned by Screen.Over.
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
	if w.s.lent > 0 {
		w.s.held = append(w.s.held, func() {
			w.to.Write(p) //nolint:errcheck // as in put
		})
		return n, nil
	}
	if w.s.stop != nil && len(p) > 0 {
		w.s.clear()
		w.s.within = p[len(p)-1] != '\n'
	}
	_, err := w.to.Write(p)
	return n, err
}

// Fd is that of the terminal.
func (w *Writer) Fd() uintptr {
	if f, ok := w.to.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
