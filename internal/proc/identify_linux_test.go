package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tercet/internal/proc"
)

func TestFactsAndAlive(t *testing.T) {
	t.Parallel()
	me, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if me.PID != os.Getpid() || me.Start == "" || me.BootID == "" || me.Host == "" {
		t.Errorf("Facts(self) = %+v, want every field", me)
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := proc.Identify(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(p proc.Proc, f func(*proc.Proc)) proc.Proc {
		f(&p)
		return p
	}
	tests := []struct {
		name string
		p    proc.Proc
		want bool
	}{
		{"self", me, true},
		{"child", c, true},
		{"reused number", edit(me, func(p *proc.Proc) {
			p.Start = "1"
		}), false},
		{"other boot", edit(me, func(p *proc.Proc) {
			p.BootID = "other"
		}), false},
		{"other host", edit(me, func(p *proc.Proc) {
			p.Host = "elsewhere.invalid"
			p.PID = 1 << 30
		}), true},
		{"no such number", edit(me, func(p *proc.Proc) {
			p.PID = 1 << 30
		}), false},
	}
	for _, tt := range tests {
		if got := proc.IsAlive(tt.p); got != tt.want {
			t.Errorf("Alive(%s) = %v, want %v", tt.name, got, tt.want)
		}
	}

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("Wait of a killed child = nil, want an error")
	}
	if proc.IsAlive(c) {
		t.Error("Alive(ended child) = true, want false")
	}
	if _, err := proc.Identify(1 << 30); err == nil {
		t.Error("Facts(no such process) = nil, want an error")
	}
}

func FuzzParseStat(f *testing.F) {
	const tail = " S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1"
	for _, s := range []string{
		"42 (sh)" + tail,
		"42 (a) b\n(c))" + tail,
		"42 (sh) S 1",
		"",
		"42 sh",
		"42 (sh)" + " S 1 42 x 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sid, start, err := proc.ParseStat(b)
		if err == nil && start == "" {
			t.Errorf("ParseStat(%q) = %d, %q, want a start time or an error", b, sid, start)
		}
		if err != nil && (sid != 0 || start != "") {
			t.Errorf("ParseStat(%q) = %d, %q beside %v, want nothing", b, sid, start, err)
		}
	})
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	in := "42 (a) b\n(c)) S 1 42 43 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1"
	if sid, start, err := proc.ParseStat([]byte(in)); sid != 43 || start != "777" || err != nil {
		t.Errorf("ParseStat(%q) = %d, %q, %v, want 43, 777", in, sid, start, err)
	}
}

// TestHuntLooksAgain: a process loses its parent after the list of a round was made, so that this
// round finds nothing to kill. It must not be the last one.
func TestHuntLooksAgain(t *testing.T) {
	t.Parallel()
	hasSetsid(t)
	proc.Adopt()
	dir := t.TempDir()
	parent := exec.CommandContext(
		t.Context(), "sh", "-c",
		`env -i setsid sh -c 'echo $$ > new; mv new pid; sleep 60' & wait`,
	)
	parent.Dir = dir
	parent.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := parent.Process.Pid
	var child []byte
	for err := os.ErrNotExist; err != nil; child, err = os.ReadFile(filepath.Join(dir, "pid")) {
		<-time.After(time.Millisecond)
	}

	round := 0
	proc.Hunt(proc.Started{Temp: dir}, func() []int {
		round++
		switch round {
		case 1:
			return []int{pid}
		case 2: // it is dead by now, and its child has moved
			for state, err := proc.Identify(pid); err == nil && proc.IsAlive(state); {
				<-time.After(time.Millisecond)
			}
			return []int{pid}
		default:
			return proc.ChildrenOf("/proc/self")
		}
	})
	_ = parent.Wait() // the hunt has reaped it
	gone(t, string(child))
}

// TestFolderAloneOwnsNobody: a record of a folder has no process, and session 0 is not its session.
// The kernel's own processes are in it; within a container those who were sent in from outside are.
func TestFolderAloneOwnsNobody(t *testing.T) {
	t.Parallel()
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	const kernel = 2 // a signal does nothing to it
	n := proc.Hunt(proc.Started{}, func() []int {
		return []int{kernel, child.Process.Pid}
	})
	if n != 0 {
		t.Errorf("Hunt(a folder alone) killed %d, want 0", n)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // it was killed
}

// TestOrphans: a git whose starter is gone is one, whoever has its number now. Those of the living
// are not, nor is what a git starts. Other projects are not asked for.
func TestOrphans(t *testing.T) {
	t.Parallel()
	own, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	here := "TERCET_ROOT=" + dir
	for _, tt := range []struct {
		name, root, owner string
		want              int
	}{
		{"git", here, fmt.Sprintf("%d/%s", own.PID, own.Start), 0},
		{"git", here, fmt.Sprintf("%d/1%s", own.PID, own.Start), 1},
		{"git", here, "4194305/1", 1}, // more than a number can be
		{"git", here, "1", 1},
		{"git", here, "x/1", 0},
		{"git", here + "x", "4194305/1", 0},
		{"ssh", here, "4194305/1", 0},
	} {
		name := filepath.Join(dir, tt.name)
		if err := os.Symlink(sleep, name); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		child := exec.CommandContext(t.Context(), name, "60")
		child.Env = []string{"TERCET_OWNER=" + tt.owner, tt.root}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		got := proc.OrphanedGits(here)
		if len(got) != tt.want || tt.want > 0 && got[0] != child.Process.Pid {
			t.Errorf("Orphans() = %d of %s with %q, want %d", got, tt.name, child.Env, tt.want)
		}
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = child.Wait() // it was killed
		if got := proc.OrphanedGits(here); len(got) > 0 {
			t.Errorf("Orphans() = %d, want none after the end", got)
		}
	}
}
