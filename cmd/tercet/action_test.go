package main

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tercet/internal/md"
	"tercet/internal/testkit"
)

var installs = flag.Bool("install", false, "let the action build tercet from its own commit")

// workflow is a job of a workflow as the service runs it: what the steps of the action have said so
// far, and the files by which they say it.
type workflow struct {
	t       *testing.T
	context map[string]string // inputs.line, steps.run.outputs.run, ...
	home    string
	path    string
	used    []string // actions that steps use, with their inputs
}

func (w *workflow) file(name string) string {
	return filepath.Join(w.home, name)
}

func (w *workflow) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.file(name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(data)
}

var expression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)

// fill puts values in for expressions.
func (w *workflow) fill(text string) string {
	return expression.ReplaceAllStringFunc(text, func(m string) string {
		return w.context[expression.FindStringSubmatch(m)[1]]
	})
}

// holds tells whether a step is run.
func (w *workflow) holds(condition string, failed bool) bool {
	always := false
	for term := range strings.SplitSeq(condition, " && ") {
		name, want, equal := strings.Cut(term, " == ")
		if !equal {
			name, want, _ = strings.Cut(term, " != ")
		}
		switch {
		case term == "" || term == "always()":
			always = always || term != ""
		case want == "":
			w.t.Fatalf("the test does not know the condition %q", term)
		case (w.context[name] == strings.Trim(want, "'")) != equal:
			return false
		}
	}
	return always || !failed
}

// run runs the steps of action.yml and gives the exit code of the first that failed, 0 if none did,
// and what they printed.
func (w *workflow) run(
	action *md.Node,
	dir string,
	inputs map[string]string,
) (code int, printed string) {
	w.t.Helper()
	for _, e := range action.Get("inputs").Entries {
		if d := e.Value.Get("default"); d != nil {
			w.context["inputs."+e.Key.Value] = d.Value
		}
	}

	for name, value := range inputs {
		w.context["inputs."+name] = value
	}
	for _, step := range action.Get("runs").Get("steps").Items {
		text := func(key string) string {
			if n := step.Get(key); n != nil {
				return n.Value
			}
			return ""
		}
		if !w.holds(text("if"), code != 0) {
			continue
		}
		if uses := text("uses"); uses != "" {
			for _, e := range step.Get("with").Entries {
				uses += "\n" + e.Key.Value + "=" + strings.TrimSpace(w.fill(e.Value.Value))
			}
			w.used = append(w.used, uses)
			continue
		}
		if strings.Contains(text("run"), "${{") {
			w.t.Errorf("the script of step %s holds an expression: what it stands for would be run",
				text("id"))
		}
		got, out := w.script(step, dir, text("id"), text("run"))
		printed += out
		if code == 0 {
			code = got
		}
	}

	return code, printed
}

func (w *workflow) script(step *md.Node, dir, id, text string) (code int, printed string) {
	w.t.Helper()
	script := w.file(id + ".sh")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Dir = dir
	if in := step.Get("working-directory"); in != nil {
		cmd.Dir = filepath.Join(dir, w.fill(in.Value))
	}
	cmd.Env = append(
		os.Environ(),
		"PATH="+w.path+os.Getenv("PATH"),
		"HOME="+w.home,
		"XDG_STATE_HOME=",
		"TERCET_ROOT=",
		"TERCET_RUN=",
		"TERCET_TRUST=",
		"CI=true",
		"GITHUB_ACTIONS=true",
		"GOCACHE="+goEnv("GOCACHE"),
		"GOMODCACHE="+goEnv("GOMODCACHE"),
		"RUNNER_TEMP="+w.home,
		"GITHUB_OUTPUT="+w.file("output"),
		"GITHUB_PATH="+w.file("path"),
		"GITHUB_STEP_SUMMARY="+w.file("summary"),
	)
	for _, e := range step.Get("env").Entries {
		cmd.Env = append(cmd.Env, e.Key.Value+"="+w.fill(e.Value.Value))
	}

	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited { //nolint:errorlint // Run gives it bare
		w.t.Fatal(err)
	}
	if added := strings.Fields(w.read("path")); len(added) > 0 {
		w.path = strings.Join(added, ":") + ":"
	}
	maps.Copy(w.context, outputs("steps."+id+".outputs.", w.read("output")))
	if err := os.RemoveAll(w.file("output")); err != nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// outputs reads what a step wrote into its file of outputs: name=value, or name<<END, lines, END.
func outputs(prefix, text string) map[string]string {
	out := map[string]string{}
	for lines := strings.Split(text, "\n"); len(lines) > 0; lines = lines[1:] {
		if name, end, many := strings.Cut(lines[0], "<<"); many {
			for lines = lines[1:]; len(lines) > 0 && lines[0] != end; lines = lines[1:] {
				out[prefix+name] += lines[0] + "\n"
			}
		} else if name, value, one := strings.Cut(lines[0], "="); one {
			out[prefix+name] = value
		}
	}
	return out
}

// reviewedProject makes a project in the folder src whose command /judge asks a reviewer, who
// answers with what stands in answer.json.
func reviewedProject(t *testing.T) (project string) {
	t.Helper()
	project = t.TempDir()
	writeSource(
		t,
		project,
		".tercet/commands/judge.md",
		"---\ncommand: judge\ndescription: Judge\narguments:\n  - {name: what, type: text}\n---\n"+
			"\n## Workflow Execution\n\n### Step 1: Judge\n\n```yaml step\nid: judge\n"+
			"delegate: judge\n```\n\n### Step 2: Return\n\n```yaml step\n"+
			"return: \"judged ${{ $args.what }}\"\n```\n",
	)
	writeSource(
		t,
		project,
		".tercet/subagents/judge.md",
		"---\nname: judge\ndescription: Judges\nrole: reviewer\nrunner: exec\n"+
			"argv: [./judge.sh]\nreturns: {statuses: [approved, rejected], artifacts: none}\n"+
			"---\n\nJudge.\n",
	)
	writeSource(t, project, "judge.sh", "#!/bin/sh\ncat >/dev/null\ncat answer.json\n")
	writeSource(
		t,
		project,
		"answer.json",
		`{"status": "completed", "verdict": "approved", "summary": "fine"}`,
	)

	made := exec.Command(
		filepath.Join(tercetIn(t), "tercet"),
		"-C",
		filepath.Join(project, "src"),
		"init",
	)
	made.Env = append(
		os.Environ(),
		"HOME="+t.TempDir(),
		"XDG_STATE_HOME=",
		"TERCET_ROOT=",
		"TERCET_RUN=",
	)
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return project
}

// writeSource writes a program into the folder src of the project.
func writeSource(t *testing.T, project, name, text string) {
	t.Helper()
	file := filepath.Join(project, "src", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := testkit.WriteProgram(file, text); err != nil {
		t.Fatal(err)
	}
}

// TestAction runs the steps of action.yml as the service does: it fails by the exit code, tells
// what was done, and keeps the run folder; text of an input is never run.
func TestAction(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "runs the program several times")

	data, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	action, problems := md.ParseYAML(data, md.Pos{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}

	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}

	binary := filepath.Join(tercetIn(t), "tercet")
	if *installs {
		binary = ""
	}

	project := reviewedProject(t)
	write := func(name, text string) {
		t.Helper()
		writeSource(t, project, name, text)
	}

	fresh := func() *workflow {
		return &workflow{
			t:       t,
			home:    t.TempDir(),
			context: map[string]string{"github.action_path": root},
		}
	}

	trust := ""
	run := func(line string, more ...string) (*workflow, int, string) {
		w := fresh()
		inputs := map[string]string{
			"line":      line,
			"directory": "src",
			"binary":    binary,
			"trust":     trust,
		}
		for _, m := range more {
			name, value, _ := strings.Cut(m, "=")
			inputs[name] = value
		}

		code, out := w.run(action, project, inputs)
		return w, code, out
	}

	// Without a digest nothing of the project runs; the message names the one to put into the
	// workflow file.
	w, code, out := run("/judge it")
	digest := regexp.MustCompile(
		`sha256:[0-9a-f]{64}`,
	).FindString(out + w.read("tercet-return.json"))
	if code != 77 || digest == "" {
		t.Fatalf("an untrusted project: exit code %d, want 77 and a digest in\n%s%s",
			code, out, w.read("tercet-return.json"))
	}
	trust = digest

	w, code, out = run("/judge it")
	if code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", code, out)
	}
	id := w.context["steps.run.outputs.run"]
	if status := w.context["steps.run.outputs.status"]; status != "completed" || id == "" {
		t.Errorf("outputs are %v, want a completed run", w.context)
	}
	for _, want := range []string{
		"## tercet: completed", "    /judge it", "    judged it", "ok judge", "tokens in", id,
	} {
		if !strings.Contains(w.read("summary"), want) {
			t.Errorf("the summary lacks %q:\n%s", want, w.read("summary"))
		}
	}

	kept := w.used[len(w.used)-1]
	if !strings.HasPrefix(kept, "actions/upload-artifact@") ||
		!strings.Contains(kept, "path="+project+"/src/.tercet/runs/"+id) ||
		!strings.Contains(kept, "include-hidden-files=true") {
		t.Errorf("the last step is %s, want the upload of the run folder", kept)
	}
	if *installs {
		return
	}

	// A reviewer's no is the exit code of the step; what was found stands in the summary, as text
	// that ends no block.
	write(
		"answer.json",
		`{"status": "completed", "verdict": "rejected", "summary": "no", `+
			`"issues": [{"level": "error", "description": "~~~ </details> <script>"}]}`,
	)
	w, code, out = run("/judge it", "upload=false")
	if code != 5 || w.context["steps.run.outputs.exit-code"] != "5" {
		t.Errorf("a rejected review: exit code %d, want 5:\n%s", code, out)
	}
	if !regexp.MustCompile(`(?m)^    .*~~~ </details> <script>`).MatchString(w.read("summary")) {
		t.Errorf("the summary does not quote the issue:\n%s", w.read("summary"))
	}
	if len(w.used) > 0 {
		t.Errorf("upload: false, and steps use %v", w.used)
	}

	// An input is text, whatever stands in it.
	write("answer.json", `{"status": "completed", "verdict": "approved", "summary": "fine"}`)
	for _, line := range []string{
		"/judge $(touch evil) `touch evil` \"; touch evil; echo \"", "--version",
		"/judge x\nfolders=evil", "judge",
	} {
		_, code, out = run(line, "max-cost=; touch evil")
		if _, err := os.Stat(filepath.Join(project, "src", "evil")); err == nil {
			t.Fatalf("the line %q ran a command", line)
		}
		if code != 2 {
			t.Errorf("the line %q with a bad max-cost: exit code %d, want 2:\n%s", line, code, out)
		}
	}

	w, code, _ = run("/judge $(touch evil) `touch evil`")
	if code != 0 || !strings.Contains(w.read("summary"), "judged $(touch evil) `touch evil`") {
		t.Errorf("exit code %d, summary:\n%s", code, w.read("summary"))
	}
}
