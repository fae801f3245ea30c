package interp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/trace"
)

// posing makes a question from what stands there now, and names the files that its answer is bound
// to.
type posing interface {
	pose(fr frame) (formats.Gate, error)
	named() ([]string, error)
}

// static is a question of the engine, whose words do not change.
type static struct {
	g        formats.Gate
	fallback string // the answer where the run cannot ask; empty: the question stays open
	later    bool   // another process asks it, not the one that opens it

	// Of a question that a worker asks: the transaction id of the worker's call, which is the key of
	// gate_opened in the journal, and whether g was recalled from that entry.
	worker   string
	recalled bool
}

func (q static) pose(frame) (formats.Gate, error) {
	return q.g, nil
}

func (static) named() ([]string, error) {
	return nil, nil
}

// asking is a gate that is put to users.
type asking struct {
	step   step
	by     posing
	engine static // by, if it is a question of the engine; zero for one of the command file
	g      formats.Gate
}

// ask puts a gate to the approver until it has an answer to what stands there then. The question is
// in the journal before any user sees it, and so are votes, refused answers and the answer. The
// gate that comes back is the one that was answered.
func ask(s step, by posing) (g formats.Gate, d formats.Decision, err error) {
	s.run.going.Wait()       // no worker changes what is shown while a user looks at it
	engine, _ := by.(static) //nolint:errcheck // a question of the command file is none
	g, err = by.pose(s.frame)
	a := &asking{
		step:   s,
		by:     by,
		engine: engine,
		g:      g,
	}
	for first := true; err == nil; first = false {
		if !first && engine.worker != "" {
			return a.g, d, errStale // only the worker can put its question anew
		}
		var earlier, done bool
		now := words(a.g)
		if earlier, err = a.open(first); err != nil {
			break
		}
		if d, done, err = a.remember(); done || err != nil {
			if err == nil && first && now != words(a.g) {
				err = s.run.journal.failed(&formats.DivergedError{
					Failure: formats.Fail(formats.CodeInvalidState, "",
						"the answer to %q was given to something else", a.g.Question),
				})
			}
			break
		}
		refused := formats.Entry{
			Type: formats.EntryGateRefused,
			Step: a.g.Step,
			Key:  a.g.ID,
		}
		old, bad := s.frame.journal.recall(refused, &struct{}{})
		if old || bad != nil {
			err = bad
			continue
		}
		var changed []string
		if d, changed, err = a.consult(earlier); err != nil || changed == nil {
			break
		}
		data := map[string]any{"changed": changed, "choice": d.Answer, "by": d.By}
		if d.Edited != "" {
			data["edited"] = d.Edited
		}
		refused.Data = data
		err = s.frame.journal.append(refused)
		s.frame.emit(trace.Event{
			Kind:    trace.Gate,
			Name:    a.g.Question,
			Step:    a.g.Step,
			Message: trace.AskedAnew + strings.Join(changed, ", "),
		})
	}

	s.run.agreed = s.run.agreed || err == nil && d.By == ByYes
	return a.g, d, err
}

// consult gets the answer to an open gate. What changed since it was opened comes back instead,
// because no user has seen it.
func (a *asking) consult(earlier bool) (d formats.Decision, changed []string, err error) {
	r := a.step.run
	journal := a.step.frame.journal
	err = journal.live(!journal.nested)
	if err == nil && earlier { // it was opened by another process
		if changed, err = a.changed(); changed != nil {
			d = a.storedAnswer()
		}
	}
	if err != nil || changed != nil {
		return d, changed, err
	}

	if a.engine.later && !earlier {
		return d, nil, &formats.GateOpenError{Gate: a.g, Left: true}
	}
	a.step.frame.emit(trace.Event{
		Kind:    trace.Gate,
		Name:    a.g.Question,
		Step:    a.g.Step,
		Message: "asked",
	})
	for {
		d, err = a.wait()
		if formats.CodeOf(err) == formats.CodeIO { // an answer may lie where it cannot be read now
			r.warn("%s", err)
			err = &formats.GateOpenError{Gate: a.g, Left: true}
		}
		if open := isOpen(err); open != nil && !open.Left && a.engine.fallback != "" {
			d = formats.Decision{Answer: a.engine.fallback, By: byDefault}
			err = nil
		}
		if interrupt(err) != nil {
			r.suspension.openGate = &a.g
		}
		if err == nil && d.Edited != "" {
			return d, []string{d.Edited}, nil
		}
		if err == nil && d.Person {
			changed, err = a.changed()
		}
		if err != nil || changed != nil {
			return d, changed, err
		}
		if d.Person && a.g.Lacks(d.Answer, d.Note) { // who asks sees to it
			return d, nil, formats.Fail(formats.CodeUsage, "answer it with a note",
				"the choice '%s' of the gate needs a note", d.Answer)
		}
		if d.At.IsZero() {
			d.At = r.cfg.Clock.Now().UTC()
		}
		last, decides := a.g.Decides(d)
		if decides {
			return last, nil, a.decided(last)
		}
		err := a.step.frame.journal.append(formats.Entry{
			Type: formats.EntryGateVoted,
			Step: a.g.Step,
			Key:  a.g.ID,
			Data: d,
		})
		if err != nil {
			return d, nil, err
		}
		a.g.Votes = append(a.g.Votes, d)
		message := fmt.Sprintf("answered by %s, %d of %d", d.By, len(a.g.Votes), a.g.Quorum)
		a.step.frame.emit(trace.Event{
			Kind:    trace.Gate,
			Name:    a.g.Question,
			Step:    a.g.Step,
			Outcome: d.Answer,
			Message: message,
		})
	}
}

// storedAnswer is the answer that a user left for the gate, zero if there is none. It never asks:
// its context is over before the approver gets it.
func (a *asking) storedAnswer() formats.Decision {
	r := a.step.run
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	d, err := r.cfg.Approve.Approve(ctx, a.g)
	if err != nil {
		return formats.Decision{}
	}
	return d
}

// open writes a question down, or takes up how it was opened before; earlier tells that.
func (a *asking) open(first bool) (earlier bool, err error) {
	r := a.step.run
	if first && a.engine.recalled {
		return true, nil
	}

	e := formats.Entry{
		Type: formats.EntryGateOpened,
		Step: a.g.Step,
		Key:  a.engine.worker,
	}
	was := formats.Gate{}
	if earlier, err = a.step.frame.journal.recall(e, &was); err != nil || earlier {
		was.Run = a.g.Run
		was.Step = a.g.Step
		was.NeedsPerson = a.g.NeedsPerson
		was.Flow = a.g.Flow
		a.g = was
		return true, err
	}
	if !first {
		if a.g, err = a.afresh(); err != nil {
			return false, err
		}
	}
	a.g.ID = r.cfg.GateID()
	a.g.Opened = r.cfg.Clock.Now().UTC()
	a.g.Votes = nil
	if a.g.Evidence, err = a.evidence(nil); err == nil {
		a.g.Documents, err = a.documents()
	}
	if err == nil {
		a.g.Place = a.where()
		a.g.Digest = digestOf(a.g)
		e.Data = a.g
		err = a.step.frame.journal.append(e)
	}
	return false, err
}

// remember takes what the journal has of votes and of the answer.
func (a *asking) remember() (d formats.Decision, done bool, err error) {
	for {
		var vote formats.Decision
		old, err := a.step.frame.journal.recall(formats.Entry{
			Type: formats.EntryGateVoted,
			Step: a.g.Step,
			Key:  a.g.ID,
		}, &vote)
		if err != nil {
			return d, false, err
		}
		if !old {
			break
		}
		a.g.Votes = append(a.g.Votes, vote)
	}
	done, err = a.step.frame.journal.recall(formats.Entry{
		Type: formats.EntryGateDecided,
		Step: a.g.Step,
		Key:  a.g.ID,
	}, &d)
	return d, done, err
}

// decided journals and shows an answer.
func (a *asking) decided(d formats.Decision) error {
	err := a.step.frame.journal.append(formats.Entry{
		Type: formats.EntryGateDecided,
		Step: a.g.Step,
		Key:  a.g.ID,
		Data: map[string]any{
			"question": a.g.Question,
			"digest":   a.g.Digest,
			"choice":   d.Answer,
			"by":       d.By,
			"person":   d.Person,
			"note":     d.Note,
			"at":       d.At,
		},
	})
	by := "answered by " + d.By
	a.step.frame.emit(trace.Event{
		Kind:    trace.Gate,
		Name:    a.g.Question,
		Step:    a.g.Step,
		Outcome: d.Answer,
		Message: by,
	})
	return err
}

// wait asks. A pause leaves the question open.
func (a *asking) wait() (formats.Decision, error) {
	r := a.step.run
	ctx, stop := until(r.ctx, r.cfg.Pause)
	defer stop()
	d, err := a.inTime(ctx)
	if err != nil && r.ctx.Err() == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return d, err
}

// inTime takes the file's choice when the time since the opening of the gate is over without an
// answer. It does so too where no answer is possible at all, unless the run would end before that.
func (a *asking) inTime(ctx context.Context) (formats.Decision, error) {
	r := a.step.run
	// the line goes before the file
	if asked, _ := r.args.Get("approval"); asked != formats.Interactive {
		a.g.Agreed = r.cfg.Consent.File
	}
	if a.g.Timeout == nil {
		return r.cfg.Approve.Approve(ctx, a.g)
	}

	left := max(0, a.g.Until().Sub(r.cfg.Clock.Now()))
	within, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	d, err := r.cfg.Approve.Approve(within, a.g)
	if open := isOpen(err); open != nil && !open.Left && left < r.limits.Duration-r.took() {
		shown := left.Round(time.Second)
		if after := seconds(a.g.Timeout.After); after-left < time.Second {
			shown = after // it was opened just now
		}
		a.step.frame.emit(trace.Event{
			Kind:     trace.Gate,
			Name:     a.g.Question,
			Step:     a.g.Step,
			Outcome:  a.g.Timeout.Choose,
			Message:  trace.CannotAsk,
			Duration: shown,
		})
		a.g.Waits = true
		// no answer can come from anywhere
		if d, err = r.cfg.Approve.Approve(within, a.g); isOpen(err) != nil {
			err = cmp.Or(r.cfg.Clock.Sleep(within, left), context.DeadlineExceeded)
		}
	}
	over := within.Err() != nil || errors.Is(err, context.DeadlineExceeded)
	if err != nil && over && ctx.Err() == nil {
		return formats.Decision{Answer: a.g.Timeout.Choose, By: ByTimeout}, nil
	}
	return d, err
}

// until is a context that a further one ends too, which may be nil.
func until(ctx, other context.Context) (_ context.Context, stop func()) {
	if other == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	leave := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() {
		leave()
		cancel(nil)
	}
}

// paused is the reason for which nothing new may begin. The steps of a subagent are a part of what
// runs.
func (r *run) paused() error {
	if r.cfg.Pause == nil || r.cfg.Prefix != "" || r.after || r.cfg.Pause.Err() == nil {
		return nil
	}
	return context.Cause(r.cfg.Pause)
}

// changed makes the question anew and says what of it is not as it was opened, nil if nothing is.
func (a *asking) changed() (what []string, err error) {
	now, err := a.afresh()
	if err != nil {
		return nil, err
	}
	if words(now) != words(a.g) {
		what = append(what, "what was shown")
	}
	evidence, err := a.evidence(a.g.Evidence)
	for _, name := range slices.Sorted(maps.Keys(evidence)) {
		if evidence[name] != a.g.Evidence[name] {
			what = append(what, name)
		}
	}
	return what, err
}

// afresh makes the question from what stands there now, not from what the run saw before.
func (a *asking) afresh() (formats.Gate, error) {
	return a.by.pose(a.step.frame.rechecking())
}

// What answers a gate in place of the user.
const (
	ByTimeout = "timeout"
	ByYes     = "--yes"
)

// absent stands for the hash of a file that is not there.
const absent = "absent"

// evidence gives the hashes of files: of those that the gate names, of what the run has loaded and
// made, of its command file, and of those before. What is no file of the project has no hash.
func (a *asking) evidence(before map[string]string) (map[string]string, error) {
	r := a.step.run
	named, err := a.by.named()
	if err != nil {
		return nil, err
	}

	for _, made := range r.artifacts.newest() {
		named = append(named, made.Path)
	}
	out := map[string]string{}
	for _, name := range slices.Concat(
		named,
		r.loads,
		[]string{r.prog.File.Name},
		slices.Collect(maps.Keys(before)),
	) {
		if _, done := out[name]; done {
			continue
		}
		out[name] = r.hashed(name)
		// documents lie in the checkout, work in the worktree
		if tree := a.step.inTree(name); tree != name {
			out[name] += " " + r.hashed(tree)
		}
	}

	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	return out, nil
}

// documents are the files among the evidence that the user may change before the answer. They are
// what the gate names or shows, and what the run has made, each where the work on it is done.
func (a *asking) documents() (list []string, err error) {
	named, err := a.by.named()
	for _, shown := range a.g.Show {
		named = append(named, strings.TrimSpace(shown))
	}
	for _, made := range a.step.run.artifacts.newest() {
		named = append(named, made.Path)
	}
	for _, name := range named {
		sums := strings.Fields(a.g.Evidence[name])
		if len(sums) > 1 {
			name = a.step.inTree(name)
		}
		if len(sums) > 0 && len(sums[len(sums)-1]) == 2*sha256.Size &&
			!slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, err
}

// where is the folder in the project in which the run works; empty: its changes are not known.
func (a *asking) where() string {
	r := a.step.run
	if r.cfg.Diff == nil || r.cfg.Dir == "" {
		return ""
	}
	dir, err := filepath.Rel(r.cfg.Dir, cmp.Or(a.step.frame.place(), r.cfg.Dir))
	if err != nil || !filepath.IsLocal(dir) {
		return ""
	}
	return filepath.ToSlash(dir)
}

// hashed gives the hash of a file, or why it has none.
func (r *run) hashed(name string) string {
	sum, err := r.cfg.Docs.Sum(r.ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case err != nil:
		return string(formats.CodeOf(err))
	}
	return sum
}

// digestOf is what an answer is bound to: everything that is shown, and the files.
func digestOf(g formats.Gate) string {
	parts := []string{words(g)}
	if g.Subject != "" {
		parts = append(parts, g.Subject)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Evidence)) {
		parts = append(parts, name, g.Evidence[name])
	}
	return sumOf(parts)
}

// words is the same for the texts alone.
func words(g formats.Gate) string {
	return sumOf(slices.Concat([]string{g.Question}, labelsOf(g), g.Show))
}

func sumOf(parts []string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
