package sandbox

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// blocked says that a command needs a better tier than works here. best is what works and is
// allowed; Blocked if nothing does.
func blocked(need, best Tier, why ...string) error {
	msg := fmt.Sprintf("%s: expected the tier %s for this command, got %s", Blocked, need, best)
	if len(why) > 0 {
		msg += ": " + strings.Join(why, "; ")
	}
	return formats.Fail(formats.CodeDenied,
		"'tercet sandbox probe' shows what is missing; or run the command yourself", "%s", msg)
}
