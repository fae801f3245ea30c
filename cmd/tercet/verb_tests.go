package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/project"
)

// testsFolder holds the tests of a workspace.
const testsFolder = formats.Workspace + "/tests"

// testVerb runs test files of the workspace, each in a temporary workspace with scripted workers.
func testVerb(cmd *cobra.Command, a *app) run {
	a.flags.addTrust(cmd)
	record := cmd.Flags().Bool("record", false,
		"call the real workers of one FILE, and write what they answered into it")
	cmd.Long = `test runs the test files you name, or those in .tercet/tests. A test has a line to run, the answers of
the workers, and the result that you expect. It runs in a temporary workspace with the commands,
subagents and configuration of this one. The engine is the real one; no agent is called.

    {"line": "/plan 1", "returns": {"planner": [{"status": "completed"}]}, "expect": {"exit": 0}}`
	return func(c call) error {
		session, err := c.app.workspaceSession(c.ctx)
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
			files, err = fs.Glob(p.Trust.FS("."), testsFolder+"/*.json")
			if err != nil {
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

		t := c.app.tester(func(to *os.Root, _ string) error { return p.CopyFiles(to) })
		t.Record = *record
		return c.app.runTests(c.ctx, t, files, read)
	}
}

// tester runs tests as this process's user.
func (a *app) tester(install func(to *os.Root, file string) error) *project.Tester {
	return &project.Tester{
		Host:    a.host(),
		Runner:  a.flags.runner,
		Install: install,
		Run:     a.runTestLine,
		Report:  a.reportTest,
	}
}

// runTestLine runs a line of a test, as a process of its own would.
func (a *app) runTestLine(ctx context.Context, line project.TestLine) (formats.Return, int) {
	set := term.Settings{Silent: true, Held: true, Colour: "auto"}
	w, err := a.newPrivateProject(line.Dir, io.Discard, line.Shown, line.Env, set)
	if err != nil {
		fmt.Fprintln(line.Shown, err)
		ret := formats.Failed(err)
		return ret, a.exitCode(ret)
	}
	return w.runLine(ctx, line.Text, line.Options)
}

// reportTest says how a test ended.
func (a *app) reportTest(r project.TestResult) {
	if a.flags.json {
		return
	}
	word := "ok  "
	if !r.OK {
		word = "FAIL"
	}
	a.term.Answer("%s  %s  %.2fs", word, r.File, r.Seconds)
	for _, one := range r.Failures {
		a.term.Answer("    %s", one)
	}
}

// runTests runs test files and says how they ended.
func (a *app) runTests(
	ctx context.Context,
	t *project.Tester,
	files []string,
	read func(file string) ([]byte, error),
) error {
	report, err := t.Test(ctx, files, read)
	if err != nil {
		return err
	}
	if !a.answerJSON("tercet.test/1", fields{
		"tests":    report.Tests,
		"coverage": report.Coverage,
		"passed":   report.Passed,
		"failed":   report.Failed,
	}) {
		for _, c := range report.Coverage {
			a.term.Answer("%s", c)
		}
		count := formats.Count(len(report.Tests), "test")
		a.term.Note("%s, %d failed", count, report.Failed)
	}
	if report.Failed > 0 {
		return exitWith(formats.CodeValidationFailed)
	}
	return nil
}
