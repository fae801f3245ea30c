package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/order"
)

// Folder has the folders of the runs, relative to the project root.
const Folder = formats.Workspace + "/runs"

// LockName is the lock file in a run's folder, held by the process that appends to the journal. It
// exists while the run can continue.
const LockName = "lock"

// TeamName is the file in a run's folder that the home of a team keeps: what it has to know of the
// run besides its journal.
const TeamName = "team.json"

// Run is the summary of a run, from the first and last lines of its journal.
type Run struct {
	ID   string `json:"run"`
	Line string `json:"command"`
	Task int    `json:"task,omitempty"`
	// Status is its outcome, cancelled, suspended, or open: running, or its process died
	Status  string          `json:"status"`
	Gate    string          `json:"gate,omitempty"` // the open question
	Started time.Time       `json:"started"`
	Last    time.Time       `json:"last"` // time of its last entry
	Cost    float64         `json:"cost_usd,omitempty"`
	Begun   formats.Started `json:"-"`
	sawLast bool
	// Queue says which place a run has that waits for its turn; empty: it does not, or it is
	// unknown.
	Queue string `json:"queue,omitempty"`

	Place             // the current place
	formats.Postponed // why it is suspended
}

// Place is the position of a run in its workflow.
type Place struct {
	Step string `json:"step_path,omitempty"`
	// Number is that of the top-level step, from 1; 0: outside the workflow
	Number int `json:"step_number,omitempty"`
	Of     int `json:"step_count,omitempty"`
}

// WaitReason says what a suspended or queued run waits for; empty for any other run.
func (r Run) WaitReason() string {
	switch {
	case r.Queue != "":
		return r.Queue
	case r.Gate != "":
		return fmt.Sprintf("waits for an answer to %q", r.Gate)
	case r.Why != "":
		return (&formats.LaterError{Why: r.Why, Until: r.Until}).Error()
	}
	return ""
}

// String is the step's number, the count of steps, and the path.
func (p Place) String() string {
	if p.Number == 0 {
		return p.Step
	}
	return fmt.Sprintf("%d of %d %s", p.Number, p.Of, p.Step)
}

// Due reports whether the run waited for a time that has come.
func (r Run) Due(now time.Time) bool {
	return !r.Until.IsZero() && !now.Before(r.Until)
}

// DueUnattended reports whether a due run may resume without the user.
func (r Run) DueUnattended(now time.Time) bool {
	return r.Due(now) && now.Before(r.Alone)
}

// Open is the status of a run that has neither ended nor is suspended.
const Open = "open"

// tailBytes is how much of the end of a journal a summary reads.
const tailBytes = 64 << 10

// Runs lists the runs of a project, newest first; with unfinished only those that can continue. It
// skips files that are not journals, and does not verify hashes: resume does.
func Runs(root *os.Root, unfinished bool) ([]Run, error) {
	ids, err := IDs(root)
	var out []Run
	for _, id := range ids {
		if unfinished {
			if _, err := root.Lstat(LockPath(id)); err != nil {
				continue
			}
		}

		// a process that was killed after its last entry leaves the lock of a finished run
		r, ok := Summarize(root, id)
		if ok &&
			(!unfinished || r.Status == Open || r.Status == formats.OutcomeSuspended.String()) {
			out = append(out, r)
		}
	}

	order.Stable(out, func(a, b Run) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(b.ID, a.ID))
	})
	return out, err
}

// IDs lists the folders of runs, in the order of their ids.
func IDs(root *os.Root) (ids []string, err error) {
	entries, err := fs.ReadDir(atomicfile.FS(root), Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, formats.Fail(formats.CodeIO, "see 'ls -ld "+Folder+"'",
			"%s is no folder that can be read", Folder)
	}
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, nil
}

// Summarize reads the first line and the end of a journal.
func Summarize(root *os.Root, id string) (r Run, ok bool) {
	file, err := atomicfile.Open(root, path.Join(Folder, id, Name))
	if err != nil {
		return r, false
	}

	defer file.Close() //nolint:errcheck // it was read
	head, err := bufio.NewReader(io.LimitReader(file, MaxBytes)).ReadBytes('\n')
	if err != nil {
		return r, false
	}

	first, err := Read(head)
	if err != nil || len(first) == 0 || first[0].Type != formats.EntryRunStarted {
		return r, false
	}
	r = Run{
		ID:      id,
		Status:  Open,
		Started: first[0].Time,
		Last:    first[0].Time,
	}
	if json.Unmarshal(first[0].Raw(), &r.Begun) != nil {
		return r, false
	}

	r.Line = r.Begun.Line
	r.Task = r.Begun.Task
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return r, false
	}

	tail := make([]byte, min(size, tailBytes))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return r, false
	}
	for _, line := range slices.Backward(bytes.SplitAfter(tail, []byte{'\n'})) {
		if r.readBackwards(line) {
			break
		}
	}

	at, _, _ := strings.Cut(visitSuffix().ReplaceAllString(r.Step, ""), "/")
	at, _, _ = strings.Cut(at, "[")
	r.Number = slices.Index(r.Begun.Steps, at) + 1
	r.Of = len(r.Begun.Steps)
	return r, true
}

// readBackwards reads one line of the tail, last line first, and reports whether the summary is
// complete. An incomplete line is skipped.
func (r *Run) readBackwards(line []byte) (all bool) {
	var rec Record
	var data struct {
		formats.Suspended

		Status string
		Cost   float64 `json:"cost_usd"`
	}
	if json.Unmarshal(line, &struct {
		*Record
		Data any `json:"data"`
	}{&rec, &data}) != nil && rec.Type == "" {
		return false
	}

	r.Step = rec.Step
	if r.sawLast {
		return rec.Step != ""
	}
	r.sawLast = true
	r.Last = rec.Time
	switch {
	case rec.Type == formats.EntrySuspended:
		r.Status = formats.OutcomeSuspended.String()
		r.Gate = data.Question
		r.Postponed = data.Postponed
	case rec.Type == formats.EntryRunFinished && rec.Step == "":
		r.Status = data.Status
		r.Cost = data.Cost
		return true
	}

	return rec.Step != ""
}

// UnfinishedRound finds the unfinished round of a line with several tasks, in a list of runs,
// newest first. It returns the round and its runs that completed their tasks. The round is empty if
// each task is done or none was begun.
func UnfinishedRound(list []Run, line string, tasks []int) (round string, done map[int]Run) {
	done = map[int]Run{}
	seen := map[int]bool{}
	for _, r := range list {
		of := r.Begun.Among
		if of == nil || of.Line != line || round != "" && of.Round != round {
			continue
		}
		round = of.Round
		if !seen[r.Task] && formats.Outcome(r.Status).Passes() {
			done[r.Task] = r
		}
		seen[r.Task] = true
	}

	if !slices.ContainsFunc(tasks, func(n int) bool {
		_, ok := done[n]
		return !ok
	}) {
		return "", nil
	}
	return round, done
}

// Load reads and verifies the journal of a run.
func Load(root *os.Root, id string) ([]Record, error) {
	records, _, err := load(root, id)
	return records, err
}

// LoadComplete is Load, but rejects a journal with a torn last line.
func LoadComplete(root *os.Root, id string) ([]Record, error) {
	records, torn, err := load(root, id)
	if err == nil && torn {
		err = damagedError(len(records)+1, "line does not match its hash")
	}
	return records, err
}

// load also reports whether a torn line follows the last complete one.
func load(root *os.Root, id string) (records []Record, torn bool, err error) {
	file, err := atomicfile.Open(root, path.Join(Folder, id, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, failure(formats.CodeIO, "open", err)
	}

	defer file.Close() //nolint:errcheck // it was read

	info, err := file.Stat()
	if err != nil {
		return nil, false, failure(formats.CodeIO, "read", err)
	}

	whole, err := scan(file, func(r Record) { records = append(records, r) })
	if f, ok := errors.AsType[*formats.Failure](err); ok && f.Code == formats.CodeInvalidState {
		f.Help = "to give the run up, move its folder away: mv " + path.Join(Folder, id) + " " +
			id + ".damaged"
	}
	if err != nil {
		return nil, false, err
	}
	return records, int64(whole) < info.Size(), nil
}

// Delegated reports whether a run whose journal has a valid MAC delegated to agent with the
// transaction id. A delegation that ended before since does not count.
func Delegated(
	root *os.Root, agent, txn string, since time.Time, key func(run string) []byte,
) bool {
	ids, err := IDs(root)
	return err == nil && slices.ContainsFunc(ids, func(id string) bool {
		records, err := Load(root, id)
		if err != nil || VerifyKey(records, key(id)) != nil {
			return false
		}
		begun := slices.IndexFunc(records, func(r Record) bool {
			var data struct{ Agent string }
			return r.Type == formats.EntryDelegationStarted && r.Key == txn &&
				json.Unmarshal(r.Raw(), &data) == nil && data.Agent == agent
		})
		return begun >= 0 && !slices.ContainsFunc(records[begun:], func(r Record) bool {
			return r.Type == formats.EntryDelegationResult && r.Step == records[begun].Step &&
				r.Time.Before(since)
		})
	})
}

// MatchID finds the run whose id begins with a word. An empty word finds the only run.
func MatchID(runs []Run, word string) (Run, error) {
	var found []Run
	for _, r := range runs {
		if r.ID == word {
			return r, nil
		}
		if strings.HasPrefix(r.ID, word) {
			found = append(found, r)
		}
	}

	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && word == "":
		return Run{}, formats.Fail(
			formats.CodeNotFound,
			"run 'tercet runs' to list the runs",
			"no run can be resumed",
		)
	case len(found) == 0:
		return Run{}, formats.Fail(formats.CodeNotFound, "run 'tercet runs' to list the runs",
			"no run is named %q", word)
	}

	var lines []string
	for _, r := range found {
		lines = append(lines, r.ID+" "+r.Line)
	}
	return Run{}, formats.Fail(formats.CodeUsage, "name one of them: "+strings.Join(lines, "; "),
		"expected the id of one run, got %q, which fits %d", word, len(found))
}

// Find finds an unfinished run whose id begins with a word; an empty word finds the only one. A
// finished run is PRECONDITION.
func Find(root *os.Root, word string) (Run, error) {
	list, err := Runs(root, true)
	if err != nil {
		return Run{}, err
	}

	r, err := MatchID(list, word)
	if formats.CodeOf(err) != formats.CodeNotFound || word == "" {
		return r, err
	}

	r, err = FindAny(root, word) // the lock file of a resumable run may be lost
	if err == nil && r.Status != Open && r.Status != formats.OutcomeSuspended.String() {
		help := "type its line to run it again"
		if !formats.Outcome(r.Status).Passes() {
			help = fmt.Sprintf(
				"run 'tercet resume %s --from STEP' to go on from one of its steps, or %s",
				r.ID, help,
			)
		}
		err = formats.Fail(formats.CodePrecondition, help, "run %s has ended", r.ID)
	}
	return r, err
}

// FindAny finds any run whose id begins with a word.
func FindAny(root *os.Root, word string) (Run, error) {
	list, err := Runs(root, false)
	if err != nil {
		return Run{}, err
	}
	r, err := MatchID(list, word)
	if _, bad := Load(root, word); err != nil && bad != nil {
		err = bad // the first line of this run is damaged
	}
	return r, err
}

// LockPath is the lock file of a run, relative to the project root.
func LockPath(id string) string {
	return path.Join(Folder, id, LockName)
}

// Stopped reports whether a run was stopped after a time.
func Stopped(records []Record, since time.Time) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		return r.Type == formats.EntryStopped && !r.Time.Before(since)
	})
}
