package project_test

import (
	"testing"

	"tercet/formats"
	"tercet/project"
)

// TestLastBytes: the end of a transcript begins with a whole line. Of a line that is longer than
// what may be shown it is the end.
func TestLastBytes(t *testing.T) {
	t.Parallel()
	const said = "(what came before is left out)\n"
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"one\ntwo", 7, "one\ntwo"},
		{"one\ntwo\nthree", 8, said + "three"},
		{"one long line", 4, said + "line"},
		{"one long line\n", 5, said + "line\n"},
		{"ééé", 3, said + "é"},
		{"", 0, ""},
	} {
		if got := project.LastBytes(tt.text, tt.most); got != tt.want {
			t.Errorf("LastBytes(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// TestNoWorkspace: what reads state says that there is none.
func TestNoWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := project.Open(t.Context(), dir, false, host(t, dir, project.Unattended{}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())

	_, err = p.CheckState(t.Context())
	if formats.CodeOf(err) != formats.CodeNoWorkspace {
		t.Errorf("CheckState = %v, want NO_WORKSPACE", err)
	}
	_, err = p.History(t.Context(), 1)
	if formats.CodeOf(err) != formats.CodeNoWorkspace {
		t.Errorf("History = %v, want NO_WORKSPACE", err)
	}
}
