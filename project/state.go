package project

import (
	"context"
	"os"
	"strconv"

	"tercet/formats"
	"tercet/state"
	"tercet/state/exchange"
	"tercet/state/history"
	"tercet/state/statefile"
)

// The layouts of state.json.
const (
	LayoutLines  = string(statefile.LayoutLines)  // one task a line
	LayoutPretty = string(statefile.LayoutPretty) // one member a line
)

// SetLayout writes state.json in another layout.
func (p *Project) SetLayout(
	ctx context.Context, t Transaction, layout string,
) (TaskResult, error) {
	if layout != LayoutLines && layout != LayoutPretty {
		return TaskResult{}, usage("expected layout lines or pretty, got %q", layout)
	}
	return p.write(ctx, t, state.SetLayout{To: statefile.Layout(layout)})
}

// The forms of a drawing of tasks.
const (
	GraphDot     = exchange.GraphDot
	GraphMermaid = exchange.GraphMermaid
)

// Graph draws the tasks and what they depend on as a text.
func (p *Project) Graph(ctx context.Context, form string) (string, error) {
	tasks, err := p.Tasks(ctx, TaskFilter{})
	if err != nil {
		return "", err
	}
	return exchange.Graph(tasks, form)
}

// Restore writes a backup back as the state and gives its serial; 0 names the newest one.
func (p *Project) Restore(ctx context.Context, serial uint64) (uint64, TaskResult, error) {
	if err := p.mayWrite(); err != nil {
		return 0, TaskResult{}, err
	}
	if serial == 0 {
		newest, ok := p.Manager.NewestBackup()
		if !ok {
			return 0, TaskResult{}, formats.Fail(
				formats.CodeNotFound, "fix the file by hand", "there is no backup",
			)
		}
		serial = newest
	}

	res, err := p.Manager.Restore(ctx, serial)
	return serial, res, err
}

// StateAt gives the bytes of the state as it was with a serial, or at RUN:STEP.
func (p *Project) StateAt(ctx context.Context, run, step string, serial uint64) ([]byte, error) {
	if p.Reader == nil {
		return nil, NoWorkspace()
	}
	if run != "" {
		var err error
		serial, err = p.SerialAt(ctx, run, step)
		if err != nil {
			return nil, err
		}
	}
	return p.Reader.At(ctx, serial)
}

// StateDifference is a place in which two states differ.
type StateDifference = history.Difference

// CompareStates compares two states by task and field. Each is a file or a serial; an empty word is
// the state as it is.
func (p *Project) CompareStates(ctx context.Context, a, b string) ([]StateDifference, error) {
	names := [2]string{a, b}
	var texts [2][]byte
	for i, word := range names {
		var err error
		texts[i], err = p.stateNamed(ctx, word)
		if err != nil {
			return nil, err
		}
		if word == "" {
			names[i] = formats.Workspace + "/state.json"
		}
	}
	return history.Diff(names[0], texts[0], names[1], texts[1])
}

// stateNamed gives the bytes of a state: of a file, of a serial, or the present one for the empty
// word.
func (p *Project) stateNamed(ctx context.Context, word string) ([]byte, error) {
	serial, numErr := strconv.ParseUint(word, 10, 64)
	_, statErr := os.Lstat(word)
	if word != "" && (numErr != nil || statErr == nil) {
		data, err := os.ReadFile(word)
		if err != nil {
			err = formats.Broken(
				formats.CodeUsage, word, err, "name a file or the serial of a state",
			)
		}
		return data, err
	}

	if p.Reader == nil {
		return nil, NoWorkspace()
	}
	if word == "" {
		return p.Reader.Bytes(ctx)
	}
	return p.Reader.At(ctx, serial)
}

// TransitionsText is the table of the statuses and of what may follow each.
func TransitionsText() string {
	return state.TransitionsText()
}

// CheckState checks the state, its log and the documents that it names.
func (p *Project) CheckState(ctx context.Context) (*formats.Diagnostics, error) {
	if p.Reader == nil {
		return nil, NoWorkspace()
	}
	found, err := p.Reader.Verify(ctx)
	if err != nil {
		return nil, err
	}
	d := &formats.Diagnostics{List: found, Of: formats.CodeInvalidState}
	d.Sort()
	return d, nil
}
