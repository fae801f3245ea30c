package proc

import "os"

// Identify identifies the process pid, which must exist.
func Identify(pid int) (Proc, error) {
	host, err := os.Hostname()
	if err != nil {
		return Proc{}, err
	}
	start, _, err := startOf(pid)
	if err != nil {
		return Proc{}, err
	}
	return Proc{
		PID:    pid,
		Start:  start,
		BootID: bootID(),
		Host:   host,
	}, nil
}

// IsAlive reports whether p still runs. A process of another host counts as alive, because it
// cannot be seen. Where the system gives no start time, any process with the number counts.
func IsAlive(p Proc) bool {
	host, err := os.Hostname()
	if err != nil || host != p.Host {
		return true
	}
	if p.BootID != "" && bootID() != p.BootID {
		return false
	}
	start, running, err := startOf(p.PID)
	return err == nil && running && (p.Start == "" || start == p.Start)
}
