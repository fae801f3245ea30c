package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"tercet/formats"
	"tercet/formats/documents"
)

// TasksName is the workspace file that shows the tasks of a flow.
const TasksName = "TASK.md"

const (
	maxTasks   = 500 // of one list, that are shown
	maxCommits = 10  // that are shown
	designName = "ARCHITECTURE.md"
)

// Tasks is a view of the tasks of a flow, built from the journal of one run. A flow is a command
// with tiers. Its tasks are the elements of a loop, if each has a name; without such a loop, the
// inputs `task` of its subagents. Any other run has no view.
type Tasks struct {
	run      string
	flow     string // empty: not a flow
	phase    string
	status   string
	reason   string // why it is suspended or stopped
	finished bool
	source   string
	since    time.Time // when source was read or written
	updated  time.Time
	lists    []*taskList // visits of one step
	commits  []string
	lastView string
}

// taskList is one visit of the step that works through tasks.
type taskList struct {
	step  string // its path
	loop  bool
	tasks []task
	// parallel means that two elements ran at the same time, so none is known to be done before all
	// are.
	parallel, finished bool
	started            int // number of elements begun
}

type task struct {
	Name   string   `json:"name"`
	Files  []string `json:"files"`
	Done   bool     `json:"done"`
	open   string   // its running step
	passed bool     // its last step passed
}

// NewTasks builds the view from the records of a run.
func NewTasks(run string, past []Record) *Tasks {
	t := &Tasks{run: run}
	for _, r := range currentRecords(past) {
		t.Add(r)
	}
	return t
}

// Add updates the view with the next record.
func (t *Tasks) Add(r Record) {
	t.updated = r.Time
	if r.Type == formats.EntryRunStarted && t.status == "" {
		t.readStart(r)
	}
	if t.flow == "" {
		return
	}

	switch r.Type { //nolint:exhaustive // the others change nothing
	case formats.EntryStepScheduled:
		t.phase = r.Step[:max(0, strings.IndexByte(r.Step, visitMark))]
		t.beginStep(r.Step)
	case formats.EntryLoopEntered:
		var data struct{ Items []task }
		if json.Unmarshal(r.Raw(), &data) == nil {
			t.addList(&taskList{
				step:  r.Step,
				loop:  true,
				tasks: data.Items,
			})
		}
	case formats.EntryDelegationStarted:
		var data struct{ Input struct{ Task task } }
		if json.Unmarshal(r.Raw(), &data) == nil {
			t.addList(&taskList{
				step:    r.Step,
				tasks:   []task{data.Input.Task},
				started: 1,
			})
		}
	case formats.EntryDelegationResult:
		t.addResult(r)
	case formats.EntryStepFinished:
		t.finishStep(r)
	case formats.EntrySuspended:
		var data formats.Suspended
		if json.Unmarshal(r.Raw(), &data) == nil {
			t.status = "suspended"
			t.reason = cmp.Or(data.Question, data.Why, "it was paused")
		}
	case formats.EntryStopped:
		t.status = "stopped"
		t.reason = "it was stopped"
	case formats.EntryResumed:
		t.status = "running"
		t.reason = ""
	case formats.EntryReopened:
		t.status = "running"
		t.reason = ""
		t.finished = false
	case formats.EntryRunFinished:
		var data struct{ Status string }
		t.finished = r.Step == "" && json.Unmarshal(r.Raw(), &data) == nil
		if t.finished {
			t.status = data.Status
			t.reason = ""
		}
	}
}

func (t *Tasks) readStart(r Record) {
	begun, err := Started([]Record{r})
	if err != nil {
		return
	}
	t.status = "running"
	if _, tiers := begun.Args["tier"]; tiers {
		t.flow, _, _ = strings.Cut(begun.Line, " ")
	}

	for _, seen := range begun.Seen {
		doc, ok := seen.Value.(map[string]any)
		if ok && doc["profile"] == documents.ProfileArchitecture {
			if name, ok := doc["path"].(string); ok {
				t.source = name
				t.since = begun.At
			}
		}
	}
}

// addList adds a list if all its tasks have names. A list of another loop replaces the previous
// lists; a list of another step that is not a loop is ignored.
func (t *Tasks) addList(l *taskList) {
	unnamed := func(x task) bool { return x.Name == "" }
	if len(l.tasks) == 0 || slices.ContainsFunc(l.tasks, unnamed) {
		return
	}

	if len(t.lists) > 0 {
		last := t.lists[len(t.lists)-1]
		same := plainStep(last.step) == plainStep(l.step)
		inside := strings.HasPrefix(l.step, last.step+"[")
		switch {
		case last.step == l.step, inside, !same && !l.loop:
			return
		case !same:
			t.lists = nil
		}
	}

	t.lists = append(t.lists, l)
}

// findElement finds the task of a step that is directly in the body of its loop, and its index.
func (t *Tasks) findElement(step string) (l *taskList, i int) {
	for _, l := range t.lists {
		rest, ok := strings.CutPrefix(step, l.step+"[")
		if !ok || strings.Count(rest, "/") != 1 {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d]/", &i); err == nil && i >= 0 && i < len(l.tasks) {
			return l, i
		}
	}
	return nil, 0
}

func (t *Tasks) beginStep(step string) {
	l, i := t.findElement(step)
	if l == nil {
		return
	}
	for j := range l.tasks {
		l.parallel = l.parallel || j != i && l.tasks[j].open != ""
	}
	l.started = max(l.started, i+1)
	l.tasks[i].open = step
	l.tasks[i].passed = false
}

func (t *Tasks) finishStep(r Record) {
	var data struct{ Status formats.Outcome }
	if json.Unmarshal(r.Raw(), &data) != nil {
		return
	}

	if l, i := t.findElement(r.Step); l != nil {
		l.tasks[i].open = ""
		l.tasks[i].passed = data.Status.Passes()
	}

	for _, l := range t.lists {
		if l.step == r.Step {
			l.finished = true
			if !l.loop {
				l.tasks[0].passed = data.Status.Passes()
			}
		}
	}
}

// addResult records the commits of tercet, and the design that a subagent wrote.
func (t *Tasks) addResult(r Record) {
	var data struct {
		Summary   string
		Artifacts []formats.Artifact
		Metadata  formats.Metadata
		Fields    struct{ Commit string }
	}
	if json.Unmarshal(r.Raw(), &data) != nil {
		return
	}

	for _, a := range data.Artifacts {
		if path.Base(a.Path) == designName {
			t.source = a.Path
			t.since = r.Time
		}
	}

	if hash := data.Fields.Commit; len(hash) > 12 && data.Metadata.Agent == "git-workflow-manager" {
		t.commits = append(t.commits, hash[:12]+" "+strings.TrimPrefix(data.Summary, hash[:12]+" "))
		t.commits = t.commits[max(0, len(t.commits)-maxCommits):]
	}
}

// isDone reports whether a task is done. If its steps passed, it is done once the next element
// begins, because a further step may follow before.
func (l *taskList) isDone(i int) bool {
	x := l.tasks[i]
	return x.Done || x.passed && (l.finished || !l.parallel && i+1 < l.started)
}

// View renders the file; changed is true if it differs from the last call, and false for a run
// without tasks.
func (t *Tasks) View() (text string, changed bool) {
	if len(t.lists) == 0 {
		return "", false
	}
	head := t.renderHead()
	tail := t.renderTail()
	changed = t.lastView != head+tail
	t.lastView = head + tail
	return head + "Last updated: " + t.updated.UTC().Format(time.RFC3339) + "\n" + tail, changed
}

func (t *Tasks) renderHead() string {
	var b strings.Builder

	fmt.Fprintf(&b, "# Tasks of %s\n\n", oneLine(t.flow))
	if t.source != "" {
		fmt.Fprintf(&b, "> Source: %s (%s)\n",
			oneLine(t.source), t.since.UTC().Format(time.DateOnly))
	}
	fmt.Fprintf(&b,
		"> Run: %s\n\ntercet writes this file from the journal of the run and never reads it.\n\n",
		t.run)
	fmt.Fprintf(&b, "## Phase: %s\n\n", oneLine(t.phase))
	return b.String()
}

func (t *Tasks) renderTail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Status: %s\n\n## Task list\n\n", t.status)
	for n, l := range t.lists {
		if n > 0 {
			fmt.Fprintf(&b, "\n### Round %d\n\n", n+1)
		}
		for i, x := range l.tasks[:min(len(l.tasks), maxTasks)] {
			mark := " "
			if l.isDone(i) {
				mark = "x"
			}
			fmt.Fprintf(&b, "- [%s] TASK-%03d: %s", mark, i+1, oneLine(x.Name))
			if len(x.Files) > 0 {
				fmt.Fprintf(&b, " | Target file: %s", oneLine(strings.Join(x.Files, ", ")))
			}
			b.WriteByte('\n')
		}
		if more := len(l.tasks) - maxTasks; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}

	b.WriteString("\n## Recent commits\n\n")
	for _, c := range slices.Backward(t.commits) {
		fmt.Fprintf(&b, "- %s\n", oneLine(c))
	}
	if len(t.commits) == 0 {
		b.WriteString("- none\n")
	}
	fmt.Fprintf(&b, "\n## Suspension notes\n\n- Reason: %s\n", cmp.Or(oneLine(t.reason), "none"))
	if !t.finished {
		fmt.Fprintf(&b, "- Resume: tercet resume %s\n", t.run)
	}
	return b.String()
}

// oneLine reduces a text to printable characters on one line.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
