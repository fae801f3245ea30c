package interp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/interp"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// agent answers one delegation.
type agent func(ctx context.Context, r formats.Request) (formats.Return, error)

// world is everything that a run can reach, faked, and a log of what it reached.
type world struct {
	tb     testing.TB
	cfg    interp.Config
	infos  map[string]formats.AgentInfo
	agents map[string]agent
	docs   map[string]string
	found  map[string]formats.Diagnostic // what the checker finds in files
	answer func(g formats.Gate) (formats.Decision, error)
	refuse func(e formats.Entry) error // an error that the journal gives

	inner *compile.Program // of the subagent flow

	remembered sync.Map // answers to workers' questions, by digest

	tasks     map[int]*formats.Task
	snapshots int
	txns      map[string]string // by transaction id, the place that used it

	telling   sync.Mutex // guards log and problems
	mu        sync.Mutex // guards what answers write while others come
	log       []string   // calls, entries and effects in their order
	requests  []formats.Request
	gates     []formats.Gate
	entries   []formats.Entry
	events    []trace.Event
	tables    []formats.Table
	problems  []formats.Problem
	discarded []formats.Artifact
}

const (
	session = "sess_1_abcdef"
	runID   = "r1"
)

// newWorld has one task, number 7, not started, and the subagents that most tests use: worker may
// return anything, maker makes a plan, judge judges.
func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{
		tb:     tb,
		agents: map[string]agent{},
		docs:   map[string]string{},
		txns:   map[string]string{},
		tasks: map[int]*formats.Task{7: {
			Number:    7,
			Title:     "Fix it",
			Slug:      "fix_it",
			Status:    formats.NotStarted,
			Artifacts: []formats.Artifact{},
		}},
		infos: map[string]formats.AgentInfo{
			"worker": {Name: "worker"},
			"second": {Name: "second"},
			"flow":   {Name: "flow", Workflow: true},
			"maker": {
				Name:      "maker",
				Role:      formats.RolePlanner,
				Artifacts: []formats.ArtifactSpec{{Type: formats.ArtifactPlan}},
			},
			"judge": {Name: "judge", Role: formats.RoleReviewer},
			"typed": {
				Name: "typed",
				Inputs: map[string]formats.Input{
					"n":    {Type: formats.TypeInteger, Required: true},
					"more": {Type: formats.TypeAny},
				},
				Fields: map[string]formats.Field{
					"count": {Type: formats.TypeInteger},
					"list":  {Type: formats.TypeList},
				},
			},
			compile.StatusSync:  {Name: compile.StatusSync, Builtin: true, NoArtifacts: true},
			compile.GitWorkflow: {Name: compile.GitWorkflow, Builtin: true, NoArtifacts: true},
			compile.Gatekeeper: {
				Name:    compile.Gatekeeper,
				Builtin: true,
				Role:    formats.RoleReviewer,
			},
		},
	}

	w.agents[compile.StatusSync] = w.sync

	w.cfg = interp.Config{
		Agents:   delegator{w.delegate},
		State:    reader{w.snapshot},
		Docs:     docs{w},
		Problems: recorder{w.record},
		Approve:  approver{approve: w.approve, remember: w.remember},
		Lint:     w.lint,
		Journal:  appender{append: w.append},
		Clock:    clock{},
		Trace:    trace.Func(w.emit),
		Show:     w.show,
		IDs: interp.IDs{
			Run:     runID,
			Session: session,
			Command: "/x 7",
			Path:    []string{"router", "/x"},
		},
		Dir:     "/project",
		Discard: w.discard,
	}

	return w
}

// lint finds in a file what the test says.
func (w *world) lint(name string, _ []byte, subagent bool) []formats.Diagnostic {
	d, ok := w.found[name]
	if !ok {
		return nil
	}
	d.Message += map[bool]string{true: " (subagent)"}[subagent]
	return []formats.Diagnostic{d}
}

// The fakes are structs of functions.
type (
	delegator struct {
		delegate func(context.Context, formats.Request) (formats.Return, error)
	}
	reader   struct{ snapshot func() any }
	recorder struct{ record func(formats.Problem) }
	approver struct {
		approve  func(formats.Gate) (formats.Decision, error)
		remember func(digest string, d formats.Decision) // nil: no worker asks
	}
	appender struct {
		append func(formats.Entry) error
		begun  func() bool // nil: nothing has been finished
	}
	docs  struct{ w *world }
	clock struct{}
)

func (d delegator) Delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	return d.delegate(ctx, r)
}

func (r reader) Snapshot(context.Context) (any, uint64, error) {
	return r.snapshot(), 1, nil
}

func (r recorder) Record(_ context.Context, p formats.Problem) error {
	r.record(p)
	return nil
}

func (a approver) Approve(ctx context.Context, g formats.Gate) (formats.Decision, error) {
	if ctx.Err() != nil {
		return formats.Decision{}, ctx.Err()
	}
	return a.approve(g)
}

func (a approver) Remember(_, digest string, d formats.Decision) {
	if a.remember != nil {
		a.remember(digest, d)
	}
}

func (a appender) Append(ctx context.Context, e formats.Entry, _ bool) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return false, a.append(e)
}

func (appender) Live(bool) error {
	return nil
}

func (a appender) Resumable() bool {
	return a.begun != nil && a.begun()
}

func (a appender) Recall(formats.Entry) (json.RawMessage, bool) {
	return nil, false
}

func (d docs) Open(_ context.Context, path string) ([]byte, error) {
	text, ok := d.w.docs[path]
	if !ok {
		return nil, &formats.Failure{
			Code:    formats.CodeFileNotFound,
			Message: path,
			Err:     fs.ErrNotExist,
		}
	}
	return []byte(text), nil
}

func (d docs) Sum(ctx context.Context, path string) (string, error) {
	text, err := d.Open(ctx, path)
	return formats.Sum(text), err
}

func (d docs) Glob(_ context.Context, patterns []string) ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(d.w.docs)) {
		for _, p := range patterns {
			if strings.HasPrefix(name, strings.TrimSuffix(p, "*")) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

func (clock) Now() time.Time {
	return time.Now()
}

func (clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) note(format string, args ...any) {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	w.requests = append(w.requests, r)
	w.note("call %s %s#%d.%d %s", r.Agent, r.Step, r.Visit, r.Attempt, flat(r.Input))

	if at, ok := w.txns[r.Txn]; ok {
		w.tb.Errorf("transaction id of %s#%d.%d is that of %s", r.Step, r.Visit, r.Attempt, at)
	}
	w.txns[r.Txn] = fmt.Sprintf("%s#%d.%d", r.Step, r.Visit, r.Attempt)

	do := w.agents[r.Agent]
	if do == nil {
		return ok("done"), nil
	}
	return do(ctx, r)
}

// flat is a value on one line, without the bound task, which is always the same.
func flat(v any) string {
	if m, ok := v.(map[string]any); ok {
		m = maps.Clone(m)
		if t, ok := m["task"].(map[string]any); ok {
			m["task"] = fmt.Sprintf("#%v", t["number"])
		}
		v = m
	}

	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(out), `"`, "")
}

func (w *world) snapshot() any {
	w.snapshots++

	list := []any{}
	for _, n := range slices.Sorted(maps.Keys(w.tasks)) {
		data, err := json.Marshal(w.tasks[n])
		if err != nil {
			w.tb.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			w.tb.Fatal(err)
		}

		m["number"] = n
		list = append(list, m)
	}

	return map[string]any{"tasks": list}
}

func (w *world) record(p formats.Problem) {
	w.telling.Lock()
	w.problems = append(w.problems, p)
	w.telling.Unlock()
	w.note("record %s", p.Message)
}

func (w *world) approve(g formats.Gate) (formats.Decision, error) {
	w.gates = append(w.gates, g)
	w.note("approve %s", g.Question)
	if w.answer == nil {
		return formats.Decision{}, &formats.GateOpenError{Gate: g}
	}
	return w.answer(g)
}

func (w *world) remember(digest string, d formats.Decision) {
	w.remembered.Store(digest, d)
}

// asking is a worker that needs the user's consent to what it was given, and cannot ask.
func (w *world) asking(_ context.Context, r formats.Request) (formats.Return, error) {
	digest := fmt.Sprint(r.At, " ", w.docs["e.txt"])
	d, found := w.remembered.Load(digest)

	if !found {
		return formats.Return{}, &formats.GateOpenError{Gate: formats.Gate{
			Question:    "Run " + digest + "?",
			Digest:      digest,
			NeedsPerson: true,
			Run:         r.Run,
			Step:        r.Step,
			Choices: []formats.Choice{
				{Label: "approve", Approves: true},
				{Label: "reject", Leaves: true},
			},
		}}
	}
	return ok(fmt.Sprint(r.At, ": ", d.(formats.Decision).Answer)), nil //nolint:forcetypeassert // only remember stores
}

func (w *world) append(e formats.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(e); err != nil {
			return err
		}
	}
	w.entries = append(w.entries, e)
	w.note("journal %s %s", e.Type, e.Step)
	return nil
}

// emit is called by several at once where subagents with steps run side by side.
func (w *world) emit(e trace.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *world) show(t formats.Table) {
	w.tables = append(w.tables, t)
	w.note("show %s", strings.Join(t.Columns, " "))
}

func (w *world) discard(_ context.Context, _ string, list []formats.Artifact) error {
	for _, a := range list {
		w.note("discard %s", a.Path)
	}
	w.discarded = append(w.discarded, list...)
	return nil
}

// sync is the status-sync manager with its rules: the table of changes, the prior status, the
// lease.
func (w *world) sync(ctx context.Context, r formats.Request) (formats.Return, error) {
	if ctx.Err() != nil {
		return formats.Return{}, ctx.Err()
	}
	if r.Input["operation"] == compile.OpSetPhase {
		return ok("phase"), nil
	}

	n, _ := r.Input["task_number"].(int)
	t := w.tasks[n]
	if t == nil {
		return formats.Failed(&formats.Failure{
			Code:    formats.CodeNotFound,
			Message: fmt.Sprintf("task %d does not exist", n),
		}), nil
	}
	if t.Lease != nil && t.Lease.Session != r.Session {
		return formats.Failed(&formats.Failure{
			Code:    formats.CodeLeaseHeld,
			Message: "another session works on it",
		}), nil
	}

	list, _ := r.Input["artifacts"].([]any)
	for _, one := range list {
		m, _ := one.(map[string]any)
		path, _ := m["path"].(string)
		kind, _ := m["type"].(string)
		t.Artifacts = append(t.Artifacts, formats.Artifact{
			Type: formats.ArtifactType(kind),
			Path: path,
		})
	}

	if r.Input["operation"] == "set_lease" {
		if !t.Status.InProgress() {
			return ok("nobody holds it"), nil
		}
		if t.Lease == nil || t.Lease.Run != r.Run {
			return formats.Failed(&formats.Failure{
				Code:    formats.CodeLeaseHeld,
				Message: "another run works on it",
			}), nil
		}
		t.Lease.Suspended, _ = r.Input["suspended"].(bool)
		return ok("lease"), nil
	}
	if r.Input["operation"] == "link_artifacts" {
		return ok("linked"), nil
	}

	word, _ := r.Input["status"].(string)
	to := formats.TaskStatus(word)
	if r.Input["back"] == true {
		if t.Prior == "" {
			return formats.Failed(&formats.Failure{
				Code:    formats.CodeIllegalTransition,
				Message: "no way back",
			}), nil
		}
		to = t.Prior
	} else if to != t.Status && !formats.CanMove(t.Status, to) {
		return formats.Failed(&formats.Failure{
			Code:    formats.CodeIllegalTransition,
			Message: fmt.Sprintf("task %d cannot go from %s to %s", n, t.Status, to),
		}), nil
	}

	switch {
	case !to.KeepsPrior():
		t.Prior = ""
	case !t.Status.KeepsPrior():
		t.Prior = t.Status
	}

	t.Status = to
	t.Lease = nil
	if to.InProgress() {
		t.Lease = &formats.Lease{Session: r.Session, Run: r.Run}
	}
	return ok(fmt.Sprintf("task %d: %s", n, to)), nil
}

// Env of the compiler.
func (w *world) Agent(name string) (formats.AgentInfo, bool) {
	info, ok := w.infos[name]
	return info, ok
}

func (w *world) Names() []string {
	return slices.Sorted(maps.Keys(w.infos))
}

// program compiles a command named x.
func (w *world) program(src string) *compile.Program {
	w.tb.Helper()
	f, err := syntax.Parse("x.md", []byte(src))
	if err != nil {
		w.tb.Fatalf("Parse: %v", err)
	}
	p, err := compile.Compile(f, w)
	if err != nil {
		w.tb.Fatalf("Compile: %v", err)
	}
	return p
}

// run compiles and runs a command with the rest of its line.
func (w *world) run(ctx context.Context, src, line string) formats.Return {
	w.tb.Helper()
	return w.runProgram(ctx, w.program(src), line)
}

func (w *world) runProgram(ctx context.Context, p *compile.Program, line string) formats.Return {
	w.tb.Helper()
	ret, err := w.goOn(ctx, p, line)
	if err != nil {
		w.tb.Fatalf("Run: %v", err)
	}
	return ret
}

// goOn runs a program, and gives the error of a run that is only looked at.
func (w *world) goOn(ctx context.Context, p *compile.Program, line string) (formats.Return, error) {
	w.tb.Helper()
	values, err := argspec.Bind("x", p.Args, line, nil)
	if err != nil {
		w.tb.Fatalf("Bind(%q): %v", line, err)
	}
	runner, err := interp.New(w.cfg)
	if err != nil {
		w.tb.Fatal(err)
	}
	return runner.Run(ctx, p, values, formats.CommandDepth())
}

// calls gives the delegations of the log.
func (w *world) calls() []string {
	var out []string
	for _, line := range w.log {
		if call, ok := strings.CutPrefix(line, "call "); ok {
			out = append(out, call)
		}
	}
	return out
}

// file makes a command file: frontmatter lines, the args block, and the steps, each "title: block".
// A title that begins with > is a step of the body of step 1, one that begins with ! stands under
// Error Handling.
func file(front, args string, steps ...string) string {
	var b strings.Builder
	b.WriteString("---\ncommand: x\ndescription: A test\n" + front + "---\n\n")
	if args != "" {
		b.WriteString("## Argument Parsing\n\n```yaml args\n" + args + "\n```\n\n")
	}

	b.WriteString("## Workflow Execution\n\n")

	handling := false
	for i, s := range steps {
		title, block, _ := strings.Cut(s, ": ")
		head := fmt.Sprintf("### Step %d: %s", i+1, title)
		switch title[0] {
		case '>':
			head = fmt.Sprintf("#### Step 1.%d: %s", i+1, title[1:])
		case '!':
			if !handling {
				b.WriteString("## Error Handling\n\n")
			}
			handling = true
			head = "### " + title[1:]
		}

		b.WriteString(head + "\n\n```yaml step\n" + block + "\n```\n\n")
	}

	return b.String()
}

// task declares the argument that binds $task, and a preflight.
const (
	task   = "arguments:\n  - {name: n, type: task, required: true}\n"
	during = task + "during: planning\n"
)

// The returns of agents.
func ok(summary string) formats.Return {
	return formats.Return{Status: formats.StatusCompleted, Summary: summary}
}

func made(kind formats.ArtifactType, path string) formats.Return {
	ret := ok("made " + path)
	ret.Artifacts = []formats.Artifact{{Type: kind, Path: path}}
	return ret
}

func failing(code formats.Code, message string) formats.Return {
	return formats.Failed(&formats.Failure{Code: code, Message: message})
}

func verdict(v formats.Verdict, issues ...string) formats.Return {
	ret := formats.Return{
		Status:  formats.StatusCompleted,
		Verdict: v,
		Summary: string(v),
	}
	for _, i := range issues {
		ret.Issues = append(ret.Issues, formats.Issue{Level: formats.LevelError, Description: i})
	}
	return ret
}

func blocked(why string) formats.Return {
	return formats.Return{
		Status:        formats.StatusBlocked,
		Summary:       why,
		BlockedReason: why,
	}
}

func partial(summary string) formats.Return {
	return formats.Return{Status: formats.StatusPartial, Summary: summary}
}

// always answers the same; in answers one after the other, the last one from then on.
func always(ret formats.Return) agent {
	return in(ret)
}

func in(list ...formats.Return) agent {
	n := 0
	return func(context.Context, formats.Request) (formats.Return, error) {
		ret := list[min(n, len(list)-1)]
		n++
		return ret, nil
	}
}

// choose answers gates with labels, one after the other.
func choose(labels ...string) func(formats.Gate) (formats.Decision, error) {
	n := 0
	return func(g formats.Gate) (formats.Decision, error) {
		said := labels[min(n, len(labels)-1)]
		label, note, _ := strings.Cut(said, " ")

		for _, c := range g.Choices { // of several that begin so the longest, which comes last
			if rest, ok := strings.CutPrefix(said, c.Label); ok {
				label = c.Label
				note = strings.TrimSpace(rest)
			}
		}

		n++

		return formats.Decision{
			Answer: label,
			Note:   note,
			By:     "person",
			Person: true,
		}, nil
	}
}

// describeReturn is a return in one line: outcome, exit code, first error, summary.
func describeReturn(ret formats.Return) string {
	out := fmt.Sprintf("%s %d", ret.Outcome(), formats.ExitCode(ret))
	if len(ret.Errors) > 0 {
		out += " " + ret.Errors[0].Code.String()
	}
	return out + ": " + ret.Summary
}

var errBroken = errors.New("broken")
