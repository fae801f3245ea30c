package web_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/frontends/web"
	"tercet/project"
)

// has expects texts on a page, in this order.
func has(t *testing.T, what, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Errorf("%s has no %q in its place: %s", what, text, page)
			return
		}
		rest = after
	}
}

// typed is a command with arguments of every kind that a form has a control for.
const typed = `---
command: typed
description: Takes all kinds
arguments:
  - {name: task, type: task, required: true, description: the task}
  - {name: level, type: enum, values: [low, high], required: true}
  - {name: file, type: path}
  - {name: sure, type: boolean, flag: true}
  - {name: count, type: integer, default: 3}
---

## Workflow Execution

### Step 1: Say so

` + "```yaml step\nreturn: \"${{ $args.level }} ${{ $args.count }} ${{ $args.sure }}\"\n```\n"

// fails is a command that fails.
const fails = `---
command: fails
description: Fails
---

## Workflow Execution

### Step 1: Look

` + "```yaml step\nid: look\ncheck: 1 == 2\n```\n"

// TestHome: open questions stand before what is at work and what has ended, each with its step or
// the reason why it failed, and beside them stands what was spent.
func TestHome(t *testing.T) {
	t.Parallel()
	dir, home := files(t, map[string]string{".tercet/commands/fails.md": fails})
	b := serve(t, dir, home)
	failed := b.start("/p/shop/start/fails", url.Values{})
	b.until(failed, "rejected")
	asks := b.begin(url.Values{"what": {"1"}})
	b.until(asks, "Ship 1?")
	page := b.get("/")
	has(t, "home", page, "1 question waits for you", "Spent today: ", "$0.00",
		"Waits for you", "Ship 1?", "Recent", "/fails", "class=\"why\"", "1 == 2")
}

// TestFormOfEveryKind: the form of a command has a control for each type, and its values make the
// line.
func TestFormOfEveryKind(t *testing.T) {
	t.Parallel()

	dir, home := files(t, map[string]string{".tercet/commands/typed.md": typed})
	b := serve(t, dir, home)
	ctx := t.Context()

	_, err := b.server.Project(dir).CreateTasks(ctx, project.Transaction{},
		project.NewTask{Title: "Mend the door", Description: "It sticks."})
	if err != nil {
		t.Fatal(err)
	}

	const address = "/p/shop/start/typed"
	page := b.get(address)
	has(t, "the form", page,
		`<select id="arg-task"`, `<option value="1">1 Mend the door (not_started)</option>`,
		`<select id="arg-level"`, `<option value="high">high</option>`,
		`<input id="arg-file"`, `list="arg-file-list"`, `<option value="docs/notes.md">`,
		`<select id="arg-sure"`, `<option value="true">yes</option>`,
		`<input id="arg-count"`, `placeholder="3"`,
		"At most", "calls of workers")

	wrong := b.post(page, address, url.Values{
		"task": {"1"}, "level": {"middle"}, "count": {"many"}, "do": {"start"},
	})
	if wrong.Code != http.StatusUnprocessableEntity {
		t.Errorf("wrong values give %d", wrong.Code)
	}

	has(t, "the refused form", html.UnescapeString(wrong.Body.String()),
		`<select id="arg-level" name="level" aria-invalid="true"`)

	run := b.start(address, url.Values{
		"task": {"1"}, "level": {"high"}, "count": {"5"}, "sure": {"true"},
	})
	b.until(run, "high 5 true")
}

// TestTasksOfThePage: the table is filtered by status, text and jq, and a task has its
// dependencies, documents, runs and history.
func TestTasksOfThePage(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	_, err := b.server.Project(dir).CreateTasks(t.Context(), project.Transaction{},
		project.NewTask{Title: "Mend the door", Description: "It sticks.", Priority: "high"},
		project.NewTask{Title: "Paint the door", Description: "Green.", Dependencies: []int{1}},
	)
	if err != nil {
		t.Fatal(err)
	}

	run := b.start("/p/shop/start/plan", url.Values{"task_number": {"1"}})
	b.until(run, "class=\"outcome\"")

	for query, want := range map[string][2]string{
		"":                            {"Mend the door", "Paint the door"},
		"status=planned":              {"Mend the door", ""},
		"search=GREEN":                {"", "Paint the door"},
		"jq=.priority==%22high%22":    {"Mend the door", ""},
		"status=planned&search=paint": {"", ""},
	} {
		page := b.get("/p/shop/tasks?" + query)
		for i, title := range []string{"Mend the door", "Paint the door"} {
			if strings.Contains(page, title) != (want[i] != "") {
				t.Errorf("tasks?%s shows %q: %t", query, title, want[i] == "")
			}
		}
	}

	w := b.send(b.request(http.MethodGet, "/p/shop/tasks?jq=.priority+%3D%3D", ""))
	if w.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(w.Body.String(), "column 13: ") {
		t.Errorf("a broken filter gives %d: %s", w.Code, w.Body)
	}

	w = b.send(b.request(http.MethodGet, "/p/shop/tasks?status=planed", ""))
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown status gives %d", w.Code)
	}
	has(t, "an unknown status", html.UnescapeString(w.Body.String()),
		`expected task status, got "planed"`, "planned")

	has(t, "a status of no task", b.get("/p/shop/tasks?status=blocked"), "0 of 2 tasks",
		`<option value="blocked" selected>`)

	page := b.get("/p/shop/tasks/1")
	id := run[strings.LastIndex(run, "/")+1:]
	has(t, "the task", page, "Mend the door", "Needed by", "2 Paint the door", "Documents",
		".tercet/specs/", "Runs", "/runs/"+id, "History", "not_started to ")
	has(t, "the other task", b.get("/p/shop/tasks/2"), "Depends on", "1 Mend the door")
}

// TestFilesOfThePage: a file has its findings below their lines, and the list of its steps beside
// it. Nothing there can be written.
func TestFilesOfThePage(t *testing.T) {
	t.Parallel()

	broken := strings.Replace(fails, "check: 1 == 2", "chck: 1 == 2", 1)
	dir, home := files(t, map[string]string{
		".tercet/commands/broken.md": strings.Replace(broken, "fails", "broken", 1),
		".tercet/commands/fails.md":  fails,
	})
	b := serve(t, dir, home)

	page := b.get("/p/shop/files?name=.tercet/commands/broken.md")
	has(t, "the file", page, `<li id="L12" class="src marked">`, "chck", "E108")
	if strings.Contains(page, `method="post"`) {
		t.Errorf("the page of a file has a form: %s", page)
	}

	has(t, "a good file", b.get("/p/shop/files?name=.tercet/commands/fails.md"), "Steps", "look")
}

// TestThreeStates: an answer to a run that no process works on shows as answered, not as at work,
// also after a reload; then Go on makes it resume, and it ends.
func TestThreeStates(t *testing.T) {
	t.Parallel()
	dir, home := files(t, nil)
	p, err := project.Open(t.Context(), dir, true, hostOf(dir, home, project.Unattended{}))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Start(t.Context(), "/ask 1", project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ret, err := r.Wait(t.Context()); err != nil || ret.Status != formats.StatusSuspended {
		t.Fatalf("the run is %+v, %v", ret, err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	b := serve(t, dir, home)
	run := "/p/shop/runs/" + r.ID
	has(t, "the open question", b.get(run), "waits for an answer")
	w := b.post(b.get(run+"/question"), run+"/answer", url.Values{"choice": {"0"}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the answer gives %d: %s", w.Code, w.Body)
	}
	for range 2 {
		page := b.get(run)
		has(t, "the answered run", page, "</span> answered", "Answered by ann: ", "Go on")
		if strings.Contains(page, "at work") {
			t.Errorf("a run that no process works on is at work: %s", page)
		}
	}
	has(t, "its question", b.get(run+"/question"), "The question is answered.")
	has(t, "home", b.get("/"), "Nothing waits for you", "Suspended", "answered by ann")
	if w := b.post(b.get(run), run+"/resume", url.Values{}); w.Code != http.StatusSeeOther {
		t.Fatalf("go on gives %d: %s", w.Code, w.Body)
	}
	b.until(run, "shipped 1 by ann")
}

// TestServerIsStartedAgain: a server that ends suspends its runs, and the next one goes on with
// them without a person.
func TestServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir, home := files(t, nil)
	b := serve(t, dir, home)
	run := b.begin(url.Values{"what": {"1"}})
	b.until(run, "waits for an answer")
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(t.Context(), dir, true, hostOf(dir, home, project.Unattended{}))
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.Runs(project.Filter{})
	if err != nil || len(list) != 1 || list[0].Status != "suspended" {
		t.Fatalf("after the end of the server the runs are %+v, %v", list, err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	b = serve(t, dir, home)
	b.listen() // which is when it goes on with them
	address := strings.TrimPrefix(run, "http://"+name+":4410")
	b.until(address, "Pause") // a process works on it
	w := b.post(b.get(address+"/question"), address+"/answer", url.Values{"choice": {"0"}})
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the answer gives %d: %s", w.Code, w.Body)
	}
	b.until(address, "shipped 1 by ann")
}

// TestTrustOnThePage: a line that would start a program of the project begins only after the user
// agreed to exactly the files that the page showed.
func TestTrustOnThePage(t *testing.T) {
	t.Parallel()

	dir, home := files(t, map[string]string{
		".tercet/subagents/evil.md": agentOf("evil", "./tool.sh"),
		".tercet/commands/call.md":  commandOf("call", "id: call\ndelegate: evil\n"),
		"tool.sh": "#!/bin/sh\necho '{\"status\": \"completed\", " +
			"\"summary\": \"ran\"}'\n",
	})

	if err := os.Chmod(filepath.Join(dir, "tool.sh"), 0o700); err != nil {
		t.Fatal(err)
	}

	b := serveAs(t, home, 0, func(h *project.Host) { h.OwnProject = "" }, dir)
	const address = "/p/shop/start/call"

	w := b.post(b.get(address), address, url.Values{"do": {"start"}})
	if w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Location"), "/trust") {
		t.Fatalf("an untrusted line gives %d to %s", w.Code, w.Header().Get("Location"))
	}

	page := b.get("/p/shop/trust?back=" + url.QueryEscape(address))
	has(t, "trust", page, "You have not agreed to", "Trust them", ".tercet/subagents/evil.md")
	if !digestOnPage.MatchString(page) {
		t.Errorf("trust shows no digest: %s", page)
	}

	write(t, dir, "tool.sh", "#!/bin/sh\necho other\n")
	if w := b.post(page, "/p/shop/trust", url.Values{}); w.Code != http.StatusConflict {
		t.Errorf("agreeing to files that have changed gives %d: %s", w.Code, w.Body)
	}

	write(t, dir, "tool.sh",
		"#!/bin/sh\necho '{\"status\": \"completed\", \"summary\": \"ran\"}'\n")
	page = b.get("/p/shop/trust?back=" + url.QueryEscape(address))

	w = b.post(page, "/p/shop/trust", url.Values{"back": {address}})
	if w.Code != http.StatusSeeOther ||
		w.Header().Get("Location") != address {
		t.Fatalf("agreeing gives %d to %q: %s", w.Code, w.Header().Get("Location"), w.Body)
	}

	b.until(b.start(address, url.Values{}), "completed")
}

// TestNames: each start has a name of its own, of at least 128 bits, which browsers take for
// loopback.
func TestNames(t *testing.T) {
	t.Parallel()
	first := web.Name()
	label, rest, _ := strings.Cut(first, ".")
	if first == web.Name() || rest != "localhost" || len(label) < len("t-")+26 || len(label) > 63 {
		t.Errorf("the name is %q", first)
	}
}
