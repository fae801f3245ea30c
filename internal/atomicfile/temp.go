package atomicfile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

const tempMark = ".tmp-"

// tempName gives a name that no other writer has: base.tmp-<pid>-<16 hexadecimal digits>.
func tempName(base string) string {
	return fmt.Sprintf("%s%s%d-%016x", base, tempMark, os.Getpid(), rand.Uint64())
}

// TempFor reports whether candidate, a base name, is a temporary file of a write to name, as one that was killed leaves
// it. It may also be one of a write that is going on: only who holds the lock of name may remove it.
func TempFor(name, candidate string) bool {
	rest, ok := strings.CutPrefix(candidate, filepath.Base(name)+tempMark)
	if !ok {
		return false
	}
	pid, random, ok := strings.Cut(rest, "-")
	return ok && only(pid, "0123456789") && len(random) == 16 && only(random, "0123456789abcdef")
}

func only(s, allowed string) bool {
	return s != "" && strings.Trim(s, allowed) == ""
}
