package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/project"
)

// ShowDetail prints the steps of a run, and how it goes on.
func (t *Terminal) ShowDetail(p *project.Project, d project.RunDetail) {
	r := d.Run
	head := fmt.Sprintf("%s  %s  %s", r.ID, r.Line, r.Status)
	if r.Number > 0 {
		head += "  step " + r.String()
	}
	t.Answer("%s", plain.Line(head))

	look := live.Style{Sheet: t.Sheet(t.OutTTY)}
	t.stage.root = p.Dir
	if t.OutTTY {
		look.Link = t.stage.drawStyle().Link
	}
	for _, line := range live.Steps(d.Steps, Columns(t.Out), look) {
		fmt.Fprintln(t.Out, line)
	}

	for _, topic := range d.Boards {
		t.Sentence("%s", topic)
	}
	for _, m := range d.Told {
		got := "waits for the next worker"
		if m.Step != "" {
			got = "told to " + m.Step
		}
		t.Answer("%s", plain.Line(fmt.Sprintf("%s, by %s: %s", got, m.By, m.Text)))
	}
	t.Sentence("%s", r.WaitReason()) // nothing of what does not wait
	if d.Gate != nil {
		t.Answer("Answer: tercet approve %s, or tercet reject %[1]s", r.ID)
	}

	switch {
	case d.Follow != "":
		t.Answer("%s", "Follow: "+d.Follow)
	case d.Resume != "":
		t.Answer("%s", "Resume: "+d.Resume)
	case d.Next != "":
		t.Answer("%s", plain.Line("Next: "+d.Next))
	}
}

// Draws reports whether runs are drawn on the terminal while they go on.
func (t *Terminal) Draws() bool {
	wide, _ := t.stage.drawSize()
	return wide > 0
}

// Follow draws a run of another process until it has ended. What its agents say and do stands above
// that.
func (t *Terminal) Follow(ctx context.Context, p *project.Project, run string) error {
	defer t.stage.show(p.Dir, nil)()
	log := p.Log(run, "")
	for e, err := range p.Events(ctx, run, 0) {
		if err != nil {
			return err
		}
		list, _, err := log.Passages()
		if err != nil {
			return err
		}
		t.Passages(slices.DeleteFunc(list, func(one project.Passage) bool {
			return one.Spoken == nil // the steps are drawn
		}))
		t.stage.Emit(e)
	}
	return context.Cause(ctx)
}

// Passages prints parts of a run: events with their times, and what agents said and did. What they
// said stands whole, results of tools are clipped.
func (t *Terminal) Passages(list []project.Passage) {
	for _, p := range list {
		if p.Spoken == nil {
			t.Sentence("%s", plain.Line(p.String()))
			continue
		}
		for _, s := range p.Spoken {
			t.printSpoken(plain.Line(p.Step), s)
		}
	}
}

// printSpoken prints one thing that an agent did.
func (t *Terminal) printSpoken(step string, s project.Spoken) {
	mark, rows := live.Speech(string(s.Kind), s.Tool, s.Text)
	lead := step + " " + mark + " "
	text := strings.Join(rows, "\n")
	if columns := Columns(t.Out); columns > 0 {
		text = style.Wrap(text, max(columns-style.Width(lead), columns/2))
	}

	look := style.Aside
	if mark == "|" {
		look = style.Plain
	}
	sheet := t.Sheet(t.OutTTY)
	for row := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(t.Out, sheet.Paint(style.Aside, lead)+sheet.Paint(look, row))
	}
}

// FullScreen gives the terminal to a full screen until its Done is called. If the process ends
// before that, leave is written to the terminal: it restores what the screen has set.
func (t *Terminal) FullScreen(leave string) (s Screen, err error) {
	s.In = t.config.In
	s.Out = t.stage.full
	s.Suspend, s.Done, err = t.stage.fullScreen(leave)
	return s, err
}

// Screen is a terminal that a full screen has for itself.
type Screen struct {
	In  io.Reader
	Out io.Writer
	// Suspend stops the process until it goes on; the terminal is as it was meanwhile.
	Suspend func()
	// Done gives the terminal back.
	Done func()
}

// Lent is a terminal that a program of the user's has for itself.
type Lent struct {
	In, Out *os.File
	// Stop stops this process with the program, as Ctrl-Z does.
	Stop func()
	// Back takes the terminal back; hard behind a program that a signal ended.
	Back func(hard bool)
}

// Lend gives a program the terminal until Back is called.
func (t *Terminal) Lend() Lent {
	out, done := t.stage.lend()
	in, _ := t.config.In.(*os.File) //nolint:errcheck // a terminal is a file
	settle := func(bool) {}
	if t.keyboard != nil {
		settle = t.keyboard.Hold(out)
	}

	return Lent{
		In:  in,
		Out: out,
		Stop: func() {
			settle(false)
			suspendProcess()
		},
		Back: func(hard bool) {
			settle(hard)
			done()
		},
	}
}

// Plain gives the streams beneath everything that is drawn.
func (t *Terminal) Plain() (out, err io.Writer) {
	return t.stage.full, t.stage.bare
}

// Restore leaves the terminal as it was, when the process ends at once.
func (t *Terminal) Restore() {
	t.stage.restore()
}
