package formats

import (
	"strings"
	"time"
)

// Choice is one answer of a gate.
type Choice struct {
	Label string `json:"label"`
	// Approves marks the choice that --yes, an auto-approve file and `tercet approve` take.
	Approves bool `json:"approves,omitempty"`
	// Leaves marks the choice that a person takes who leaves the question by Ctrl-D or Ctrl-C, and that `tercet reject`
	// takes; without one the gate waits.
	Leaves bool `json:"leaves,omitempty"`
	// Recommended marks the one that a flow would take among several that go on.
	Recommended bool `json:"recommended,omitempty"`
	// Ends marks a choice that ends the command. One person is enough for it, whatever the quorum.
	Ends bool `json:"ends,omitempty"`
	// NeedsNote marks a choice that is taken with a note only.
	NeedsNote bool `json:"needs_note,omitempty"`
}

// Gate is a question to a person. Digest binds the answer to what was shown (sha256, hex); a gate with another digest
// is another question. As it was opened it is the data of gate_opened.
type Gate struct {
	// ID is that of this opening, random. Empty: the gate is in no journal, and is answered here alone.
	ID       string    `json:"id,omitempty"`
	Opened   time.Time `json:"at,omitzero"`
	Question string    `json:"question"`
	Show     []string  `json:"shown,omitempty"` // texts shown before the question, untrusted
	Choices  []Choice  `json:"choices"`
	// Free is the choice that words take which are no choice: they are its note. Empty: there is none.
	Free string `json:"free,omitempty"`
	Auto string `json:"auto,omitempty"` // label taken without a person; empty: none
	// Consent marks a question that Auto does not answer by itself: --yes or the auto-approve file has to.
	Consent bool `json:"consent,omitempty"`
	// Agreed is the auto-approve file that answers for the run; empty: none does.
	Agreed  string       `json:"-"`
	Digest  string       `json:"digest,omitempty"`
	Timeout *GateTimeout `json:"timeout,omitempty"`
	// Quorum is how many people have to make the same choice; 0 and 1: one.
	Quorum int `json:"quorum,omitempty"`
	// Evidence are the hashes of the files that the answer is bound to, by their names.
	Evidence map[string]string `json:"evidence,omitempty"`
	// Documents are files of the project that the answer is bound to and that a person may change before the answer;
	// Place is the folder in it where the work lies whose changes the answer is about. Empty: there are none.
	Documents []string `json:"documents,omitempty"`
	Place     string   `json:"place,omitempty"`
	// Votes are the answers of people so far, where more than one has to answer.
	Votes []Decision `json:"-"`
	// Waits tells whoever answers that the gate stays open until the context ends, also where nobody can be asked.
	Waits bool `json:"-"`
	// Flow tells a question of a command with tiers, which says before it that it needs a person.
	Flow bool `json:"-"`
	// NeedsPerson marks a question that the auto-approve file may not answer: commands out of a task or a plan.
	NeedsPerson bool   `json:"needs_person,omitempty"`
	Run         string `json:"run,omitempty"`
	Step        string `json:"step,omitempty"`
}

// Consent is what an auto-approve file says to a run: that it answers its gates, and which tier it asks for.
type Consent struct {
	File string `json:"file,omitempty"` // that answers; empty: none does
	Plan string `json:"plan,omitempty"` // the tier; empty: none
	At   Pos    `json:"at,omitzero"`    // of the tier
}

// GateTimeout is the choice that a gate takes when nobody has answered for a while after it was opened.
type GateTimeout struct {
	After  float64 `json:"after_seconds"`
	Choose string  `json:"choose"`
}

// Until is when the time of a gate is over. Zero: it has no such time.
func (g Gate) Until() time.Time {
	if g.Timeout == nil {
		return time.Time{}
	}
	return g.Opened.Add(time.Duration(g.Timeout.After * float64(time.Second)))
}

// Choice gives the choice of a label.
func (g Gate) Choice(label string) (Choice, bool) {
	for _, c := range g.Choices {
		if c.Label == label {
			return c, true
		}
	}
	return Choice{}, false
}

// Lacks tells whether an answer lacks the note that its choice needs.
func (g Gate) Lacks(label, note string) bool {
	c, ok := g.Choice(label)
	return ok && c.NeedsNote && strings.TrimSpace(note) == ""
}

// Voted gives the answer that a person has given to a gate with a quorum.
func (g Gate) Voted(by string) (Decision, bool) {
	for _, d := range g.Votes {
		if d.By == by {
			return d, true
		}
	}
	return Decision{}, false
}

// Decides tells whether an answer settles the gate. By then names everyone who made that choice.
func (g Gate) Decides(d Decision) (Decision, bool) {
	if c, ok := g.Choice(d.Answer); !d.Person || g.Quorum <= 1 || ok && c.Ends {
		return d, true
	}
	var by []string
	for _, v := range append(g.Votes, d) {
		if v.Answer == d.Answer {
			by = append(by, v.By)
		}
	}
	if len(by) < g.Quorum {
		return d, false
	}
	d.By = strings.Join(by, ", ")
	return d, true
}

// Decision is the answer to a gate.
type Decision struct {
	Answer string `json:"choice"` // the label chosen
	// By is the login name of a person, else --yes, the auto-approve file, auto, trusted digest or timeout.
	By     string    `json:"by"`
	Person bool      `json:"person,omitempty"`
	Note   string    `json:"note,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Edited is a document that the person has changed in place of an answer: the gate asks anew then.
	Edited string `json:"edited,omitempty"`
}

// Problem is an error on its way to errors.json. Time and id are added by the store.
type Problem struct {
	Type     string         `json:"type"`
	Severity string         `json:"severity"` // critical, or warning: what a run got over
	Message  string         `json:"message"`
	Context  ProblemContext `json:"context"`
	Path     []string       `json:"delegation_path"`
	Depth    int            `json:"depth"`
	Action   string         `json:"suggested_action"`
	Auto     bool           `json:"auto_recoverable"`
}

// ProblemContext says where an error happened.
type ProblemContext struct {
	Session string `json:"session_id,omitempty"`
	Run     string `json:"run,omitempty"`
	Command string `json:"command,omitempty"`
	Task    int    `json:"task,omitempty"`
	Step    string `json:"step,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}
