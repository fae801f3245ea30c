package state

import "os"

// pidNamespace names the namespace in which this process's id counts.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}
