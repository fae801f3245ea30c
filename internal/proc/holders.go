package proc

// LockHolder is a process that holds a lock on a file.
type LockHolder struct {
	PID     int
	Command string // its command line; empty if it cannot be read

	supervisor int
}

// IsWorker reports whether the process descends from a supervisor.
func (h LockHolder) IsWorker() bool {
	return h.supervisor != 0
}
