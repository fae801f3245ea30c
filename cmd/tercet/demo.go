package main

import (
	"cmp"
	"context"
	"embed"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/frontends/term"
	"tercet/internal/demo"
	"tercet/project"
)

//go:embed demo/pages.txtar
var demoFiles embed.FS

// demoTask is the number of the demo's task.
const demoTask = 196

// demoVerb runs the worked example through the same entry as a user's project.
func demoVerb(cmd *cobra.Command, a *app) run {
	fixture := cmd.Flags().String("fixture", "",
		"another `file` of the same shape: a txtar with commits.txt, commit-N/ and task.md")
	clean := cmd.Flags().Bool("clean", false, "remove the demo in DIR, or the one that you are in")
	return func(c call) error {
		if *clean {
			return c.cleanDemo()
		}
		return (&demonstration{app: a}).run(c, *fixture)
	}
}

// cleanDemo removes the folder of a demo.
func (c call) cleanDemo() error {
	dir, err := demo.Clean(joinWords(c.args))
	if err == nil && !c.app.answerJSON("tercet.demo/1", fields{"removed": []string{dir}}) {
		c.app.term.Answer("removed %s", dir)
	}
	return err
}

type demonstration struct {
	app *app
	demo.Repo
	scene demo.Scene
	lines []demoLine
}

// demoLine is one command of the demo with what it returned.
type demoLine struct {
	Line   string         `json:"line"`
	Exit   int            `json:"exit"`
	Return formats.Return `json:"return"`
}

func (d *demonstration) run(c call, name string) error {
	if err := d.prepareTools(c.ctx); err != nil {
		return err
	}
	fixture, err := readFixture(name)
	if err != nil {
		return err
	}

	d.Dir, err = demo.NewFolder(joinWords(c.args))
	if err != nil {
		return err
	}
	d.scene = demo.Scene{
		Sheet:   d.app.term.Sheet(d.app.term.OutTTY),
		Columns: term.Columns(d.app.term.Out),
		Dir:     d.Dir,
	}
	if !d.app.flags.json {
		d.scene.Out = d.app.term.Out
	}
	d.scene.Title("A fresh repository in %s", d.Dir)
	d.scene.Lines("a small Go module, of which the last commit brought a defect")
	if err := d.Unpack(c.ctx, fixture); err != nil {
		return err
	}

	before, err := d.test(c.ctx, "before")
	if err != nil {
		return err
	}
	d.scene.Title("$ tercet init --next-number %d", demoTask)
	files, err := d.app.host().Init(
		c.ctx, d.Dir,
		project.Settings{},
		project.InitOptions{NextNumber: demoTask},
		false,
	)
	if err != nil {
		return err
	}

	d.app.trustInit(d.Dir, files)
	d.scene.Lines(files...)
	d.scene.State("before")
	code := d.commands(c.ctx)
	d.scene.Artifacts()
	d.scene.State("after")
	d.scene.Trace()
	diff, err := d.Diff(c.ctx, fixture)
	if err != nil {
		return err
	}

	d.scene.Diff(diff)
	after, err := d.test(c.ctx, "after")
	if err != nil {
		return err
	}

	d.app.answerJSON("tercet.demo/1", fields{
		"dir":         d.Dir,
		"commands":    d.lines,
		"test_before": demo.ColourName(before),
		"test_after":  demo.ColourName(after),
		"diff":        diff,
	})
	d.scene.End(d.app.host().InstalledAgents())
	if code != 0 || !after {
		return shownError{cmp.Or(code, 1)}
	}
	return nil
}

// prepareTools finds git and go before anything is written; the demo needs both and no network.
func (d *demonstration) prepareTools(ctx context.Context) error {
	h := d.app.host()
	s, err := h.NewStarter()
	if err != nil {
		return err
	}
	for _, tool := range []string{"git", "go"} {
		if _, err := s.LookPath(tool); err != nil {
			return formats.Fail(formats.CodeToolUnavailable, "the demo needs git and go",
				"%s is not installed", tool)
		}
	}

	flags, err := demo.GoFlags(ctx, s)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"GOPROXY":     "off",
		"GOTOOLCHAIN": "local",
		"GOWORK":      "off",
		"GOFLAGS":     flags,
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	d.Starter, err = h.NewStarter() // with these variables
	return err
}

func readFixture(name string) (demo.Fixture, error) {
	read := os.ReadFile
	if name == "" {
		name = "demo/pages.txtar"
		read = demoFiles.ReadFile
	}
	data, err := read(name)
	if err != nil {
		return demo.Fixture{}, broken(formats.CodeUsage, "fixture", err)
	}
	return demo.ParseFixture(name, data)
}

// test runs the module's own test and shows how it ended.
func (d *demonstration) test(ctx context.Context, when string) (green bool, err error) {
	d.scene.Title("$ go test ./...")
	if when == "before" {
		d.scene.Lines(
			"waits for go, which compiles the module and what it imports: some seconds, " +
				"and a minute or more the first time on a machine",
		)
	}
	said, green, err := d.Test(ctx)
	if err == nil {
		d.scene.Test(when, said, green)
	}
	return green, err
}

// commands runs the main job; the first command that does not pass ends it.
func (d *demonstration) commands(ctx context.Context) int {
	for _, line := range []string{
		"/task --from task.md", "/research N", "/plan N", "/implement N", "/review N",
		"/todo --dry-run",
	} {
		line = strings.Replace(line, "N", strconv.Itoa(demoTask), 1)
		d.scene.Title("$ tercet --runner offline --yes %s", line)
		switch name, _, _ := strings.Cut(line, " "); name {
		case "/implement":
			d.scene.Lines("waits for go: the fixed module is compiled and tested in a worktree")
		case "/review":
			d.scene.Lines("waits for go: the module's own checks are go vet and go test")
		}
		code := d.runLine(ctx, line)
		if code != 0 {
			return code
		}
		if strings.HasPrefix(line, "/plan ") {
			d.scene.Lines(
				"no agent is at work here: the fix is the patch that stands in task.md; " +
					"with one, the agent would have written it",
			)
			d.scene.Commands()
		}
	}
	return 0
}

// runLine runs one line as a process of its own would. Its run is drawn where those of the user
// are.
func (d *demonstration) runLine(ctx context.Context, line string) int {
	out, said := d.app.term.Plain()
	one := demoLine{Line: line}
	w, err := d.app.newPrivateProject(d.Dir, out, said, d.app.env, term.Settings{
		Quiet:  d.app.flags.quiet,
		Colour: "auto",
		Silent: d.app.flags.json,
	})
	if err != nil {
		return d.app.reportError(err)
	}
	one.Return, one.Exit = w.runLine(ctx, line, project.Options{
		Runner:   project.RunnerOffline,
		Yes:      true,
		Parallel: "1",
	})
	d.lines = append(d.lines, one)
	return one.Exit
}
