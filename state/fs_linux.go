package state

import "os"

// pidNamespace identifies the PID namespace of this process.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}
