package declarative

import "fmt"

// A SpecError is a mistake in a connector file, at the place where it was
// made. Line and Column count from 1; a column is a character.
type SpecError struct {
	Path         string
	Line, Column int
	Message      string // what is wrong, in one line
	Note         string // what may help; "" if nothing
	Source       string // the line in question, and the one before it, with a caret below; never the value of a secret
}

func (e *SpecError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Message)
}

// maxFaults bounds the errors reported at once: more are rarely read.
const maxFaults = 10
