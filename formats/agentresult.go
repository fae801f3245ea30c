package formats

// AgentFieldKind is the form of a field's value.
type AgentFieldKind string

// The forms of a field's value.
const (
	FieldText AgentFieldKind = "text"
	FieldList AgentFieldKind = "list"
	FieldMap  AgentFieldKind = "map"
)

// AgentPair is one line of a map.
type AgentPair struct{ Key, Text string }

// AgentField is one field of a record, in one of three forms.
type AgentField struct {
	Key  string
	Pos  Pos
	Kind AgentFieldKind
	Text string
	List []string
	Map  []AgentPair
}

// AgentResult is one AGENT_RESULT block.
type AgentResult struct {
	Agent    string
	Pos      Pos
	Status   string       // as written
	Fields   []AgentField // all but STATUS and NEXT, in order
	Next     string
	Elided   bool
	Warnings []string
}

// ParseAgentResult finds every AGENT_RESULT block in a text.
func ParseAgentResult(text []byte) ([]AgentResult, []Diagnostic) { return nil, nil }
