package journal

import (
	"encoding/json"

	"tercet/formats"
)

// Message is a message of the user to a run, and the step whose worker got it; an empty step means
// that it waits for one.
type Message struct {
	formats.Message

	Step string `json:"step_path,omitempty"`
}

// Told returns the messages that workers of a run got, also in a part of it that no longer counts.
func Told(records []Record) []Message {
	out := []Message{}
	for _, r := range records {
		var told formats.Told
		if r.Type != formats.EntryTold || json.Unmarshal(r.Raw(), &told) != nil {
			continue
		}
		for _, m := range told.Messages {
			out = append(out, Message{m, r.Step})
		}
	}
	return out
}
