package git

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// records splits output whose records end with NUL.
func records(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

func parseLog(out []byte) ([]Commit, error) {
	const width = 4
	var list []Commit
	for f := fields(out); len(f) > 0; {
		hash, ok := strings.CutPrefix(f[0], commitMark)
		if !ok || len(f) < width {
			return nil, badOutput("log", "four fields a commit", strconv.Itoa(len(f))+" fields")
		}
		date, err := time.Parse(time.RFC3339, f[2])
		if err != nil && f[2] != "" { // git omits a date that it cannot parse
			return nil, badOutput("log", "a date", f[2])
		}
		c := Commit{
			Hash:    hash,
			Short:   f[1],
			Date:    date,
			Subject: f[3],
		}

		f = f[width:]
		if len(f) > 0 {
			f[0] = strings.TrimPrefix(f[0], "\n") // separates a commit from its files
		}
		for ; len(f) > 0 && !strings.HasPrefix(f[0], commitMark); f = f[1:] {
			if f[0] != "" {
				c.Files = append(c.Files, f[0])
			}
		}
		list = append(list, c)
	}

	return list, nil
}

// commitMark begins a commit in a log with names: no path begins with it.
const commitMark = "/"

// fields is like records, for lists in which the last field of the last record may be empty.
func fields(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func parseStatus(out []byte) ([]Entry, error) {
	var list []Entry
	recs := records(out)
	for i := 0; i < len(recs); i++ {
		rec := recs[i]
		if len(rec) < 4 || rec[2] != ' ' {
			return nil, badOutput("status", "two letters, a space and a path", rec)
		}
		e := Entry{Code: rec[:2], Path: rec[3:]}
		if strings.ContainsAny(e.Code, "RC") {
			i++
			if i == len(recs) || recs[i] == "" {
				return nil, badOutput("status", "where it came from", rec)
			}
			e.Orig = recs[i]
		}
		list = append(list, e)
	}
	return list, nil
}

func parseNumstat(out []byte) ([]Stat, error) {
	var list []Stat
	for _, rec := range records(out) {
		bad := badOutput("diff", "added, deleted and a path", rec)
		f := strings.SplitN(rec, "\t", 3)
		if len(f) != 3 || f[2] == "" {
			return nil, bad
		}
		if f[0] == "-" && f[1] == "-" { // a binary file
			f[0] = "0"
			f[1] = "0"
		}
		added, err := strconv.ParseUint(f[0], 10, 31)
		deleted, deletedErr := strconv.ParseUint(f[1], 10, 31)
		if err != nil || deletedErr != nil {
			return nil, bad
		}
		list = append(list, Stat{f[2], int(added), int(deleted)})
	}
	return list, nil
}

// parseWorktrees parses `worktree list --porcelain -z`: lines that end with NUL, and an empty one
// after each worktree.
func parseWorktrees(out []byte) ([]Worktree, error) {
	var list []Worktree
	open := false
	for _, rec := range fields(out) {
		if rec == "" {
			open = false
			continue
		}
		word, value, _ := strings.Cut(rec, " ")
		if word == "worktree" {
			list = append(list, Worktree{Path: value})
			open = true
			continue
		}
		if !open {
			return nil, badOutput("worktree list", "worktree and a path", rec)
		}
		w := &list[len(list)-1]
		switch word {
		case "HEAD":
			w.Head = value
		case "branch":
			w.Branch = strings.TrimPrefix(value, branchPrefix)
		case "bare":
			w.Bare = true
		}
	}

	return list, nil
}

// CheckBranch rejects a name that git would refuse for a branch or take for an option.
func CheckBranch(name string) error {
	if !isBranchName(name) {
		return badName("branch name", name)
	}
	return nil
}

func isBranchName(name string) bool {
	switch {
	case name == "" || name == "@" || name == "HEAD" || len(name) > 200:
		return false
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, branchPrefix):
		return false
	case strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/"):
		return false
	case strings.HasSuffix(name, "."):
		return false
	case strings.Contains(name, "..") || strings.Contains(name, "//"):
		return false
	case strings.Contains(name, "@{") || strings.ContainsAny(name, ` ~^:?*[\`):
		return false
	case strings.ContainsFunc(name, unicode.IsControl):
		return false
	}

	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// checkRev rejects a revision that git could take for anything but one commit.
func checkRev(revs ...string) error {
	for _, rev := range revs {
		if rev == "" || strings.HasPrefix(rev, "-") || strings.HasPrefix(rev, "^") ||
			strings.Contains(rev, "..") ||
			strings.ContainsFunc(rev, unicode.IsControl) {
			return badName("revision", rev)
		}
	}
	return nil
}
