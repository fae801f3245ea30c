package formats

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// Choice is one answer of a gate.
type Choice struct {
	Label string `json:"label"`
	// Approves marks the choices that continue. --yes and an auto-approve file take the first,
	// `tercet approve` the only one.
	Approves bool `json:"approves,omitempty"`
	// Leaves marks the choice of `tercet reject`, and of a user who leaves the question by Ctrl-D
	// or Ctrl-C. Without one the gate stays open.
	Leaves bool `json:"leaves,omitempty"`
	// Recommended marks the choice that a flow recommends.
	Recommended bool `json:"recommended,omitempty"`
	// Ends marks a choice that ends the command. One vote is enough, whatever the quorum.
	Ends bool `json:"ends,omitempty"`
	// NeedsNote means that the choice requires a note.
	NeedsNote bool `json:"needs_note,omitempty"`
	// After says what happens after the choice; empty: unknown.
	After string `json:"-"`
}

// Gate is a question to the user. Digest (SHA-256, hex) binds the answer to the content that the
// user saw; another digest means another question. An open Gate is the data of gate_opened.
type Gate struct {
	// ID is random for each opening. Empty: no journal has the gate, and only this process can
	// answer it.
	ID       string    `json:"id,omitempty"`
	Opened   time.Time `json:"at,omitzero"`
	Question string    `json:"question"`
	Show     []string  `json:"shown,omitempty"` // texts above the question, untrusted
	Choices  []Choice  `json:"choices"`
	// Free is the choice for an answer that names no choice; the answer becomes its note. Empty:
	// there is none.
	Free string `json:"free,omitempty"`
	Auto string `json:"auto,omitempty"` // label taken without asking; empty: none
	// Consent means that Auto alone does not answer; it takes --yes or the auto-approve file.
	Consent bool `json:"consent,omitempty"`
	// Agreed is the auto-approve file that answers for the run; empty: none.
	Agreed  string       `json:"-"`
	Digest  string       `json:"digest,omitempty"`
	Timeout *GateTimeout `json:"timeout,omitempty"`
	// Quorum is the number of users who must make the same choice; 0 and 1: one.
	Quorum int `json:"quorum,omitempty"`
	// Evidence maps files to their hashes; the answer holds only for these contents.
	Evidence map[string]string `json:"evidence,omitempty"`
	// Documents are project files that the user may edit before the answer, which is bound to them.
	// Place is the project folder of the work whose changes the answer is about. Empty: there are
	// none.
	Documents []string `json:"documents,omitempty"`
	Place     string   `json:"place,omitempty"`
	// Reviews are what judges before the gate said, a line each, untrusted.
	Reviews []string `json:"-"`
	// Votes are the answers so far, if the gate needs several.
	Votes []Decision `json:"-"`
	// Waits means that the gate stays open until the context ends, also without a terminal.
	Waits bool `json:"-"`
	// Flow marks a question of a command with tiers.
	Flow bool `json:"-"`
	// NeedsPerson means that the auto-approve file may not answer: the gate is about commands of a
	// task or a plan.
	NeedsPerson bool   `json:"needs_person,omitempty"`
	Run         string `json:"run,omitempty"`
	Step        string `json:"step,omitempty"`
	// Subject is the digest of what a worker asks about, in a gate that the worker opened. The
	// worker finds the answer by it. Empty: the run itself asks.
	Subject string `json:"subject,omitempty"`
}

// Consent is what an auto-approve file grants a run: answers to its gates, and a tier.
type Consent struct {
	File string `json:"file,omitempty"` // the file; empty: no answers
	Plan string `json:"plan,omitempty"` // the tier; empty: none
	At   Pos    `json:"at,omitzero"`    // position of the tier
}

// GateTimeout is the choice that an unanswered gate takes after a time.
type GateTimeout struct {
	After  float64 `json:"after_seconds"`
	Choose string  `json:"choose"`
}

// ShownTexts are the texts above the question as a user reads them: a list of artifacts, which a
// gate has as JSON, is a line for each with type, path and summary.
func (g Gate) ShownTexts() []string {
	out := make([]string, len(g.Show))
	for i, text := range g.Show {
		out[i] = cmp.Or(artifactLines(text), text)
	}
	return out
}

// artifactLines is empty if a text is no list of artifacts.
func artifactLines(text string) string {
	if !strings.HasPrefix(text, "[{") {
		return ""
	}
	var list []Artifact
	if json.Unmarshal([]byte(text), &list) != nil {
		return ""
	}

	var lines []string
	for _, a := range list {
		if a.Path == "" || a.Type == "" {
			return ""
		}
		line := string(a.Type) + "  " + a.Path
		if a.Summary != "" {
			line += "  " + OneLine(a.Summary)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Trusted is the digest by which a user can allow what the gate asks about in advance, with
// --trust.
func (g Gate) Trusted() string {
	return cmp.Or(g.Subject, g.Digest)
}

// Until is when the gate's timeout ends; zero: it has none.
func (g Gate) Until() time.Time {
	if g.Timeout == nil {
		return time.Time{}
	}
	return g.Opened.Add(time.Duration(g.Timeout.After * float64(time.Second)))
}

// Choice returns the choice with exactly this label.
func (g Gate) Choice(label string) (Choice, bool) {
	for _, c := range g.Choices {
		if c.Label == label {
			return c, true
		}
	}
	return Choice{}, false
}

// Lacks reports whether an answer lacks the note that its choice requires.
func (g Gate) Lacks(label, note string) bool {
	c, ok := g.Choice(label)
	return ok && c.NeedsNote && strings.TrimSpace(note) == ""
}

// Voted returns the answer of one user to a gate with a quorum.
func (g Gate) Voted(by string) (Decision, bool) {
	for _, d := range g.Votes {
		if d.By == by {
			return d, true
		}
	}
	return Decision{}, false
}

// Decides reports whether an answer settles the gate. By then names all users who made that choice.
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
	Answer string `json:"choice"` // label of the choice
	// By is the user's login name, or --yes, the auto-approve file, auto, trusted digest or
	// timeout.
	By     string    `json:"by"`
	Person bool      `json:"person,omitempty"`
	Note   string    `json:"note,omitempty"`
	At     time.Time `json:"at,omitzero"`
	// Channel is the frontend through which the user answered; empty for a terminal.
	Channel string `json:"channel,omitempty"`
	// Edited is a document that the user edited instead of answering: the gate then asks again.
	Edited string `json:"edited,omitempty"`
}

// What answers a gate in place of the user.
const (
	ByTimeout = "timeout"
	ByYes     = "--yes"
)

// Problem is an error for errors.json. The store adds time and id.
type Problem struct {
	Type     string         `json:"type"`
	Severity string         `json:"severity"` // critical, or warning if the run continued
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
