package project_test

import (
	"strings"
	"testing"

	"tercet/formats"
	"tercet/project"
)

// TestExplain: an outline says what a line would do and what it lacks, and nothing runs.
func TestExplain(t *testing.T) {
	t.Parallel()
	p := openShip(t)

	s, err := p.Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	o, err := s.Explain(t.Context(), project.Line{Raw: "/plan 7"})
	if err != nil || o.Page.Missing == nil || !strings.Contains(o.Page.Text(), "planner") {
		t.Errorf("Explain = %+v, %v, want its agents, and that task 7 is missing", o, err)
	}

	_, err = s.Explain(t.Context(), project.Line{Raw: "/plan seven"})
	if formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("a line that does not fit = %v, want USAGE", err)
	}

	list, err := p.Runs(project.Filter{})
	if err != nil || len(list) != 0 {
		t.Errorf("runs = %v, %v, want none", list, err)
	}
}
