package watch

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tercet/internal/live"
)

// Screen is the model without a terminal. Its commands run at once.
type Screen struct{ *model }

// NewScreen makes a screen of a size that has looked once.
func NewScreen(ctx context.Context, c Config, wide, high int) Screen {
	d := newEffects(ctx, c)
	s := Screen{newModel(d, live.Style{Sheet: c.Sheet})}
	s.Send(tea.WindowSizeMsg{Width: wide, Height: high})
	s.Look()
	return s
}

// Look looks for what is new.
func (s Screen) Look() {
	s.run(s.refresh())
}

// Send gives the model a message, and does what comes of it; left tells that it leaves.
func (s Screen) Send(msg tea.Msg) (left bool) {
	_, cmd := s.Update(msg)
	return s.run(cmd)
}

func (s Screen) run(cmd tea.Cmd) (left bool) {
	for cmd != nil {
		msg := cmd()
		switch msg.(type) {
		case tea.QuitMsg:
			return true
		case update, notice, loneKey:
			_, cmd = s.Update(msg)
		default:
			return false
		}
	}
	return false
}

// Text is what the screen shows.
func (s Screen) Text() string {
	return strings.Join(s.lines(), "\n")
}

// Human is the least time between two keys.
const Human = minKeyInterval + time.Millisecond
