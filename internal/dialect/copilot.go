package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// copilotVariable reads ${input:name}, ${input:name:hint} and ${workspaceFolder}. Variables that
// only an editor knows stay as written.
func copilotVariable(inside string) (Part, bool) {
	if rest, ok := strings.CutPrefix(inside, "input:"); ok {
		name, hint, _ := strings.Cut(rest, ":")
		if name = strings.TrimSpace(name); name != "" {
			return Part{
				Kind: Named,
				Name: name,
				Hint: strings.TrimSpace(hint),
			}, true
		}
		return Part{}, false
	}
	switch inside {
	case "workspaceFolder", "workspaceFolderBasename", "selection", "selectedText", "file",
		"fileBasename", "fileDirname", "fileBasenameNoExtension":
		return Part{Kind: Variable, Name: inside}, true
	}
	return Part{}, false
}

func copilotFinish(c *Command, keys keySet, n *notes) {
	c.Tools = keys.list("tools")
	c.Agent = keys.text("agent", "mode")
	for i := range c.Parts {
		p := &c.Parts[i]
		switch p.Kind {
		case Named:
			if !slices.Contains(c.Names, p.Name) {
				c.Names = append(c.Names, p.Name)
			}
		case Variable:
			if !strings.HasPrefix(p.Name, "workspaceFolder") {
				n.add(warnVariable, p.Pos, "give it as ${input:"+p.Name+"}",
					fmt.Sprintf("%s is known to an editor only; it stays as it is written", p.Text))
			}
		case Literal, All, Nth, Shell, Include:
		}
	}
	c.noteOtherName(keys, n)
}
