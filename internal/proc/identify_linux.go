package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// stat is the part of /proc/PID/stat that this package uses.
type stat struct {
	state   string
	parent  int
	session int
	start   string // in clock ticks since boot
}

// parseStat parses /proc/PID/stat. The program name is in parentheses and may contain spaces,
// parentheses and line ends, so fields are counted from the last closing parenthesis.
func parseStat(pid int, b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, badStat(pid, "a name in parentheses")
	}

	f := strings.Fields(string(b[i+1:]))
	const (
		parent  = 4 - 3
		session = 6 - 3
		start   = 22 - 3
	) // numbered from 1 in proc(5); f[0] is number 3
	if len(f) <= start {
		return stat{}, badStat(pid, "22 fields")
	}

	sid, err := strconv.Atoi(f[session])
	if err != nil {
		return stat{}, badStat(pid, "a number as session")
	}
	ppid, err := strconv.Atoi(f[parent])
	if err != nil {
		return stat{}, badStat(pid, "a number as parent")
	}
	return stat{
		state:   f[0],
		parent:  ppid,
		session: sid,
		start:   f[start],
	}, nil
}

func badStat(pid int, want string) error {
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
