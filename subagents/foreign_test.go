package subagents_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tercet/internal/dialect"
	"tercet/subagents"
)

// TestAddForeign: agents of other tools come in by their names, and a name that is there already is never taken.
func TestAddForeign(t *testing.T) {
	t.Parallel()
	set := subagents.NewSet()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"a.md": "---\nname: a\ndescription: first\nmodel: opus\n---\nDo it.\n", "b.md": "---\nname: a\ndescription: second\n---\nDo it.\n",
		"bad.md": "---\nname: [\n---\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(0, 0)}
	}
	place := dialect.Place{Dialect: dialect.Claude, Scope: dialect.Project, Dir: "own", Label: "own", Agents: true}
	notes, err := set.AddForeign([]dialect.Folder{{Place: place, FS: files}}, func(subagents.Definition) subagents.Agent {
		return subagents.Func(nil)
	})
	def, _, ok := set.Lookup("a", "")
	if err != nil || !ok || def.Info.Description != "first" || def.Model["claude"] != "opus" || def.Facets.Instruction == "" {
		t.Errorf("AddForeign = %v; a is %+v, want the first one, with its model", err, def)
	}
	text := ""
	for _, n := range notes {
		text += n.Error() + "\n"
	}
	if !strings.Contains(text, "subagent a is there already and stays") || !strings.Contains(text, "own/bad.md:") {
		t.Errorf("notes = %s, want those about b.md and bad.md", text)
	}
}
