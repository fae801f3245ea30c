package watch_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tercet/formats"
	"tercet/frontends/watch"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/internal/style"
	"tercet/internal/trace"
	"tercet/project"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ofDay are times as they are here.
var ofDay = regexp.MustCompile(`[0-9]{2}:[0-9]{2}:[0-9]{2}`)

// clock stands still but for what a test lets pass. Nobody works on a run after somebody has waited
// for it.
type clock struct {
	now time.Time
	at  map[string]bool
}

func (c *clock) Now() time.Time {
	return c.now
}

func (c *clock) Sleep(_ context.Context, d time.Duration) error {
	if d < 100*time.Millisecond {
		return nil // somebody looks again whether a run is at work, and nobody ends one meanwhile
	}
	clear(c.at)
	c.now = c.now.Add(d)
	return nil
}

// workspace is a folder with runs, of which some are at work.
type workspace struct {
	t       *testing.T
	clock   *clock
	desk    *control.Controller
	at      map[string]bool // runs that a process works on
	started []string
	config  watch.Config
	diff    func(run string) string

	*project.Project
}

func newProject(t *testing.T) *workspace {
	t.Helper()

	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })

	at := map[string]bool{}
	p := &workspace{
		t:     t,
		clock: &clock{noon, at},
		at:    at,
	}

	p.desk = &control.Controller{
		Root:   root,
		Secret: func() []byte { return []byte("of the person") },
		Clock:  p.clock,
		User:   "ann",
		Mask:   journal.NewMasker(),
		Claim: func(file string) (io.Closer, error) {
			if p.at[path.Base(path.Dir(file))] {
				return nil, formats.Fail(formats.CodeLocked, "", "%s is held", file)
			}
			return io.NopCloser(nil), root.WriteFile(file, nil, 0o600)
		},
		Note: func(string, ...any) {},
	}

	p.config = watch.Config{
		Projects: []watch.Place{{Name: "project", Project: p}},
		Notes:    &watch.Notes{Past: func(string) {}},
		Now:      p.clock.Now,
		Sheet:    style.Sheet{UTF8: true},
		Suspend:  func() {},
		Left:     func() {},
	}

	p.diff = func(run string) string {
		return "a.go | +1 -1\n\ndiff --git a/a.go b/a.go\n@@ -1 +1 @@\n-old\t\x1b[2J\n+new of " +
			run + "\n"
	}

	p.Project = &project.Project{
		Root:    root,
		Control: p.desk,
		Mask:    p.desk.Mask,
		Host:    project.Host{Clock: p.clock, User: "ann"},
	}

	return p
}

// WorktreeChanges implements watch.Project.
func (p *workspace) WorktreeChanges(_ context.Context, run string) (string, error) {
	return p.diff(run), nil
}

// Resume implements watch.Project: it cannot go on with a run.
func (p *workspace) Resume(
	_ context.Context, run, _ string, _ project.Options,
) (*project.Run, error) {
	p.started = append(p.started, "resume "+run)
	return nil, formats.Fail(formats.CodePrecondition, "", "no")
}

// Cancel implements watch.Project: it cannot work on a run, and gives orders to others.
func (p *workspace) Cancel(
	ctx context.Context, run string, _ project.Options,
) (project.RunInfo, error) {
	if !p.AtWork(run) {
		p.started = append(p.started, "cancel "+run)
		return project.RunInfo{}, formats.Fail(formats.CodePrecondition, "", "no")
	}
	r, _, err := p.desk.End(ctx, run)
	return r, err
}

// run begins a run some time before noon and makes entries in its journal.
func (p *workspace) run(id, line string, before time.Duration, list ...formats.Entry) {
	p.t.Helper()
	began := formats.Started{
		Format: formats.JournalFormat,
		Line:   line,
		Steps:  []string{"code", "go"},
		Args:   map[string]any{},
	}
	dir := path.Join(journal.Folder, id)
	over := false
	w := journal.New(func() (*os.Root, error) {
		if err := p.desk.Root.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return p.desk.Root.OpenRoot(dir)
	}, journal.Options{
		Clock: func() time.Time {
			return noon.Add(-before)
		},
		Key: p.desk.Key(id),
	})
	for _, e := range append(
		[]formats.Entry{{Type: formats.EntryRunStarted, Data: began}},
		list...,
	) {
		over = e.Type == formats.EntryRunFinished
		if err := w.Append(p.t.Context(), e); err != nil {
			p.t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	if over {
		return
	}

	if err := p.desk.Root.WriteFile(journal.LockPath(id), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// traces writes what a run told.
func (p *workspace) traces(id string, list ...trace.Event) {
	p.t.Helper()

	file, err := p.desk.Root.OpenFile(
		path.Join(journal.Folder, id, "trace.jsonl"),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600,
	)
	if err != nil {
		p.t.Fatal(err)
	}
	defer file.Close()

	for i, e := range list {
		e.Time = noon.Add(time.Duration(i-len(list)) * 10 * time.Second)
		if _, err := file.Write(append(trace.Encode(e), '\n')); err != nil {
			p.t.Fatal(err)
		}
	}
}

// does says what an agent does with a tool, as its event has it.
func does(what, on string) map[string]any {
	return map[string]any{"runner": "claude", "did": what, "tool": "tool", "on": on}
}

func ended(status string) formats.Entry {
	return formats.Entry{Type: formats.EntryRunFinished, Data: map[string]any{"status": status}}
}

func suspended(why formats.Suspended) formats.Entry {
	return formats.Entry{
		Type: formats.EntrySuspended,
		Step: "go#1",
		Data: why,
	}
}

// gate is a question with a key for each choice.
func gate(run string) formats.Gate {
	return formats.Gate{
		ID:       "gate-" + run,
		Run:      run,
		Question: "Ship 日本語 it?",
		Opened:   noon.Add(-time.Hour),
		Show:     []string{"Two files\x1b[2J changed:\n\ta.go"},
		Choices: []formats.Choice{
			{Label: "approve", Approves: true}, {Label: "again"}, {Label: "reject", Leaves: true},
		},
	}
}

// busy has a run of every kind.
func busy(t *testing.T) *workspace {
	t.Helper()

	p := newProject(t)
	p.run("r1done", "/plan 195", 3*time.Hour, ended("completed"))
	p.run("r2fail", "/research 195", 2*time.Hour, ended("failed"))

	g := gate("r3asks")
	p.run("r3asks", "/ship", time.Hour, formats.Entry{
		Type: formats.EntryGateOpened,
		Step: "go#1",
		Key:  g.ID,
		Data: g,
	},
		suspended(formats.Suspended{Question: g.Question}))

	p.run("r4rest", "/review 196 \x1b]0;title\x07日本語", 40*time.Minute, suspended(formats.Suspended{
		Postponed: formats.Postponed{Why: "paused by ann"},
	}))
	p.run(
		"r5gone",
		"/revise 196 a text that is long enough to be cut where there is no room",
		30*time.Minute,
	)

	p.run("r6work", "/implement 196", 5*time.Minute)
	p.at["r6work"] = true

	p.traces("r6work", trace.Event{
		Kind:    trace.Run,
		ToDepth: 1,
		Name:    "/implement",
		Attrs:   map[string]any{"line": "/implement 196"},
	},
		trace.Event{
			Kind: trace.Step,
			Step: "code",
			Name: "Delegate to implementer",
		},
		trace.Event{
			Kind:  trace.Agent,
			Step:  "code",
			Name:  "implementer",
			Attrs: does("edit", "\x1b[31mpages.go"),
		})

	return p
}

func (p *workspace) screen(wide, high int) watch.Screen {
	return watch.NewScreen(p.t.Context(), p.config, wide, high)
}

// press types keys at the pace of a person.
func (p *workspace) press(s watch.Screen, keys ...string) (left bool) {
	p.t.Helper()
	for _, k := range keys {
		p.clock.now = p.clock.now.Add(watch.Human)
		left = s.Send(key(k))
	}
	return left
}

func key(name string) tea.KeyPressMsg {
	named := map[string]tea.Key{
		"enter":     {Code: tea.KeyEnter},
		"esc":       {Code: tea.KeyEscape},
		"tab":       {Code: tea.KeyTab},
		"up":        {Code: tea.KeyUp},
		"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"down":      {Code: tea.KeyDown},
		"left":      {Code: tea.KeyLeft},
		"right":     {Code: tea.KeyRight},
		"pgup":      {Code: tea.KeyPgUp},
		"pgdown":    {Code: tea.KeyPgDown},
		"home":      {Code: tea.KeyHome},
		"end":       {Code: tea.KeyEnd},
		"ctrl+c":    {Code: 'c', Mod: tea.ModCtrl},
		"backspace": {Code: tea.KeyBackspace},
		"ctrl+z":    {Code: 'z', Mod: tea.ModCtrl},
	}

	if k, ok := named[name]; ok {
		return tea.KeyPressMsg(k)
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// TestScreen holds what is seen at each size, and that nothing is wider or higher than the
// terminal.
func TestScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wide, high int
		sheet      style.Sheet
	}{
		{40, 24, style.Sheet{UTF8: true}},
		{80, 24, style.Sheet{UTF8: true, Colour: true}},
		{80, 24, style.Sheet{}},
		{200, 50, style.Sheet{UTF8: true}},
	} {
		name := fmt.Sprintf("%dx%d", c.wide, c.high)
		if !c.sheet.UTF8 {
			name += "-ascii"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := busy(t)
			p.config.Sheet = c.sheet
			s := p.screen(c.wide, c.high)
			var b bytes.Buffer
			for _, keys := range [][]string{
				nil,
				{"j"},
				{"t"},
				{"l"},
				{"d"},
				{"esc", "k", "enter"},
				{"a", ":", "o", "k"},
				{"esc", "?"},
				{"x", "esc", "down", "down"},
				{"t"},
				{"esc", "c"},
				{"esc", "/", "r", "e", "v"},
				{"enter", "down"},
			} {
				p.press(s, keys...)
				text := ofDay.ReplaceAllString(s.Text(), "hh:mm:ss")
				fmt.Fprintf(&b, "-- %s --\n%s\n", strings.Join(keys, " "), text)
				if n := strings.Count(text, "\n") + 1; n != c.high {
					t.Errorf("%v: %d rows, want %d", keys, n, c.high)
				}
				for line := range strings.SplitSeq(text, "\n") {
					if ansi.StringWidth(line) > c.wide {
						t.Errorf("%v: %q takes %d columns of %d",
							keys, line, ansi.StringWidth(line), c.wide)
					}
				}
			}

			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, b.Bytes()) {
				t.Errorf("%s differs, run with -update and look at it; got\n%s", file, b.String())
			}
		})
	}
}

// shown has the runs that docs/watch.md shows.
func shown(t *testing.T) *workspace {
	t.Helper()

	p := newProject(t)
	p.run("r6mq2a", "/plan 195", 3*time.Hour, ended("completed"))
	p.run("r6mq4d", "/implement 195", 2*time.Hour, ended("failed"))

	g := gate("r6mq7k")
	g.Question = "Publish 1.4.0?"
	g.Show = []string{"CHANGELOG.md | +12 -0\nVERSION | +1 -1"}
	p.run(g.Run, "/release 1.4.0", 20*time.Minute, formats.Entry{
		Type: formats.EntryGateOpened,
		Step: "go#1",
		Key:  g.ID,
		Data: g,
	},
		suspended(formats.Suspended{Question: g.Question}))
	p.run(
		"r6mq9x",
		"/review 196",
		12*time.Minute,
		suspended(formats.Suspended{Postponed: formats.Postponed{Why: "paused by ann"}}),
	)

	p.run("r6mr1c", "/implement 196", 5*time.Minute)
	p.at["r6mr1c"] = true
	p.traces("r6mr1c",
		trace.Event{
			Kind:    trace.Run,
			ToDepth: 1,
			Name:    "/implement",
			Attrs:   map[string]any{"line": "/implement 196"},
		},
		trace.Event{
			Kind: trace.Step,
			Step: "code",
			Name: "Write the code",
		},
		trace.Event{
			Kind: trace.Delegate,
			Step: "code",
			Name: "implementer",
		},
		trace.Event{
			Kind:  trace.Agent,
			Step:  "code",
			Name:  "implementer",
			Attrs: does("edit", "pages.go"),
		},
		trace.Event{
			Kind:  trace.Agent,
			Step:  "code",
			Name:  "implementer",
			Attrs: does("run", "go test ./..."),
		})

	p.diff = func(string) string {
		return "pages/pages.go | +1 -1\n\ndiff --git a/pages/pages.go b/pages/pages.go\n" +
			"--- a/pages/pages.go\n+++ b/pages/pages.go\n" +
			"@@ -31,3 +31,3 @@ func Expand(list string) ([]int, error) {\n" +
			"-\t\tfor n := from; n < to; n++ {\n" +
			"+\t\tfor n := from; n <= to; n++ {\n \t\t\tpages = append(pages, n)\n"
	}

	return p
}

// TestScreensOfDocs holds the screens of docs/watch.md, each in a file of its name.
func TestScreensOfDocs(t *testing.T) {
	t.Parallel()

	page := filepath.Join("..", "..", "docs", "watch.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name       string
		wide, high int
		keys       string
	}{
		{"screen-tree", 80, 12, "j"},
		{"screen-log", 80, 12, "j l"},
		{"screen-diff", 80, 14, "j d"},
		{"screen-gate", 80, 16, "enter A"},
		{"screen-narrow", 40, 12, ""},
	} {
		p := shown(t)

		s := p.screen(c.wide, c.high)
		p.press(s, strings.Fields(c.keys)...)

		lines := strings.Split(ofDay.ReplaceAllString(s.Text(), "12:00:00"), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}

		got := strings.Join(lines, "\n") + "\n"
		file := filepath.Join("testdata", c.name+".golden")
		fence := regexp.MustCompile("(?s)(<!-- " + c.name + " -->\n```text\n).*?(```\n)")

		if *update {
			text = fence.ReplaceAll(text, []byte("${1}"+got+"${2}"))
			err := errors.Join(
				os.WriteFile(file, []byte(got), 0o600),
				os.WriteFile(page, text, 0o600),
			)
			if err != nil {
				t.Fatal(err)
			}
		}

		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		if got != string(want) || !strings.Contains(string(fence.Find(text)), "\n"+got+"```") {
			t.Errorf("%s or %s differs, run with -update and look at it; got\n%s", file, page, got)
		}
	}
}

// TestAnswer: what is pasted answers nothing, and an answer is about what was seen. A no, and a key
// with Shift, ask for a note first.
func TestAnswer(t *testing.T) {
	t.Parallel()

	p := busy(t)
	s := p.screen(80, 24)
	other := p.screen(80, 24)
	g := gate("r3asks")

	answered := func(want string) {
		t.Helper()
		d, ok, err := p.desk.Answered(g)
		if err != nil || ok != (want != "") || d.Answer+": "+d.Note != want && ok {
			t.Errorf("answer %+v, %v, %v, want %q", d, ok, err, want)
		}
	}

	p.press(s, "a", "enter") // the list has the keys: Enter opens the question
	answered("")
	p.press(s, "x", "enter") // no choice
	answered("")

	s.Send(tea.PasteMsg{Content: "a\n"})
	answered("")

	s.Send(key("a")) // at once
	if !strings.Contains(s.Text(), "as in a paste") {
		t.Errorf("the screen does not say why the key is not taken:\n%s", s.Text())
	}
	answered("")

	p.press(s, "r") // which asks for a note
	s.Send(key("enter"))
	if !strings.Contains(s.Text(), "as in a paste") {
		t.Errorf("the screen does not say why Enter is not taken:\n%s", s.Text())
	}

	p.press(s, "x", "esc")
	answered("")

	p.press(other, "enter", "3")
	p.press(s, "A")
	if !strings.Contains(s.Text(), "note for 'approve'>") {
		t.Errorf("the screen does not ask for a note:\n%s", s.Text())
	}

	p.press(s, "o", "k", "enter")
	answered("approve: ok")

	if strings.Join(p.started, "") != "resume r3asks" {
		t.Errorf("started %q, want the run to go on at once: nobody works on it", p.started)
	}

	s.Look()
	p.press(s, "3", "enter")
	if !strings.Contains(s.Text(), "answered by ann: approve; r goes on with the run") {
		t.Errorf("the screen does not say that it was answered:\n%s", s.Text())
	}

	p.press(other, "enter") // of a line that was begun before
	if !strings.Contains(other.Text(), `not taken: ann answered "approve"`) {
		t.Errorf("the screen does not say that somebody else answered:\n%s", other.Text())
	}

	answered("approve: ok")
}

// TestAnswerByOneKey: a letter alone answers.
func TestAnswerByOneKey(t *testing.T) {
	t.Parallel()
	p := busy(t)
	s := p.screen(80, 24)
	p.press(s, "enter", "a")
	d, ok, err := p.desk.Answered(gate("r3asks"))
	if err != nil || !ok || d.Answer != "approve" || d.Note != "" {
		t.Errorf("answer %+v, %v, %v, want approve", d, ok, err)
	}
}

// TestOrders: runs are paused, resumed and cancelled as by the verbs, and what goes wrong stays
// until the next key.
func TestOrders(t *testing.T) {
	t.Parallel()

	p := busy(t)
	s := p.screen(80, 24)

	says := func(want string, started ...string) {
		t.Helper()
		if !strings.Contains(s.Text(), want) {
			t.Errorf("the screen does not say %q:\n%s", want, s.Text())
		}
		if strings.Join(p.started, ", ") != strings.Join(started, ", ") {
			t.Errorf("started %q, want %q", p.started, started)
		}
	}

	p.press(s, "p")
	says("does not run: there is nothing to pause")
	s.Look()
	says("nothing to pause")

	p.press(s, "r")
	says("no", "resume r3asks")

	p.press(s, "c", "n")
	p.press(s, "c", "esc")
	p.press(s, "c", "enter")
	p.press(s, "c", "o")
	says("expected y or n", "resume r3asks")
	p.press(s, "esc", "c", "y")
	says("no", "resume r3asks", "cancel r3asks")

	p.press(s, "j", "r")
	says("run r6work is at work", "resume r3asks", "cancel r3asks")
	s.Send(key("r")) // at once behind another: a paste without its marks
	says("", "resume r3asks", "cancel r3asks")

	p.press(s, "end", "r")
	says("run r1done has ended", "resume r3asks", "cancel r3asks")

	if !p.press(s, "q") || !p.press(s, "/", "x", "ctrl+c") {
		t.Error("q and Ctrl-C do not leave")
	}
}

// TestTimedRunGoesOnOnce: a run that waits for a time goes on without a person where it may, once
// for each time.
func TestTimedRunGoesOnOnce(t *testing.T) {
	t.Parallel()

	p := newProject(t)

	later := func(until, alone time.Duration) formats.Entry {
		return suspended(formats.Suspended{Postponed: formats.Postponed{
			Why:   "usage limit",
			Until: noon.Add(until),
			Alone: noon.Add(alone),
		}})
	}

	p.run("r1may", "/plan 1", 3*time.Hour, later(time.Minute, time.Hour))
	p.run(
		"r2asks",
		"/plan 2",
		3*time.Hour,
		suspended(formats.Suspended{Postponed: formats.Postponed{
			Why:   "usage limit",
			Until: noon.Add(time.Minute),
		}}),
	)
	p.run("r3late", "/plan 3", 3*time.Hour, later(-time.Hour, -time.Minute))
	p.run(
		"r4paused",
		"/plan 4",
		3*time.Hour,
		suspended(formats.Suspended{Postponed: formats.Postponed{Why: "paused by ann"}}),
	)

	s := p.screen(80, 24)

	if len(p.started) > 0 {
		t.Fatalf("started %q before the time has come", p.started)
	}

	p.clock.now = noon.Add(time.Minute)
	s.Look()
	s.Look()
	p.run("r1may", "/plan 1", 3*time.Hour, later(3*time.Minute, time.Hour)) // it waits again
	s.Look()

	if want := []string{"resume r1may"}; !slices.Equal(p.started, want) {
		t.Fatalf("started %q, want %q", p.started, want)
	}

	p.clock.now = noon.Add(3 * time.Minute)
	s.Look()
	if want := []string{"resume r1may", "resume r1may"}; !slices.Equal(p.started, want) {
		t.Fatalf("started %q, want %q", p.started, want)
	}
}

// TestFilter: the screen says which runs it leaves out, and Esc brings them back.
func TestFilter(t *testing.T) {
	t.Parallel()

	p := busy(t)
	s := p.screen(80, 24)

	p.press(s, "/", "p", "l", "a", "enter")

	text := s.Text()
	if !strings.Contains(text, "only 'pla'") || strings.Contains(text, "/ship") ||
		!strings.Contains(text, "> ✓ /plan") {
		t.Errorf("the screen does not show just the runs that fit, and that it does:\n%s", text)
	}

	p.press(s, "esc")
	if text := s.Text(); strings.Contains(text, "only") || !strings.Contains(text, "/ship") {
		t.Errorf("the screen does not show all runs again:\n%s", text)
	}

	p.press(s, "/", "n", "o", "n", "e", "enter", "p", "r", "c")
	if text := s.Text(); !strings.Contains(text, "no run fits the filter") || len(p.started) > 0 {
		t.Errorf("an order went to %q, which is not shown:\n%s", p.started, text)
	}
}

// TestFollows: what is written meanwhile is shown, once, and a run that ends moves down.
func TestFollows(t *testing.T) {
	t.Parallel()
	p := busy(t)
	s := p.screen(200, 40)

	p.press(s, "down", "l")
	if n := strings.Count(s.Text(), "edits <U+001B>"); n != 1 {
		t.Errorf("the log has what the agent does %d times, want once:\n%s", n, s.Text())
	}

	more := does("run", "go test")
	more["tokens"] = 9
	p.traces("r6work", trace.Event{
		Kind:  trace.Agent,
		Step:  "code",
		Name:  "implementer",
		Attrs: does("run", "go test"),
	},
		trace.Event{
			Kind:  trace.Agent,
			Step:  "code",
			Name:  "implementer",
			Attrs: more,
		})

	s.Look()
	s.Look()
	if n := strings.Count(s.Text(), "runs go test"); n != 1 {
		t.Errorf("the log has the news %d times, want once:\n%s", n, s.Text())
	}

	p.at["r6work"] = false
	for range 3 {
		s.Look()
	}

	if !strings.Contains(s.Text(), "1 waiting for you") || strings.Contains(s.Text(), "at work") {
		t.Errorf("a process that is gone is at work:\n%s", s.Text())
	}
	if err := p.desk.Root.Remove(journal.LockPath("r6work")); err != nil {
		t.Fatal(err)
	}
}

// TestNoRuns: what stands in the place of the runs and is no folder is told.
func TestNoRuns(t *testing.T) {
	t.Parallel()

	p := newProject(t)
	err := errors.Join(
		p.desk.Root.MkdirAll(formats.Workspace, 0o700),
		p.desk.Root.WriteFile(journal.Folder, nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}

	got := p.screen(100, 20).Text()
	if !strings.Contains(got, ".tercet/runs is no folder that can be read") {
		t.Errorf("the screen is\n%s", got)
	}
}

// TestLittle: of runs that have ended before those that are shown nothing is read, of those that
// are shown nothing again.
//
//nolint:paralleltest // it counts what is allocated
func TestLittle(t *testing.T) {
	p := newProject(t)
	for i := range 1000 {
		err := p.desk.Root.MkdirAll(fmt.Sprintf("%s/r0%04d", journal.Folder, i), 0o700)
		if err != nil {
			t.Fatal(err)
		}
		err = p.desk.Root.WriteFile(
			fmt.Sprintf("%s/r0%04d/journal.jsonl", journal.Folder, i),
			[]byte("no\n"),
			0o600,
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	for i := range 20 {
		p.run(fmt.Sprintf("r1%04d", i), fmt.Sprintf("/plan %d", i), time.Hour, ended("completed"))
	}
	s := p.screen(80, 30)
	for i := range 20 {
		err := p.desk.Root.WriteFile(
			fmt.Sprintf("%s/r1%04d/journal.jsonl", journal.Folder, i),
			nil,
			0o600,
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	s.Look()
	if n := strings.Count(s.Text(), "/plan "); n != 20 || strings.Contains(s.Text(), "!") {
		t.Errorf("%d runs are shown, want the 20 last ones, as they ended:\n%s", n, s.Text())
	}
	const most = 8000 // three for each name in the folder of runs
	if got := testing.AllocsPerRun(5, s.Look); got > most {
		t.Errorf("a look with 1,020 finished runs allocates %v times, want at most %d", got, most)
	}
}

// TestNothing: a project without runs, and a folder of runs with what is none.
func TestNothing(t *testing.T) {
	t.Parallel()

	p := newProject(t)
	s := p.screen(80, 24)

	p.press(s, "j", "t", "p", "r", "c", "g", "down", "esc", "enter")
	if !strings.Contains(s.Text(), "no run yet") {
		t.Errorf("the screen does not say that there is no run:\n%s", s.Text())
	}

	if err := p.desk.Root.MkdirAll(journal.Folder+"/none", 0o700); err != nil {
		t.Fatal(err)
	}

	s.Look()
	p.run("r1", "/plan 1", time.Minute)
	err := p.desk.Root.WriteFile(journal.Folder+"/r1/trace.jsonl", []byte("{\nno\n\x00"), 0o600)
	if err != nil {
		t.Fatal(err)
	}

	s.Look()
	if !strings.Contains(s.Text(), "/plan 1") {
		t.Errorf("the new run is not shown:\n%s", s.Text())
	}
}

// TestRandomKeys: whatever is typed in whatever window, nothing breaks, and nothing of a stranger
// reaches the terminal.
func TestRandomKeys(t *testing.T) {
	t.Parallel()

	p := busy(t)
	s := p.screen(80, 24)

	names := strings.Fields(
		"enter esc tab shift+tab up down left right pgup pgdown home end backspace " +
			"j k t l d g p r c ? / a 1 2 : y n x 日 ctrl+z",
	)

	random := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		switch random.IntN(20) {
		case 0:
			s.Send(tea.WindowSizeMsg{Width: random.IntN(220), Height: random.IntN(60)})
		case 1:
			s.Send(tea.PasteMsg{Content: "a\r\n\x1b[2Jy"})
		case 2:
			s.Look()
		default:
			p.press(s, names[random.IntN(len(names))])
		}

		if text := s.Text(); strings.ContainsAny(text, "\x1b\x07\r") {
			t.Fatalf("after %d keys a control character is on the screen: %q", i, text)
		}
	}
}

// TestKeysAreWhole: the page of keys says at 40 columns what it says at 200.
func TestKeysAreWhole(t *testing.T) {
	t.Parallel()

	words := map[int]string{}
	for _, wide := range []int{40, 80, 200} {
		s := busy(t).screen(wide, 24)
		s.Send(key("?"))
		rows := strings.Split(s.Text(), "\n")
		words[wide] = strings.Join(strings.Fields(strings.Join(rows[2:len(rows)-2], " ")), " ")
	}

	if words[40] != words[200] || words[80] != words[200] ||
		!strings.HasSuffix(words[40], "answers nothing.") {
		t.Errorf("at 40 columns %q, at 80 %q, want %q", words[40], words[80], words[200])
	}
}

// TestSeveralProjects: the runs of all projects stand in one list, and the keys work on the project
// of the selected run, also if two projects have a run of one id.
func TestSeveralProjects(t *testing.T) {
	t.Parallel()
	for _, wide := range []int{40, 80, 200} {
		first := busy(t)
		second := newProject(t)

		g := gate("r3asks")
		second.run("r3asks", "/deploy", 50*time.Minute, formats.Entry{
			Type: formats.EntryGateOpened,
			Step: "go#1",
			Key:  g.ID,
			Data: g,
		}, suspended(formats.Suspended{Question: g.Question}))

		first.config.Projects = []watch.Place{
			{Name: "parser", Project: first, Dir: "/work/parser"},
			{Name: "site", Project: second, Dir: "'/work/my site'"},
		}

		s := first.screen(wide, 12)
		text := s.Text()
		for _, want := range []string{"2 projects  2 waiting for"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: the screen does not say %q:\n%s", wide, want, text)
			}
		}

		for line := range strings.Lines(text) {
			if n := ansi.StringWidth(strings.TrimRight(line, "\n")); n > wide {
				t.Errorf("a line has %d of %d columns: %q", n, wide, line)
			}
		}

		rows := strings.Split(text, "\n")
		if !strings.Contains(rows[1], "site") || !strings.Contains(rows[1], "/dep") ||
			!strings.Contains(rows[2], "par") || !strings.Contains(rows[2], "/ship") {
			t.Errorf("%d columns: "+
				"the runs do not stand behind their projects, the newest first:\n%s",
				wide, text)
		}

		first.press(s, "t")
		if text := s.Text(); wide > 100 &&
			!strings.Contains(text, "tercet -C '/work/my site' approve r3asks") {
			t.Errorf("the screen does not say what to type:\n%s", text)
		}
		first.press(s, "esc", "r", "j", "r")
		if strings.Join(second.started, ", ") != "resume r3asks" ||
			strings.Join(first.started, ", ") != "resume r3asks" {
			t.Errorf("started %q and %q, want one each", first.started, second.started)
		}
		first.press(s, "/", "s", "i", "t", "e", "enter")
		if text := s.Text(); !strings.Contains(text, "/dep") || strings.Contains(text, "/ship") {
			t.Errorf("the filter does not know the projects:\n%s", text)
		}
		second.Root.Close() // it cannot be read any more
		first.press(s, "/", "ctrl+u", "esc")
		s.Look()
		if text := s.Text(); !strings.Contains(text, "site: ") || !strings.Contains(text, "/ship") {
			t.Errorf("a project that cannot be read hides the others:\n%s", text)
		}
	}
}
