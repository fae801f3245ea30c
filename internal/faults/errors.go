package faults

// UnavailableError says why calls cannot be watched on this system.
type UnavailableError struct{ Why string }

// Error gives the reason.
func (e *UnavailableError) Error() string { return "no system call notifications: " + e.Why }
