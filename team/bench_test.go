package team_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/project"
	"tercet/router"
	"tercet/team"
)

// A measured run starts few workers or many. What a delegation costs is the difference, so that the
// beginning and the end of a run do not count: in a team these are a fetch, a push and a merge.
const (
	fewDelegations  = 20
	manyDelegations = 120
)

// BenchmarkDelegation measures what a delegation costs on one machine, and in a team whose home is
// reached in memory: with a worktree that changes each time, which makes a snapshot, and without.
func BenchmarkDelegation(b *testing.B) {
	for _, changes := range []bool{false, true} {
		name := fmt.Sprintf("changes=%v", changes)
		b.Run("alone/"+name, func(b *testing.B) {
			p := measured(b, changes)
			// the commands were not there when the home was opened
			alone := openProject(b, p.home.Dir, p.home.Host)
			perDelegation(b, func(line string) {
				s, err := alone.Session(project.Options{New: true})
				if err != nil {
					b.Fatal(err)
				}
				ret, err := s.Start(b.Context(), router.Line{Raw: line})
				check(b, ret, err)
			})
		})
		b.Run("team/"+name, func(b *testing.B) {
			p := measured(b, changes)
			k := p.keeper(b, 0)
			clone := p.clone(b, "one", &team.Client{
				Call: func(ctx context.Context, call []byte) ([]byte, error) {
					return team.Handle(ctx, k, call), nil
				},
			})
			perDelegation(b, func(line string) {
				job, err := k.Begin(line, false)
				if err != nil {
					b.Fatal(err)
				}
				ret, err := clone.TakeRun(b.Context(), job.Run, "t"+job.Run, project.Options{})
				check(b, ret, err)
			})
		})
	}
}

// perDelegation runs both lines, and reports what a delegation cost.
func perDelegation(b *testing.B, run func(line string)) {
	b.Helper()
	var few, many time.Duration
	for b.Loop() {
		start := time.Now()
		run("/few")
		middle := time.Now()
		run("/many")
		few += middle.Sub(start)
		many += time.Since(middle)
	}
	each := (many - few) / (manyDelegations - fewDelegations)
	b.ReportMetric(float64(each.Microseconds())/1000/float64(b.N), "ms/delegation")
}

func check(b *testing.B, ret formats.Return, err error) {
	b.Helper()
	if err != nil || ret.Status != formats.StatusCompleted {
		b.Fatalf("the run ended with %+v, %v", ret, err)
	}
}

// measured is a team with 1,000 files and two commands, of few delegations and of many.
func measured(b *testing.B, changes bool) *place {
	b.Helper()
	p := newPlace(b)
	home := p.home.Dir
	script := "true"
	if changes {
		script = "echo line >> made.txt"
	}
	for name, delegations := range map[string]int{"few": fewDelegations, "many": manyDelegations} {
		var text strings.Builder
		fmt.Fprintf(&text, "---\ncommand: %s\ndescription: Many steps\nworktree: {per: run}\n"+
			"limits: {steps: 1000}\n---\n\n## Workflow Execution\n\n", name)
		for i := range delegations {
			fmt.Fprintf(&text, "### Step %d: Step\n\n", i+1)
			fmt.Fprintf(&text, "```yaml step\nid: s%d\ndelegate: maker\n```\n\n", i)
		}
		write(b, filepath.Join(home, ".tercet/commands", name+".md"), text.String())
	}
	write(b, filepath.Join(home, "maker.sh"), script+"\n"+
		`echo '{"status":"completed","summary":"done","artifacts":[],"errors":[]}'`+"\n")
	const files = 1000
	for i := range files {
		write(b, filepath.Join(home, fmt.Sprintf("src/%d/%d.txt", i%40, i)), fmt.Sprint(i))
	}
	git(b, home, "add", "-A")
	git(b, home, "commit", "-q", "-m", "many files")
	git(b, home, "push", "-q", "origin", "HEAD")
	return p
}
