package interp

import (
	"fmt"
	"time"

	"tercet/formats"
)

// longWait is the longest time for which a process waits. What takes longer suspends the run.
const longWait = time.Minute

// waitFor waits until a time that the journal has, so that a run that is resumed waits only for the
// rest.
func waitFor(s step, d time.Duration) (result, error) {
	s.plan("wait for %s", d)
	out := newResult(formats.OutcomeCompleted, object{})
	if s.run.dry.on {
		return out, nil
	}

	until, err := observe(s.frame, s.journalPath(), "until", func() (time.Time, error) {
		return s.run.cfg.Clock.Now().Add(d).UTC(), nil
	})
	if err != nil {
		return out, err
	}

	over, err := s.frame.journal.recall(formats.Entry{
		Type: formats.EntryWaited,
		Step: s.journalPath(),
	}, nil)
	if over || err != nil {
		return out, err
	}

	rest := until.Sub(s.run.cfg.Clock.Now())
	if rest > longWait {
		if err := s.frame.journal.live(!s.frame.journal.nested); err != nil {
			return out, err
		}
		return out, &formats.LaterError{
			Why:   fmt.Sprintf("step '%s' waits", s.info.Step.Title),
			Until: until,
		}
	}
	return out, s.sleep(max(0, rest), 0)
}
