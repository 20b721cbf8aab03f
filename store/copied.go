package store

import (
	"errors"
	"fmt"
	"strings"
)

// ErrChanging: a store was written to while it was copied, so that the copy is of none
// of its states.
var ErrChanging = errors.New("was written to while it was copied")

// A SideError says which of two stores an error is about: the one that is copied, or its
// copy.
type SideError struct {
	Copy bool
	Name string
	Err  error
}

func (e *SideError) Error() string { return e.Err.Error() }
func (e *SideError) Unwrap() error { return e.Err }

// An OccupiedError says that there is something where a copy was to be made.
type OccupiedError struct {
	Name   string
	What   string // is there: "a file"
	Folder bool   // it is a folder
	Copied bool   // it is the finished copy of the very state that was to be copied
}

func (e *OccupiedError) Error() string {
	return fmt.Sprintf("there is %s at %s, and a copy replaces nothing", e.What, e.Name)
}

// An UnfinishedError says that a store is a copy that was not finished.
type UnfinishedError struct{ Name string }

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("store %s is a copy that was not finished", e.Name)
}

// A BegunError says that there is no store, and that a copy which was to become it was begun and is not
// finished.
type BegunError struct {
	Part   string // where the copy is: a file, or a schema
	Remove string // the command that removes it
	Err    error  // ErrMissing
}

func (e *BegunError) Error() string {
	return e.Err.Error() + "; a copy that was not finished is in " + e.Part
}
func (e *BegunError) Unwrap() error { return e.Err }

// An UnequalError says which tables of a copy are not those of its source.
type UnequalError struct{ Tables []string }

func (e *UnequalError) Error() string {
	return "the copy is not equal to its source: " + strings.Join(e.Tables, ", ")
}
