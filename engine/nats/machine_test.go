package nats_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tercet/formats"
)

// TestAMachineDies in the middle of an agent's work: the worker has a PID namespace of its own, of
// which the first process is killed. Nothing of it is left, and another worker finishes the run.
func TestAMachineDies(t *testing.T) {
	t.Parallel()
	machine := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Getuid() != 0 {
		machine = append(machine, "--user", "--map-root-user")
	}
	out, err := exec.Command(machine[0], append(machine[1:], "true")...).CombinedOutput()
	if err != nil {
		t.Skipf("this machine gives no PID namespace: %v: %s", err, out)
	}
	p := newPlace(t)
	p.write("hold", "")
	args := slices.Concat(machine, []string{"tercet", "worker"}, p.membership("one"))
	outer := p.start("one", "one", args...)
	run := p.submit("/make 1")
	p.untilHeld(run)

	parent := strconv.Itoa(outer.cmd.Process.Pid)
	first, err := os.ReadFile("/proc/" + parent + "/task/" + parent + "/children")
	if err != nil {
		t.Skipf("this machine does not list the children of a process: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(first)))
	if err != nil {
		t.Fatal(err)
	}
	if n := p.processes("one"); n < 4 {
		t.Fatalf("%d processes on the machine, want those of the worker, the run and the agent", n)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-outer.done
	until(t, "the end of all on the machine", func() bool { return p.processes("one") == 0 })

	p.worker("two")
	p.onTeam(0, "wait", run)
	if got := p.read("home/made.txt"); got != "line by one\nline by two\n" {
		t.Errorf("published: %q, want a line of each worker", got)
	}
	results := map[string]int{}
	for _, r := range p.journal(run) {
		if r.Type == formats.EntryDelegationResult {
			results[r.Step]++
		}
	}
	for step, n := range results {
		if n != 1 {
			t.Errorf("step %s has %d results", step, n)
		}
	}
	if results["one#1"] != 1 || results["two#1"] != 1 {
		t.Errorf("results: %v, want one of each step", results)
	}
	said := p.onTeam(0, "verify", run)
	if !strings.Contains(said, "identical") {
		t.Errorf("verify: %s", said)
	}
}

// processes counts those that run with the folder of a user as home.
func (p *place) processes(user string) (n int) {
	p.t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		p.t.Fatal(err)
	}

	home := "HOME=" + filepath.Join(p.dir, "HOME-"+user) + "\x00"
	for _, name := range list {
		env, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(env), home) {
			n++
		}
	}

	return n
}
