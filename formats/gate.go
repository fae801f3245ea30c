package formats

// Choice is one answer of a gate.
type Choice struct {
	Label string `json:"label"`
	// Approves marks the choice that --yes and an auto-approve file take.
	Approves bool `json:"approves,omitempty"`
	// Leaves marks the choice that a person takes who leaves the question by Ctrl-D or Ctrl-C; without one it waits.
	Leaves bool `json:"leaves,omitempty"`
}

// Gate is a question to a person. Digest binds the answer to what was shown (sha256, hex); a gate with another digest
// is another question.
type Gate struct {
	Question string   `json:"question"`
	Show     []string `json:"show,omitempty"` // texts shown before the question, untrusted
	Choices  []Choice `json:"choices"`
	Auto     string   `json:"auto,omitempty"` // label taken without a person; empty: none
	Digest   string   `json:"digest,omitempty"`
	// NeedsPerson marks a question that the auto-approve file may not answer: commands out of a task or a plan.
	NeedsPerson bool   `json:"needs_person,omitempty"`
	Run         string `json:"run,omitempty"`
	Step        string `json:"step,omitempty"`
}

// Decision is the answer to a gate.
type Decision struct {
	Answer string `json:"answer"` // the label chosen
	By     string `json:"by"`     // person, --yes, auto, trusted digest
	Note   string `json:"note,omitempty"`
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
