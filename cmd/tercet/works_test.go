package main

import (
	"fmt"
	"os/exec"
)

// works is what a script asks of the machine: [bubblewrap] holds where it makes a container for us.
func works(name string) (bool, error) {
	if name != "bubblewrap" {
		return false, fmt.Errorf("expected the condition bubblewrap, got %q", name)
	}
	return exec.Command("bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true").Run() == nil, nil
}
