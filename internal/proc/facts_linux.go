package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// stat is what this package reads of /proc/PID/stat.
type stat struct {
	state   string
	parent  int
	session int
	start   string // in clock ticks since boot
}

// parseStat reads one line of /proc/PID/stat. The name of the program stands in parentheses and may
// hold spaces, parentheses and line ends, so everything is counted from the last closing one.
func parseStat(pid int, b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, oddStat(pid, "a name in parentheses")
	}

	f := strings.Fields(string(b[i+1:]))
	const (
		parent  = 4 - 3
		session = 6 - 3
		start   = 22 - 3
	) // numbered from 1 in proc(5); the first one here is number 3
	if len(f) <= start {
		return stat{}, oddStat(pid, "22 fields")
	}

	sid, err := strconv.Atoi(f[session])
	if err != nil {
		return stat{}, oddStat(pid, "a number as session")
	}
	ppid, err := strconv.Atoi(f[parent])
	if err != nil {
		return stat{}, oddStat(pid, "a number as parent")
	}
	return stat{
		state:   f[0],
		parent:  ppid,
		session: sid,
		start:   f[start],
	}, nil
}

func oddStat(pid int, want string) error {
	return fmt.Errorf("process %d: expected %s in its process table entry", pid, want)
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, b)
}

// startOf returns when pid started and whether it runs; a zombie does not.
func startOf(pid int) (string, bool, error) {
	st, err := readStat(pid)
	return st.start, st.state != "Z" && st.state != "X", err
}

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})
