package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNobodyAsksForAccounts: the name of who runs the program is known without the system's service
// for names, which package os/user asks where the program is built with C.
func TestNobodyAsksForAccounts(t *testing.T) {
	t.Parallel()

	out, err := exec.Command(
		"go", "list", "-f",
		`{{.ImportPath}} {{join .Imports " "}}`,
		"tercet/...",
	).Output()
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " os/user") {
			t.Errorf("%s imports os/user", strings.Fields(line)[0])
		}
	}
}
