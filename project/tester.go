package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/phrase"
	"tercet/internal/proc"
	"tercet/internal/scenario"
)

// testedProject is the folder of a test with its workspace, beside the folders of its user.
const testedProject = "project"

// Tester runs test files of workflows. A test has a line to run, the answers of the workers, and
// the result that is expected. Each runs in a temporary workspace of its own. All of them are
// removed when the last test has ended: ext4 makes new files slowly while there are inodes that
// were deleted within the last minutes, and the tests of a pack make tens of thousands. A Tester is
// for one goroutine.
type Tester struct {
	Host Host // of the person who tests
	// Record calls the real workers, by the runner that is named, and writes what they answered
	// into the test file.
	Record bool
	Runner string

	// Install puts what a test file tests into a workspace.
	Install func(to *os.Root, file string) error
	// Run runs a line as its user would.
	Run func(ctx context.Context, line TestLine) (formats.Return, int)
	// Report is called after each test; it may be nil.
	Report func(TestResult)

	dir      string        // temporary, with a folder for each test
	starter  *proc.Starter // makes the repositories of the tests; nil before the first one
	settings git.Cache     // of these repositories
	covered  map[string]*scenario.Coverage
}

// TestLine is a line of a test.
type TestLine struct {
	Text    string
	Dir     string                   // the project
	Env     func(name string) string // the variables of its user
	Options Options
	Shown   io.Writer // gets what the user would read besides the answer
}

// TestResult says how one test ended.
type TestResult struct {
	File     string   `json:"file"`
	Line     string   `json:"line"`
	OK       bool     `json:"ok"`
	Seconds  float64  `json:"seconds"`
	Exit     int      `json:"exit"`
	Failures []string `json:"failures"`
}

// TestReport says how all tests ended, and what of their commands they reached.
type TestReport struct {
	Tests    []TestResult         `json:"tests"`
	Coverage []*scenario.Coverage `json:"coverage"` // by name of the command
	Passed   int                  `json:"passed"`
	Failed   int                  `json:"failed"`
}

// Test runs test files one after the other, once all of them can be read. The error is a
// *formats.Diagnostics if a file is no test; a test that fails is no error.
func (t *Tester) Test(
	ctx context.Context,
	files []string,
	read func(file string) ([]byte, error),
) (report TestReport, err error) {
	defer func() { err = errors.Join(err, t.close()) }()
	tests, err := parseTests(files, read)
	if err != nil {
		return report, err
	}

	t.dir, err = os.MkdirTemp("", "tercet-test-")
	if err != nil {
		return report, IOFailure(err)
	}
	t.covered = map[string]*scenario.Coverage{}
	report.Tests = []TestResult{}
	for i, test := range tests {
		result, err := t.one(ctx, &test, files[i])
		if err != nil {
			return report, err
		}
		report.Tests = append(report.Tests, result)
		if result.OK {
			report.Passed++
		} else {
			report.Failed++
		}
		if ctx.Err() != nil {
			return report, context.Cause(ctx)
		}
		if t.Report != nil {
			t.Report(result)
		}
	}

	report.Coverage = []*scenario.Coverage{}
	for _, c := range t.covered {
		report.Coverage = append(report.Coverage, c)
	}
	slices.SortFunc(report.Coverage, func(a, b *scenario.Coverage) int {
		return strings.Compare(a.Command, b.Command)
	})
	return report, nil
}

// parseTests reads test files. The error tells the faults of all of them.
func parseTests(
	files []string,
	read func(file string) ([]byte, error),
) ([]scenario.Test, error) {
	var tests []scenario.Test
	bad := &formats.Diagnostics{Sources: map[string][]byte{}}
	for _, file := range files {
		src, err := read(file)
		if err != nil {
			return nil, err
		}
		test, err := scenario.Parse(file, src)
		if d, ok := errors.AsType[*formats.Diagnostics](err); ok {
			bad.List = append(bad.List, d.List...)
			bad.Sources[test.File] = src
		}
		tests = append(tests, test)
	}
	if bad.HasErrors() {
		return nil, bad
	}
	return tests, nil
}

// close ends what makes the repositories, and removes the workspaces.
func (t *Tester) close() error {
	var err error
	if t.starter != nil {
		err = t.starter.Close()
	}
	if t.dir != "" {
		err = errors.Join(err, IOFailure(os.RemoveAll(t.dir)))
	}
	return err
}

// one runs one test in a workspace of its own.
func (t *Tester) one(
	ctx context.Context,
	test *scenario.Test,
	file string,
) (r TestResult, err error) {
	began := t.Host.Clock.Now()
	r = TestResult{
		File:     test.File,
		Line:     test.Line,
		Failures: []string{},
	}
	dir, err := os.MkdirTemp(t.dir, "")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return r, IOFailure(err)
	}

	workers := scenario.NewWorkers(test, t.Record)
	outcome, failure, err := t.play(ctx, test, workers, dir)
	if err != nil {
		return r, err
	}
	if failure != "" {
		r.Failures = append(r.Failures, failure)
	}
	r.Failures = append(r.Failures, workers.Judge(outcome)...)
	r.OK = len(r.Failures) == 0
	r.Exit = outcome.Exit
	r.Seconds = t.Host.Clock.Now().Sub(began).Seconds()

	if t.Record && (r.OK || !test.HasExpect) {
		r.OK = true
		r.Failures = []string{}
		return r, t.record(workers, outcome, file)
	}
	return r, nil
}

// record writes what the workers answered into the test file, without secrets.
func (t *Tester) record(workers *scenario.Workers, outcome scenario.Outcome, file string) error {
	data, err := workers.RecordedFile(outcome)
	if err != nil {
		return err
	}
	mask := journal.NewMasker(journal.Secrets(t.Host.Environ())...)
	text := mask.Values(string(data))
	return IOFailure(atomicfile.Write(file, []byte(text), atomicfile.Options{}))
}

// play makes the workspace, runs the lines, and reads what came of the last one. The failure says
// which of the lines before it did not end well.
func (t *Tester) play(
	ctx context.Context,
	test *scenario.Test,
	workers *scenario.Workers,
	dir string,
) (o scenario.Outcome, failure string, err error) {
	folder := filepath.Join(dir, testedProject)
	if err := t.makeWorkspace(ctx, test, folder); err != nil {
		return o, "", err
	}

	for _, line := range test.Before {
		_, code, shown := t.line(ctx, test, workers, dir, line)
		if code != 0 {
			return o, fmt.Sprintf("before: %s ended with %d: %s", line, code, shown), nil
		}
	}

	root, err := os.OpenRoot(folder)
	if err != nil {
		return o, "", IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // it is only read
	before, err := journal.Runs(root, false)
	if err != nil {
		return o, "", err
	}

	workers.SetProgram(nil)
	o.Return, o.Exit, o.Shown = t.line(ctx, test, workers, dir, test.Line)
	o.Files = os.DirFS(folder)
	o.Records, err = recordsSince(root, before)
	t.cover(workers, o.Records)
	return o, "", err
}

// recordsSince are the records of the runs that began after others.
func recordsSince(root *os.Root, before []journal.Run) ([]journal.Record, error) {
	runs, err := journal.Runs(root, false)
	if err != nil {
		return nil, err
	}
	var out []journal.Record
	for _, one := range runs {
		known := slices.ContainsFunc(before, func(b journal.Run) bool { return b.ID == one.ID })
		if known {
			continue
		}
		records, err := journal.Load(root, one.ID)
		if err != nil {
			return out, err
		}
		out = append(out, records...)
	}
	return out, nil
}

// cover adds what a test reached of its command.
func (t *Tester) cover(workers *scenario.Workers, records []journal.Record) {
	program := workers.Program()
	if program == nil {
		return
	}
	if t.covered[program.Name] == nil {
		t.covered[program.Name] = scenario.NewCoverage(program)
	}
	t.covered[program.Name].Add(records)
}

// makeWorkspace makes a workspace with what is tested and the files of a test, in a repository
// where there is git.
func (t *Tester) makeWorkspace(
	ctx context.Context,
	test *scenario.Test,
	folder string,
) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return IOFailure(err)
	}
	_, err := t.Host.Init(ctx, folder, Settings{}, InitOptions{NextNumber: 1}, false)
	if err != nil {
		return err
	}

	root, err := os.OpenRoot(folder)
	if err != nil {
		return IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	if err := t.Install(root, test.File); err != nil {
		return formats.Broken(formats.CodeOf(err), "workspace of a test", err)
	}
	for name, text := range test.Files {
		if err := WriteFile(root, name, []byte(text)); err != nil {
			return IOFailure(err)
		}
	}
	return t.commitAll(ctx, folder, "test: "+test.Line)
}

// commitAll makes a repository of a folder, and its first commit. Without git it does nothing:
// commands that need no repository can be tested without one.
func (t *Tester) commitAll(ctx context.Context, folder, message string) error {
	if t.starter == nil {
		starter, err := t.Host.NewStarter()
		if err != nil {
			return err
		}
		t.starter = starter
	}
	repo := &git.Repo{Starter: t.starter, Dir: folder, Cache: &t.settings}
	err := repo.Init(ctx, "main")
	if errors.Is(err, git.ErrNotInstalled) {
		return nil
	}
	if err == nil {
		err = repo.Add(ctx, ".")
	}
	if err == nil {
		_, err = repo.Commit(ctx, message)
	}
	return err
}

// variables are those of the user of a test. Nothing of the person who tests reaches it except the
// installed programs, unless real workers are recorded.
func (t *Tester) variables(test *scenario.Test, dir string) func(name string) string {
	return func(name string) string {
		switch name {
		case "TERCET_ROOT", "TERCET_RUN", "TERCET_TRUST", "TERCET_MODEL", "TERCET_RUNNER":
			return ""
		case "TERCET_NO_INPUT":
			return "1"
		case "TERCET_LANGUAGE":
			return cmp.Or(test.Language, phrase.English)
		case "XDG_STATE_HOME":
			return filepath.Join(dir, "state")
		case "HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS":
			if !t.Record {
				return filepath.Join(dir, "home")
			}
		}
		return t.Host.Env(name)
	}
}

// line runs one line with the workers of a test, and gives its return, its exit code and what was
// shown meanwhile.
func (t *Tester) line(
	ctx context.Context,
	test *scenario.Test,
	workers *scenario.Workers,
	dir, text string,
) (ret formats.Return, code int, shown string) {
	o := Options{Yes: test.Yes, Workers: workers, Parallel: "1"}
	if t.Record {
		o.Runner = t.Runner
	}
	var buf bytes.Buffer
	ret, code = t.Run(ctx, TestLine{
		Text:    text,
		Dir:     filepath.Join(dir, testedProject),
		Env:     t.variables(test, dir),
		Options: o,
		Shown:   &buf,
	})
	return ret, code, buf.String()
}
