package demo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/order"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/internal/trace"
)

// Scene prints what happened in the folder of a demo.
type Scene struct {
	Out     io.Writer // nil: nothing is printed
	Sheet   style.Sheet
	Columns int // 0: lines are not wrapped
	Dir     string
}

// Title starts a part.
func (s Scene) Title(format string, args ...any) {
	s.print("\n" +
		s.Sheet.Paint(style.Heading, style.Wrap(plain.Sprintf(format, args...), s.Columns)))
}

// Lines prints texts, one a line.
func (s Scene) Lines(list ...string) {
	for _, line := range list {
		s.print(style.Wrap("  "+plain.Line(replaceTabs(line)), s.Columns))
	}
}

func (s Scene) print(text string) {
	if s.Out != nil {
		fmt.Fprintln(s.Out, text)
	}
}

// replaceTabs puts two spaces for each tab, because a terminal has tab stops of its own.
func replaceTabs(text string) string {
	return strings.ReplaceAll(text, "\t", "  ")
}

// Test prints the result of the module's test and the end of its output.
func (s Scene) Test(when, output string, green bool) {
	const maxLines = 6
	look := style.Bad
	if green {
		look = style.Good
	}
	s.print("\n" + s.Sheet.Paint(style.Heading, "Its own test "+when+": ") +
		s.Sheet.Paint(look, ColourName(green)))
	list := splitLines(output)
	s.Lines(list[max(0, len(list)-maxLines):]...)
}

// Diff prints a patch in colours. A wrapped line repeats its sign.
func (s Scene) Diff(patch string) {
	s.Title("What changed (git diff)")
	if strings.TrimSpace(patch) == "" {
		s.Lines("nothing: no commit was added")
		return
	}

	var out []string
	for _, line := range splitLines(patch) {
		if strings.HasPrefix(line, "index ") {
			continue
		}

		line = plain.Line(replaceTabs(line))
		sign := ""
		if line != "" && strings.Contains("+- ", line[:1]) {
			sign = line[:1] + "     "
		}

		for i, part := range strings.Split(style.Wrap(line, s.Columns-2), "\n") {
			if i > 0 {
				part = sign + strings.TrimLeft(part, " ")
			}
			out = append(out, part)
		}
	}

	for line := range strings.SplitSeq(s.Sheet.Diff(strings.Join(out, "\n")), "\n") {
		s.print("  " + line)
	}
}

// Commands prints the commands of the plan and of its verification.
func (s Scene) Commands() {
	for _, t := range s.tasks() {
		a := t.Newest(formats.ArtifactPlan)
		if a == nil {
			continue
		}
		plan, _ := documents.ParsePlan(a.Path, s.read(a.Path)) //nolint:errcheck // what can be read of it is shown
		for _, p := range plan.Phases {
			s.Title("The commands of its plan, phase %d: %s", p.Number, p.Name)
			s.Lines(splitLines(cmp.Or(
				strings.Join(p.Commands, "\n"),
				"none: nothing that the offline runner could do",
			))...)
			if len(p.Verification) > 0 {
				s.Title("The commands that verify it")
				s.Lines(splitLines(strings.Join(p.Verification, "\n"))...)
			}
		}
	}
}

// State prints the tasks.
func (s Scene) State(when string) {
	s.Title("The state %s (%s/state.json)", when, formats.Workspace)
	tasks := s.tasks()
	if len(tasks) == 0 {
		s.Lines("no task")
	}
	for _, t := range tasks {
		s.Lines(fmt.Sprintf("task %d  %s  %s  %s", t.Number, t.Status, t.Title,
			formats.Count(len(t.Artifacts), "artifact")))
	}
}

// Artifacts prints each document's path and first lines.
func (s Scene) Artifacts() {
	const maxLines = 8
	for _, t := range s.tasks() {
		for _, a := range t.Artifacts {
			if a.Type.IsDocument() {
				s.Title("%s  (%s)", a.Path, a.Type)
				list := splitLines(string(s.read(a.Path)))
				s.Lines(list[:min(maxLines, len(list))]...)
			}
		}
	}
}

// read gives a file of the folder, empty if it is not there.
func (s Scene) read(name string) []byte {
	data, _ := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(name))) //nolint:errcheck // it is not there
	return data
}

func (s Scene) tasks() []formats.Task {
	var doc struct{ Tasks []formats.Task }
	if err := json.Unmarshal(s.read(formats.Workspace+"/state.json"), &doc); err != nil {
		return nil
	}
	return doc.Tasks
}

// Trace prints what each run did, with depths and durations.
func (s Scene) Trace() {
	s.Title("The trace (%s/runs/*/trace.jsonl)", formats.Workspace)
	files, err := fs.Glob(os.DirFS(s.Dir), formats.Workspace+"/runs/*/trace.jsonl")
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
		for line := range bytes.Lines(s.read(name)) {
			var e traced
			if json.Unmarshal(line, &e) == nil &&
				(e.Kind == trace.Route || e.Kind == trace.Delegate) {
				events = append(events, e)
			}
		}
	}

	order.Stable(events, func(a, b traced) int {
		return a.Time.Compare(b.Time)
	})
	for _, e := range events {
		took := time.Duration(e.Seconds * float64(time.Second)).Round(time.Millisecond)
		form := "%d -> %d  %-22s %-10s %s"
		if s.Columns > 0 && s.Columns < 60 {
			form = "%d -> %d %s %s %s" // no columns: each of them would be broken
		}
		s.Lines(fmt.Sprintf(form, e.From, e.To, e.Name, e.Outcome, took))
	}
}

// End prints where the folder is, and what to type in the user's own repository, with an installed
// agent CLI if there is one.
func (s Scene) End(installed []string) {
	s.Title("The demo's folder is %s", s.Dir)
	s.Lines("look around in it; remove it with: tercet demo --clean " + s.Dir)
	s.Title("Now in your own repository:")
	third := "tercet /research 1"
	if len(installed) > 0 {
		third = "tercet --runner " + installed[0] + " /plan 1"
	}
	s.Lines("tercet init", `tercet /task "what is to be done"`, third)
}
