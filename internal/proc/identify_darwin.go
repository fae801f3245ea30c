package proc

import (
	"strconv"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of sys/proc.h

// startOf returns when pid started and whether it runs; a zombie does not.
func startOf(pid int) (string, bool, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", false, err
	}
	t := k.Proc.P_starttime
	return strconv.FormatInt(t.Nano(), 10), k.Proc.P_stat != zombie, nil
}

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
