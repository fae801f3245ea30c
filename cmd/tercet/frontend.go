package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"tercet/commands"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/question"
	"tercet/internal/trace"
	"tercet/internal/trust"
	"tercet/project"
)

// frontend is the terminal of this process as projects use it.
type frontend struct{ app *app }

// Note implements Frontend.
func (f frontend) Note(format string, args ...any) {
	f.app.term.note(format, args...)
}

// NoteOnce implements Frontend.
func (f frontend) NoteOnce(key, text string) {
	f.app.noteOnce(key, text)
}

// Diagnostics implements Frontend.
func (f frontend) Diagnostics(d *formats.Diagnostics) {
	if !f.app.flags.quiet || d.HasErrors() {
		f.app.term.diagnostics(d)
	}
}

// Table implements Frontend.
func (f frontend) Table(t formats.Table) {
	f.app.term.table(t)
}

// Mask implements Frontend.
func (f frontend) Mask(m *journal.Masker) {
	f.app.mask = m
	f.app.term.mask = m.Values
}

// Begin implements Frontend.
func (f frontend) Begin(p *project.Project, past iter.Seq2[trace.Event, error]) (end func()) {
	return f.app.term.stage.show(p.Dir, past)
}

// Event implements Frontend.
func (f frontend) Event(e trace.Event, line []byte, silent bool) {
	t := f.app.term
	if t.tells() && !silent {
		if shown, err := trace.Decode(line); err == nil { // as the file has it
			t.stage.Emit(shown)
		}
	}
	if f.app.flags.events {
		t.rawJSON(line)
	}
	if f.app.flags.verbose > 1 {
		logEvent(f.app.log(), e, f.app.mask.Text)
	}
}

// Label implements Frontend.
func (f frontend) Label(run, text string) {
	f.app.term.parts[run] = text
}

// Answered implements Frontend.
func (f frontend) Answered(g formats.Gate, answer, by string) {
	t := f.app.term
	t.note("%sgate: %s %s (%s)", t.parts[g.Run], g.Question, answer, by)
}

// ShowRun implements Frontend.
func (f frontend) ShowRun(p *project.Project, r journal.Run) error {
	return call{app: f.app, p: p}.show(r)
}

// Interactive implements Frontend.
func (f frontend) Interactive() bool {
	return f.app.interactive()
}

// Ask implements Frontend.
func (f frontend) Ask(ctx context.Context, q project.Question) (project.Reply, error) {
	a := f.app
	who := question.Person{
		Lines:    a.lines,
		Out:      a.io.err,
		Screen:   func() (int, int) { return size(a.io.err) },
		Sheet:    a.term.sheet(a.term.errTTY),
		Line:     a.question,
		Untaken:  a.untaken,
		Env:      os.Environ(),
		Suspend:  suspended,
		Lend:     a.term.stage.lend,
		Language: a.language(),
	}
	resume := a.term.stage.Pause()
	defer resume(true)
	m := question.Matter{
		Begins: a.term.parts[q.Gate.Run],
		Note:   q.Note,
		Diff:   q.Diff,
	}
	if q.Project != nil {
		m.Root = q.Project.Root
	}
	got, err := who.Ask(ctx, q.Gate, m)
	switch {
	case errors.Is(err, question.ErrInterrupted):
		err = project.ErrInterrupted
	case errors.Is(err, question.ErrLeft):
		err = project.ErrLeft
	}
	return project.Reply(got), err
}

// Leaving implements Frontend: the next Ctrl-C ends the context.
func (f frontend) Leaving(ctx context.Context) (context.Context, func()) {
	ctx, leave := context.WithCancel(ctx)
	done := f.app.signals.instead(leave)
	return ctx, func() {
		done()
		leave()
	}
}

// AskMissing implements Frontend. A user who leaves by Ctrl-D or Ctrl-C begins nothing.
func (f frontend) AskMissing(
	ctx context.Context,
	missing commands.MissingArguments,
) ([]string, error) {
	return f.app.askMissing(ctx, missing)
}

// AskTrust implements Frontend: it shows what is new and what changed, a line each, and asks once
// for all of it.
func (f frontend) AskTrust(
	ctx context.Context,
	s *project.Session,
	v *trust.Verdict,
) (bool, error) {
	const most = 20
	t := f.app.term
	dir := s.Project.Dir
	them := "them"
	if len(v.Changes) <= 1 {
		them = "it"
	}
	if len(v.Changes) == 0 {
		t.say(
			"git and this project's own checks would run here, and you have not agreed to " +
				"that yet: " + dir,
		)
	} else {
		t.say(sprintf("%s of %s can start programs, and you have not agreed to %s:",
			formats.Count(len(v.Changes), "file"), dir,
			them))
	}
	for i, c := range v.Changes {
		if i == most {
			t.prompt("  %s and %d more\n", t.sheet(t.errTTY).Mark("…"), len(v.Changes)-most)
			break
		}
		t.prompt("  %-8s %s%s\n", c.Kind, c.Path, formats.Prefixed("  ", s.LeadsTo(v, c)))
	}
	return f.app.yes(ctx, "Trust "+them+"? ('tercet trust --show' shows more)")
}

// language is that in which the fixed texts of flows are shown.
func (a *app) language() string {
	if a.project == nil {
		return ""
	}
	return a.project.Config.Language
}

// question asks one thing on the terminal and gives the line that is typed then. What was pasted is
// told and not taken. Ctrl-C leaves the question alone, and not what asks it.
func (a *app) question(ctx context.Context, text string) (line string, err error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer a.signals.instead(leave)()
	resume := a.term.stage.Pause()
	defer func() { resume(err == nil) }()
	defer aborts(a.term.stage.restore, func() { fmt.Fprint(a.io.err, text) })()
	for {
		fmt.Fprint(a.io.err, text)
		line, err = a.lines.Next(ctx)
		rest := a.lines.Rest(ctx)
		if err != nil { // the rest of a paste is no line of the prompt
			a.lines.Drop(ctx)
		}
		if len(rest) == 0 || err != nil {
			return line, err
		}
		a.untaken(append([]string{line}, rest...))
	}
}

// askMissing asks for what a line lacks. A user who leaves by Ctrl-D or Ctrl-C begins nothing.
func (a *app) askMissing(
	ctx context.Context,
	missing commands.MissingArguments,
) ([]string, error) {
	var items []question.Item
	for _, q := range missing.Questions {
		items = append(items, question.Item(q))
	}
	ask := func(lines []string, prompt string) (string, error) {
		for _, line := range lines {
			a.term.tell(line)
		}
		line, err := a.question(ctx, prompt)
		if err == nil || line != "" {
			return line, nil
		}
		fmt.Fprintln(a.io.err)
		return "", formats.Fail(formats.CodeCancelled, "", "left: nothing was begun")
	}
	return question.NewInterview(items).Run(missing.Problem, missing.Line, ask)
}

// untaken tells lines that came before a question or by a paste.
func (a *app) untaken(lines []string) {
	for _, one := range lines {
		a.term.say("not taken as an answer, type it again: " + formats.Clip(one, 60))
	}
}
