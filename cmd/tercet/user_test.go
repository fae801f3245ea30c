package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNobodyAsksForAccounts: the name of who runs the program is known without the system's service for names, which package
// os/user asks where the program is built with C.
func TestNobodyAsksForAccounts(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "tercet/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " os/user") {
			t.Errorf("%s imports os/user", strings.Fields(line)[0])
		}
	}
	const accounts = "root:x:0:0:root:/root:/bin/sh\n# a remark\n\nann:x:1000:1000:Ann:/home/ann:/bin/sh\nno:x:100:1::/:\n"
	for uid, want := range map[int]string{0: "root", 1000: "ann", 100: "no", 4711: "4711"} {
		if got := accountName(accounts, uid); got != want {
			t.Errorf("accountName(%d) = %q, want %q", uid, got, want)
		}
	}
}
