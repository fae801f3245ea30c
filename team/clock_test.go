package team_test

import (
	"errors"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/project"
	"tercet/team"
)

// suspended is the exit code of a run that waits.
var suspended = formats.ExitFor(formats.CodeSuspended)

// wrongClock is a clock that is off.
type wrongClock struct {
	clock

	off time.Duration
}

func (c wrongClock) Now() time.Time { return c.clock.Now().Add(c.off) }

// TestAWrongClock: the clocks of the workers are wrong, and every time is that of the home. A wait
// is due when it should be, no timeout is over early, and an answer is younger than its question.
func TestAWrongClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{
		"behind": -10 * time.Minute,
		"ahead":  10 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			k := p.keeper(t, 0)
			attempt := func(run, taker string) (formats.Return, error) {
				h := p.hostOf(t, "one", k)
				h.Clock = wrongClock{off: off}
				return takeIn(t, h, run, taker)
			}
			began := time.Now()
			p.change(t, map[string]string{
				".tercet/commands/night.md": flow("night", "wait: 1h"),
				".tercet/commands/ask.md": flow("ask",
					"gate: Go on?\nchoices: {yes: next, no: fail}\n"+
						"timeout: {after: 5m, choose: no}"),
			})
			night, err := k.Begin("/night", false)
			if err != nil {
				t.Fatal(err)
			}
			_, err = attempt(night.Run, "t1")
			r, ok := journal.Summarize(p.home.Root, night.Run)
			if !ok || r.Until.Before(began.Add(time.Hour)) ||
				r.Until.After(time.Now().Add(time.Hour)) {
				t.Fatalf("the run waits until %s, want an hour after %s: %v", r.Until, began, err)
			}
			p.checkTimes(t, night.Run, began)

			ask, err := k.Begin("/ask", false)
			if err != nil {
				t.Fatal(err)
			}
			ret, err := attempt(ask.Run, "t1")
			if err != nil || formats.ExitCode(ret) != suspended {
				t.Fatalf("the run that asks: %+v, %v, want that it waits", ret, err)
			}
			p.answer(t, k, ask.Run, "yes")
			ret, err = attempt(ask.Run, "t2")
			if err != nil || ret.Status != formats.StatusCompleted {
				t.Errorf("the run that was answered: %+v, %v", ret, err)
			}
			p.checkTimes(t, ask.Run, began)
		})
	}
}

// takeIn takes a run as a process does, which ends then.
func takeIn(tb testing.TB, h project.Host, run, taker string) (formats.Return, error) {
	tb.Helper()
	p := openProject(tb, h.OwnProject, h)
	ret, err := p.TakeRun(tb.Context(), run, taker, project.Options{})
	return ret, errors.Join(err, p.Close(tb.Context()))
}

// answer answers the open gate of a run at the home.
func (p *place) answer(tb testing.TB, k *team.Keeper, run, label string) {
	tb.Helper()
	_, g, err := p.home.Control.Gate(run)
	if err == nil {
		err = k.Give(tb.Context(), run, g.ID, project.Reply{Label: label})
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// TestATimeoutOfAGate: a worker does not wait at a question, whatever its timeout. An answer in
// time counts, and else the choice of the timeout once the time is over.
func TestATimeoutOfAGate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.change(t, map[string]string{
		".tercet/commands/ask.md": flow("ask", "gate: Go on?\nchoices: {yes: next, no: fail}\n"+
			"timeout: {after: 1h, choose: no}"),
		".tercet/commands/hurry.md": flow("hurry", "gate: Go on?\nchoices: {no: fail, yes: next}\n"+
			"timeout: {after: 2s, choose: yes}"),
	})
	k := p.keeper(t, 0)
	for _, c := range []struct{ line, answer, by string }{
		{"/ask", "yes", "somebody"},
		{"/hurry", "", formats.ByTimeout},
	} {
		job, err := k.Begin(c.line, false)
		if err != nil {
			t.Fatal(err)
		}
		ret, err := takeIn(t, p.hostOf(t, "one", k), job.Run, "t1")
		if err != nil || formats.ExitCode(ret) != suspended {
			t.Fatalf("%s: %+v, %v, want that it waits", c.line, ret, err)
		}
		if c.answer != "" {
			p.answer(t, k, job.Run, c.answer)
		} else {
			time.Sleep(2 * time.Second)
		}
		ret, err = takeIn(t, p.hostOf(t, "one", k), job.Run, "t2")
		if err != nil || ret.Status != formats.StatusCompleted {
			t.Errorf("%s: %+v, %v", c.line, ret, err)
		}
		records, err := journal.Load(p.home.Root, job.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, answered := journal.Gates(records); len(answered) != 1 ||
			answered[0].Decision.By != c.by {
			t.Errorf("%s: answered %+v, want by %s", c.line, answered, c.by)
		}
	}
}

// flow is a command with one step.
func flow(name, step string) string {
	return "---\ncommand: " + name + "\ndescription: Do it\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Do it\n\n```yaml step\n" + step + "\n```\n"
}

// checkTimes checks that all lines of a run were written since a time.
func (p *place) checkTimes(tb testing.TB, run string, since time.Time) {
	tb.Helper()
	records, err := journal.Load(p.home.Root, run)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range records {
		if r.Time.Before(since) || r.Time.After(time.Now()) {
			tb.Errorf("line %d is of %s, want a time between %s and now", r.Seq, r.Time, since)
		}
	}
}
