package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"tercet/formats"
	"tercet/internal/editor"
	"tercet/internal/history"
	"tercet/internal/plain"
	"tercet/project"
)

// Prompt reads lines that a person types at a terminal, and has them run.
type Prompt struct {
	Terminal *Terminal
	// Folder is where the history of lines is kept; empty: nowhere.
	Folder string
	// Ready is called before each line is read.
	Ready func(ctx context.Context)
	// Run runs a line and shows what is wrong with it. It gives the text with which the next line
	// begins. An error ends the prompt.
	Run func(ctx context.Context, line string) (begun string, err error)
	// Offer says what may stand at a byte of a line.
	Offer func(line string, at int) project.Offers
	// Runs reports whether a line names a command or a verb.
	Runs func(line string) bool

	history *history.History
}

// lineReader reads a line that begins with a text.
type lineReader interface {
	Read(ctx context.Context, begun string) (string, error)
}

// plainLines reads lines where a terminal cannot be edited on.
type plainLines struct{ t *Terminal }

// Read implements lineReader.
func (p plainLines) Read(ctx context.Context, _ string) (string, error) {
	fmt.Fprint(p.t.Err, "tercet> ")
	line, err := p.t.NextLine(ctx)
	if err != nil {
		fmt.Fprintln(p.t.Err)
	}
	if line != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

// NextLine reads a line of standard input.
func (t *Terminal) NextLine(ctx context.Context) (string, error) {
	return t.lines.Next(ctx)
}

// Recent are the lines that were entered, the newest last.
func (p *Prompt) Recent() []string {
	if p.history == nil {
		return nil
	}
	return p.history.Lines()
}

// Loop reads and runs lines until the user leaves. The context of each is one of the Signals.
func (p *Prompt) Loop(ctx context.Context) error {
	t := p.Terminal
	signals := t.config.Signals
	p.history = history.Open(p.Folder)
	in := p.reader()
	t.stage.keys = true
	begun := ""
	for {
		lineCtx := signals.Context(ctx)
		if signals.Terminated() { // before there was a context to end
			return formats.Fail(formats.CodeCancelled, "", "terminated")
		}
		p.Ready(lineCtx)

		line, err := in.Read(lineCtx, begun)
		begun = ""
		if err != nil {
			if errors.Is(err, editor.ErrQuit) {
				signals.Handle(syscall.SIGTERM)
			}
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case signals.Terminated():
				return context.Cause(lineCtx)
			case lineCtx.Err() == nil:
				return formats.Broken(formats.CodeIO, "standard input", err)
			}
			fmt.Fprintln(t.Err, "press Ctrl-D to quit")
			continue
		}

		if err := p.history.Add(line, t.config.Clock.Now()); err != nil {
			t.NoteOnce("history", "warning: the history is not kept: "+err.Error())
		}

		line = strings.TrimSpace(line)
		if slices.Contains(strings.Fields("exit quit /exit /quit"), line) {
			return nil
		}
		begun, err = p.Run(lineCtx, line)
		if err != nil {
			return err
		}
		signals.ResetTerminated()
	}
}

// reader gives what reads the lines. A terminal that knows no movements is read plainly.
func (p *Prompt) reader() lineReader {
	t := p.Terminal
	if !t.canEdit() {
		return plainLines{t}
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, resizeSignals()...)
	go func() {
		for s := range woken {
			if !endCrash(s, func() { t.keyboard.Restore(t.Err) }) {
				t.keyboard.Wake()
			}
		}
	}()

	return editor.New(editor.Config{
		Keyboard: t.keyboard,
		Out:      t.Err,
		Size:     func() (int, int) { return size(t.Err) },
		Prompt:   "tercet> ",
		Colour:   t.Sheet(t.ErrTTY).Colour,
		UTF8:     t.utf8,
		Keys:     strings.Split(keys, "\n"),
		Lines:    p.history.Lines,
		Offer:    p.offer,
		Runs:     p.Runs,
		Now:      t.config.Clock.Now,
		Suspend:  suspendProcess,
	})
}

// offer is what may stand at a byte of a line, as the editor shows it.
func (p *Prompt) offer(line string, at int) editor.Offer {
	got := p.Offer(line, at)
	out := editor.Offer{From: got.From, To: got.To}
	for _, i := range got.Items {
		out.Items = append(out.Items, editor.Item{
			Value: i.Value,
			About: plain.Line(i.About),
			Open:  i.Open,
		})
	}
	for _, p := range got.Hint {
		out.Needed = out.Needed || p.Current && strings.HasPrefix(p.Text, "<")
		out.Hint = append(out.Hint, editor.Word{Text: plain.Line(p.Text), Bold: p.Current})
	}
	return out
}

// keys explains the keys of the prompt.
const keys = `/       commands; Tab takes the first, Up and Down choose
@       files           !  a command of the shell
Ctrl-R  search in what was entered; Up and Down walk through it
Enter   runs the line; Ctrl-J, Alt-Enter, or \ at its end, begins another row
Ctrl-A Ctrl-E begin and end; Alt-B Alt-F words; Ctrl-W Ctrl-U Ctrl-K cut
Ctrl-C  empties the line, ends what runs; Ctrl-D quits; Ctrl-Z stops; Ctrl-L clears`
