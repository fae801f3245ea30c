package term

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"tercet/formats"
	"tercet/internal/phrase"
	"tercet/internal/plain"
	"tercet/internal/question"
	"tercet/internal/style"
	"tercet/project"
)

// Terminal is the frontend of a person.
var _ project.Frontend = (*Terminal)(nil)

// NoteOnce implements Frontend.
func (t *Terminal) NoteOnce(key, text string) {
	if !t.notedOnce[key] {
		t.notedOnce[key] = true
		t.Note("%s", text)
	}
}

// Diagnostics implements Frontend.
func (t *Terminal) Diagnostics(d *formats.Diagnostics) {
	if !t.Set.Quiet || d.HasErrors() {
		t.Findings(d)
	}
}

// Mask implements Frontend.
func (t *Terminal) Mask(m *project.Masker) {
	t.masker = m
}

// Begin implements Frontend.
func (t *Terminal) Begin(p *project.Project, past iter.Seq2[project.Event, error]) (end func()) {
	return t.stage.show(p.Dir, past)
}

// Event implements Frontend.
func (t *Terminal) Event(e project.Event, line []byte, silent bool) {
	if t.showsRuns() && !silent {
		if shown, err := project.DecodeEvent(line); err == nil { // as the file has it
			t.stage.Emit(shown)
		}
	}
	if t.Set.Events {
		t.RawJSON(line)
	}
	if t.Set.Verbose > 1 {
		if t.logger == nil {
			t.logger = newLog(t.Err, t.config.Clock)
		}
		logEvent(t.logger, e, t.masker.Text)
	}
}

// Label implements Frontend.
func (t *Terminal) Label(run, text string) {
	t.labels[run] = text
}

// Answered implements Frontend.
func (t *Terminal) Answered(g formats.Gate, answer, by string) {
	question := phrase.Question(t.language(), g.Question)
	t.Note("%sgate: %s %s (%s)", t.labels[g.Run], question, answer, by)
}

// ShowRun implements Frontend.
func (t *Terminal) ShowRun(p *project.Project, r project.RunInfo) error {
	d, err := p.Detail(r.ID)
	if err == nil {
		t.ShowDetail(p, d)
	}
	return err
}

// Interactive implements Frontend.
func (t *Terminal) Interactive() bool {
	return t.InTTY && t.ErrTTY && !t.Set.NoInput && t.config.Env("CI") != "true" &&
		t.config.Env("TERCET_NO_INPUT") == ""
}

// Ask implements Frontend.
func (t *Terminal) Ask(ctx context.Context, q project.Question) (project.Reply, error) {
	who := question.Person{
		Lines:      t.lines,
		Out:        t.Err,
		Screen:     func() (int, int) { return size(t.Err) },
		Sheet:      t.Sheet(t.ErrTTY),
		Line:       t.askLine,
		TypedAhead: t.reportTypedAhead,
		Env:        t.config.Environ(),
		Suspend:    suspendProcess,
		Lend:       t.stage.lend,
		Language:   t.language(),
	}

	resume := t.stage.Pause()
	defer resume(true)
	m := question.Matter{
		Prefix: t.labels[q.Gate.Run],
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
	return project.Reply{Label: got.Label, Note: got.Note, Edited: got.Edited}, err
}

// Leaving implements Frontend: the next Ctrl-C ends the context.
func (t *Terminal) Leaving(ctx context.Context) (context.Context, func()) {
	ctx, leave := context.WithCancel(ctx)
	done := t.config.Signals.OnInterrupt(leave)
	return ctx, func() {
		done()
		leave()
	}
}

// AskMissing implements Frontend. A user who leaves by Ctrl-D or Ctrl-C begins nothing.
func (t *Terminal) AskMissing(
	ctx context.Context,
	missing project.MissingArguments,
) ([]string, error) {
	var items []question.Item
	for _, q := range missing.Questions {
		items = append(items, question.Item(q))
	}

	ask := func(lines []string, prompt string) (string, error) {
		for _, line := range lines {
			t.Tell(line)
		}
		line, err := t.askLine(ctx, func() string { return prompt }, nil)
		if err == nil || line != "" {
			return line, nil
		}
		fmt.Fprintln(t.Err)
		return "", formats.Fail(formats.CodeCancelled, "", "left: nothing was begun")
	}
	return question.NewInterview(items).Run(missing.Problem, missing.Line, ask)
}

// AskTrust implements Frontend: it shows what is new and what changed, a line each, and asks once
// for all of it.
func (t *Terminal) AskTrust(
	ctx context.Context,
	s *project.Session,
	v *project.TrustVerdict,
) (bool, error) {
	const (
		most     = 20
		mostDiff = 12
	)
	dir := s.Project.Dir
	them := "them"
	if len(v.Changes) <= 1 {
		them = "it"
	}

	if len(v.Changes) == 0 {
		t.Say(
			"git and this project's own checks would run here, and you have not agreed to " +
				"that yet: " + dir,
		)
	} else {
		t.Say("you have not agreed to " + v.Pending() + " of " + dir +
			" that can start programs:")
	}

	needed := 0
	for i, c := range v.Changes {
		if v.Needs(c) {
			needed++
		}
		if i == most {
			t.Prompt("  %s and %d more\n", t.Sheet(t.ErrTTY).Mark("…"), len(v.Changes)-most)
		}
		if i >= most {
			continue
		}
		later := ""
		if !v.Needs(c) {
			later = "  (asked when a line needs it)"
		}
		t.Tell(plain.Sprintf("  %-8s %s%s%s",
			c.Kind, c.Path, formats.Prefixed("  ", s.LeadsTo(v, c)), later))
		for _, line := range v.Difference(c, mostDiff) {
			t.Prompt("    %s\n", line)
		}
	}

	if needed < len(v.Changes) {
		them = fmt.Sprintf("the %d that this line needs", needed)
		if needed == 1 {
			them = "the one that this line needs"
		}
	}
	return t.Yes(ctx, "Trust "+them+"? ('tercet trust --show' shows more)")
}

// language is that in which the fixed texts of flows are shown.
func (t *Terminal) language() string {
	if t.project == nil {
		return ""
	}
	return t.project.Config.Language
}

// reportTypedAhead says which lines were not taken as an answer: they came before the question or
// by a paste.
func (t *Terminal) reportTypedAhead(lines []string) {
	for _, one := range lines {
		t.Say("not taken as an answer, type it again: " + formats.Clip(one, 60))
	}
}

// yesOrNo are the keys of a question whose default is no.
func yesOrNo(key string) (shown string, does question.Effect) {
	switch key {
	case "y", "Y":
		return "yes", question.Answers
	case "n", "N":
		return "no", question.Answers
	}
	return "expected y or n", question.Ignored
}

// Yes asks a question whose default is no.
func (t *Terminal) Yes(ctx context.Context, text string) (bool, error) {
	t.reportTypedAhead(t.lines.Drop(ctx))
	asked := func() string {
		return style.Wrap(plain.Line(text)+" [y/N]", Columns(t.Err)) + " "
	}
	for {
		line, err := t.askLine(ctx, asked, yesOrNo)
		if err != nil && line == "" {
			t.Prompt("\n")
			return false, context.Cause(ctx)
		}
		if yes, ok := question.ParseYes(line); ok {
			return yes, nil
		}
		t.Prompt("expected y or n, got %q\n", line)
	}
}
