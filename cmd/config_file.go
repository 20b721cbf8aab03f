package cmd

import "fmt"

// A fileError is a mistake in a file that a person wrote.
type fileError struct {
	Path         string
	Line, Column int // from 1; 0: not known
	Message      string
	Note         string
	Source       string // the lines around it, with a caret; "" if not known
}

// Error returns path:line:column: message.
func (e *fileError) Error() string { return e.place() + ": " + e.Message }

func (e *fileError) place() string {
	if e.Line == 0 {
		return e.Path
	}
	return fmt.Sprintf("%s:%d:%d", e.Path, e.Line, e.Column)
}
