package interp

import (
	"cmp"
	"reflect"
	"slices"

	"tercet/formats"
)

// agentSessions are the sessions that the workers of steps with `session: keep` left, by the path
// of the step. A replay fills it again from the recorded answers.
type agentSessions map[string]leftSession

// leftSession is a session of an agent CLI with what its worker was told last.
type leftSession struct {
	session formats.AgentSession // without an id, why says why there is none
	why     string
	agent   string
	request formats.Request
	// recalled: it comes out of the journal, so an earlier process left it.
	recalled bool
}

// forget drops all sessions: what their workers remember is no longer so.
func (l agentSessions) forget(why string) {
	for path, left := range l {
		left.session = formats.AgentSession{}
		left.why = why
		l[path] = left
	}
}

// keepsSession tells whether the worker of the call may go on in the session of an earlier call.
func (c call) keepsSession() bool {
	info := c.to.Info
	return c.step.info.Terms.Keep && c.isWorker() && !info.Workflow && c.question == "" &&
		info.Role != formats.RoleReviewer
}

// keptSession is the session of a step as one call of its worker uses it.
type keptSession struct {
	journal *runJournal
	entry   formats.Entry // without data
	last    formats.AgentSession
	news    formats.News
	why     string // it begins afresh although the step was called before
	started bool   // in this process
}

// openSession gives the call the session of its step; nil if the step keeps none.
func (c call) openSession(req *formats.Request) *keptSession {
	if !c.keepsSession() {
		return nil
	}
	r := c.step.run
	k := &keptSession{
		journal: &r.journal,
		entry: formats.Entry{
			Type:    formats.EntryAgentSession,
			Step:    req.At,
			Attempt: req.Attempt,
			Key:     req.Txn,
		},
	}

	left, called := r.sessions[c.step.path]
	switch {
	case !called:
	case left.session.ID == "":
		k.why = left.why
	case left.agent != c.to.Agent:
		k.why = "another subagent did the work before"
	case left.recalled && r.cfg.EverKilled:
		k.why = "a process of this run was killed"
	case left.request.Dir != req.Dir:
		k.why = "the work goes on in another folder"
	default:
		k.last = left.session
		k.news = newsSince(left.request, *req)
	}

	req.Terms.Kept = k
	return k
}

// newsSince are the parts of a request that a worker was not told by the one before.
func newsSince(before, now formats.Request) formats.News {
	news := formats.News{Input: object{}}
	if a, b := before.Task, now.Task; a != nil && b != nil &&
		(a.Number != b.Number || a.Title != b.Title || a.Description != b.Description) {
		news.Task = b
	}

	for name, value := range now.Input {
		if !reflect.DeepEqual(normalize(before.Input[name]), normalize(value)) {
			news.Input[name] = value
		}
	}

	for _, text := range now.Facets.Knowledge {
		if !slices.Contains(before.Facets.Knowledge, text) {
			news.Knowledge = append(news.Knowledge, text)
		}
	}

	if now.Facets.Instruction != before.Facets.Instruction {
		news.Instruction = now.Facets.Instruction
	}
	return news
}

// recall takes what the journal has of how the call started. A call without an answer was
// interrupted: what became of its session, nobody knows, and it begins afresh.
func (k *keptSession) recall(r *run, answered bool) error {
	if k == nil {
		return nil
	}
	for first := true; ; first = false {
		var was formats.SessionStart
		data, more := r.journal.store.Recall(k.entry)
		if err := read(data, &was); !more || err != nil {
			return err
		}
		switch {
		case !answered:
			k.last = formats.AgentSession{}
			k.why = "the call was interrupted"
		case first:
			k.why = was.Why
		}
	}
}

// close keeps what the call left for the next call of its step.
func (k *keptSession) close(c call, req formats.Request, got answer) {
	if k == nil {
		return
	}
	r := c.step.run
	if k.why != "" && got.err == nil {
		r.report.warn("step '%s' began a new session of its agent: %s",
			c.step.info.Step.Title, k.why)
	}

	req.Terms = formats.Terms{}
	left := leftSession{
		agent:    c.to.Agent,
		request:  req,
		recalled: !k.started,
	}

	at := got.ret.Metadata.AgentSession
	switch {
	case got.err != nil || slices.Contains([]formats.Class{
		formats.ClassTransient, formats.ClassTimeout, formats.ClassCancelled,
		formats.ClassUnavailable, formats.ClassInvalidReturn,
	}, got.ret.Class):
		left.why = "the last call failed"
	case at == nil:
		left.why = "runner " + cmp.Or(got.ret.Metadata.Runner, "none") + " kept none"
	default:
		left.session = *at
	}

	r.sessions[c.step.path] = left
}

// Last implements formats.KeptSession.
func (k *keptSession) Last() (last formats.AgentSession, news formats.News, why string) {
	return k.last, k.news, k.why
}

// Start implements formats.KeptSession.
func (k *keptSession) Start(s formats.SessionStart) error {
	k.started = true
	if s.Why != "" {
		k.why = s.Why
	}
	entry := k.entry
	entry.Data = s
	return k.journal.write(entry)
}

// Left implements formats.KeptSession.
func (k *keptSession) Left(s formats.AgentSession) {
	k.last = s
	k.news = formats.News{}
}
