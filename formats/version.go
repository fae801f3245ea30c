package formats

import (
	"fmt"
	"strconv"
)

// Newer is the failure of a file that a newer version of the program wrote, nil for any other. The file says got and
// this program knows the versions up to known, each a number, or a word such as "tercet.packs/2". Who reads a file with
// a version asks this first: what else is wrong with it cannot be told, and nothing may be written over it.
func Newer(code Code, file, got, known string) *Failure {
	n := versionOf(got)
	if n <= versionOf(known) {
		return nil
	}
	return &Failure{
		Code: code,
		Message: fmt.Sprintf("%s has version %d, and this tercet knows up to version %d: a newer tercet wrote it",
			file, n, versionOf(known)),
		Help: "install the newer tercet and run the command again; nothing was written",
	}
}

// versionOf is the number at the end of a word, 0 if there is none.
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
