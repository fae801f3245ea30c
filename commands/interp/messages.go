package interp

import (
	"strings"

	"tercet/formats"
)

// Messages are what the user told the run while it was under way.
type Messages interface {
	// Unread are the messages that no worker has got, oldest first.
	Unread() ([]formats.Message, error)
	// Reads tells whether the worker of a request can read messages.
	Reads(r formats.Request) bool
	// Delivered is called once the journal has that a worker gets them.
	Delivered(list []formats.Message) error
}

func messagesEntry(req *formats.Request) formats.Entry {
	return formats.Entry{
		Type:    formats.EntryTold,
		Step:    req.At,
		Attempt: req.Attempt,
		Key:     req.Txn,
	}
}

// recallMessages gives a worker the messages that it got when it was started before. Each process
// that started it may have delivered some.
func (r *run) recallMessages(req *formats.Request) error {
	for {
		var was formats.Told
		data, more := r.journal.store.Recall(messagesEntry(req))
		if err := read(data, &was); !more || err != nil {
			return err
		}
		req.Facets.Messages = append(req.Facets.Messages, was.Messages...)
	}
}

// deliver gives the first worker that starts now, and can read, the messages that wait. They are in
// the journal before it starts, and their letters go after that: a run that is killed in between
// finds them in the journal.
func (r *run) deliver(journal *cursor, list []dispatch) error {
	if r.cfg.Messages == nil {
		return nil
	}
	for _, d := range list {
		e := d.effect
		starts := e.worker && !e.flow && !d.recalled
		if !starts || e.req.Question != "" || !r.cfg.Messages.Reads(*e.req) {
			continue
		}

		unread, err := r.cfg.Messages.Unread()
		if err != nil {
			r.report.warn("messages to the run: %s", err)
		}
		if len(unread) == 0 {
			return nil
		}

		entry := messagesEntry(e.req)
		entry.Data = formats.Told{Messages: unread}
		if err := journal.append(entry); err != nil {
			return err
		}
		e.req.Facets.Messages = append(e.req.Facets.Messages, unread...)
		if err := r.cfg.Messages.Delivered(unread); err != nil {
			r.report.warn("messages to the run: %s", err)
		}
		return nil
	}
	return nil
}

// warnUndelivered says which messages no worker got, because none started since they came.
func (r *run) warnUndelivered() {
	if r.cfg.Messages == nil || r.cfg.Prefix != "" {
		return
	}
	unread, err := r.cfg.Messages.Unread()
	if err != nil {
		r.report.warn("messages to the run: %s", err)
	}
	for _, m := range unread {
		first, _, _ := strings.Cut(strings.TrimSpace(m.Text), "\n")
		r.report.warn("no worker got the message of %s (%q): none that reads messages started "+
			"after it", m.By, formats.Clip(first, maxShownMessage))
	}
}

// maxShownMessage bounds how much of a message a warning shows.
const maxShownMessage = 60

// runnerOffline is a worker without a model, which reads no message.
const runnerOffline = "offline"
