// Package lazy has values that are made when they are first used, so that a command
// which does not need them starts without them.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the compiled expression. The first call panics
// if text is none.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
