package control

import (
	"errors"
	"slices"

	"tercet/formats"
	"tercet/internal/journal"
)

// Tell leaves a message for the next worker of a run that starts, and gives the run as it is then.
func (d *Controller) Tell(word string, m formats.Message) (journal.Run, error) {
	r, err := d.Named(word)
	if err == nil {
		_, err = d.Records(r.ID)
	}
	if err != nil {
		return r, err
	}
	if r.Ended() {
		return r, endedError(r)
	}

	box := d.mailbox(r.ID)
	if err := box.Leave(m); err != nil {
		return r, err
	}

	now, ok := journal.Summarize(d.Root, r.ID)
	if !ok || !now.Ended() {
		return r, nil
	}
	// The run ended meanwhile: what nobody takes any more is no message.
	unread, err := box.Remove(m.ID)
	if err == nil && unread {
		err = endedError(now)
	}
	return now, err
}

func endedError(r journal.Run) error {
	return formats.Fail(formats.CodePrecondition, "run 'tercet show "+r.ID+"'",
		"run %s has ended (%s): it starts no more workers", r.ID, r.Status)
}

// Unread are the messages to a run that no worker has got, oldest first. A message that a process
// journaled, which was killed before it removed the file, was delivered.
func (d *Controller) Unread(id string) ([]formats.Message, error) {
	box := d.mailbox(id)
	list, err := box.Messages()
	if len(list) == 0 || err != nil {
		return nil, err
	}
	records, err := journal.Load(d.Root, id)
	if err != nil {
		return nil, err
	}

	told := journal.Told(records)
	return slices.DeleteFunc(list, func(m formats.Message) bool {
		got := isDelivered(told, m)
		if got {
			_, gone := box.Remove(m.ID)
			err = errors.Join(err, gone)
		}
		return got
	}), err
}

// Waiting is Unread of a run whose journal was read already: told are the messages in it.
func (d *Controller) Waiting(id string, told []journal.Message) ([]formats.Message, error) {
	list, err := d.mailbox(id).Messages()
	return slices.DeleteFunc(list, func(m formats.Message) bool {
		return isDelivered(told, m)
	}), err
}

func isDelivered(told []journal.Message, m formats.Message) bool {
	return slices.ContainsFunc(told, func(one journal.Message) bool { return one.ID == m.ID })
}

// Remove removes the letters of messages that the journal has.
func (d *Controller) Remove(id string, list []formats.Message) error {
	var errs []error
	for _, m := range list {
		_, err := d.mailbox(id).Remove(m.ID)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
