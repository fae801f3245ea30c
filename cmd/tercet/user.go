package main

import (
	"cmp"
	"os"
	"strconv"
	"strings"
)

// userName is the name of who runs the program, as the audit log and the lock have it. Where no variable tells it, it
// is read from the file of accounts and never asked of the system, which may open a connection to whoever keeps its
// accounts.
func userName() string {
	name := cmp.Or(os.Getenv("USER"), os.Getenv("LOGNAME"))
	if name != "" {
		return name
	}
	accounts, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	return accountName(string(accounts), os.Getuid())
}

// accountName finds the name of a user in a file of accounts; one that it does not have is told by number.
func accountName(accounts string, uid int) string {
	number := strconv.Itoa(uid)
	for line := range strings.Lines(accounts) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == number {
			return f[0]
		}
	}
	return number
}
