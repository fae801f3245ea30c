// Package lazy delays expensive initialisation until first use, so that the start of tercet does
// not wait for it. Its functions are safe for concurrent use.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp gives a function that compiles a regular expression on its first call and then returns the
// same one. The expression is a constant: a wrong one panics. Concurrent calls are safe.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
