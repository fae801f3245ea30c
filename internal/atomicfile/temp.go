package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	tempMark = ".tmp-"
	randSize = 8 // bytes
)

// tempName gives a name that no other writer has: base.tmp-<pid>-<16 hexadecimal digits>.
func tempName(base string) string {
	var b [randSize]byte
	// crypto/rand.Read ends the program rather than return an error.
	if _, err := rand.Read(b[:]); err != nil {
		return base + tempMark + strconv.Itoa(os.Getpid()) + "-0000000000000000"
	}
	return base + tempMark + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(b[:])
}

// TempFor reports whether candidate, a base name, is a temporary file of a write to name, as one that was killed leaves it.
// It may also be one of a write that is going on: only who holds the lock of name may remove it.
func TempFor(name, candidate string) bool {
	rest, ok := strings.CutPrefix(candidate, filepath.Base(name)+tempMark)
	if !ok {
		return false
	}
	pid, random, ok := strings.Cut(rest, "-")
	return ok && only(pid, "0123456789") && len(random) == 2*randSize && only(random, "0123456789abcdef")
}

func only(s, allowed string) bool {
	return s != "" && strings.Trim(s, allowed) == ""
}
