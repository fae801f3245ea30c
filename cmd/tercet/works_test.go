package main

import (
	"fmt"
	"os/exec"
)

// works is what a script asks of the machine: [bubblewrap] holds where it makes a container for us,
// [landlock] where the kernel has it, [network] where others could reach the machine.
func works(name string) (bool, error) {
	switch name {
	case "bubblewrap":
		err := exec.Command(
			"bwrap", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
			"true",
		).Run()
		return err == nil, nil
	case "landlock":
		return landlocked(), nil
	case "network":
		return ownAddress() != "", nil
	}
	return false, fmt.Errorf("expected the condition bubblewrap, landlock or network, got %q", name)
}
