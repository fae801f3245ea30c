package checkup

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// Unfollowed tells once, for all agents of other tools, that not all they ask for is followed. Of gives those wishes of
// a subagent, a line each.
func Unfollowed(names []string, of func(name string) []string) []Finding {
	var found []string
	hooks := ""
	for _, name := range names {
		lines := of(name)
		if len(lines) > 0 {
			found = append(found, name)
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "hooks ") {
				hooks = "; " + line
			}
		}
	}
	if found == nil {
		return nil
	}
	return []Finding{warned("agents", fmt.Sprintf("tercet does not follow everything in the files of %s: %s%s",
		formats.Count(len(found), "agent"), strings.Join(found, ", "), hooks),
		"run 'tercet which --agent "+found[0]+"' to see what is left out, and why")}
}
