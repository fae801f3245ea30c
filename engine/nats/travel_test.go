package nats_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestFailedDocumentsAreTakenBack: a document of a run that fails later was at the home already. It
// goes where it goes without a team: out of the folder of the task, into that of the run.
func TestFailedDocumentsAreTakenBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("home/.tercet/commands/note.md", "---\ncommand: note\ndescription: Note\n"+
		"arguments: [{name: task_number, type: task, required: true}]\n"+
		"during: {status: researching}\n---\n"+
		steps("id: one\ndelegate: noter", "id: two\ndelegate: failer"))
	p.write("home/.tercet/subagents/noter.md", "---\nname: noter\ndescription: Notes\n"+
		"role: utility\nrunner: exec\nargv: [sh, note.sh]\n"+
		"returns: {statuses: [completed, failed], artifacts: [{type: report}]}\n---\n\nNotes.\n")
	p.write("home/.tercet/subagents/failer.md", "---\nname: failer\ndescription: Fails\n"+
		"role: utility\nrunner: exec\nargv: [sh, fail.sh]\n"+
		"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nFails.\n")
	p.write("home/note.sh", "echo '# A note' > \"$TERCET_OUT/note.md\"\n"+
		`echo '{"status":"completed","summary":"noted",`+
		`"artifacts":[{"type":"report","path":"note.md"}],"errors":[]}'`+"\n")
	p.write("home/fail.sh", "until [ -e '"+p.dir+"'/go ]; do sleep 0.1; done\n"+
		`echo '{"status":"failed","summary":"no","artifacts":[],`+
		`"errors":[{"type":"execution","code":"UNKNOWN_ERROR","message":"no"}]}'`+"\n")
	p.commit()
	p.run(0, "owner", ".", "cp", "-r", "home", "alone")

	p.worker("one")
	run := p.submit("/note 1")
	until(t, "the document at the home", func() bool { return len(p.documents("home")) == 1 })
	if got := p.documents("home"); got["specs/001_first/reports/research-001.md"] != "# A note\n" {
		t.Errorf("the home has %q", got)
	}
	p.write("go", "")
	p.onTeam(1, "wait", run)

	p.agree("one", "alone")
	p.run(1, "one", "alone", "tercet", "/note", "1")
	got, want := p.documents("home"), p.documents("alone")
	if len(want) != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("the home has %q, want what a run alone leaves, %q", got, want)
	}
	task := p.tasks("state.json")[0]
	if task != "1not_started<nil> []" {
		t.Errorf("the task is %q", task)
	}
	out := p.onTeam(0, "verify", run)
	if !strings.Contains(out, "identical") {
		t.Errorf("verify: %s", out)
	}

	// it is put back where the owner lets the run go on
	p.write("home/fail.sh", "until [ -e '"+p.dir+"'/again ]; do sleep 0.1; done\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	p.agree("owner", "home")
	killed := p.start("owner", "home", "tercet", "--no-input", "resume", run, "--from", "two")
	atHome := func(state string) func() bool {
		return func() bool {
			got := p.status().Runs[0]
			return got.State == state && got.Worker == "home"
		}
	}
	until(t, "the run at work at the home", atHome("running"))
	killed.kill()
	until(t, "the run without its process", atHome("waiting"))
	p.write("again", "")
	p.run(0, "owner", "home", "tercet", "--no-input", "resume", run)
	want = map[string]string{"specs/001_first/reports/research-001.md": "# A note\n"}
	if got := p.documents("home"); !reflect.DeepEqual(got, want) {
		t.Errorf("after the run went on, the home has %q, want %q", got, want)
	}
	if got := p.status().Runs[0]; got.State != "ended" || got.Code != 0 || got.Why != "completed" {
		t.Errorf("the team says of the run that went on %+v", got)
	}
}

// documents are those of a project, and those that were set aside, by name without ids of runs.
func (p *place) documents(in string) map[string]string {
	p.t.Helper()

	top := filepath.Join(p.dir, in, ".tercet")
	found := map[string]string{}

	for _, folder := range []string{"specs", "runs"} {
		add := func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".md" {
				return err
			}

			data, err := os.ReadFile(name)
			rel := strings.TrimPrefix(name, top+"/")
			found[varying.ReplaceAllString(rel, "-")] = string(data)
			return err
		}

		err := filepath.WalkDir(filepath.Join(top, folder), add)
		if err != nil && !os.IsNotExist(err) {
			p.t.Fatal(err)
		}
	}

	return found
}
