package templates

import (
	"strings"

	"tercet/formats"
)

// Subagent is what a subagent file is made from. Contract, Output and Policy come from the file of the worker whose
// role it has; they are taken over as they are.
type Subagent struct {
	Name    string
	Command string // the command that it is made for, without the slash
	Purpose string // of that command, as the person wrote it
	// Contract are the lines of the frontmatter behind name, description and role.
	Contract       string
	Output, Policy string
}

// RenderSubagent makes a subagent file whose role comes from its name (RoleOf). The errors are those of Render.
func RenderSubagent(s Subagent) ([]byte, error) {
	if err := CheckName("subagent", s.Name); err != nil {
		return nil, err
	}
	purpose, err := checkText("command", s.Command, s.Purpose)
	if err != nil {
		return nil, err
	}
	role, told := RoleOf(s.Name)
	return fill("subagent.tmpl", struct {
		Name, Command, Description, Purpose, Contract, Output, Policy string
		Role                                                          formats.Role
		Told                                                          bool
	}{
		Name: s.Name, Command: s.Command, Purpose: prose(purpose), Role: role, Told: told,
		Description: scalar(cut("Works for /"+s.Command+": "+purpose, maxDescription)),
		Contract:    strings.Trim(s.Contract, "\n"), Output: strings.Trim(s.Output, "\n"),
		Policy: strings.Trim(s.Policy, "\n"),
	})
}
