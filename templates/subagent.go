package templates

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/parts"
)

// Subagent is the input of RenderSubagent. Contract, Output and Policy are copied from the worker
// with the same role.
type Subagent struct {
	Name    string
	Command string // its command, without slash
	Purpose string // purpose of the command, in the user's words
	// Contract is the frontmatter after name, description and role.
	Contract       string
	Output, Policy string
	Args           []Arg  // of the command
	Documents      bool   // its work is about documents, and starts nothing
	Program        string // its executable; empty: the configured runner
}

// IsPlain means that the subagent gets the command's arguments and makes no document. It is true if
// an executable does the work, or if there is no task. Contract, Output and Policy are then
// needless.
func (s Subagent) IsPlain() bool {
	return s.Program != "" || !s.hasTask()
}

// Role is derived from the name; a plain subagent only judges or not.
func (s Subagent) Role() (role formats.Role, known bool) {
	role, known = RoleOf(s.Name)
	if s.IsPlain() && role != formats.RoleReviewer {
		return formats.RoleUtility, true
	}
	return role, known
}

// RenderSubagent makes a subagent file; its name gives the role (RoleOf). Errors are those of
// Render.
func RenderSubagent(s Subagent) ([]byte, error) {
	if err := CheckName("subagent", s.Name); err != nil {
		return nil, err
	}
	purpose, err := checkText(s.Command, s.Purpose)
	if err != nil {
		return nil, err
	}

	texts := commandParts()
	role, known := s.Role()
	why := "role unknown"
	if known {
		why = "role from name"
	}
	description := shorten("Works for /"+s.Command+": "+purpose, maxDescription)

	values := parts.Values{
		"word":        yamlWord(s.Name),
		"description": yamlScalar(description),
		"command":     s.Command,
		"role":        role.String(),
		"why_role":    texts.Fill(why, nil),
		"contract":    strings.Trim(s.Contract, "\n"),
	}

	instruction := role.String()
	output := strings.Trim(s.Output, "\n")
	policy := strings.Trim(s.Policy, "\n")
	if s.IsPlain() {
		instruction = "plain"
		output = texts.Fill("output plain "+role.String(), nil)
		policy = texts.Fill("policy plain", nil)
	}

	values["sections"] = texts.Fill("sections", parts.Values{
		"persona":     texts.Fill("persona "+role.String(), nil),
		"command":     s.Command,
		"purpose":     escapeMarkdown(purpose),
		"instruction": texts.Fill("instruction "+instruction, nil),
		"output":      output,
		"policy":      policy,
	})

	if !s.IsPlain() {
		return []byte(texts.Fill("subagent", values) + "\n"), nil
	}
	s.plainContract(role, values)
	return []byte(texts.Fill("plain subagent", values) + "\n"), nil
}

// plainContract adds what the contract of a plain subagent says.
func (s Subagent) plainContract(role formats.Role, values parts.Values) {
	texts := commandParts()
	values["tools"] = s.Tools()
	values["statuses"] = "completed, partial, blocked, failed"
	if role == formats.RoleReviewer {
		values["statuses"] = "approved, conditional, rejected, failed"
	}

	values["exec"] = ""
	values["about_program"] = ""
	if s.Program != "" {
		program := parts.Values{"program": s.Program}
		values["tools"] = ""
		values["exec"] = texts.Fill("exec", program)
		values["about_program"] = texts.Fill("about program", program)
	}

	var inputs []string
	if s.hasTask() {
		inputs = append(inputs, "  task: {type: object, required: true}")
	}
	for _, a := range s.Args {
		if a.Type != argTask { // every subagent gets the task
			inputs = append(inputs, fmt.Sprintf("  %s: {type: %s}", a.Name, a.inputType()))
		}
	}
	values["inputs"] = strings.Join(inputs, "\n")
}

// Tools are the tools of a plain subagent: who judges or finds out changes nothing and starts
// nothing.
func (s Subagent) Tools() string {
	role, known := RoleOf(s.Name)
	switch {
	case known && role != formats.RoleImplementer:
		return "read, search"
	case s.Documents:
		return "read, search, write"
	}
	return "read, search, write, shell"
}

// hasTask reports whether the command works on a task.
func (s Subagent) hasTask() bool {
	return Data{Args: s.Args}.hasTask()
}

// RoleOf derives a new subagent's role from its name, word by word from the last: plan-reviewer
// reviews. Any other name gives researcher, which changes nothing and needs only the task; known
// is then false. Each role has an offline worker.
func RoleOf(name string) (role formats.Role, known bool) {
	for _, w := range slices.Backward(strings.Split(name, "-")) {
		switch {
		case strings.HasPrefix(w, "research"):
			return formats.RoleResearcher, true
		case slices.Contains([]string{"plan", "plans", "planner", "planning"}, w):
			return formats.RolePlanner, true
		case strings.HasPrefix(w, "implement"):
			return formats.RoleImplementer, true
		case strings.HasPrefix(w, "review"), strings.HasPrefix(w, "audit"),
			strings.HasPrefix(w, "verif"), strings.HasPrefix(w, "validat"),
			strings.HasPrefix(w, "inspect"),
			slices.Contains([]string{"check", "checks", "checker", "checking"}, w),
			slices.Contains([]string{"judge", "critic", "linter"}, w):
			return formats.RoleReviewer, true
		}
	}
	return formats.RoleResearcher, false
}

// HasOfflineWorker reports whether the offline runner has a worker for a subagent.
func HasOfflineWorker(info formats.AgentInfo) bool {
	switch info.Role {
	case formats.RoleResearcher, formats.RolePlanner, formats.RoleImplementer, formats.RoleReviewer:
		return true
	case formats.RoleWriter, formats.RoleUtility:
	}
	return info.Builtin || info.Name == taskReviser
}

// taskReviser is the only worker of the offline runner that is selected by name.
const taskReviser = "task-reviser"
