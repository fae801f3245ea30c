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
)

// Folder holds the folders of runs, below the project root.
const Folder = formats.Workspace + "/runs"

// LockName is the file in a run's folder that the process locks which appends to the journal. It is there while the run
// can go on.
const LockName = "lock"

// Run is what the journal of a run says in its first and last lines.
type Run struct {
	ID      string          `json:"run"`
	Line    string          `json:"command"`
	Task    int             `json:"task,omitempty"`
	Status  string          `json:"status"`         // how it ended, suspended, or open: running, or its process is gone
	Gate    string          `json:"gate,omitempty"` // the question that it waits for
	Started time.Time       `json:"started"`
	Last    time.Time       `json:"last"` // when it was heard of last
	Cost    float64         `json:"cost_usd,omitempty"`
	Begun   formats.Started `json:"-"`
	heardOf bool

	Place             // where it is
	formats.Postponed // else what it waits for
}

// Place is where in its workflow a run is.
type Place struct {
	Step   string `json:"step_path,omitempty"`
	Number int    `json:"step_number,omitempty"` // of the step that holds it, from 1; 0: it is none of the workflow
	Of     int    `json:"step_count,omitempty"`
}

// Waits says what a suspended run waits for, empty for any other.
func (r Run) Waits() string {
	switch {
	case r.Gate != "":
		return fmt.Sprintf("waits for an answer to %q", r.Gate)
	case r.Why != "":
		return (&formats.LaterError{Why: r.Why, Until: r.Until}).Error()
	}
	return ""
}

// String says at which step of how many the run is, and its path.
func (p Place) String() string {
	if p.Number == 0 {
		return p.Step
	}
	return fmt.Sprintf("%d of %d %s", p.Number, p.Of, p.Step)
}

// Due tells that the time for which the run waited has come.
func (r Run) Due(now time.Time) bool { return !r.Until.IsZero() && !now.Before(r.Until) }

// Alone tells that a run whose time has come may be taken up without a person.
func (r Run) Alone(now time.Time) bool { return r.Due(now) && now.Before(r.Postponed.Alone) }

// Open is the status of a run that has neither ended nor waits.
const Open = "open"

// tailBytes is how much of the end of a journal is looked at.
const tailBytes = 64 << 10

// Runs lists the runs of a project, newest first; with unfinished those alone that can go on. What is no journal is
// left out: each run is verified when it is taken up.
func Runs(root *os.Root, unfinished bool) ([]Run, error) {
	entries, err := fs.ReadDir(root.FS(), Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(formats.CodeIO, "list", err)
	}
	var out []Run
	for _, e := range entries {
		if unfinished {
			if _, err := root.Lstat(path.Join(Folder, e.Name(), LockName)); err != nil {
				continue
			}
		}
		if r, ok := Look(root, e.Name()); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Run) int { return cmp.Or(b.Started.Compare(a.Started), strings.Compare(b.ID, a.ID)) })
	return out, nil
}

// Look reads the first line and the end of a journal: what it says of its run now.
func Look(root *os.Root, id string) (r Run, ok bool) {
	name := path.Join(Folder, id, Name)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return r, false
	}
	file, err := root.Open(name)
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
	r = Run{ID: id, Status: Open, Started: first[0].Time, Last: first[0].Time}
	if json.Unmarshal(first[0].Raw(), &r.Begun) != nil {
		return r, false
	}
	r.Line, r.Task = r.Begun.Line, r.Begun.Task
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return r, false
	}
	tail := make([]byte, min(size, tailBytes))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return r, false
	}
	for _, line := range slices.Backward(bytes.SplitAfter(tail, []byte{'\n'})) {
		if r.heard(line) {
			break
		}
	}
	at, _, _ := strings.Cut(visit().ReplaceAllString(r.Step, ""), "/")
	at, _, _ = strings.Cut(at, "[")
	r.Number, r.Of = slices.Index(r.Begun.Steps, at)+1, len(r.Begun.Steps)
	return r, true
}

// heard takes in a line, the last one first, and tells whether that is all that is to know. One that is not whole says
// nothing.
func (r *Run) heard(line []byte) (all bool) {
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
	if r.Step = rec.Step; r.heardOf {
		return rec.Step != ""
	}
	r.heardOf, r.Last = true, rec.Time
	switch {
	case rec.Type == formats.EntrySuspended:
		r.Status, r.Gate, r.Postponed = formats.OutcomeSuspended.String(), data.Question, data.Postponed
	case rec.Type == formats.EntryRunFinished && rec.Step == "":
		r.Status, r.Cost = data.Status, data.Cost
		return true
	}
	return rec.Step != ""
}

// Round looks at what was begun of a line with several tasks, in runs that are listed newest first. It gives the round
// that is not over, and the runs of it that have done their tasks; no round where each task is done, or none was begun.
func Round(list []Run, line string, tasks []int) (round string, done map[int]Run) {
	done, seen := map[int]Run{}, map[int]bool{}
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
	if !slices.ContainsFunc(tasks, func(n int) bool { _, ok := done[n]; return !ok }) {
		return "", nil
	}
	return round, done
}

// Load reads and verifies the journal of a run.
func Load(root *os.Root, id string) ([]Record, error) {
	records, _, err := load(root, id)
	return records, err
}

// Whole is Load, but refuses a journal that ends with anything else than a whole line, which a crash may have torn.
func Whole(root *os.Root, id string) ([]Record, error) {
	records, torn, err := load(root, id)
	if err == nil && torn {
		err = damaged(len(records)+1, "line does not match its hash")
	}
	return records, err
}

// load also tells whether something stands behind the last whole line.
func load(root *os.Root, id string) (records []Record, torn bool, err error) {
	file, err := root.Open(path.Join(Folder, id, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, failed(formats.CodeIO, "open", err)
	}
	defer file.Close() //nolint:errcheck // it was read
	info, err := file.Stat()
	if err != nil {
		return nil, false, failed(formats.CodeIO, "read", err)
	}
	whole, err := scan(file, func(r Record) { records = append(records, r) })
	if err != nil {
		return nil, false, err
	}
	return records, int64(whole) < info.Size(), nil
}

// Made tells whether a run, whose journal is written with its key, had a subagent do something with the transaction
// which was not done at a time.
func Made(root *os.Root, agent, txn string, since time.Time, key func(run string) []byte) bool {
	entries, err := fs.ReadDir(root.FS(), Folder)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		records, err := Load(root, e.Name())
		if err != nil || Vouched(records, key(e.Name())) != nil {
			return false
		}
		begun := slices.IndexFunc(records, func(r Record) bool {
			var data struct{ Agent string }
			return r.Type == formats.EntryDelegationStarted && r.Key == txn &&
				json.Unmarshal(r.Raw(), &data) == nil && data.Agent == agent
		})
		return begun >= 0 && !slices.ContainsFunc(records[begun:], func(r Record) bool {
			return r.Type == formats.EntryDelegationResult && r.Step == records[begun].Step && r.Time.Before(since)
		})
	})
}

// Named finds the run whose id is or begins with a word. Without a word it is the only one there is.
func Named(runs []Run, word string) (Run, error) {
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
		return Run{}, formats.Fail(formats.CodeNotFound, "run 'tercet runs' to list the runs", "no run can be resumed")
	case len(found) == 0:
		return Run{}, formats.Fail(formats.CodeNotFound, "run 'tercet runs' to list the runs", "no run is named %q", word)
	}
	var lines []string
	for _, r := range found {
		lines = append(lines, r.ID+" "+r.Line)
	}
	return Run{}, formats.Fail(formats.CodeUsage, "name one of them: "+strings.Join(lines, "; "),
		"expected the id of one run, got %q, which fits %d", word, len(found))
}

// Find finds the run whose id is or begins with a word, among those that can go on; without a word it is the only one.
// One that has ended is PRECONDITION.
func Find(root *os.Root, word string) (Run, error) {
	list, err := Runs(root, true)
	if err != nil {
		return Run{}, err
	}
	r, err := Named(list, word)
	if err == nil || word == "" {
		return r, err
	}
	if old, nerr := Any(root, word); nerr == nil {
		err = formats.Fail(formats.CodePrecondition, "type its line to run it again", "run %s has ended", old.ID)
	}
	return Run{}, err
}

// Any finds a run by its id or the beginning of it, among all.
func Any(root *os.Root, word string) (Run, error) {
	list, err := Runs(root, false)
	if err != nil {
		return Run{}, err
	}
	return Named(list, word)
}

// LockOf names the lock of a run, below the project root.
func LockOf(id string) string { return path.Join(Folder, id, LockName) }

// Age is how long something has lasted, in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Stopped tells whether a run was stopped since a time.
func Stopped(records []Record, since time.Time) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		return r.Type == formats.EntryStopped && !r.Time.Before(since)
	})
}

// Step is one step of a run as its journal has it.
type Step struct {
	Path    string   `json:"step_path"`
	Outcome string   `json:"outcome,omitempty"` // empty while it is not finished
	Seconds float64  `json:"seconds"`
	Tokens  int64    `json:"tokens,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Files   []string `json:"artifacts,omitempty"`
}

// Steps gives the steps in the order in which they began.
func Steps(records []Record) []Step {
	var out []Step
	began, at := map[string]time.Time{}, map[string]int{}
	of := func(path string) *Step {
		if _, ok := at[path]; !ok {
			at[path], out = len(out), append(out, Step{Path: path})
		}
		return &out[at[path]]
	}
	for _, r := range course(records) {
		var data struct {
			Status, Summary string
			Artifacts       []formats.Artifact
			Metadata        formats.Metadata
		}
		if raw := r.Raw(); raw != nil && json.Unmarshal(raw, &data) != nil {
			continue // it is of another kind
		}
		switch r.Type { //nolint:exhaustive // the others are no steps
		case formats.EntryStepScheduled:
			began[r.Step] = r.Time
			of(r.Step)
		case formats.EntryDelegationResult:
			if began[r.Step].IsZero() {
				continue // the engine's own
			}
			s := of(r.Step)
			s.Tokens += data.Metadata.Tokens.Total()
			for _, a := range data.Artifacts {
				s.Files = append(s.Files, a.Path)
			}
		case formats.EntryStepFinished:
			s := of(r.Step)
			if s.Outcome, s.Summary = data.Status, data.Summary; !began[r.Step].IsZero() {
				s.Seconds = r.Time.Sub(began[r.Step]).Seconds()
			}
		}
	}
	return out
}
