package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/internal/proc"
	"tercet/internal/trace"
	"tercet/state"
)

//go:embed demo/pages.txtar
var demoFiles embed.FS

// demoTask is the number of the demo's task.
const demoTask = 196

// demoVerb runs the worked example through the same entry as a person's.
func demoVerb(cmd *cobra.Command, a *app) run {
	fixture := cmd.Flags().String("fixture", "",
		"another `file` of the same shape: a txtar with commits.txt, commit-N/ and task.md")
	return func(c call) error { return (&demo{app: a}).run(c, *fixture) }
}

type demo struct {
	*app
	dir     string
	starter *proc.Starter
	lines   []demoLine
}

// demoLine is one command of the demo with what it returned.
type demoLine struct {
	Line   string          `json:"line"`
	Exit   int             `json:"exit"`
	Return json.RawMessage `json:"return"`
}

func (d *demo) run(c call, fixture string) error {
	if err := d.starters(); err != nil {
		return err
	}
	archive, err := readFixture(fixture)
	if err != nil {
		return err
	}
	if err := d.folder(c.args); err != nil {
		return err
	}
	d.title("A fresh repository in %s", d.dir)
	if err := d.unpack(c.ctx, archive); err != nil {
		return err
	}
	before, _, err := d.test(c.ctx, "before", 6)
	if err != nil {
		return err
	}
	d.title("$ tercet init --next-number %d", demoTask)
	files, err := initWorkspace(c.ctx, d.dir, runnerOffline, state.InitOptions{NextNumber: demoTask}, false)
	if err != nil {
		return err
	}
	d.trustInit(d.dir, files)
	d.show(files...)
	d.state("The state before")
	code := d.commands()
	d.artifacts()
	d.state("The state after")
	d.trace()
	after, green, err := d.test(c.ctx, "after", 3)
	if err != nil {
		return err
	}
	d.document("tercet.demo/1", fields{"dir": d.dir, "commands": d.lines, "test_before": before, "test_after": after})
	if code != 0 || !green {
		return shown{cmp.Or(code, 1)}
	}
	return nil
}

// starters finds git and go before anything is written; the demo needs both and no network.
func (d *demo) starters() error {
	for name, value := range map[string]string{"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(context.Context, proc.Command) error { return nil }, Env: os.Environ(), Now: time.Now,
		Supervisor: supervisor(),
	})
	if err != nil {
		return err
	}
	for _, tool := range []string{"git", "go"} {
		if _, err := s.Look(tool); err != nil {
			return formats.Fail(formats.CodeToolUnavailable, "the demo needs git and go", "%s is not installed", tool)
		}
	}
	d.starter = s
	return nil
}

func readFixture(name string) (*txtar.Archive, error) {
	read := os.ReadFile
	if name == "" {
		name, read = "demo/pages.txtar", demoFiles.ReadFile
	}
	data, err := read(name)
	if err != nil {
		return nil, broken(formats.CodeUsage, "fixture", err)
	}
	archive := txtar.Parse(data)
	for _, needed := range []string{"commits.txt", "task.md"} {
		if !slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == needed }) {
			return nil, usage("expected a file %s in the fixture %s, got none", needed, name)
		}
	}
	return archive, nil
}

// folder takes a fresh temporary folder, or the one named if it is empty.
func (d *demo) folder(args []string) (err error) {
	if len(args) == 0 {
		if d.dir, err = os.MkdirTemp("", "tercet-demo-"); err == nil {
			d.dir, err = filepath.EvalSymlinks(d.dir)
		}
		return err
	}
	if d.dir, err = filepath.Abs(args[0]); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.MkdirAll(d.dir, 0o755)
	case err != nil:
		return broken(formats.CodeIO, "demo folder", err)
	case len(entries) > 0:
		return usage("expected an empty folder for the demo, got %s with %d entries", d.dir, len(entries))
	}
	return nil
}

// unpack makes the repository: each commit-N of the archive is one commit.
func (d *demo) unpack(ctx context.Context, archive *txtar.Archive) error {
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	if err := d.git(ctx, "init", "-q", "-b", "main"); err != nil {
		return err
	}
	for i, subject := range strings.Split(strings.TrimSpace(string(files["commits.txt"])), "\n") {
		for _, f := range archive.Files {
			if name, ok := strings.CutPrefix(f.Name, sprintf("commit-%d/", i+1)); ok {
				if err := d.write(name, f.Data); err != nil {
					return err
				}
			}
		}
		for _, args := range [][]string{
			{"add", "-A"}, {"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", subject},
		} {
			if err := d.git(ctx, args...); err != nil {
				return err
			}
		}
	}
	return d.write("task.md", files["task.md"])
}

func (d *demo) write(name string, data []byte) error {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // the files are closed by WriteFile
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, data, 0o644)
}

func (d *demo) git(ctx context.Context, args ...string) error {
	argv := append([]string{"git"}, args...)
	res, err := d.starter.Run(ctx, proc.Command{Argv: argv, Dir: d.dir, Purpose: proc.PurposeGit})
	if err == nil && !res.Success() {
		err = formats.Fail(formats.CodeIO, "", "git %s: %s", args[0], strings.TrimSpace(string(res.Stderr)))
	}
	return err
}

// test runs the program's own test and shows the last lines of what it says.
func (d *demo) test(ctx context.Context, when string, most int) (colour string, green bool, err error) {
	argv := []string{"go", "test", "./..."}
	res, err := d.starter.Run(ctx, proc.Command{Argv: argv, Dir: d.dir, Purpose: proc.PurposeCheck})
	if err != nil {
		return "", false, err
	}
	colour = "red"
	if res.Success() {
		colour = "green"
	}
	d.title("Its own test %s: %s", when, colour)
	// go test parts its columns by tabs, which a line of ours would show as marks.
	said := linesOf(strings.ReplaceAll(string(res.Stdout)+string(res.Stderr), "\t", "  "))
	d.show(said[max(0, len(said)-most):]...)
	return colour, res.Success(), nil
}

func linesOf(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// commands runs the main job; the first command that does not pass ends it.
func (d *demo) commands() int {
	for _, line := range []string{
		"/task --from task.md", "/research N", "/plan N", "/implement N", "/review N", "/todo --dry-run",
	} {
		line = strings.Replace(line, "N", strconv.Itoa(demoTask), 1)
		d.title("$ tercet --runner offline --yes %s", line)
		if code := d.entry(line); code != 0 {
			return code
		}
	}
	return 0
}

// entry runs one line as a process of its own would: the same flags, parser and exit codes.
func (d *demo) entry(line string) int {
	var out bytes.Buffer
	io := stdio{in: strings.NewReader(""), out: d.io.out, err: d.io.err}
	args := []string{"-C", d.dir, "--runner", "offline", "--yes"}
	if d.flags.json {
		io.out, args = &out, append(args, "--json")
	}
	if d.flags.quiet {
		args = append(args, "--quiet")
	}
	inner := newApp(io, func(name string) string {
		if name == "TERCET_ROOT" {
			return ""
		}
		return d.env(name)
	})
	inner.signals, inner.demoDir = d.signals, d.dir
	code := inner.run(append(args, strings.Fields(line)...))
	d.lines = append(d.lines, demoLine{Line: line, Exit: code, Return: json.RawMessage(bytes.TrimSpace(out.Bytes()))})
	return code
}

// title and show speak on standard output, but not under --json.
func (d *demo) title(format string, args ...any) {
	if !d.flags.json {
		d.term.answer("\n%s", plain.Passage(plain.Sprintf(format, args...)))
	}
}

func (d *demo) show(lines ...string) {
	for _, line := range lines {
		if !d.flags.json {
			d.term.answer("  %s", line)
		}
	}
}

// read gives a file of the demo's folder, empty if it is not there.
func (d *demo) read(name string) []byte {
	data, _ := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(name))) //nolint:errcheck // it is not there
	return data
}

func (d *demo) tasks() []formats.Task {
	var doc struct{ Tasks []formats.Task }
	if err := json.Unmarshal(d.read(formats.Workspace+"/state.json"), &doc); err != nil {
		return nil
	}
	return doc.Tasks
}

func (d *demo) state(title string) {
	d.title("%s (%s/state.json)", title, formats.Workspace)
	tasks := d.tasks()
	if len(tasks) == 0 {
		d.show("no task")
	}
	for _, t := range tasks {
		d.show(sprintf("task %d  %s  %s  %d artifacts", t.Number, t.Status, t.Title, len(t.Artifacts)))
	}
}

// artifacts shows each document's path and first lines.
func (d *demo) artifacts() {
	for _, t := range d.tasks() {
		for _, a := range t.Artifacts {
			d.title("%s  (%s)", a.Path, a.Type)
			if a.Type.IsDocument() {
				lines := linesOf(string(d.read(a.Path)))
				d.show(lines[:min(8, len(lines))]...)
			}
		}
	}
}

// trace shows what each run did, with depths and durations.
func (d *demo) trace() {
	d.title("The trace (%s/runs/*/trace.jsonl)", formats.Workspace)
	files, err := fs.Glob(os.DirFS(d.dir), formats.Workspace+"/runs/*/trace.jsonl")
	if err != nil {
		return
	}
	type traced struct {
		Time    time.Time  `json:"time"`
		Kind    trace.Kind `json:"kind"`
		Name    string     `json:"name"`
		From    int        `json:"from_depth"`
		To      int        `json:"to_depth"`
		Outcome string     `json:"outcome"`
		Seconds float64    `json:"duration_seconds"`
	}
	var events []traced
	for _, name := range files {
		for line := range bytes.Lines(d.read(name)) {
			var e traced
			if json.Unmarshal(line, &e) == nil && (e.Kind == trace.Route || e.Kind == trace.Delegate) {
				events = append(events, e)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b traced) int { return a.Time.Compare(b.Time) })
	for _, e := range events {
		took := time.Duration(e.Seconds * float64(time.Second)).Round(time.Millisecond)
		d.show(sprintf("%d -> %d  %-22s %-10s %s", e.From, e.To, e.Name, e.Outcome, took))
	}
}
