package project

import (
	"crypto/rand"
	"slices"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/subagents/agentcli"
)

// Tell leaves a message of this process's user for the next worker of a run that starts. The run
// may be at work in any process, or wait to be resumed. What looks like a secret is masked. Inside
// a subagent it is DENIED. The channel is that of a Reply.
func (p *Project) Tell(run, text, channel string) (RunInfo, Message, error) {
	if err := p.mayWrite(); err != nil {
		return RunInfo{}, Message{}, err
	}
	m := Message{
		ID:   rand.Text(),
		By:   p.Host.User,
		At:   p.Host.Clock.Now().UTC(),
		Text: p.Mask.Text(text),

		Channel: channel,
	}
	r, err := p.Control.Tell(run, m)
	return r, m, err
}

// Message is what the user told a run.
type Message = formats.Message

// RunMessage is a message to a run, and the step whose worker got it; an empty step means that it
// waits for one.
type RunMessage = journal.Message

// Messages lists the messages to a run: those that workers got, then those that wait.
func (p *Project) Messages(run string) ([]RunMessage, error) {
	r, err := p.Find(run)
	if err != nil {
		return nil, err
	}
	records, err := journal.Load(p.Root, r.ID)
	if err != nil {
		return nil, err
	}

	out := journal.Told(records)
	if r.Ended() {
		return out, nil
	}
	return p.addWaiting(r.ID, out)
}

// MessagesOf is Messages of a run that is followed.
func (p *Project) MessagesOf(f *Follower) ([]RunMessage, error) {
	if f.Finish() != nil {
		return f.Told(), nil
	}
	return p.addWaiting(f.Run(), f.Told())
}

// addWaiting adds the messages that no worker has got.
func (p *Project) addWaiting(run string, told []RunMessage) ([]RunMessage, error) {
	waiting, err := p.Control.Waiting(run, told)
	for _, m := range waiting {
		told = append(told, RunMessage{Message: m})
	}
	return told, err
}

// messages are those to one run of a session.
type messages struct {
	session *Session
	run     string
}

// Unread implements interp.Messages. The home of a team has the messages to its runs.
func (m messages) Unread() ([]formats.Message, error) {
	if t := m.session.Project.team; t != nil {
		return t.unreadMessages(m.run)
	}
	return m.session.Project.Control.Unread(m.run)
}

// Delivered implements interp.Messages.
func (m messages) Delivered(list []formats.Message) error {
	if m.session.Project.team != nil {
		return nil // the home has the lines that say so
	}
	return m.session.Project.Control.Remove(m.run, list)
}

// Reads implements interp.Messages. A program gets messages in its input, a model in its prompt;
// what works without a model reads none.
func (m messages) Reads(r formats.Request) bool {
	def, _, ok := m.session.Set.Find(r)
	if !ok || def.Info.Builtin || slices.Equal(def.Info.Runner, []string{"builtin"}) {
		return false
	}
	if len(def.Argv) > 0 || m.session.Options.Workers != nil {
		return true
	}
	return slices.ContainsFunc(m.session.runnersOf(def.Info), func(name string) bool {
		return name != agentcli.RunnerOffline && name != ""
	})
}
