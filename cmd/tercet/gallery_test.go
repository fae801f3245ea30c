package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/internal/testkit"
	"tercet/internal/testkit/modelserver"
)

// TestGallery lints the commands of the gallery as a workspace has them, and runs their tests; each
// step of each command is started by one of them, and the guide names each command.
func TestGallery(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "runs the program in many processes")
	const pack = "../../templates/packs/gallery"

	guide, err := os.ReadFile("../../docs/guide/9-gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(pack + "/tests/*.json")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := filepath.Glob(pack + "/commands/*.md")
	if err != nil || len(commands) != 10 {
		t.Fatalf("the gallery has %q, %v, want ten commands", commands, err)
	}

	w := packWorld{
		t:    t,
		dir:  t.TempDir(),
		home: t.TempDir(),
	}

	w.must("git", "init", "-q", "-b", "main")
	w.must("tercet", "init")
	w.add(os.DirFS(pack))

	args := []string{"test"}
	for _, file := range tests {
		name := filepath.Base(file)
		w.put(filepath.Join(w.dir, name), readIn(t, os.DirFS(pack+"/tests"), name))
		args = append(args, name)
	}

	w.must("tercet", "lint", "--strict", ".tercet/commands", ".tercet/subagents")
	w.must("tercet", "lint", "--fix=form", "--check", ".tercet/commands", ".tercet/subagents")
	code, out, bad := w.run("tercet", args...)
	if code != 0 {
		t.Fatalf("tercet test = %d\n%s%s", code, out, bad)
	}
	for _, file := range commands {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		m := regexp.MustCompile(`(?m)^coverage: /` + name +
			` started (\d+) of (\d+) steps`).FindStringSubmatch(out)
		if m == nil || m[1] != m[2] {
			t.Errorf("the tests of /%s leave steps out:\n%s", name, out)
		}
		if !strings.Contains(string(guide), "`/"+name) {
			t.Errorf("docs/guide/9-gallery.md does not name /%s", name)
		}
	}
}

// TestAgentsGallery runs the commands of the gallery as they are with the real claude against a
// model server of ours; agents.sh calls it.
func TestAgentsGallery(t *testing.T) {
	t.Parallel()
	if !slices.Contains(strings.Split(*agentsFlag, ","), "claude") {
		t.Skip("no -agents claude: agents.sh runs this")
	}
	testkit.OnlyDeep(t, "every command of the gallery, as agents.sh without -short runs it")

	server := modelserver.New(map[string]modelserver.Script{"gallery": visitor})
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		listener.CloseClientConnections()
		listener.Close()
	})

	p := &person{
		name:   "claude",
		dir:    t.TempDir(),
		bin:    tercetIn(t),
		server: server,
		base:   modelserver.Base(listener.URL, "gallery", "claude"),
	}

	p.setUp(t)
	packWorld{t: t, dir: p.dir}.add(os.DirFS("../../templates/packs/gallery"))

	for _, line := range []string{
		"/flaky go test ./pages", "/tour", "/bug The last page is missing", "/audit",
		"/refresh-docs README.md", "/changelog", "/bump",
		"/incident 2026-03-pages The last page was missing", "/migrate from a loop to a range",
		"/release 1.2.0",
	} {
		p.run(t, "--yes", "run", line)
	}

	for file, want := range map[string]string{
		"CHANGELOG.md":                    "1.2.0",
		"docs/incidents/2026-03-pages.md": "Timeline",
		"done.txt":                        "Migration",
	} {
		if text := read(t, filepath.Join(p.dir, file)); !strings.Contains(text, want) {
			t.Errorf("%s = %q, want %q in it", file, text, want)
		}
	}
}

// visitor is a model that plays every subagent of the gallery; which one it is stands in the
// prompt.
func visitor(t modelserver.Turn) modelserver.Reply {
	agent := regexp.MustCompile(`"agent": "([a-z-]+)"`).FindStringSubmatch(t.Prompt + t.System)
	if agent == nil {
		return modelserver.Reply{Text: "a title"}
	}

	ret := `"status": "completed", "summary": "looked around"`
	work := "true"
	switch agent[1] {
	case "critic", "security-auditor":
		ret += `, "verdict": "approved"`
	case "scout":
		ret += `, "fields": {"items": ["the first", "the second"]}`
	case "triager":
		ret += `, "fields": {"reproduced": true, ` +
			`"severity": "high", "title": "The last page is missing"}`
	case "general":
		file := "done.txt"
		text := "anything"
		for _, known := range [][3]string{
			{"fails now and then", "pages/pages.go", ""},
			{"Prepare release", "CHANGELOG.md", "1.2.0"},
			{"CHANGELOG.md up to date", "CHANGELOG.md", "- The last page."},
			{"docs/incidents/", "docs/incidents/2026-03-pages.md", "Timeline"},
			{"Migration:", "done.txt", "Migration"},
		} {
			if strings.Contains(t.Prompt, known[0]) {
				file = known[1]
				text = known[2]
				break
			}
		}
		work = "mkdir -p docs/incidents && echo '" + text + "' >> " + file
		if text == "" {
			work = "sed -i 's/page < last/page <= last/' " + file
		}
		ret += `, "artifacts": [{"type": "implementation", "path": "` + file + `"}]`
	}

	if nonce := regexp.MustCompile(`"nonce": "[^"]+"`).FindString(t.Prompt); nonce != "" {
		ret += ", " + nonce
	}
	shell := t.Shell(work)
	file := regexp.MustCompile(`/[^\s` + "`" + `"]+/call-\d+/return\.json`).FindString(t.Prompt)
	if len(shell.Calls) == 0 || file == "" { // one that may only read says its return
		return modelserver.Reply{Text: "Done.\n\n```json\n{" + ret + "}\n```"}
	}

	if steps := []modelserver.Reply{shell, t.Write(file, "{"+ret+"}")}; t.Results < len(steps) {
		return steps[t.Results]
	}
	return modelserver.Reply{Text: "Done."}
}
