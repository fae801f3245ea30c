package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/internal/phrase"
	"tercet/internal/proc"
	"tercet/internal/scenario"
	"tercet/project"
	"tercet/state"
	"tercet/subagents/agentcli"
)

// play is a project that this process made for itself: no trust in it is asked for, and a test
// scripts its workers.
type play struct {
	dir  string
	cast *scenario.Cast
}

// testsFolder holds the tests of a workspace.
const testsFolder = formats.Workspace + "/tests"

// testVerb runs test files of the workspace, each in a temporary workspace with scripted workers.
func testVerb(cmd *cobra.Command, a *app) run {
	a.flags.agree(cmd)
	record := cmd.Flags().Bool("record", false,
		"call the real workers of one FILE, and write what they answered into it")
	cmd.Long = `test runs the test files you name, or those in .tercet/tests. A test has a line to run, the answers of
the workers, and the result that you expect. It runs in a temporary workspace with the commands,
subagents and configuration of this one. The engine is the real one; no agent is called.

    {"line": "/plan 1", "returns": {"planner": [{"status": "completed"}]}, "expect": {"exit": 0}}`
	return func(c call) error {
		session, err := c.app.inside(c.ctx)
		if err == nil {
			err = session.MayStart(c.ctx, formats.Invocation{})
		}
		if err != nil {
			return err
		}

		p := session.Project
		files := c.args
		read := c.app.input
		if len(files) == 0 {
			if files, err = fs.Glob(p.Trust.FS("."), testsFolder+"/*.json"); err != nil {
				return err
			}
			read = func(name string) ([]byte, error) {
				return fs.ReadFile(p.Trust.FS("."), name)
			}
		}
		if len(files) == 0 {
			c.app.term.Note("%s holds no tests: 'tercet test --help' says what one is", testsFolder)
		}
		if *record && len(c.args) != 1 {
			return usage("expected one test file for --record, got %d", len(c.args))
		}

		s := stagehand{app: c.app, record: *record}
		s.install = func(to *os.Root, _ string) error { return p.CopyFiles(to) }
		return s.run(c.ctx, files, read)
	}
}

// stagehand runs tests.
type stagehand struct {
	app *app

	record  bool
	install func(to *os.Root, file string) error // puts what a test file tests into a workspace
	covered map[string]*scenario.Coverage

	starter  *proc.Starter // makes the repositories of the tests; nil before the first one
	settings git.Settings  // of these repositories
}

// tested is how one test ended.
type tested struct {
	File     string   `json:"file"`
	Line     string   `json:"line"`
	OK       bool     `json:"ok"`
	Seconds  float64  `json:"seconds"`
	Exit     int      `json:"exit"`
	Failures []string `json:"failures"`
}

// run runs tests one after the other, once all of them can be read, and tells how they ended.
func (s *stagehand) run(
	ctx context.Context,
	files []string,
	read func(string) ([]byte, error),
) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	bad := &formats.Diagnostics{Sources: map[string][]byte{}}
	var tests []scenario.Test
	for _, file := range files {
		src, err := read(file)
		if err != nil {
			return err
		}
		t, err := scenario.Parse(file, src)
		if d, ok := asDiagnostics(err); ok {
			bad.List = append(bad.List, d.List...)
			bad.Sources[t.File] = src
		}
		tests = append(tests, t)
	}

	if bad.HasErrors() {
		return bad
	}
	s.covered = map[string]*scenario.Coverage{}
	results := []tested{}
	failed := 0
	for i, t := range tests {
		r, err := s.test(ctx, &t, files[i])
		if err != nil {
			return err
		}
		results = append(results, r)
		if !r.OK {
			failed++
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.tell(r)
	}

	var coverage []*scenario.Coverage
	for _, c := range s.covered {
		coverage = append(coverage, c)
	}
	slices.SortFunc(coverage, func(a, b *scenario.Coverage) int {
		return strings.Compare(a.Command, b.Command)
	})
	if !s.app.document("tercet.test/1", fields{
		"tests":    results,
		"coverage": nonNil(coverage),
		"passed":   len(results) - failed,
		"failed":   failed,
	}) {
		for _, c := range coverage {
			s.app.term.Answer("%s", c)
		}
		s.app.term.Note("%s, %d failed", formats.Count(len(results), "test"), failed)
	}
	if failed > 0 {
		return shownAs(formats.CodeValidationFailed)
	}
	return nil
}

// close ends what makes the repositories.
func (s *stagehand) close() error {
	if s.starter == nil {
		return nil
	}
	return s.starter.Close()
}

func (s *stagehand) tell(r tested) {
	if s.app.flags.json {
		return
	}
	word := "ok  "
	if !r.OK {
		word = "FAIL"
	}
	s.app.term.Answer("%s  %s  %.2fs", word, r.File, r.Seconds)
	for _, one := range r.Failures {
		s.app.term.Answer("    %s", one)
	}
}

// test runs one test in a workspace of its own, which is removed again.
func (s *stagehand) test(ctx context.Context, t *scenario.Test, file string) (r tested, err error) {
	began := time.Now()
	r = tested{
		File:     t.File,
		Line:     t.Line,
		Failures: []string{},
	}
	dir, err := os.MkdirTemp("", "tercet-test-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return r, project.IOFailure(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cast := scenario.NewCast(t, s.record)
	o, err := s.play(ctx, t, cast, dir, &r)
	if err != nil {
		return r, err
	}

	r.Failures = append(r.Failures, cast.Judge(o)...)
	if len(r.Failures) == 0 {
		r.OK = true
	}
	r.Exit = o.Exit
	r.Seconds = time.Since(began).Seconds()
	if s.record && r.OK || s.record && !t.Expects {
		data, err := cast.Recorded(o)
		if err != nil {
			return r, err
		}
		mask := journal.NewMasker(journal.Secrets(os.Environ())...)
		r.OK = true
		r.Failures = []string{}
		return r, project.IOFailure(atomicfile.Write(
			file,
			[]byte(mask.Values(string(data))),
			atomicfile.Options{},
		))
	}
	return r, nil
}

// play makes the workspace, runs the lines, and reads what came of the last one.
func (s *stagehand) play(
	ctx context.Context,
	t *scenario.Test,
	cast *scenario.Cast,
	dir string,
	r *tested,
) (
	o scenario.Outcome, err error,
) {
	folder := filepath.Join(dir, "project")
	if err := s.set(ctx, t, folder); err != nil {
		return o, err
	}

	p := &play{dir: folder, cast: cast}
	for _, line := range t.Before {
		if code, _, said := s.line(ctx, p, t, dir, line); code != 0 {
			r.Failures = append(
				r.Failures,
				sprintf("before: %s ended with %d: %s", line, code, said),
			)
			return o, nil
		}
	}

	root, err := os.OpenRoot(folder)
	if err != nil {
		return o, project.IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // it is only read
	before, err := journal.Runs(root, false)
	if err != nil {
		return o, err
	}

	cast.Performs(nil)
	o.Exit, o.Return, o.Shown = s.line(ctx, p, t, dir, t.Line)

	runs, err := journal.Runs(root, false)
	for _, one := range runs {
		if err == nil &&
			!slices.ContainsFunc(before, func(b journal.Run) bool {
				return b.ID == one.ID
			}) {
			var records []journal.Record
			records, err = journal.Load(root, one.ID)
			o.Records = append(o.Records, records...)
		}
	}

	if prog := cast.Program(); prog != nil {
		if s.covered[prog.Name] == nil {
			s.covered[prog.Name] = scenario.NewCoverage(prog)
		}
		s.covered[prog.Name].Add(o.Records)
	}
	o.Files = os.DirFS(folder)
	o.Return.Errors = nonNil(o.Return.Errors)
	return o, err
}

// set makes a workspace with what is tested and the files of a test, in a repository where there is
// git.
func (s *stagehand) set(ctx context.Context, t *scenario.Test, folder string) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return project.IOFailure(err)
	}
	if _, err := s.app.host().Init(
		ctx,
		folder,
		agentcli.RunnerOffline,
		state.InitOptions{NextNumber: 1},
		false,
	); err != nil {
		return err
	}

	root, err := os.OpenRoot(folder)
	if err != nil {
		return project.IOFailure(err)
	}
	defer root.Close() //nolint:errcheck // what was written is closed already
	if err := s.install(root, t.File); err != nil {
		return broken(formats.CodeOf(err), "workspace of a test", err)
	}

	for name, text := range t.Files {
		if err := project.WriteFile(root, name, []byte(text)); err != nil {
			return project.IOFailure(err)
		}
	}

	if s.starter == nil {
		if s.starter, err = free(); err != nil {
			return err
		}
	}
	repo := &git.Repo{Starter: s.starter, Dir: folder, Settings: &s.settings}
	if err = repo.Init(ctx, "main"); errors.Is(err, git.ErrMissing) {
		return nil // commands that need no repository can be tested without one
	}
	if err == nil {
		err = repo.Add(ctx, ".")
	}
	if err == nil {
		_, err = repo.Commit(ctx, "test: "+t.Line)
	}
	return err
}

// free starts processes that no project asks for.
func free() (*proc.Starter, error) {
	return proc.NewStarter(proc.Starter{
		Allow:      func(context.Context, proc.Command) error { return nil },
		Env:        os.Environ(),
		Now:        time.Now,
		Supervisor: supervisor(),
	})
}

// inside is this process in the workspace of a test. Nothing of the user except installed programs
// reaches it, unless real workers are recorded.
func (s *stagehand) inside(p *play, t *scenario.Test, dir string, out, bad *bytes.Buffer) *app {
	inner := newApp(stdio{
		in:  strings.NewReader(""),
		out: out,
		err: bad,
	}, func(name string) string {
		switch name {
		case "TERCET_ROOT", "TERCET_RUN", "TERCET_TRUST", "TERCET_MODEL", "TERCET_RUNNER":
			return ""
		case "TERCET_NO_INPUT":
			return "1"
		case "TERCET_LANGUAGE":
			return cmp.Or(t.Language, phrase.English)
		case "XDG_STATE_HOME":
			return filepath.Join(dir, "state")
		case "HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS":
			if !s.record {
				return filepath.Join(dir, "home")
			}
		}
		return s.app.env(name)
	})
	inner.signals = s.app.signals
	inner.play = p
	inner.term.Set.Held = true
	return inner
}

// line runs one line, and gives its exit code, its return and what was told meanwhile.
func (s *stagehand) line(
	ctx context.Context,
	p *play,
	t *scenario.Test,
	dir, line string,
) (code int, ret formats.Return, told string) {
	var out, bad bytes.Buffer
	inner := s.inside(p, t, dir, &out, &bad)
	inner.onReturn = func(got formats.Return) { ret = got }
	code = inner.runLine(ctx, line, func(f *engineFlags) {
		f.dir = p.dir
		f.json = true
		f.yes = t.Yes
		if s.record {
			f.runner = s.app.flags.runner
		}
	})
	return code, ret, bad.String()
}
