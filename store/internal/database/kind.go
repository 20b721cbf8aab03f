package database

import (
	"time"
	"unicode/utf8"

	"collect/collection"
)

// A Kind is a kind of database, in what it does in its own way.
type Kind interface {
	// Begin begins a transaction. From then until its end nobody else writes to the
	// database; where it is not alone, others may that are not alone either. It waits
	// for others no longer than patience.
	Begin(t Tx, alone bool, patience time.Duration) error

	// Ready returns an error of the port if what a transaction writes would not be
	// found again. It is asked in the transaction, before anything is written.
	Ready() error

	// Ask asks done once a transaction whose commit failed has ended, one way or
	// the other.
	Ask(t Tx, done func(Tx) (bool, error)) (bool, error)

	// Lost reports whether an error says that the connection is of no use any more.
	Lost(err error) bool

	Errors
}

// Errors tell what an error is about.
type Errors interface {
	// Classify puts an error of the driver, or of the operating system, into the
	// words of the port. Every other error is returned as it is.
	Classify(err error) error

	// Own reports whether an error is the database's own, and not about a value
	// that is not of the kind that was stored.
	Own(err error) bool
}

// A Dialect is what one kind of database says in its own words. Everything else is
// said in words that all kinds have; see the migrations.
type Dialect struct {
	// RecordSum is the function record_sum of the database.
	RecordSum func(stream, partition, slice int64, key, data string, mark collection.Mark, deleted int64) int64

	// Lists: a list may be an argument. Each statement is a question to a server and
	// its answer, so that the records of a slice are told in one.
	Lists bool

	// Later: the connections are [Later].
	Later bool

	// Numbers is what the write of a lease returns behind a commit of as many slices as its
	// last argument, a list, has elements: the numbers of the slices, in order, as a text.
	// "": rows are numbered behind the newest, as a transaction that writes is alone.
	Numbers string

	// Renewal is what a write of a lease sets beside its number; "" for nothing.
	Renewal string

	Views Views
}

// Views are how a database makes the views that show the records of streams.
type Views struct {
	Choice  string // the query that lets nobody else choose a name before the transaction ended; "" where it is alone
	Taken   string // the query whether there is something of the name
	Made    string // the query for the text that made the view of the name
	Replace bool   // a view is replaced by one that has more columns at its end, and others may be made of it
	Longest int    // bytes of a name; 0: any number

	// Field returns the expression for a field of the records.
	Field func(name string, escaped bool) string
	From  string                         // what is read beside the tables, for Field
	Note  func(view, text string) string // the statement that keeps the text that made a view; nil: none is needed
}

// Name returns the name that is base and then suffix, with base cut off where the
// name is too long.
func (v *Views) Name(base, suffix string) string {
	if v.Longest > 0 {
		for len(base)+len(suffix) > v.Longest {
			_, size := utf8.DecodeLastRuneInString(base)
			base = base[:len(base)-size]
		}
	}
	return base + suffix
}
