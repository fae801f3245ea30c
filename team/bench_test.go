package team_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/project"
	"tercet/router"
	"tercet/team"
)

// delegations is how many workers a measured run starts.
const delegations = 20

// BenchmarkDelegation measures what a delegation costs on one machine, and in a team whose home is
// reached in memory: with a worktree that changes each time, which makes a snapshot, and without.
func BenchmarkDelegation(b *testing.B) {
	for _, changes := range []bool{false, true} {
		name := fmt.Sprintf("changes=%v", changes)
		b.Run("alone/"+name, func(b *testing.B) {
			p, line := measured(b, changes)
			// the command was not there when the home was opened
			alone := openProject(b, p.home.Dir, p.home.Host)
			for b.Loop() {
				s, err := alone.Session(project.Options{New: true})
				if err != nil {
					b.Fatal(err)
				}
				ret, err := s.Start(b.Context(), router.Line{Raw: line})
				check(b, ret, err)
			}
			perDelegation(b)
		})
		b.Run("team/"+name, func(b *testing.B) {
			p, line := measured(b, changes)
			k := p.keeper(b, 0)
			clone := p.clone(b, "one", &team.Client{
				Call: func(ctx context.Context, call []byte) ([]byte, error) {
					return team.Handle(ctx, k, call), nil
				},
			})
			for n := 0; b.Loop(); n++ {
				job, err := k.Begin(line, false)
				if err != nil {
					b.Fatal(err)
				}
				ret, err := clone.TakeRun(
					b.Context(), job.Run, fmt.Sprint("t", n), project.Options{},
				)
				check(b, ret, err)
			}
			perDelegation(b)
		})
	}
}

func perDelegation(b *testing.B) {
	b.Helper()
	ms := float64(b.Elapsed().Milliseconds()) / float64(b.N) / delegations
	b.ReportMetric(ms, "ms/delegation")
}

func check(b *testing.B, ret formats.Return, err error) {
	b.Helper()
	if err != nil || ret.Status != formats.StatusCompleted {
		b.Fatalf("the run ended with %+v, %v", ret, err)
	}
}

// measured is a team with 1,000 files and a command of many delegations.
func measured(b *testing.B, changes bool) (*place, string) {
	b.Helper()
	p := newPlace(b)
	home := p.home.Dir
	name := "still"
	script := "true"
	if changes {
		name = "moving"
		script = "echo line >> made.txt"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "---\ncommand: %s\ndescription: Many steps\nworktree: {per: run}\n---\n\n"+
		"## Workflow Execution\n\n", name)
	for i := range delegations {
		fmt.Fprintf(&text,
			"### Step %d: Step\n\n```yaml step\nid: s%d\ndelegate: maker\n```\n\n", i+1, i)
	}
	write(b, filepath.Join(home, ".tercet/commands", name+".md"), text.String())
	write(b, filepath.Join(home, "maker.sh"), script+"\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	const files = 1000
	for i := range files {
		write(b, filepath.Join(home, fmt.Sprintf("src/%d/%d.txt", i%40, i)), fmt.Sprint(i))
	}
	git(b, home, "add", "-A")
	git(b, home, "commit", "-q", "-m", "many files")
	git(b, home, "push", "-q", "origin", "HEAD")
	return p, "/" + name
}
