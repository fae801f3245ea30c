package nats_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"tercet/internal/testkit"
)

// TestHubMemory: a hub with 500 runs uses at most 64 MB.
func TestHubMemory(t *testing.T) {
	t.Parallel()

	const most = 64 << 20

	runs := 100
	if testkit.Deep() {
		runs = 500
	}

	p := newPlace(t)
	p.addTasks(runs)
	list := strings.Fields(p.submit(fmt.Sprintf("/make 1-%d", runs)))
	if len(list) != runs {
		t.Fatalf("%d runs were begun, want %d", len(list), runs)
	}

	for range 10 {
		p.onTeam(0, "--json", "status")
	}

	got := p.own.memory(t)
	t.Logf("the hub uses %.1f MB with %d runs", float64(got)/(1<<20), runs)

	if got > most {
		t.Errorf("the hub uses %d bytes with %d runs, want at most %d", got, runs, most)
	}
}

// addTasks adds tasks at the home until there are n.
func (p *place) addTasks(n int) {
	p.t.Helper()
	const there = 3 // in each place
	for from := there + 1; from <= n; from++ {
		p.run(0, "owner", "home", "tercet", "task", "add", fmt.Sprint("Task ", from))
	}
}

// memory is what a process has in memory, in bytes.
func (p *process) memory(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}

	return kb << 10
}
