package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
)

func claudeVariable(inside string) (Part, bool) {
	switch inside {
	case "CLAUDE_SESSION_ID", "CLAUDE_SKILL_DIR", "CLAUDE_EFFORT", "CLAUDE_PLUGIN_ROOT",
		"CLAUDE_PROJECT_DIR":
		return Part{Kind: Variable, Name: inside}, true
	}
	return Part{}, false
}

// claudeFinish decides the number of the first word: 0 in a file that uses $0 or $ARGUMENTS[0] or
// declares its arguments, else 1. The key positional-base overrides both.
func claudeFinish(c *Command, keys keySet, n *notes) {
	c.Tools = keys.list("allowed-tools")
	c.Shell = keys.text("shell")
	if k, ok := keys.get("user-invocable"); ok && !keys.boolValue(n, k.Name) {
		// nothing, or another word, hides nothing
		c.Hidden = slices.Contains([]string{"false", "no", "off"}, strings.ToLower(k.Raw))
	}
	keys.boolValue(n, "disable-model-invocation")

	if len(c.Names) > 0 ||
		c.hasPart(func(p *Part) bool {
			return p.Kind == Nth && p.Name == "" && p.Index == 0
		}) {
		c.Base = 0
	}

	if k, ok := keys.get("positional-base"); ok {
		base, err := strconv.Atoi(k.Raw)
		if err != nil || base < 0 || base > 1 {
			n.add(
				warnValue,
				k.Pos,
				"write 0 or 1",
				fmt.Sprintf("expected 0 or 1 for positional-base, got %.20q", k.Raw),
			)
		} else {
			c.Base = base
		}
	}

	c.rebaseIndexes()
	c.noteOtherName(keys, n)
	if c.Shell != "" && c.Shell != "bash" && c.Shell != "sh" && c.usesKind(Shell) {
		n.add(warnMark, formats.Pos{Line: 1, Col: 1}, "write the commands for sh",
			fmt.Sprintf("commands for %.20q are not run", c.Shell))
	}
}

// noteOtherName reports a key that gives a command another name than its file.
func (c *Command) noteOtherName(keys keySet, n *notes) {
	k, ok := keys.get("name")
	name := strings.ReplaceAll(k.Raw, "/", ":")
	if ok && name != "" && name != c.Name && name != c.nameInPlugin {
		n.add(warnName, k.Pos, "rename the file to be called /"+oneLine(k.Raw), fmt.Sprintf(
			"the file is called as /%s, not as %.60q: the name of a command is that of "+
				"its file",
			c.Name, k.Raw,
		))
	}
}

// rebaseIndexes converts the written numbers to indexes from 0. A number without an index becomes
// text again.
func (c *Command) rebaseIndexes() {
	eachPart(c.Parts, func(p *Part) {
		if p.Kind != Nth || p.Name != "" {
			return
		}
		p.Index -= c.Base
		if p.Index < 0 {
			*p = Part{Kind: Literal, Text: p.Text}
		}
	})
}
