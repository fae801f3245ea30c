package subagents_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/dialect"
	"tercet/subagents"
)

// TestInPlaceOfAShippedOne: an agent that stands in the place of a shipped one has no more rights
// than its file grants.
func TestInPlaceOfAShippedOne(t *testing.T) {
	t.Parallel()
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		t.Fatal(err)
	}

	files := fstest.MapFS{
		"implementer.md": {
			Data: []byte(
				"---\nname: implementer\ndescription: d\ntools: Read, Bash(ls:*)\n" +
					"hooks: {Stop: []}\n---\nDo it.\n",
			),
		},
	}
	place := dialect.Place{
		Dialect: dialect.Claude,
		Scope:   dialect.Project,
		Dir:     "own",
		Label:   "own",
		Agents:  true,
	}
	_, err = set.AddForeign([]dialect.Folder{{Place: place, FS: files}}, nil, nobody)
	if err != nil {
		t.Fatal(err)
	}
	def, _, _ := set.Lookup("implementer", "")
	d := cmp.Diff([]string{"ls *"}, def.Info.Commands)
	if d != "" || len(def.Unfollowed) != 2 || def.File != "own/implementer.md" {
		t.Errorf("commands of %s (-want +got)\n%s and %q is not followed",
			def.File, d, def.Unfollowed)
	}
}

// TestAddForeign: agents of other tools come in by their names, and a name that is there already is
// never taken.
func TestAddForeign(t *testing.T) {
	t.Parallel()
	set := subagents.NewSet()
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"a.md":   "---\nname: a\ndescription: first\nmodel: opus\n---\nDo it.\n",
		"b.md":   "---\nname: a\ndescription: second\n---\nDo it.\n",
		"bad.md": "---\nname: [\n---\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(0, 0)}
	}

	place := dialect.Place{
		Dialect: dialect.Claude,
		Scope:   dialect.Project,
		Dir:     "own",
		Label:   "own",
		Agents:  true,
	}
	notes, err := set.AddForeign(
		[]dialect.Folder{{Place: place, FS: files}},
		nil,
		func(subagents.Definition) subagents.Agent {
			return subagents.Func(nil)
		},
	)
	def, _, ok := set.Lookup("a", "")
	if err != nil || !ok || def.Info.Description != "first" || def.Model["claude"] != "opus" ||
		def.Facets.Instruction == "" {
		t.Errorf("AddForeign = %v; a is %+v, want the first one, with its model", err, def)
	}
	text := ""
	for _, n := range notes {
		text += n.Error() + "\n"
	}

	if !strings.Contains(text, "subagent a is there already and stays") ||
		!strings.Contains(text, "own/bad.md:") {
		t.Errorf("notes = %s, want those about b.md and bad.md", text)
	}
}

// TestNames: what agents of other tools are called beside shipped workers, built-in managers and
// each other.
func TestNames(t *testing.T) {
	t.Parallel()
	set, err := subagents.Load(nobody, subagents.LibrarySource())
	if err != nil {
		t.Fatal(err)
	}

	folder := func(scope dialect.Scope, label string, names ...string) dialect.Folder {
		files := fstest.MapFS{}
		for i, name := range names {
			files[string(rune('a'+i))+".md"] = &fstest.MapFile{
				Data: []byte("---\nname: " + name + "\ndescription: d\ntools: Read\n---\nOurs.\n"),
			}
		}
		return dialect.Folder{
			Place: dialect.Place{
				Dialect: dialect.Claude,
				Scope:   scope,
				Dir:     label,
				Label:   label,
				Agents:  true,
			},
			FS: files,
		}
	}
	notes, err := set.AddForeign([]dialect.Folder{
		folder(
			dialect.Project, "one", "UI Helper", "ui_helper", "ui-helper", "planner", "Reviewer",
			"gatekeeper", "ui-helper-2",
		),
		folder(dialect.Project, "two", "planner", "UI Helper"),
		folder(dialect.User, "mine", "researcher", "Tester", "status-sync-manager"),
		folder(dialect.Project, "three", "implementer"),
	}, map[string]string{"implementer": "claude", "researcher": "tercet"}, nobody)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ui-helper":         "one/c.md",
		"ui-helper-2":       "one/g.md",
		"UI Helper":         "one/a.md",
		"ui_helper":         "one/b.md",
		"ui-helper-3":       "one/a.md",
		"ui-helper-4":       "one/b.md",
		"planner":           "one/d.md",
		"tercet:planner":    "subagents/planner.md",
		"reviewer":          "one/e.md",
		"Reviewer":          "one/e.md",
		"tercet:reviewer":   "subagents/reviewer.md",
		"researcher":        "subagents/researcher.md",
		"tercet:researcher": "subagents/researcher.md",
		"tester":            "subagents/tester.md",
		"gatekeeper":        "subagents/gatekeeper.md",
		"tercet:ui-helper":  "",
		// the words of scopes and tools reach every file
		"project:gatekeeper":          "one/f.md",
		"project:planner":             "one/d.md",
		"claude:planner":              "one/d.md",
		"user:researcher":             "mine/a.md",
		"user:tester":                 "mine/b.md",
		"user:claude:tester":          "mine/b.md",
		"project:status-sync-manager": "mine/c.md",
		"implementer":                 "three/a.md",
	} {
		if def, _, _ := set.Lookup(name, ""); def.File != want {
			t.Errorf("%s is %q, want %q", name, def.File, want)
		}
	}

	def, _, _ := set.Lookup("planner", "")
	if def.Info.Role != "planner" || def.Facets.Output != "" || def.Info.Artifacts != nil ||
		def.Facets.Instruction != "Ours." || strings.Join(def.Info.Tools, " ") != "read" {
		t.Errorf("the project's planner is %+v, want its own text, tools and an open contract", def)
	}
	def, _, _ = set.Lookup("implementer", "")
	if def.Info.Role != "implementer" || def.Facets.Output == "" ||
		def.Facets.Instruction != "Ours." {
		t.Errorf("the preferred implementer is %+v, want its text under the shipped contract", def)
	}
	for name, want := range map[string]string{
		"planner": "tercet:planner", "implementer": "implementer", "ui-helper": "ui-helper",
	} {
		if got := set.ForLibrary(name); got != want {
			t.Errorf("shipped files mean %s by %s, want %s", got, name, want)
		}
	}
	if got := strings.Join(set.Replaced(), " "); got != "implementer planner reviewer" {
		t.Errorf("replaced %q, want implementer planner reviewer", got)
	}
	var found []string
	for _, n := range notes {
		if subagents.OfNames(n) {
			found = append(found, n.File+" "+n.Code+" "+n.Subject)
		}
	}

	want := "one/f.md W041 gatekeeper, two/a.md W041 planner, mine/a.md W041 researcher, " +
		"mine/c.md W041 status-sync-manager, " +
		"one/a.md W036 ui-helper, one/b.md W036 ui-helper, two/b.md W041 ui-helper-3, mine/b.md " +
		"W041 tester"
	if got := strings.Join(found, ", "); got != want {
		t.Errorf("notes %s, want %s", got, want)
	}
}
