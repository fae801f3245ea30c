package checkup

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// UnfollowedSettings is one line for all agents of other tools: some of their settings are not
// followed. Of gives the settings of one subagent that are not followed, one a line.
func UnfollowedSettings(names []string, of func(name string) []string) []Finding {
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
	f := warning("agents", fmt.Sprintf("tercet does not follow everything in the files of %s: %s%s",
		formats.Count(len(found), "agent"), formats.FirstFew(found, ", "), hooks),
		"run 'tercet which --agent "+found[0]+"' to see what is left out, and why")
	f.Detail = map[string]any{"agents": found}
	return []Finding{f}
}
