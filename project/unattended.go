package project

import (
	"context"
	"fmt"
	"iter"

	"tercet/formats"
)

// Unattended is a Frontend without a user at it: its questions wait for an answer from elsewhere,
// and what it lets go by can be read from the run. Frontends embed it and replace what they do
// otherwise.
type Unattended struct {
	// Tell takes the notes; nil: nobody reads them.
	Tell func(line string)
}

// Note implements Frontend.
func (u Unattended) Note(format string, args ...any) {
	if u.Tell != nil {
		u.Tell(fmt.Sprintf(format, args...))
	}
}

// NoteOnce implements Frontend. It tells the line each time.
func (u Unattended) NoteOnce(_, text string) {
	u.Note("%s", text)
}

// Diagnostics implements Frontend.
func (u Unattended) Diagnostics(d *formats.Diagnostics) {
	for _, one := range d.List {
		u.Note("%s", one.Error())
	}
}

// Table implements Frontend.
func (Unattended) Table(formats.Table) {}

// Mask implements Frontend.
func (Unattended) Mask(*Masker) {}

// Begin implements Frontend.
func (Unattended) Begin(*Project, iter.Seq2[Event, error]) (end func()) {
	return func() {}
}

// Event implements Frontend.
func (Unattended) Event(Event, []byte, bool) {}

// Label implements Frontend.
func (Unattended) Label(string, string) {}

// Answered implements Frontend.
func (Unattended) Answered(formats.Gate, string, string) {}

// ShowRun implements Frontend.
func (Unattended) ShowRun(*Project, RunInfo) error {
	return nil
}

// Interactive implements Frontend.
func (Unattended) Interactive() bool {
	return false
}

// Ask implements Frontend.
func (Unattended) Ask(context.Context, Question) (Reply, error) {
	return Reply{}, ErrLeft
}

// AskTrust implements Frontend.
func (Unattended) AskTrust(context.Context, *Session, *TrustVerdict) (bool, error) {
	return false, nil
}

// AskMissing implements Frontend.
func (Unattended) AskMissing(context.Context, MissingArguments) ([]string, error) {
	return nil, ErrLeft
}

// Leaving implements Frontend.
func (Unattended) Leaving(ctx context.Context) (context.Context, func()) {
	return ctx, func() {}
}
