package nats_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// version gives a tercet that says it has another version.
func (p *place) version(number string) (program string) {
	p.t.Helper()
	name := "tercet-" + number
	p.write(name, fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && { echo tercet %s; exit; }\n"+
		"exec tercet \"$@\"\n", number))
	program = filepath.Join(p.dir, name)
	if err := os.Chmod(program, 0o755); err != nil {
		p.t.Fatal(err)
	}
	return program
}

// TestAnUpgrade: the home has a new version while a run is at work with the old one. Hub and status
// say which version waits for whom, no third version takes the run, and a worker of the old one
// that is drained finishes it and takes nothing new.
func TestAnUpgrade(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	old := p.version("0.0.1")
	address := p.address()
	p.own.kill()
	as := func(user, program string, args ...string) *process {
		return p.start(user, user, append([]string{"env", "TERCET_PROGRAM=" + program}, args...)...)
	}
	p.own = p.start("owner", "home", "env", "TERCET_PROGRAM="+old, "tercet-hub", "--listen",
		address,
		"--dead-after", "3s")
	p.untilReady()
	p.write("hold", "")
	p.agree("one", "one")
	one := as("one", old, "tercet-worker", "--name", "one", "--join", p.invite("--worker"))
	run := p.submit("/make 1")
	p.untilHeld(run)
	one.kill()
	p.own.kill()

	p.own = p.hub(address)
	p.untilReady()
	said := p.own.text()
	if !strings.Contains(said,
		"1 run began with tercet 0.0.1, and waits for a worker with it or with") {
		t.Errorf("the hub said:\n%s", said)
	}
	p.agree("two", "two")
	two := as("two", p.version("0.0.2"), "tercet-worker", "--name", "two", "--join",
		p.invite("--worker"))
	until(t, "the reason", func() bool {
		out := p.onTeam(0, "status")
		return strings.Contains(out,
			"worker two: it has tercet 0.0.2, and the run waits for a worker "+
				"with tercet 0.0.1 or tercet ")
	})

	one = as("one", old, "tercet-worker")
	p.untilHeld(run)
	until(t, "the takeover", func() bool {
		return strings.Contains(p.own.text(), "worker one has it")
	})
	p.run(0, "one", "one", "tercet", "worker", "--drain")
	fresh := p.submit("/make 2")
	if err := os.Remove(filepath.Join(p.dir, "hold")); err != nil {
		t.Fatal(err)
	}
	<-one.done
	if !one.cmd.ProcessState.Success() || !strings.Contains(one.text(), "exit 0") {
		t.Errorf("the drained worker said:\n%s", one.text())
	}
	p.onTeam(0, "wait", run)
	if strings.Contains(one.text()+two.text(), fresh) {
		t.Errorf("a worker of an older version took a new run:\n%s\n%s", one.text(), two.text())
	}
	two.kill()
	p.start("two", "two", "tercet", "worker")
	p.onTeam(0, "wait", fresh)
}
