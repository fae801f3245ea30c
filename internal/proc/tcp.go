package proc

// TCPCaller is what the system tells of the process at the other end of a TCP connection.
type TCPCaller int

const (
	// CallerUnknown is on another machine, or this system does not tell.
	CallerUnknown TCPCaller = iota
	// CallerHidden is on this machine, and does not show which files it has open.
	CallerHidden
	// CallerSupervised has a supervisor among its ancestors.
	CallerSupervised
	// CallerFree has none.
	CallerFree
)
