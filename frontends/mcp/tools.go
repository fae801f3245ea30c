package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/project"
)

// effect says what a tool does to the project.
type effect int

const (
	reads    effect = iota
	adds            // begins something; calling it twice begins two
	destroys        // ends or decides something that cannot be taken back
)

// annotations are the hints about an effect. No tool reaches beyond the project by itself.
func annotations(e effect) *sdk.ToolAnnotations {
	destructive := e == destroys
	open := false
	return &sdk.ToolAnnotations{
		ReadOnlyHint:    e == reads,
		DestructiveHint: &destructive,
		IdempotentHint:  e == reads,
		OpenWorldHint:   &open,
	}
}

// call is one call of a tool.
type call struct {
	server  *Server
	project *project.Project
	request *sdk.CallToolRequest
	notes   *notes
	ask     *sdk.CallToolResult // has the client ask its user; nil: the call has an answer
}

// fields is a JSON object of an answer.
type fields = map[string]any

// notes collects what is told during a call.
type notes struct {
	project.Unattended

	mu   sync.Mutex
	list []string
}

// Note implements project.Frontend.
func (n *notes) Note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

// NoteOnce implements project.Frontend.
func (n *notes) NoteOnce(_, text string) {
	n.Note("%s", text)
}

// Diagnostics implements project.Frontend.
func (n *notes) Diagnostics(d *formats.Diagnostics) {
	for _, one := range d.List {
		n.Note("%s", one.Error())
	}
}

// all gives the notes so far.
func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list
}

// serving is a server, and its part of the SDK.
type serving struct {
	server *Server
	sdk    *sdk.Server
}

// addTool adds a tool to a server. Its function gets the project as it is at the time of the call.
func addTool[In any](
	in serving,
	name string,
	does effect,
	description string,
	do func(ctx context.Context, c *call, in In) (fields, error),
) {
	handle := func(ctx context.Context, r *sdk.CallToolRequest, input In) (
		*sdk.CallToolResult, any, error,
	) {
		c := &call{server: in.server, request: r, notes: &notes{}}
		answer, err := c.withProject(ctx, func() (fields, error) { return do(ctx, c, input) })
		switch {
		case err != nil:
			return c.errorResult(err), nil, nil
		case c.ask != nil:
			return c.ask, nil, nil
		}
		return c.answerResult(answer), nil, nil
	}
	sdk.AddTool(in.sdk, &sdk.Tool{
		Name:        name,
		Description: description,
		Annotations: annotations(does),
	}, handle)
}

// withProject opens the project for a call, and closes it.
func (c *call) withProject(ctx context.Context, do func() (fields, error)) (fields, error) {
	p, err := c.server.config.Open(ctx, c.notes)
	if err != nil {
		return nil, err
	}
	c.project = p
	answer, err := do()
	return answer, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
}

// mayCommand is an error if the caller may not begin, end or answer anything here.
func (c *call) mayCommand() error {
	if err := c.project.Host.MayCommand(); err != nil {
		return err
	}
	return c.workspace()
}

// workspace is an error if the project has no workspace.
func (c *call) workspace() error {
	if c.project.Reader == nil {
		return project.NoWorkspace()
	}
	return nil
}

// answerResult is the result of a call.
func (c *call) answerResult(answer fields) *sdk.CallToolResult {
	if told := c.notes.all(); len(told) > 0 {
		answer["notes"] = told
	}
	return c.result(answer, false)
}

// errorResult is the result of a call that did nothing. Its code is that of the one table of exits.
func (c *call) errorResult(err error) *sdk.CallToolResult {
	ret := formats.Failed(err)
	answer := fields{
		"status":  ret.Status,
		"summary": ret.Summary,
		"errors":  ret.Errors,
		"exit":    formats.ExitCode(ret),
	}
	if told := c.notes.all(); len(told) > 0 {
		answer["notes"] = told
	}
	return c.result(answer, true)
}

// result puts an object into a result, without the secrets of the project.
func (c *call) result(answer fields, failed bool) *sdk.CallToolResult {
	data, err := json.Marshal(answer)
	if err != nil {
		data = fmt.Appendf(nil, `{"summary": %q}`, err)
		failed = true
	}
	if c.project != nil {
		data = c.project.Mask.Line(data)
	}
	data = plain.JSON(data)
	return &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: string(data)}},
		StructuredContent: json.RawMessage(data),
		IsError:           failed,
	}
}

// addTools adds every tool to a server.
func (s *Server) addTools(to *sdk.Server) {
	in := serving{server: s, sdk: to}
	addTool(in, "commands", reads,
		"List the slash commands of this project, with their arguments.", listCommands)
	addTool(in, "run", adds,
		"Start a line such as \"/plan 196\". Returns at once with the name of the run; follow it "+
			"with show.", startRun)
	addTool(in, "show", reads,
		"Show a run: its state, its current step, its open question, what it returned. With wait "+
			"it comes back when the run asks, waits or has ended, or when the time is over.",
		showRun)
	addTool(in, "runs", reads, "List the newest runs.", listRuns)
	addTool(in, "tasks", reads, "List the tasks of this project.", listTasks)
	addTool(in, "query", reads,
		"Read the tasks, or all runs, by a jq filter.", queryProject)
	addTool(in, "explain", reads,
		"Say what a line would do, and what it may use at most. Runs nothing.", explainLine)
	addTool(in, "lint", reads,
		"Find what is wrong with the text of a command or subagent file. Writes nothing.", lintText)
	addTool(in, "answer", destroys,
		"Say where a person answers the open question of a run. If the user's configuration "+
			"allows it, the client asks the user now. You cannot give the answer.",
		answerQuestion)
	addTool(in, "tell", adds,
		"Leave a message of the user for the next worker of a run that starts. Workers that "+
			"are at work do not see it. Only with what the user wants said.",
		tellRun)
	addTool(in, "cancel", destroys,
		"End a run: its tasks go back to their earlier status. Only if the user wants that.",
		cancelRun)
}
