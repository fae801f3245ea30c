//go:build linux && (amd64 || arm64)

package nats_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tercet/formats"
	"tercet/internal/testkit/faults"
)

// faultyName is a program that starts another one whose file calls a test answers.
const faultyName = "faulty"

// otherPrograms are what this test's program is under another name. Each returns an exit code.
var otherPrograms = map[string]func() int{tapName: runTap, faultyName: runFaulty}

// runFaulty enters the filter of a test and becomes the program that its arguments name.
func runFaulty() int {
	const connection = 3
	if err := faults.Enter(os.NewFile(connection, "faults"), true); err != nil {
		panic(err)
	}
	program, err := exec.LookPath(os.Args[1])
	if err != nil {
		panic(err)
	}
	panic(syscall.Exec(program, os.Args[1:], os.Environ()))
}

// disk is the disk of a hub. While it is full, nothing new gets on it.
type disk struct {
	full atomic.Bool
	// fill makes it full at a call; nil: at none.
	fill func(faults.Call) bool
}

// refuses reports whether a call fails.
func (d *disk) refuses(c faults.Call) bool {
	if d.fill != nil && d.fill(c) {
		d.full.Store(true)
	}
	switch c.Name {
	case "write", "mkdirat", "linkat":
		return d.full.Load()
	case "openat":
		return d.full.Load() && c.Changes()
	}
	return false
}

// hubOn starts the hub of the team anew, on a disk.
func (p *place) hubOn(d *disk) {
	p.t.Helper()
	p.hubUnder(faults.Plan{
		Only:  d.refuses,
		At:    1,
		Errno: unix.ENOSPC,
		Again: func(faults.Call) bool { return true },
	})
	p.untilReady()
}

// hubUnder starts the hub of the team anew, with its file calls answered by a plan.
func (p *place) hubUnder(plan faults.Plan) {
	p.t.Helper()
	address := p.address()

	p.own.kill()

	test, program, err := faults.Pair()
	if err != nil {
		p.t.Fatal(err)
	}

	cmd := p.command("owner", "home", p.under(faultyName), "tercet-hub", "--listen", address,
		"--dead-after", "3s")
	cmd.ExtraFiles = []*os.File{program}
	hub := p.launch(cmd)
	p.own = hub
	program.Close()

	watch, err := faults.Accept(test)
	if err != nil {
		p.t.Fatal(err)
	}

	plan.Under, err = filepath.EvalSymlinks(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}

	served := make(chan error, 1)
	go func() {
		_, err := watch.Serve(cmd.Process, plan)
		served <- err
	}()

	p.t.Cleanup(func() {
		hub.kill()
		if err := <-served; err != nil {
			p.t.Error(err)
		}
	})
}

// TestTheDiskOfTheHubIsFull: runs stop at their next line, with the reason in the status. Once
// there is space they go on by themselves, and what was done is not done again.
func TestTheDiskOfTheHubIsFull(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	p := newPlace(t)
	d := &disk{}

	p.hubOn(d)
	p.write("hold", "")
	p.worker("one")

	run := p.submit("/make 1")
	p.untilHeld(run)

	d.full.Store(true)
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}

	p.untilFull(run)
	out := p.run(formats.ExitFor(formats.CodeIO), "anna", ".", "tercet", "--on", "team", "/make",
		"2")
	if !strings.Contains(out, "no space left on device") {
		t.Errorf("a line for a full disk:\n%s", out)
	}

	d.full.Store(false)

	p.onTeam(0, "wait", run)
	if got := p.read("home/made.txt"); got != "line by one\nline by one\n" {
		t.Errorf("published: %q, want each line once", got)
	}

	p.onTeam(0, "verify", run)
	p.onTeam(0, "--wait", "/make", "2")
}

// untilFull waits until a run waits for the disk of the hub.
func (p *place) untilFull(run string) {
	p.t.Helper()
	until(p.t, "the reason", func() bool {
		for _, r := range p.status().Runs {
			if r.Run == run {
				return r.State == "queued" &&
					strings.Contains(r.Why, "the home cannot write to its disk") &&
					strings.Contains(r.Why, "no space left on device")
			}
		}
		return false
	})
}

// TestNoHalfDocument: the disk of the hub is full when a document is there and the line that
// announces it is not. The home has neither, and both once there is space, once.
func TestNoHalfDocument(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	p := newShipped(t)

	staged := false
	once := false
	d := &disk{fill: func(c faults.Call) bool {
		staged = staged || filepath.Base(c.To) == "staged.json"
		hit := staged && !once && c.Name == "write" && filepath.Base(c.Path) == "journal.jsonl"
		once = once || hit
		return hit
	}}

	p.hubOn(d)
	p.worker("one")
	run := p.begin(0)

	p.untilFull(run)
	if n := p.reports(); n != 0 {
		t.Errorf("%d reports are at the home without their lines", n)
	}

	d.full.Store(false)
	p.finish(0, run)
	if n := p.reports(); n != 1 {
		t.Errorf("%d reports are at the home, want one", n)
	}

	p.run(0, "owner", "home", "tercet", "state", "verify")
}

// reports is how many reports the home has of the task of /research.
func (p *place) reports() int {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.dir, "home/.tercet/specs/004_*/reports/*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(found)
}

// TestTheHubDiesAtAWrite: it is killed while /research runs, before a change of its disk, such as
// the line that announces a document and the document itself. Back again, the run ends with one
// report.
func TestTheHubDiesAtAWrite(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	// behind the n-th change with this word in its path, the first one with that word
	type moment struct {
		n            int
		behind, word string
	}

	moments := []moment{{1, "staged.json", "journal.jsonl"}, {1, "staged.json", "reports/"}}

	if *killStep > 0 {
		moments = nil
		const changes = 120 // more than there are
		for n := 1; n <= changes; n += *killStep {
			moments = append(moments, moment{n, "home/.tercet/", "home/.tercet/"})
		}
	}
	for i, at := range moments {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { // the name is in the paths
			t.Parallel()
			p := newShipped(t)

			begun := atomic.Bool{}
			seen := 0
			address := p.address()

			p.hubUnder(faults.Plan{At: 1, Only: func(c faults.Call) bool {
				if !begun.Load() || !c.Changes() {
					return false
				}
				path := c.Path + " " + c.To
				if seen >= at.n && strings.Contains(path, at.word) {
					return true
				}
				if strings.Contains(path, at.behind) {
					seen++
				}
				return false
			}})

			p.untilReady()

			p.worker("one")
			run := p.begin(0)
			begun.Store(true)

			until(t, "the death of the hub, or the end of the run", func() bool {
				return p.own.ended() || p.endOf(run)
			})

			if !p.own.ended() {
				if *killStep == 0 {
					t.Error("the hub did not die")
				}
				p.own.kill()
			}

			p.own = p.hub(address)
			p.untilReady()
			p.finish(0, run)

			if n := p.reports(); n != 1 {
				t.Errorf("%d reports are at the home, want one", n)
			}

			p.run(0, "owner", "home", "tercet", "state", "verify")
		})
	}
}

// endOf reports whether the journal of a run at the home has its end.
func (p *place) endOf(run string) bool {
	return strings.Contains(p.read("home/.tercet/runs/"+run+"/journal.jsonl"), `"run_finished"`)
}
