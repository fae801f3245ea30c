package agentcli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
)

// session chooses between going on in the session that the step left and a new one, and journals
// the choice. News is nil for a new one, which is told everything. lost means that it is known to
// be gone.
func (c *CLI) session(r formats.Request, lost bool) (Session, *formats.News, error) {
	keeper := r.Terms.Kept
	if keeper == nil || r.Question != "" {
		return Session{}, nil, nil
	}
	last, news, why := keeper.Last()
	begin := formats.SessionStart{AgentSession: formats.AgentSession{Runner: c.Runner}, Why: why}
	cannot := c.keepsNoSession()
	switch {
	case cannot != "":
		if last.ID != "" || why != "" {
			begin.Why = cannot
		}
		return Session{}, nil, keeper.Start(begin)
	case last.ID == "":
	case last.Runner != c.Runner:
		begin.Why = "runner " + last.Runner + " did the work before"
	case lost || !c.Driver.hasSession(last.ID, c.lookup):
		begin.Why = c.Runner + " no longer has its session"
	default:
		begin.ID = last.ID
		begin.Resumed = true
		return Session{Keep: true, ID: last.ID, Resume: true}, &news, keeper.Start(begin)
	}

	if c.Driver.Sessions.Named {
		begin.ID = c.NewSession()
	}
	return Session{Keep: true, ID: begin.ID}, nil, keeper.Start(begin)
}

// errSessionGone means that the agent CLI refused to go on in a session that it does not have, and
// did nothing else.
var errSessionGone = errors.New("the session is gone")

// sessionGone tells whether that is how a call ended.
func (c *CLI) sessionGone(s Session, res proc.Result, r *Reading) bool {
	return s.Resume && !res.Success() && r.Turns == 0 && c.Driver.Sessions.Gone != "" &&
		strings.Contains(string(res.Stderr), c.Driver.Sessions.Gone)
}

// keepsNoSession says why the agent CLI cannot go on in a session; empty if it can.
func (c *CLI) keepsNoSession() string {
	switch {
	case c.Speaker != nil || c.Driver.Sessions == nil || c.NewSession == nil:
		return "runner " + c.Runner + " keeps none"
	case c.IsolatedHome:
		return "isolated_home removes it with each call"
	}
	return ""
}

func (c *CLI) lookup(name string) string { return variable(c.Starter.Env, name) }

// hasSession tells whether a session is still there, as far as files show it.
func (d Driver) hasSession(id string, lookup func(string) string) bool {
	return len(d.Sessions.Files) == 0 || len(d.sessionFiles(0, id, lookup)) > 0
}

// sessionFiles are the files of a session that the n-th pattern of Sessions.Files matches.
func (d Driver) sessionFiles(n int, id string, lookup func(string) string) []string {
	store := d.Footprint.Stores[0].dir(lookup)
	pattern := strings.ReplaceAll(d.Sessions.Files[n], "ID", id)
	names, _ := fs.Glob(os.DirFS(store), pattern) //nolint:errcheck // the pattern is a valid one
	for i, name := range names {
		names[i] = filepath.Join(store, filepath.FromSlash(name))
	}
	return names
}

// isPlainID tells whether a text is the id of a session, so that it names no other file and is no
// flag.
func isPlainID(id string) bool {
	isOther := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			r != '-' && r != '_'
	}
	return id != "" && len(id) <= 128 && id[0] != '-' && !strings.ContainsFunc(id, isOther)
}

// sessionNamer holds the session of a call, which an agent CLI may name only once it is at work.
type sessionNamer struct {
	runner  string
	session Session
	keeper  formats.KeptSession
	err     error // it could not be journaled
}

// journalID journals the id of a new session when it is told.
func (n *sessionNamer) journalID(r *Reading) {
	if !n.session.Keep || n.session.ID != "" || !isPlainID(r.Session) {
		return
	}
	n.session.ID = r.Session
	n.err = n.keeper.Start(formats.SessionStart{AgentSession: n.at()})
}

func (n *sessionNamer) at() formats.AgentSession {
	return formats.AgentSession{Runner: n.runner, ID: n.session.ID}
}

// endSession gives the session in which the call ended, and has it kept. It is nil if no call can
// go on in it: the call failed, or it went on elsewhere than it was asked to.
func (n *sessionNamer) endSession(r *Reading) *formats.AgentSession {
	if !n.session.Keep || r.Fault != nil || r.Session == "" || r.Session != n.session.ID {
		return nil
	}
	at := n.at()
	n.keeper.Left(at)
	return &at
}

// Forget removes a session of an agent CLI. One that is not there is no error.
func Forget(ctx context.Context, s *proc.Starter, at formats.AgentSession) error {
	d, ok := ByName(at.Runner)
	if !ok || d.Sessions == nil || !isPlainID(at.ID) {
		return nil
	}
	lookup := func(name string) string { return variable(s.Env, name) }
	for i := range d.Sessions.Files {
		for _, name := range d.sessionFiles(i, at.ID, lookup) {
			if err := os.RemoveAll(name); err != nil {
				return onFolder("remove a session of "+d.Name, err)
			}
		}
	}

	if d.Sessions.Delete == nil {
		return nil
	}
	_, res, err := start(ctx, s, d, "runner "+d.Name, proc.Command{
		Argv: append([]string{d.Name}, d.Sessions.Delete(at.ID)...),
	})
	if err == nil && !res.Success() && !strings.Contains(string(res.Stderr), "not found") {
		err = noReturnFailure(d.Name, d.Name, res, lastLines(res.Stderr))
	}
	return err
}
