package templates

import (
	"slices"
	"strings"

	"tercet/formats"
)

// RoleOf takes the role of a new subagent from its name, word by word from the last: plan-reviewer reviews. A name that
// says nothing gives the researcher, which works from the task alone and changes nothing; told is then false. Each of
// these roles has an offline worker.
func RoleOf(name string) (role formats.Role, told bool) {
	for _, w := range slices.Backward(strings.Split(name, "-")) {
		switch {
		case strings.HasPrefix(w, "research"):
			return formats.RoleResearcher, true
		case slices.Contains([]string{"plan", "plans", "planner", "planning"}, w):
			return formats.RolePlanner, true
		case strings.HasPrefix(w, "implement"):
			return formats.RoleImplementer, true
		case strings.HasPrefix(w, "review"), strings.HasPrefix(w, "audit"):
			return formats.RoleReviewer, true
		}
	}
	return formats.RoleResearcher, false
}

// Offline tells whether the offline runner has a worker for a subagent.
func Offline(info formats.AgentInfo) bool {
	switch info.Role {
	case formats.RoleResearcher, formats.RolePlanner, formats.RoleImplementer, formats.RoleReviewer:
		return true
	case formats.RoleWriter, formats.RoleUtility:
	}
	return info.Builtin || info.Name == taskReviser
}

// taskReviser is the one worker of the offline runner that goes by its name.
const taskReviser = "task-reviser"
