package nats_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"tercet/formats"
)

// A tap stands between a worker and the tercet that it starts. It counts the calls of a run to its
// home, and kills the worker with all that belongs to it at one of them. It is this test's program
// under another name: 'tap' beside the file 'tap.at' with what it is to do, and 'tap.calls', to
// which each run that ends by itself adds its number of calls.
const tapName = "tap"

// The moments at which a tap kills its worker.
const (
	before = "before" // the home gets the call
	after  = "after"  // the home has answered, and before the run knows it
)

// tapPlan says where a tap kills. Its zero value kills nowhere.
type tapPlan struct {
	When string `json:"when"`
	Call int    `json:"call"` // the number of the call in the attempt, from 1
	End  bool   `json:"end"`  // the call with the end of the run instead
}

// plan says what the taps do with the runs that begin from now on.
func (p *place) plan(plan tapPlan) {
	p.t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(tapName+".at", string(text))
}

// underTap starts a worker with a tap.
func (p *place) underTap(name string) *process {
	p.t.Helper()
	args := []string{"env", "TERCET_PROGRAM=" + p.under(tapName), "tercet-worker"}
	return p.start(name, name, append(args, p.membership(name)...)...)
}

// runTap does what a tap does. It returns the exit code of tercet.
func runTap() int {
	program, err := exec.LookPath("tercet")
	if err != nil {
		panic(err)
	}

	if len(os.Args) < 3 || os.Args[1] != "__team" || os.Args[2] == "prepare" {
		panic(syscall.Exec(program, append([]string{"tercet"}, os.Args[1:]...), os.Environ()))
	}

	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}

	run := os.NewFile(uintptr(pair[0]), "run")
	theirs := os.NewFile(uintptr(pair[1]), "worker")
	worker := os.NewFile(3, "connection")
	syscall.CloseOnExec(3)

	cmd := exec.Command(program, os.Args[1:]...)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)

	if err := cmd.Start(); err != nil {
		panic(err)
	}
	theirs.Close()

	go func() {
		for range stop {
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		}
	}()

	calls := tapCalls(run, worker)
	_ = cmd.Wait() // its exit code is passed on

	log, err := os.OpenFile(os.Args[0]+".calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(log, calls)
	}
	if err != nil {
		panic(err)
	}

	return cmd.ProcessState.ExitCode()
}

// tapCalls passes calls on until the run ends, and counts them. The first one, which takes the run,
// does not count.
func tapCalls(run, worker io.ReadWriter) (calls int) {
	data, err := os.ReadFile(os.Args[0] + ".at")
	if err != nil {
		panic(err)
	}

	var plan tapPlan
	if err := json.Unmarshal(data, &plan); err != nil {
		panic(err)
	}

	asked := bufio.NewReader(run)
	answered := bufio.NewReader(worker)
	for {
		line, err := asked.ReadBytes('\n')
		if err != nil {
			return calls
		}

		var call struct {
			Append  *formats.SharedLines
			History any
		}
		if err := json.Unmarshal(line, &call); err != nil {
			panic(err)
		}

		if call.History == nil {
			calls++
		}

		hit := plan.Call > 0 && plan.Call == calls && call.History == nil ||
			plan.End && call.Append != nil &&
				bytes.Contains(call.Append.Lines, []byte(formats.EntryRunFinished))

		if hit && plan.When == before {
			die()
		}

		if _, err := worker.Write(line); err != nil {
			panic(err)
		}

		answer, err := answered.ReadBytes('\n')
		if err != nil {
			panic(err)
		}
		if hit {
			die()
		}
		if _, err := run.Write(answer); err != nil {
			panic(err)
		}
	}
}

// die ends the group of this process: the worker and what it started.
func die() {
	_ = syscall.Kill(0, syscall.SIGKILL) // nothing comes back
	select {}
}

// tapped are the numbers of calls of the runs that have ended under a tap, in order.
func (p *place) tapped() (list []int) {
	p.t.Helper()
	for word := range strings.FieldsSeq(p.read(tapName + ".calls")) {
		var n int
		if _, err := fmt.Sscan(word, &n); err != nil {
			p.t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}
