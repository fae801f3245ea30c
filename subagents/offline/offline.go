package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/git"
	"tercet/internal/plain"
	"tercet/internal/proc"
	"tercet/subagents"
	"tercet/subagents/checks"
)

// Docs reads files by path, relative to the project root.
type Docs interface {
	Open(ctx context.Context, path string) ([]byte, error)
}

// Approver answers a gate. It stores an answer with the run by the gate's digest, so that a run
// asks about the same commands once. An unanswered question is a *formats.GateOpenError.
type Approver interface {
	Approve(ctx context.Context, g formats.Gate) (formats.Decision, error)
}

// Clock gives the dates in documents.
type Clock interface{ Now() time.Time }

// Workers holds the effects of the workers; every field without a note is required.
type Workers struct {
	Docs     Docs
	Profiles *documents.ProjectProfiles // of the project; nil: the shipped ones
	Git      func(dir string) *git.Repo
	Starter  *proc.Starter
	Approver Approver
	Clock    Clock
	// Confine sandboxes the commands of a plan; nil: no sandbox.
	Confine Confine
	// ConfineCheck sandboxes a project's checks; nil: no sandbox.
	ConfineCheck checks.Confine
	// Checks are those that the configuration names, by stack.
	Checks map[string][]string
}

// Confine gives the sandboxed command for a script of a delegation, and the name of the tier. Its
// error says why the script must not run.
type Confine func(
	ctx context.Context,
	r formats.Request,
	c proc.Command,
	script string,
) (proc.Command, string, error)

// taskReviser is the one subagent that is chosen by its name, because revising a description has no
// role of its own.
const taskReviser = "task-reviser"

// For gives the worker for a subagent: by role, and the task-reviser by name. For any other role
// the worker fails with TOOL_UNAVAILABLE.
func (w Workers) For(info formats.AgentInfo) subagents.Agent {
	name, _, _ := strings.Cut(info.Name, "@")
	if name == taskReviser {
		return Reviser{}
	}

	switch info.Role {
	case formats.RoleResearcher:
		return Researcher{Git: w.Git, Clock: w.Clock}
	case formats.RolePlanner:
		return Planner{Docs: w.Docs, Profiles: w.Profiles}
	case formats.RoleImplementer:
		return Implementer{
			Docs:     w.Docs,
			Profiles: w.Profiles,
			Git:      w.Git,
			Starter:  w.Starter,
			Approver: w.Approver,
			Confine:  w.Confine,
		}
	case formats.RoleReviewer:
		return Reviewer{
			Starter:  w.Starter,
			Contract: info,
			Confine:  w.ConfineCheck,
			Own:      w.Checks,
		}
	case formats.RoleWriter, formats.RoleUtility:
	}

	return NoWorker{Role: info.Role}
}

// runnerName is what the metadata of every return of this package shows as the runner.
const runnerName = "offline"

// offlineRunner gives a worker that name.
type offlineRunner struct{}

// Runner is the runner's name in metadata.
func (offlineRunner) Runner() string {
	return runnerName
}

// NoWorker stands in for the worker of roles without an offline worker.
type NoWorker struct {
	offlineRunner

	Role formats.Role
}

// Run fails with TOOL_UNAVAILABLE.
func (n NoWorker) Run(context.Context, formats.Request) (formats.Return, error) {
	return formats.Failed(formats.Fail(formats.CodeToolUnavailable,
		"choose an agent CLI with --runner or in config.yaml",
		"the offline runner cannot do the work of a %s: that needs an agent CLI", n.Role)), nil
}

// taskOf gives the task of a request: the bound one, else the input of that name.
func taskOf(r formats.Request) (*formats.Task, error) {
	if r.Task != nil {
		return r.Task, nil
	}

	in, ok := r.Input["task"]
	if !ok || in == nil {
		return nil, badInput("task", "a task", "nothing")
	}

	data, err := json.Marshal(in)
	if err != nil {
		return nil, badInput("task", "a task", fmt.Sprintf("%T", in))
	}
	var t formats.Task
	if err := json.Unmarshal(data, &t); err != nil || t.Title == "" && t.Description == "" {
		return nil, badInput(
			"task",
			"a task with title and description",
			cutText(string(data), maxName),
		)
	}
	return &t, nil
}

// taskAndText gives the task of a request, and the input that says more of it.
func taskAndText(r formats.Request, name string) (*formats.Task, string, error) {
	task, err := taskOf(r)
	if err != nil {
		return nil, "", err
	}
	text, err := textInput(r, name)
	return task, text, err
}

// textInput gives an input that is text; absent and null are empty.
func textInput(r formats.Request, name string) (string, error) {
	switch v := r.Input[name].(type) {
	case nil:
		return "", nil
	case string:
		return strings.TrimSpace(v), nil
	default:
		return "", badInput(name, "text", fmt.Sprintf("%T", v))
	}
}

// badInput is an input that a worker cannot work with.
func badInput(name, want, got string) error {
	return formats.Fail(formats.CodeValidationFailed,
		"compare the step's `with` with the subagent's inputs",
		"input %s: expected %s, got %s", name, want, got)
}

// intOf reads a whole number as it comes out of Go, JSON or jq.
func intOf(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), n == float64(int(n))
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	default:
		return 0, false
	}
}

// writeDocument writes a document into the folder of the delegation and gives its artifact.
func writeDocument(
	r formats.Request,
	name string,
	kind formats.ArtifactType,
	data []byte,
) (formats.Artifact, error) {
	return formats.Artifact{Type: kind, Path: name}, writeFile(r.Out, name, data)
}

// writeFile writes a file of a folder.
func writeFile(dir, name string, data []byte) error {
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = errors.Join(root.WriteFile(name, data, 0o600), root.Close())
	}
	if err != nil {
		return formats.OnFile("write", name, err)
	}
	return nil
}

// isMissing tells whether an error says that a file is not there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || formats.CodeOf(err) == formats.CodeFileNotFound
}

// agentFault turns an error of the input or of the tree into a failed return. Errors of the engine
// stay errors: a cancelled context, a document that cannot be written, a worker without its parts.
func agentFault(err error) (formats.Return, error) {
	c := formats.CodeOf(err)
	if c == formats.CodeIO || c == formats.CodeBug || c == formats.CodeNotDurable {
		return formats.Return{}, err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return formats.Return{}, err
	}
	if errors.Is(err, proc.ErrOutput) {
		return formats.Return{}, err
	}

	f, none := errors.AsType[*proc.NotFoundError](err)
	if none && formats.CodeOf(err) == formats.CodeUnknown {
		err = formats.Fail(formats.CodeToolUnavailable, "install "+f.Name, "%v", f)
	}

	denied := errors.Is(err, proc.ErrDenied) || errors.Is(err, proc.ErrEvicted)
	if denied && formats.CodeOf(err) == formats.CodeUnknown {
		err = &formats.Failure{Code: formats.CodeDenied, Err: err}
	}
	return formats.Failed(err), nil
}

// listOf writes texts as a markdown list.
func listOf(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ")
}

// inlineCode writes a text of a file as inline code on one line.
func inlineCode(text string) string {
	text = plain.Line(strings.Join(strings.Fields(text), " "))
	mark := "`"
	for strings.Contains(text, mark) {
		mark += "`"
	}

	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return mark + text + mark
}

// codeBlock writes a text as a code block that no line of it can close.
func codeBlock(info, text string) string {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + info + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}
