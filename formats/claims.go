package formats

import (
	"fmt"
	"slices"
	"strings"

	"tercet/internal/jsonx"
)

// claim compares the name or the nonce that a return echoes with the expected one; an agent that is not asked for is an
// ordinary unknown member.
func (p *returnParser) claim(m jsonx.Member) bool {
	want := p.opt.Nonce
	if m.Key == "agent" {
		want = p.opt.Agent
	}
	got, ok := m.Value.Str()
	switch {
	case want == "" && m.Key == "agent":
		return false
	case want == "" || ok && got == want:
	case m.Key == "nonce":
		p.add(codeReturnClaim, m.Value, "echo the nonce of this delegation", "the nonce is not the one of this delegation")
	default:
		p.add(codeReturnClaim, m.Value, "", fmt.Sprintf("expected agent %q, got %s", want, m.Value.Raw(p.src)))
	}
	return true
}

// identity refuses a return that names another delegation than the one it is read for. What else an agent claims of
// itself is dropped, and no reason to refuse its work.
func (p *returnParser) identity(m jsonx.Member) {
	var want string
	what := m.Key
	switch m.Key {
	case "session_id":
		want = p.opt.Session
	case "agent_type":
		want = p.opt.Agent
	case "delegation_depth":
		if p.opt.Depth > 0 {
			want = decimal(p.opt.Depth)
		}
	case "task_number":
		if p.opt.Task > 0 {
			want = decimal(p.opt.Task)
		}
	}
	if want == "" || m.Value.Is(jsonx.Null) {
		return
	}
	got, ok := m.Value.Str()
	if !ok {
		got = string(m.Value.Raw(p.src))
	}
	if got != want {
		p.add(codeReturnClaim, m.Value, "leave "+what+" out",
			fmt.Sprintf("expected %s %s, got %q: this is the return of another delegation", what, want, got))
	}
}

// spelt refuses a member that differs from one of a return in case alone: readers that ignore case would take one for
// the other.
func (p *returnParser) spelt(m jsonx.Member) {
	lower := strings.ToLower(m.Key)
	if lower != m.Key && slices.Contains(returnMembers, lower) {
		p.add(codeReturnMember, m.Value, "write "+quoted(lower), fmt.Sprintf("expected member %q, got %q", lower, m.Key))
	}
}

var returnMembers = []string{
	"schema", "status", "verdict", "summary", "text", "artifacts", "issues", "errors", "warnings", "fields",
	"blocked_reason",
	"blocked_target", "next_steps", "metadata", "class", "agent", "nonce", "session_id", "delegation_depth", "task_number",
}
