package interp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
)

// rounds is what the last round of a loop produced, and how many rounds in a row produced the same.
// An empty digest is unknown, and equals no other.
type rounds struct {
	issues, work         string
	sameIssues, sameWork int
}

// stalls are the last rounds of loops, by step path.
type stalls map[string]rounds

// count counts a round of the loop at a path, and tells what was the same in formats.StallRounds
// rounds.
func (l stalls) count(path string, first bool, issues, work string) string {
	was := l[path]
	now := rounds{issues, work, 1, 1}
	if !first && issues != "" && issues == was.issues {
		now.sameIssues += was.sameIssues
	}
	if !first && work != "" && work == was.work {
		now.sameWork += was.sameWork
	}

	l[path] = now
	switch {
	case now.sameIssues >= formats.StallRounds:
		return "the open issues were the same"
	case now.sameWork >= formats.StallRounds:
		return "the work was the same"
	}
	return ""
}

// The choices of the question after a stall.
const (
	choiceGoOn = "Go on"
	choiceAsk  = "Ask"
	choiceStop = "Stop"
)

// byDefault is the author of the answer that the run gives itself if nobody can be asked.
const byDefault = "nobody"

// askStalled asks about a loop that makes no progress. Without the user it stops; a process that
// does not ask leaves the question open, and the run waits.
func askStalled(s step, why string, issues []formats.Issue) (d formats.Decision, err error) {
	if s.run.cfg.AutoApprove {
		return formats.Decision{Answer: choiceStop, By: "consent"}, nil
	}

	words := fmt.Sprintf("step '%s' makes no progress: %s", s.info.Step.Title, why)
	q := fixedGate{
		gate:     s.run.question(s.journalPath(), words, choiceGoOn, choiceAsk, choiceStop),
		fallback: choiceStop,
	}
	for _, i := range issues {
		q.gate.Show = append(q.gate.Show, i.Description)
	}
	if s.run.cfg.Prefix != "" { // a subagent does not wait by itself
		q.gate.Choices = slices.Delete(q.gate.Choices, 1, 2)
	}

	if _, d, err = ask(s, q); err == nil && d.Answer == choiceAsk {
		q.gate.Choices = slices.Delete(slices.Clone(q.gate.Choices), 1, 2)
		q.fallback = ""
		q.deferred = true
		_, d, err = ask(s, q)
	}
	return d, err
}

// sendBack is a redo or a rollback, unless the rounds make no progress.
func (tr transition) sendBack(t *syntax.Target) (*ending, error) {
	r := tr.step.run
	most := tr.maxUses(t)
	used := 0
	if t.Kind == syntax.ToRollback {
		// where they are used up, that is a question of its own
		most = r.limits.Rollbacks
		used = r.counts.rollbacks
	}

	counts := most >= formats.StallRounds && used < most
	if counts && !leavesNoWork(tr.result.outcome) && !r.finishing && !tr.result.answer.Person {
		why, err := tr.stallReason(t)
		if err != nil {
			return nil, err
		}
		if why != "" {
			if settled, end, err := tr.askAboutStall(t, why); settled || err != nil {
				return end, err
			}
		}
	}

	if t.Kind == syntax.ToRollback {
		return tr.rollback(t)
	}
	return tr.redo(t)
}

// askAboutStall asks about a loop that makes no progress. It is settled unless the user lets the
// loop go on. Without a decision the rule is used up, and the next rule of the file applies.
func (tr *transition) askAboutStall(
	t *syntax.Target,
	why string,
) (settled bool, end *ending, err error) {
	s := tr.step
	d, err := askStalled(s, why, tr.result.ret.Issues)
	switch {
	case err != nil:
		return false, nil, err
	case d.Answer == choiceGoOn:
		tr.result.value = maps.Clone(tr.result.value)
		tr.result.value["note"] = d.Note
		return false, nil, nil
	case !d.Person && tr.result.target == nil:
		next, _, err := tr.matchRule(t)
		if err != nil {
			return false, nil, err
		}
		if next != nil {
			s.run.report.warn("%s: %s", s.info.Step.Title, why)
			end, err = tr.follow(next)
			return true, end, err
		}
	}
	return true, final(tr.noProgressReturn(why)), nil
}

// noProgressReturn is the return of a loop that is stopped because it makes no progress.
func (tr transition) noProgressReturn(why string) formats.Return {
	tr.result.ret.NextSteps = cmp.Or(
		tr.result.ret.NextSteps,
		"another round would end the same way. Change the task or the "+
			"subagent's prompt and run it again, or run it on a terminal to give a hint",
	)
	return tr.limitReturn(why, "run it on a terminal to give a hint")
}

// stallReason says why another round would be one too many, empty if it would not.
func (tr transition) stallReason(t *syntax.Target) (string, error) {
	r := tr.step.run
	var steps []*syntax.Step
	var files []formats.Artifact
	for _, id := range tr.step.info.Reruns(t) {
		if _, s := tr.step.scope.find(id); s != nil {
			steps = append(steps, s)
		}
		v, _ := tr.step.scope.result(id)
		var some []formats.Artifact
		err := decode(objectOf(v)["artifacts"], &some)
		if err != nil {
			return "", err
		}
		files = append(files, some...)
	}

	if !r.prog.CallsWorker(steps...) {
		return "", nil
	}

	first := tr.step.frame.feedback == nil || tr.step.frame.feedback.From != tr.step.info.ID
	output := tr.step.scope.workOutput(steps)
	why, err := checkProgress(tr.step, first, tr.result.ret.Issues, output, files)
	if why != "" {
		why = fmt.Sprintf("%s: %s", why, tr.baseReturn().Summary)
	}
	return why, err
}

// workOutput is what the workers among some steps, and in them, returned. What reviewers return is
// not work.
func (sc *scope) workOutput(steps []*syntax.Step) (out []any) {
	for _, s := range steps {
		info := sc.run.prog.Info(s)
		v, ok := sc.result(info.ID)
		if ok && info.Call != nil && info.Call.Info.Role != formats.RoleReviewer {
			shown := objectOf(v)
			out = append(out, shown["text"], shown["fields"])
		}
		out = append(out, sc.workOutput(s.Body)...)
	}
	return out
}

// checkProgress counts a round of the loop of the step, and says what was the same in too many of
// them.
func checkProgress(
	s step,
	first bool,
	issues []formats.Issue,
	said []any,
	files []formats.Artifact,
) (string, error) {
	list := make([]string, len(issues))
	for i, one := range issues { // without the line, which changes with the text above it
		list[i] = strings.Join(one.Files, "\x00") + "\x00" + one.Description
	}

	slices.Sort(list)
	seen, err := observe(s.frame, s.journalPath(), "round", func() (string, error) {
		return workHash(s, files), nil
	})
	if err != nil {
		return "", err
	}

	if seen != "" {
		text, err := json.Marshal(said)
		if err != nil {
			return "", err
		}
		seen = digest([]string{seen, string(text)})
	}

	open := ""
	if len(list) > 0 {
		open = digest(list)
	}

	same := s.run.stalls.count(s.path, first, open, seen)
	if same == "" {
		return "", nil
	}

	delete(s.run.stalls, s.path) // after a hint the count starts again
	return fmt.Sprintf("%s in %d rounds", same, formats.StallRounds), nil
}

// workHash is a hash of the content of documents and of the tree, empty if neither is known.
func workHash(s step, files []formats.Artifact) string {
	var parts []string
	for _, a := range files {
		if a.Type != formats.ArtifactReview {
			parts = append(parts,
				s.run.hashOf(s.frame.ctx, a.Path),
				s.run.hashOf(s.frame.ctx, s.pathInTree(a.Path)),
			)
		}
	}

	known := s.frame.dir() != "" || parts != nil
	if s.run.cfg.Diff != nil {
		patch, stat, err := s.frame.diff()
		if err != nil {
			return ""
		}
		known = known || patch+stat != ""
		parts = append(parts, patch, stat)
		for line := range strings.Lines(stat) { // what is in no commit is in no patch
			name, loose := strings.CutSuffix(strings.TrimSuffix(line, "\n"), " | not committed")
			if !loose {
				continue
			}
			sum := s.run.hashOf(s.frame.ctx, s.pathInTree(name))
			if sum == absent {
				return "" // it is outside of the project
			}
			parts = append(parts, sum)
		}
	}
	if !known {
		return ""
	}
	return digest(parts)
}
