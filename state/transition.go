package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state/files"
)

func (op UpdateStatus) apply(d *draft) error {
	if op.Recover && op.To == "" {
		op.To = formats.NotStarted
	}
	if op.Back == (op.To != "") {
		return d.invalidOp(0, "", "expected a status or back, got both or neither")
	}

	if op.To != "" {
		if _, err := formats.ParseTaskStatus(op.To.String()); err != nil {
			return err
		}
	}

	op.Reason = strings.TrimSpace(op.Reason)
	if err := d.checkText(op.Reason, lineBreaks); err != nil {
		return err
	}
	return d.forEachTask(op.Tasks, func(n int) error { return d.changeStatus(op, n) })
}

// changeStatus changes the status of one task.
func (d *draft) changeStatus(op UpdateStatus, n int) error {
	t, err := d.editTask(n)
	if err != nil {
		return err
	}

	from, stale := d.cfg.effectiveStatus(t, d.now)
	to := op.To
	if op.Back {
		if !t.Status.KeepsPrior() {
			return formats.Fail(formats.CodeIllegalTransition, d.movesHelp(t),
				"task %d is %s and has no prior status to go back to", n, t.Status)
		}
		// an imported task may lack one
		to = cmp.Or(t.Prior, formats.NotStarted)
	}

	linked, err := d.link(t, op.Artifacts)
	if err != nil {
		return err
	}
	if to == from && !op.Back {
		renewed := to.InProgress() && !stale &&
			(t.Lease == nil || t.Lease.Session != d.tx.Session || t.Lease.Run != d.tx.Run)
		if renewed {
			t.Lease = d.newLease(op.timeout())
		}
		if renewed || linked {
			d.touch(t)
		}
		d.addVerdict(t, from, renewed || linked)
		return nil
	}

	back := op.Back || t.Status.KeepsPrior() && to == t.Prior
	if !back && !d.tx.Force {
		if err := d.checkTransition(op, t, from); err != nil {
			return err
		}
		// repeating earlier work does not undo what came after it
		if t.Status.InProgress() && to.Before(t.Prior) {
			to = t.Prior
		}
	}

	if stale && t.Lease != nil && !back {
		d.warn(fmt.Sprintf("task %d: taken over from session %s, which left it %s",
			n, t.Lease.Session, t.Status))
	}

	switch {
	case !to.KeepsPrior():
		t.Prior = ""
	case !t.Status.KeepsPrior():
		t.Prior = t.Status
	}

	t.BlockedReason = ""
	if to == formats.Blocked {
		t.BlockedReason = op.Reason
	}
	t.Lease = nil
	if to.InProgress() {
		t.Lease = d.newLease(op.timeout())
	}

	t.Status = to
	d.touch(t)
	d.addVerdict(t, from, true)
	return nil
}

// checkTransition enforces the table of transitions and the conditions of the target.
func (d *draft) checkTransition(op UpdateStatus, t *formats.Task, from formats.TaskStatus) error {
	needs := func(what string) error {
		help := "give " + what + ", or use --force"
		if op.Recover {
			help = fmt.Sprintf("give one: /task --recover %d REASON", t.Number)
		}
		return formats.Fail(formats.CodeIllegalTransition, help,
			"task %d may go from %s to %s only with %s", t.Number, from, op.To, what)
	}

	moves := formats.Moves(from)
	at := slices.IndexFunc(moves, func(m formats.Move) bool {
		return m.To == op.To && m.Recover == op.Recover
	})
	if at < 0 {
		for _, m := range moves {
			if m.Recover && m.To == op.To {
				return needs("the recover operation")
			}
		}
		return formats.Fail(formats.CodeIllegalTransition, d.movesHelp(t),
			"task %d may not go from %s to %s", t.Number, from, op.To)
	}

	m := moves[at]
	if m.NeedsReason && op.Reason == "" {
		return needs("a reason")
	}
	if m.ChildrenTerminal {
		for child := range d.tasks {
			if child.Parent != nil && *child.Parent == t.Number && !child.Status.Terminal() {
				return needs(fmt.Sprintf("every child completed or abandoned, task %d is %s",
					child.Number, child.Status))
			}
		}
		return nil // an expanded task has no document and no phases of its own: its children do
	}

	if err := d.checkArtifact(t, op.To); err != nil {
		return err
	}
	if op.To == formats.Completed {
		return d.checkPhases(t)
	}
	return nil
}

// movesHelp says to which statuses a task may go.
func (d *draft) movesHelp(t *formats.Task) string {
	from, _ := d.cfg.effectiveStatus(t, d.now)
	var allowed []string
	for _, m := range formats.Moves(from) {
		if !m.Recover {
			allowed = append(allowed, m.To.String())
		}
	}

	if t.Status.KeepsPrior() && t.Prior != "" && t.Prior != from &&
		!slices.Contains(allowed, t.Prior.String()) {
		allowed = append(allowed, t.Prior.String())
	}

	if len(allowed) == 0 {
		return fmt.Sprintf("to take it up again: /task --recover %d REASON", t.Number)
	}
	return "from " + from.String() + " it may go to " + strings.Join(allowed, ", ")
}

// checkArtifact requires that the artifact of a status is on disk and not empty: the newest
// document, or a file of the tree.
func (d *draft) checkArtifact(t *formats.Task, to formats.TaskStatus) error {
	kinds := formats.ArtifactsFor(to)
	if kinds == nil {
		return nil
	}

	missing := noArtifact(t.Number, to, strings.Join(formats.Words(kinds), " or "), "", "")
	for i, a := range slices.Backward(t.Artifacts) {
		if !slices.Contains(kinds, a.Type) || a.Deleted ||
			a.Type.IsDocument() && t.Newest(a.Type) != &t.Artifacts[i] {
			continue
		}

		why, err := d.cfg.documentProblem(a.Path)
		if why == "" {
			return err
		}
		missing = noArtifact(t.Number, to, "", a.Path, why)
	}

	return missing
}

// documentProblem says what is wrong with a document, or is empty if it is a regular file with
// content.
func (c Config) documentProblem(path string) (string, error) {
	info, err := c.Root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "does not exist", nil
	case err != nil:
		if _, disk := errors.AsType[syscall.Errno](err); disk {
			return "", files.Failure("looking at", path, err)
		}
		return "cannot be read: " + err.Error(), nil
	case !info.Mode().IsRegular():
		return "is no regular file", nil
	case info.Size() == 0:
		return "is empty", nil
	}
	return "", nil
}

// checkPhases refuses to complete a task while its newest plan has an open phase.
func (d *draft) checkPhases(t *formats.Task) error {
	a := t.Newest(formats.ArtifactPlan)
	if a == nil || a.Deleted {
		return nil
	}

	src, err := files.Read(d.cfg.Root, a.Path, files.MaxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		d.warn("task " + strconv.Itoa(t.Number) + ": its plan " + a.Path +
			" does not exist, so its phases were not looked at")
		return nil
	}
	if err != nil {
		return &formats.Failure{
			Code:    formats.CodeIO,
			Message: "reading the plan " + a.Path,
			Err:     err,
		}
	}

	plan, found := documents.Options{
		Lenient:  true,
		Profiles: d.cfg.Profiles,
	}.Parse(documents.ProfilePlan, a.Path, src)
	if found != nil && found.HasErrors() {
		d.warn(fmt.Sprintf(
			"task %d: its plan %s does not keep the format, so a phase may have been missed",
			t.Number, a.Path,
		))
	}
	var open []string
	for _, p := range plan.Phases {
		if p.Status != documents.PhaseCompleted {
			open = append(open, fmt.Sprintf("phase %d (%s): %s", p.Number, p.Name, p.Status))
		}
	}

	if len(open) > 0 {
		return formats.Fail(formats.CodePhasesOpen,
			fmt.Sprintf("go on with /implement %d", t.Number),
			"task %d may not be completed: %s has open phases: %s",
			t.Number, a.Path, strings.Join(open, ", "))
	}
	return nil
}

// TransitionsText is the table of legal transitions, one status a line.
func TransitionsText() string {
	var b strings.Builder
	for _, s := range formats.TaskStatuses() {
		var ways []string
		for _, m := range formats.Moves(s) {
			var notes []string
			if m.Recover {
				notes = append(notes, "recover")
			}
			if m.NeedsReason {
				notes = append(notes, "reason")
			}
			if m.ChildrenTerminal {
				notes = append(notes, "every child completed or abandoned")
			}

			way := m.To.String()
			if len(notes) > 0 {
				way += " (" + strings.Join(notes, ", ") + ")"
			}
			ways = append(ways, way)
		}
		if s.KeepsPrior() {
			ways = append(ways, "back to the prior status")
		}
		fmt.Fprintf(&b, "%-*s  %s\n", len(formats.Implementing), s, strings.Join(ways, ", "))
	}

	return b.String()
}
