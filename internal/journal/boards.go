package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
)

// Topic is one topic of a board with its whole history, oldest first.
type Topic struct {
	// In is the step of the workflow subagent that owns the topic; empty if the run does
	In       string            `json:"in,omitempty"`
	Name     string            `json:"topic"`
	Version  int               `json:"version"`
	Postings []formats.Posting `json:"postings"`
}

// String is the topic's version, and the last step that posted.
func (t Topic) String() string {
	where := ""
	if t.In != "" {
		where = " of step '" + t.In + "'"
	}
	last := t.Postings[len(t.Postings)-1]
	return fmt.Sprintf("Board '%s'%s: version %d, last by %s in round %d",
		t.Name, where, t.Version, last.By, last.Round)
}

// Topics returns the postings of a run by topic, in the order of each topic's first posting.
func Topics(records []Record) []Topic {
	var out []Topic
	for _, r := range currentRecords(records) {
		var p formats.Posted
		if r.Type != formats.EntryPosted || json.Unmarshal(r.Raw(), &p) != nil {
			continue
		}
		in := strings.TrimSuffix(enclosingCall(r.Step), "/")
		at := slices.IndexFunc(out, func(t Topic) bool {
			return t.In == in && t.Name == r.Key
		})
		if at < 0 {
			at = len(out)
			out = append(out, Topic{In: in, Name: r.Key})
		}
		out[at].Version = p.Version
		out[at].Postings = append(out[at].Postings, p.Posting)
	}
	return out
}
