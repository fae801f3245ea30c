package agentcli

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coder/acp-go-sdk"

	"tercet/formats"
)

// acpClient is our side of one conversation. It belongs to one goroutine, but for what leave uses.
type acpClient struct {
	acpLine

	call    Call
	speaker Speaker
	bound   func(*Reading) formats.Failure // tells which bound is passed
	session atomic.Pointer[acp.SessionId]  // nil before there is one
	// what it says of itself, nil before it has said anything
	agent   *acp.Implementation
	reading Reading
	passed  formats.Failure // the bound that was passed
	tools   map[acp.ToolCallId]acpTool
	text    []byte // the last message
	split   bool   // what the agent says next is a new message: it has used a tool
	fresh   bool   // what it says or does next is a new turn of the model: a tool has answered
}

// maxPaths is how many files one call of a tool may name.
const maxPaths = 100

// acpTool is what is known of a call of a tool.
type acpTool struct {
	kind  acp.ToolKind
	paths []string
}

// noteEnd takes in how the agent ended its turn.
func (c *acpClient) noteEnd(p acp.PromptResponse) {
	c.reading.Ended = true
	if p.Usage != nil {
		c.reading.Tokens = acpTokens(*p.Usage)
	} else {
		c.reading.Tokens = quotaTokens(p.Meta)
	}

	why := string(p.StopReason)
	switch p.StopReason {
	case acp.StopReasonEndTurn:
	case acp.StopReasonMaxTokens, acp.StopReasonMaxTurnRequests:
		c.reading.fault(Fault{
			Kind:    "max_turns",
			Message: "the agent stopped at a limit of its own: " + why,
		})
	case acp.StopReasonRefusal, acp.StopReasonCancelled:
		c.reading.fault(Fault{Kind: why, Message: "the agent stopped its turn: " + why})
	default:
		c.reading.fault(Fault{
			Kind:    "stop",
			Message: "the agent stopped its turn for an unknown reason: " + why,
		})
	}
	c.passed = c.bound(&c.reading)
}

// noteError notes what went wrong in the conversation.
func (c *acpClient) noteError(err error) {
	const login = -32000
	fault := Fault{Kind: "acp", Message: acpError(err)}
	if broken, ok := errors.AsType[*acp.RequestError](err); ok {
		switch {
		case broken.Code == login:
			fault.Kind = "authentication_error"
		case broken.Code >= 400 && broken.Code < 600:
			// some take the status of the model's server for a code
			fault.Status = broken.Code
		}
	}
	if ours, ok := errors.AsType[*formats.Failure](err); ok {
		fault.Message = ours.Message
		if ours.Code == formats.CodeToolUnavailable {
			fault.Kind = kindProtocol
		}
	}
	c.reading.fault(fault)
}

// acpTokens counts what the agent says it used. Some count what a cache held apart from the input,
// which their sum shows.
func acpTokens(u acp.Usage) formats.Tokens {
	count := func(n *int) int64 {
		if n == nil {
			return 0
		}
		return int64(max(0, *n))
	}

	in := int64(max(0, u.InputTokens))
	out := int64(max(0, u.OutputTokens))
	read := count(u.CachedReadTokens)
	written := count(u.CachedWriteTokens)
	thought := count(u.ThoughtTokens)
	total := int64(u.TotalTokens)

	if total >= in+out+read+written {
		in += read + written
	}
	if total >= in+out+thought {
		out += thought
	}

	return formats.Tokens{
		Input:  in,
		Cached: read,
		Output: out,
	}
}

// quotaTokens counts what gemini says it used, in a way of its own.
func quotaTokens(meta map[string]any) formats.Tokens {
	var used struct {
		Quota struct {
			Count struct {
				Input  float64 `json:"input_tokens"`
				Output float64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	}
	if json.Unmarshal(toJSON(meta), &used) != nil {
		return formats.Tokens{}
	}
	count := func(n float64) int64 { return int64(min(max(0, n), 1e12)) }
	return formats.Tokens{
		Input:  count(used.Quota.Count.Input),
		Output: count(used.Quota.Count.Output),
	}
}

// handleMessage takes in what the agent says and does, and answers what it asks leave for. A file
// system and terminals are not offered: an agent reads, writes and runs by itself.
func (c *acpClient) handleMessage(m acpMessage) (any, *acp.RequestError) {
	switch m.Method {
	case acp.ClientMethodSessionUpdate:
		var n acp.SessionNotification
		if json.Unmarshal(m.Params, &n) == nil && c.isOurSession(n.SessionId) {
			c.applyUpdate(n.Update)
			c.passed = c.bound(&c.reading)
			c.closing = c.passed.Code != ""
		}
		return nil, nil
	case acp.ClientMethodSessionRequestPermission:
		var p acp.RequestPermissionRequest
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return nil, acp.NewInvalidParams(err.Error())
		}
		return acp.RequestPermissionResponse{Outcome: c.permit(p)}, nil
	}
	return nil, acp.NewMethodNotFound(m.Method)
}

// isOurSession reports whether an id is that of the session of this conversation.
func (c *acpClient) isOurSession(id acp.SessionId) bool {
	session := c.session.Load()
	return session != nil && *session == id
}

func (c *acpClient) applyUpdate(u acp.SessionUpdate) {
	switch {
	case u.AgentMessageChunk != nil:
		m := u.AgentMessageChunk
		id := ""
		if m.MessageId != nil {
			id = *m.MessageId
		}
		c.turn()
		if c.split || id != c.reading.message {
			c.text = nil
			c.split = false
			c.reading.message = id
		}
		if m.Content.Text != nil {
			c.text = append(c.text, m.Content.Text.Text...)
		}
	case u.ToolCall != nil:
		t := u.ToolCall
		c.reading.act = actOf(string(t.Kind), t.RawInput)
		c.reading.act.On = cmp.Or(c.reading.act.On, t.Title)
		c.tool(
			t.ToolCallId,
			acpTool{t.Kind, acpPaths(t.Locations, t.Content, t.RawInput)},
			t.Status,
		)
	case u.ToolCallUpdate != nil:
		t := u.ToolCallUpdate
		kind := acp.ToolKind("")
		status := acp.ToolCallStatus("")
		if t.Kind != nil {
			kind = *t.Kind
		}
		if t.Status != nil {
			status = *t.Status
		}
		c.tool(t.ToolCallId, acpTool{kind, acpPaths(t.Locations, t.Content, t.RawInput)}, status)
	case u.UsageUpdate != nil:
		cost := u.UsageUpdate.Cost
		if cost != nil && cost.Currency == "USD" && cost.Amount > c.reading.Cost {
			c.reading.Cost = cost.Amount
		}
	}
}

// turn counts a turn of the model. The protocol does not tell of them: one begins when something is
// said or done after a tool has answered.
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
	c.tools[id] = acpTool{
		kind:  cmp.Or(now.kind, known.kind),
		paths: paths[:min(len(paths), maxPaths+1)],
	}
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

// permit answers by what `tools` grants: once, never for all that follows.
func (c *acpClient) permit(p acp.RequestPermissionRequest) acp.RequestPermissionOutcome {
	t := c.tools[p.ToolCall.ToolCallId]
	kind := t.kind
	if p.ToolCall.Kind != nil {
		kind = *p.ToolCall.Kind
	}
	kind = cmp.Or(kind, acp.ToolKindOther)
	paths := slices.Concat(
		t.paths,
		acpPaths(p.ToolCall.Locations, p.ToolCall.Content, p.ToolCall.RawInput),
	)

	offered := map[acp.PermissionOptionKind]acp.PermissionOptionId{}
	for _, o := range slices.Backward(p.Options) {
		offered[o.Kind] = o.OptionId
	}

	yes, once := offered[acp.PermissionOptionKindAllowOnce]
	if c.isOurSession(p.SessionId) && once && len(paths) <= maxPaths && c.call.grants(kind, paths) {
		return acp.NewRequestPermissionOutcomeSelected(yes)
	}
	if _, known := acpNeeds[kind]; !known {
		kind = acp.ToolKindOther // one of the agent's own
	}
	c.reading.deny(string(kind))
	for _, no := range []acp.PermissionOptionKind{
		acp.PermissionOptionKindRejectOnce, acp.PermissionOptionKindRejectAlways,
	} {
		if id, ok := offered[no]; ok {
			return acp.NewRequestPermissionOutcomeSelected(id)
		}
	}

	return acp.NewRequestPermissionOutcomeCancelled()
}

// acpNeeds says what has to be granted for each kind of tool.
var acpNeeds = map[acp.ToolKind]string{
	acp.ToolKindRead:       "nothing",
	acp.ToolKindSearch:     "nothing",
	acp.ToolKindThink:      "nothing",
	acp.ToolKindEdit:       "write",
	acp.ToolKindDelete:     "write",
	acp.ToolKindMove:       "write",
	acp.ToolKindFetch:      "net",
	acp.ToolKindExecute:    "shell",
	acp.ToolKindOther:      "shell",
	acp.ToolKindSwitchMode: "never", // another mode may ask no more
}

// grants tells whether a call may use a kind of tool on files.
func (c Call) grants(kind acp.ToolKind, paths []string) bool {
	switch acpNeeds[kind] {
	case "nothing":
		return true
	case "write":
		refused := slices.ContainsFunc(paths, func(name string) bool {
			return !c.mayWrite(name)
		})
		return !refused && (len(paths) > 0 || c.Grant.Write)
	case "net":
		return c.Grant.Net
	case "shell":
		return c.Grant.Shell
	}
	return false
}

// mayWrite tells whether a file may be written. Documents and the return always may, the tree if it
// is granted, the workspace's own files never.
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
			at := filepath.Join(
				realPath(root),
				formats.Workspace,
				filepath.FromSlash(strings.TrimSuffix(kept, "/**")),
			)
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
	dir := name
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return name
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = up
	}
}

// below tells whether name is in the folder dir.
func below(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}
