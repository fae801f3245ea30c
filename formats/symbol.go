package formats

// Symbol is a part of a file that a reader looks for: a heading, or a step of a command.
type Symbol struct {
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"` // the id of a step
	Pos    Pos    `json:"pos"`
	// EndLine is the last line that belongs to it.
	EndLine  int      `json:"end_line"`
	Children []Symbol `json:"children,omitempty"`
}
