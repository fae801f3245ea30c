package project_test

import (
	"testing"

	"tercet/project"
	"tercet/router"
)

// TestWithFlags: what a line says behind its command counts, and what concerns the screen is left
// out.
func TestWithFlags(t *testing.T) {
	t.Parallel()
	p := open(t, project.Unattended{})
	s, err := p.Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	route, err := s.Route(router.Line{
		Raw: "/plan 1 --dry-run --yes --new --if-needed --runner offline --model=m " +
			"--parallel 3 --json",
	})
	if err != nil {
		t.Fatal(err)
	}

	behind, err := s.EngineFlags(route)
	if err != nil {
		t.Fatal(err)
	}

	want := project.Options{
		DryRun:   true,
		Yes:      true,
		New:      true,
		IfNeeded: true,
		Runner:   "offline",
		Model:    "m",
		Parallel: "3",
	}

	if got := (project.Options{}).WithFlags(behind); got != want {
		t.Errorf("WithFlags(%q) = %+v, want %+v", behind, got, want)
	}
}
