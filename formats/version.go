package formats

import (
	"fmt"
	"strconv"
)

// Newer is the failure for a file of a newer version of tercet; nil for any other file. got is the
// file's version, known the highest version that this tercet reads: numbers, or words such as
// "tercet.packs/2". Readers of versioned files call it first, and must not overwrite such a file.
func Newer(code Code, file, got, known string) *Failure {
	n := versionOf(got)
	if n <= versionOf(known) {
		return nil
	}
	return &Failure{
		Code: code,
		Message: fmt.Sprintf(
			"%s has version %d, and this tercet knows up to version %d: a newer tercet wrote it",
			file, n, versionOf(known),
		),
		Help: "install the newer tercet and run the command again; nothing was written",
	}
}

// versionOf is the number at the end of a word, or 0.
func versionOf(word string) int {
	digits := len(word)
	for digits > 0 && word[digits-1] >= '0' && word[digits-1] <= '9' {
		digits--
	}
	n, err := strconv.Atoi(word[digits:])
	if err != nil {
		return 0
	}
	return n
}
