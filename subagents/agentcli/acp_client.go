package agentcli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"tercet/formats"
)

// acpClient is our side of one conversation. The SDK calls it from goroutines of its own, which may outlive the
// conversation by a moment: after end nothing is changed any more.
type acpClient struct {
	call    Call
	speaker Speaker
	over    func(*Reading) formats.Failure
	stop    context.CancelFunc // ends the conversation; set before the SDK is started
	gate    *acpGate           // as stop

	mu      sync.Mutex
	done    bool
	session acp.SessionId
	reading Reading
	passed  formats.Failure // the bound that was passed
	tools   map[acp.ToolCallId]acpTool
	text    []byte // the last message
	split   bool   // what the agent says next is a new message: it has used a tool
	greeted bool   // the agent has said who it is
	version string // its own
	fresh   bool   // what it says or does next is a new turn of the model: a tool has answered
}

// maxPaths is how many files one call of a tool may name.
const maxPaths = 100

// acpTool is what is known of a call of a tool.
type acpTool struct {
	kind  acp.ToolKind
	paths []string
}

var _ acp.Client = (*acpClient)(nil)

// locked runs do while the conversation is on.
func (c *acpClient) locked(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.done {
		do()
	}
}

// end gives what was heard. Nothing is noted afterwards.
func (c *acpClient) end() (Reading, formats.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
	c.reading.Text = string(c.text)
	return c.reading, c.passed
}

func (c *acpClient) opened(s acp.NewSessionResponse) {
	c.locked(func() {
		c.session, c.fresh = s.SessionId, true
		if s.Models != nil {
			c.reading.Model = string(s.Models.CurrentModelId)
		}
		if o := modelOption(s); o != nil {
			c.reading.Model = string(o.CurrentValue)
		}
	})
}

// ended takes in how the agent ended its turn.
func (c *acpClient) ended(p acp.PromptResponse) {
	c.locked(func() {
		c.reading.Ended = true
		if p.Usage != nil {
			c.reading.Tokens = acpTokens(*p.Usage)
		} else {
			c.reading.Tokens = quotaTokens(p.Meta)
		}
		switch p.StopReason {
		case acp.StopReasonEndTurn:
		case acp.StopReasonMaxTokens, acp.StopReasonMaxTurnRequests:
			c.reading.fault(Fault{
				Kind: "max_turns", Message: "the agent stopped at a limit of its own: " + string(p.StopReason),
			})
		case acp.StopReasonRefusal, acp.StopReasonCancelled:
			c.reading.fault(Fault{Kind: string(p.StopReason), Message: "the agent stopped its turn: " + string(p.StopReason)})
		default:
			c.reading.fault(Fault{
				Kind: "stop", Message: "the agent stopped its turn for an unknown reason: " + string(p.StopReason),
			})
		}
		c.passed = c.over(&c.reading)
	})
}

// failed notes what went wrong in the conversation.
func (c *acpClient) failed(err error) {
	if acpGone(err) {
		return
	}
	const login = -32000
	fault := Fault{Kind: "acp", Message: acpMessage(err)}
	if broken, ok := errors.AsType[*acp.RequestError](err); ok {
		switch {
		case broken.Code == login:
			fault.Kind = "authentication_error"
		case broken.Code >= 400 && broken.Code < 600: // some take the status of the model's server for a code
			fault.Status = broken.Code
		}
	}
	if ours, ok := errors.AsType[*formats.Failure](err); ok {
		if fault.Message = ours.Message; ours.Code == formats.CodeToolUnavailable {
			fault.Kind = kindProtocol
		}
	}
	c.locked(func() { c.reading.fault(fault) })
}

// acpTokens counts what the agent says it used. Some count what a cache held apart from the input, which their sum
// shows.
func acpTokens(u acp.Usage) formats.Tokens {
	count := func(n *int) int64 {
		if n == nil {
			return 0
		}
		return int64(max(0, *n))
	}
	in, out := int64(max(0, u.InputTokens)), int64(max(0, u.OutputTokens))
	read, written, thought := count(u.CachedReadTokens), count(u.CachedWriteTokens), count(u.ThoughtTokens)
	total := int64(u.TotalTokens)
	if total >= in+out+read+written {
		in += read + written
	}
	if total >= in+out+thought {
		out += thought
	}
	return formats.Tokens{Input: in, Cached: read, Output: out}
}

// quotaTokens counts what gemini says it used, in a way of its own.
func quotaTokens(meta map[string]any) formats.Tokens {
	count := func(name string) int64 {
		var at any = meta
		for _, key := range []string{"quota", "token_count", name} {
			members, ok := at.(map[string]any)
			if !ok {
				return 0
			}
			at = members[key]
		}
		n, ok := at.(float64)
		if !ok {
			return 0
		}
		return int64(min(max(0, n), 1e12))
	}
	return formats.Tokens{Input: count("input_tokens"), Output: count("output_tokens")}
}

// SessionUpdate notes what the agent says and does.
func (c *acpClient) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	defer c.gate.noted()
	c.locked(func() {
		if n.SessionId != c.session || c.session == "" {
			return
		}
		c.note(n.Update)
		if c.passed.Code != "" {
			return
		}
		if c.passed = c.over(&c.reading); c.passed.Code != "" {
			c.stop()
		}
	})
	return nil
}

func (c *acpClient) note(u acp.SessionUpdate) {
	switch {
	case u.AgentMessageChunk != nil:
		m := u.AgentMessageChunk
		id := ""
		if m.MessageId != nil {
			id = *m.MessageId
		}
		c.turn()
		if c.split || id != c.reading.message {
			c.text, c.split, c.reading.message = nil, false, id
		}
		if m.Content.Text != nil {
			c.text = append(c.text, m.Content.Text.Text...)
		}
	case u.ToolCall != nil:
		t := u.ToolCall
		c.tool(t.ToolCallId, acpTool{t.Kind, acpPaths(t.Locations, t.Content, t.RawInput)}, t.Status)
	case u.ToolCallUpdate != nil:
		t := u.ToolCallUpdate
		kind, status := acp.ToolKind(""), acp.ToolCallStatus("")
		if t.Kind != nil {
			kind = *t.Kind
		}
		if t.Status != nil {
			status = *t.Status
		}
		c.tool(t.ToolCallId, acpTool{kind, acpPaths(t.Locations, t.Content, t.RawInput)}, status)
	case u.UsageUpdate != nil:
		if cost := u.UsageUpdate.Cost; cost != nil && cost.Currency == "USD" && cost.Amount > c.reading.Cost {
			c.reading.Cost = cost.Amount
		}
	}
}

// turn counts a turn of the model. The protocol does not tell of them: one begins when something is said or done after
// a tool has answered.
func (c *acpClient) turn() {
	if c.fresh {
		c.fresh = false
		c.reading.Turns++
	}
}

// tool notes a call of a tool. The message before it is not the last one if another follows.
func (c *acpClient) tool(id acp.ToolCallId, now acpTool, status acp.ToolCallStatus) {
	if c.tools == nil {
		c.tools = map[acp.ToolCallId]acpTool{}
	}
	known, seen := c.tools[id]
	if !seen {
		c.turn()
	}
	c.split = true
	c.fresh = c.fresh || status == acp.ToolCallStatusCompleted || status == acp.ToolCallStatusFailed
	// One path too many is kept, so that leave is refused for what cannot be looked at.
	paths := append(known.paths, now.paths...)
	c.tools[id] = acpTool{kind: cmp.Or(now.kind, known.kind), paths: paths[:min(len(paths), maxPaths+1)]}
}

// acpPaths lists the files that a call of a tool names.
func acpPaths(at []acp.ToolCallLocation, content []acp.ToolCallContent, input any) []string {
	var out []string
	for _, l := range at {
		out = append(out, l.Path)
	}
	for _, part := range content {
		if part.Diff != nil {
			out = append(out, part.Diff.Path)
		}
	}
	members, ok := input.(map[string]any)
	if !ok {
		return out
	}
	for _, key := range []string{"file_path", "filePath", "filepath", "path"} {
		if name, ok := members[key].(string); ok {
			out = append(out, name)
		}
	}
	return out
}

// RequestPermission answers by what `tools` grants: once, never for all that follows.
func (c *acpClient) RequestPermission(
	_ context.Context, p acp.RequestPermissionRequest,
) (acp.RequestPermissionResponse, error) {
	granted := false
	c.locked(func() {
		t := c.tools[p.ToolCall.ToolCallId]
		kind := t.kind
		if p.ToolCall.Kind != nil {
			kind = *p.ToolCall.Kind
		}
		kind = cmp.Or(kind, acp.ToolKindOther)
		paths := append(
			append([]string{}, t.paths...), acpPaths(p.ToolCall.Locations, p.ToolCall.Content, p.ToolCall.RawInput)...,
		)
		_, offered := acpOption(p.Options, acp.PermissionOptionKindAllowOnce)
		granted = p.SessionId == c.session && offered && len(paths) <= maxPaths && c.call.grants(kind, paths)
		if !granted {
			c.reading.deny(acpToolName(kind))
		}
	})
	wanted := []acp.PermissionOptionKind{acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways}
	if granted {
		wanted = []acp.PermissionOptionKind{acp.PermissionOptionKindAllowOnce}
	}
	for _, kind := range wanted {
		if id, ok := acpOption(p.Options, kind); ok {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(id)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

func acpOption(options []acp.PermissionOption, kind acp.PermissionOptionKind) (acp.PermissionOptionId, bool) {
	for _, o := range options {
		if o.Kind == kind {
			return o.OptionId, true
		}
	}
	return "", false
}

// acpToolName is a word of the protocol for a kind of tool, or "other" for one of the agent's own.
func acpToolName(kind acp.ToolKind) string {
	switch kind {
	case acp.ToolKindRead, acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove, acp.ToolKindSearch,
		acp.ToolKindExecute, acp.ToolKindThink,
		acp.ToolKindFetch, acp.ToolKindSwitchMode, acp.ToolKindOther:
		return string(kind)
	}
	return string(acp.ToolKindOther)
}

// grants tells whether a call may use a kind of tool on files.
func (c Call) grants(kind acp.ToolKind, paths []string) bool {
	switch kind {
	case acp.ToolKindRead, acp.ToolKindSearch, acp.ToolKindThink:
		return true
	case acp.ToolKindEdit, acp.ToolKindDelete, acp.ToolKindMove:
		for _, name := range paths {
			if !c.mayWrite(name) {
				return false
			}
		}
		return len(paths) > 0 || c.Grant.Write
	case acp.ToolKindFetch:
		return c.Grant.Net
	case acp.ToolKindExecute, acp.ToolKindOther:
		return c.Grant.Shell
	case acp.ToolKindSwitchMode: // another mode may ask no more
		return false
	}
	return false
}

// mayWrite tells whether a file may be written: documents and the return always, the tree if it is granted, and never
// what the workspace keeps of itself.
func (c Call) mayWrite(name string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.Dir, name)
	}
	name = realPath(name)
	if name == realPath(c.Return) || below(realPath(c.Out), name) {
		return true
	}
	for _, root := range []string{c.Root, c.Dir} {
		for _, kept := range protected {
			at := filepath.Join(realPath(root), formats.Workspace, filepath.FromSlash(strings.TrimSuffix(kept, "/**")))
			if name == at || below(at, name) {
				return false
			}
		}
	}
	return c.Grant.Write && below(realPath(c.Dir), name)
}

// realPath follows the links of the part of a path that is there.
func realPath(name string) string {
	name = filepath.Clean(name)
	for dir, rest := name, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return name
		}
		dir, rest = up, filepath.Join(filepath.Base(dir), rest)
	}
}

// below tells whether name is in the folder dir.
func below(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// ReadTextFile is not offered: an agent reads by itself.
func (*acpClient) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

// WriteTextFile is not offered: an agent writes by itself.
func (*acpClient) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

// CreateTerminal is not offered, nor is any other method of terminals.
func (*acpClient) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalCreate)
}

// KillTerminal is not offered.
func (*acpClient) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalKill)
}

// TerminalOutput is not offered.
func (*acpClient) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalOutput)
}

// ReleaseTerminal is not offered.
func (*acpClient) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalRelease)
}

// WaitForTerminalExit is not offered.
func (*acpClient) WaitForTerminalExit(
	context.Context, acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, acp.NewMethodNotFound(acp.ClientMethodTerminalWaitForExit)
}
