package term

import (
	"context"
	"fmt"
	"io"

	"tercet/internal/live"
	"tercet/internal/plain"
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
		look.Link = t.stage.look().Link
	}
	for _, line := range live.Steps(d.Steps, Columns(t.Out), look) {
		fmt.Fprintln(t.Out, line)
	}

	for _, topic := range d.Boards {
		t.Sentence("%s", topic)
	}
	t.Sentence("%s", r.WaitReason()) // nothing of what does not wait
	if d.Gate != nil {
		t.Answer("Answer: tercet approve %s, or tercet reject %[1]s", r.ID)
	}
	switch {
	case d.Resume != "":
		t.Answer("%s", "Resume: "+d.Resume)
	case d.Next != "":
		t.Answer("%s", plain.Line("Next: "+d.Next))
	}
}

// Draws reports whether runs are drawn on the terminal while they go on.
func (t *Terminal) Draws() bool {
	wide, _ := t.stage.room()
	return wide > 0
}

// Follow draws a run of another process until it has ended.
func (t *Terminal) Follow(ctx context.Context, p *project.Project, run string) error {
	defer t.stage.show(p.Dir, nil)()
	for e, err := range p.Events(ctx, run, 0) {
		if err != nil {
			return err
		}
		t.stage.Emit(e)
	}
	return context.Cause(ctx)
}

// FullScreen gives the terminal to a full screen until its Done is called. If the process ends
// before that, leave is written to the terminal: it restores what the screen has set.
func (t *Terminal) FullScreen(leave string) (s Screen, err error) {
	s.In = t.config.In
	s.Out = t.stage.full
	s.Suspend, s.Done, err = t.stage.screen(leave)
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

// Plain gives the streams beneath everything that is drawn.
func (t *Terminal) Plain() (out, err io.Writer) {
	return t.stage.full, t.stage.bare
}

// Restore leaves the terminal as it was, when the process ends at once.
func (t *Terminal) Restore() {
	t.stage.restore()
}
