// Package lazy makes what is costly to make when it is first asked for: a start of the program, which uses next to
// nothing of it, does not wait for all of it.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp gives a function that compiles a regular expression at its first call, and gives the same one from then on.
// The expression is a constant of the program: a wrong one panics. Many goroutines may call it at once.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
