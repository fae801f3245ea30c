package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/proc"
)

// Detached is a line that a process of its own works on, or has worked on.
type Detached struct {
	// Run is the run's id. It is empty for a line that keeps no journal.
	Run string
	// Return is that of a line that ended before a run was in the journal; nil: the run goes on.
	Return *formats.Return
}

// StartDetached begins a line in a process of its own and returns once its run is in the journal.
// The run outlives this process. It asks nobody: its questions wait. The line must be about one
// task. When ctx ends before the run has begun, the process is interrupted.
//
// The errors are those of Start.
func (p *Project) StartDetached(ctx context.Context, line Line, o Options) (Detached, error) {
	return p.detach(ctx, detachedRequest{Line: line, Options: o})
}

// ResumeDetached is StartDetached for a run that did not end. The step is that of Resume.
func (p *Project) ResumeDetached(
	ctx context.Context, run, step string, o Options,
) (Detached, error) {
	return p.detach(ctx, detachedRequest{Run: run, Step: step, Options: o})
}

// detachedRequest is what a process in the background is to do.
type detachedRequest struct {
	Version      string // both processes must be of one version
	Dir          string
	HasWorkspace bool

	Line      Line
	Run, Step string // a run that goes on, and the step to go back to; Line is empty then
	Options   Options

	// These are fields of Host.
	Strict      bool
	LockTimeout time.Duration
	Trust       string
	Agreed      map[string]bool
}

// detachedAnswer is the answer to a detachedRequest, once the run has begun or the line has ended.
type detachedAnswer struct {
	Run    string
	Notes  []string
	Return *formats.Return
	Err    *sentError
}

// detach starts the process that does what a request says, and waits for its answer.
func (p *Project) detach(ctx context.Context, r detachedRequest) (Detached, error) {
	if err := p.Host.MayCommand(); err != nil {
		return Detached{}, err
	}

	r.Version = p.Host.Version
	r.Dir = p.Dir
	r.HasWorkspace = p.HasWorkspace
	r.Strict = p.Host.Strict
	r.LockTimeout = p.Host.LockTimeout
	r.Trust = p.Host.Trust
	r.Agreed = p.Host.Agreed

	data, err := json.Marshal(r)
	if err != nil {
		return Detached{}, formats.Broken(formats.CodeBug, "the request", err)
	}

	in, out, err := os.Pipe()
	if err != nil {
		return Detached{}, formats.Broken(formats.CodeIO, "a pipe", err)
	}
	defer in.Close() //nolint:errcheck // it was read

	process, err := proc.Detach(proc.Command{
		Argv:  p.Host.Detached,
		Env:   p.Host.Environ(),
		Stdin: data,
	}, out)
	closeErr := out.Close()
	if err = errors.Join(err, closeErr); err != nil {
		return Detached{}, err
	}

	answered := make(chan detachedAnswer, 1)
	go func() { answered <- readAnswer(in) }()
	select {
	case answer := <-answered:
		return p.unpackAnswer(answer)
	case <-ctx.Done():
		process.Interrupt()
		return Detached{}, context.Cause(ctx)
	}
}

// unpackAnswer shows the notes of an answer, and gives its run and return, or its error.
func (p *Project) unpackAnswer(a detachedAnswer) (Detached, error) {
	for _, line := range a.Notes {
		p.note("%s", line)
	}
	if a.Err != nil {
		return Detached{}, p.decodeError(a.Err)
	}
	return Detached{Run: a.Run, Return: a.Return}, nil
}

// maxAnswer bounds what a process in the background says before its run has begun, in bytes.
const maxAnswer = 16 << 20

// readAnswer reads the answer of a process in the background. One that crashes prints why instead.
func readAnswer(in io.Reader) (a detachedAnswer) {
	var said strings.Builder
	d := json.NewDecoder(io.TeeReader(io.LimitReader(in, maxAnswer), &said))
	if d.Decode(&a) != nil {
		a.Err = encodeError(formats.Fail(
			formats.CodeBug,
			"'tercet runs' tells whether it has begun",
			"the process of the run ended without an answer: %s",
			formats.Clip(strings.TrimSpace(said.String()), maxCrash),
		))
	}
	return a
}

// maxCrash bounds how much is shown of what a process printed that crashed.
const maxCrash = 2000

// Process is what a process in the background has of its own.
type Process struct {
	In  io.Reader // the request
	Out io.Writer // the answer
	// PrintTo lets the process print to a file from now on.
	PrintTo func(*os.File) error
}

// RunDetached is what the process does that Host.Detached starts: it works on the request that it
// reads, and answers once the run has begun. It gives the return of the line.
func RunDetached(ctx context.Context, h Host, process Process) (formats.Return, error) {
	w := &detachedWork{process: process, clock: h.Clock}
	ret, err := w.run(ctx, h)
	w.answer(detachedAnswer{Run: ret.Metadata.Run, Return: &ret, Err: encodeError(err)})
	return ret, err
}

// detachedWork is the frontend of a process in the background. Until the run has begun its notes
// are a part of the answer, then lines of a file in the run's folder.
type detachedWork struct {
	Unattended

	process Process
	clock   Clock

	mu       sync.Mutex
	opened   bool // the project is open: what its files are like was told by the one who asks
	answered bool
	notes    []string
	file     io.Writer // nil: the notes are lost
}

// NotesName is the file in a run's folder with what a run in the background had to tell.
const NotesName = "notes.log"

// run does what the request says.
func (w *detachedWork) run(ctx context.Context, h Host) (formats.Return, error) {
	var r detachedRequest
	if err := json.NewDecoder(w.process.In).Decode(&r); err != nil {
		return formats.Return{}, formats.Broken(formats.CodeUsage, "the request", err,
			"'tercet start LINE' starts this process")
	}
	if r.Version != h.Version {
		return formats.Return{}, formats.Fail(
			formats.CodePrecondition,
			"start the program anew that asked for it",
			"tercet %s asked for a run in the background, and this is tercet %s",
			r.Version, h.Version,
		)
	}

	h.Frontend = w
	h.Strict = r.Strict
	h.LockTimeout = r.LockTimeout
	h.Trust = r.Trust
	h.Agreed = r.Agreed
	h.CommandLine = "tercet start " + r.Line.Text()
	if r.Run != "" {
		h.CommandLine = "tercet resume " + r.Run
	}

	p, err := Open(ctx, r.Dir, r.HasWorkspace, h)
	if err != nil {
		return formats.Return{}, err
	}
	s, err := p.Session(r.Options)
	if err != nil {
		return formats.Return{}, errors.Join(err, p.release())
	}

	s.oneRun = true
	s.journaled = func(run string) { w.reportBegun(p, run) }
	w.mu.Lock()
	w.opened = true
	w.mu.Unlock()

	var ret formats.Return
	if r.Run != "" {
		ret, err = s.Resume(ctx, r.Run, r.Step)
	} else {
		ret, err = s.Start(ctx, r.Line)
	}
	return ret, errors.Join(err, p.release())
}

// reportBegun answers that a run has begun. From now on its folder has what the process prints.
func (w *detachedWork) reportBegun(p *Project, run string) {
	name := path.Join(journal.Folder, run, NotesName)
	file, err := p.Root.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		p.onClose(file)
	} else {
		w.Note("warning: %s: %s", name, err)
	}
	w.answer(detachedAnswer{Run: run})

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil && file != nil {
		w.file = file
		if err := w.process.PrintTo(file); err != nil {
			fmt.Fprintf(file, "warning: %s\n", err)
		}
	}
}

// answer answers once.
func (w *detachedWork) answer(a detachedAnswer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answered {
		return
	}
	w.answered = true

	a.Notes = w.notes
	data, err := json.Marshal(a)
	if err != nil {
		data = []byte(err.Error())
	}
	//nolint:errcheck // if nobody waits for the answer any more, the run goes on all the same
	w.process.Out.Write(append(data, '\n'))
}

// Note implements Frontend.
func (w *detachedWork) Note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	switch {
	case !w.answered:
		w.notes = append(w.notes, line)
	case w.file != nil:
		fmt.Fprintln(w.file, w.clock.Now().UTC().Format(time.RFC3339), line)
	}
}

// NoteOnce implements Frontend.
func (w *detachedWork) NoteOnce(_, text string) {
	w.tellLater(text)
}

// Diagnostics implements Frontend.
func (w *detachedWork) Diagnostics(d *formats.Diagnostics) {
	for _, one := range d.List {
		w.tellLater(one.Error())
	}
}

// tellLater tells what is found in files, but not while the project is opened: the one who asks for
// the run has opened it, too, and was told.
func (w *detachedWork) tellLater(text string) {
	w.mu.Lock()
	opened := w.opened
	w.mu.Unlock()
	if opened {
		w.Note("%s", text)
	}
}
