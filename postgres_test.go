package main_test

import (
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"collect/internal/pgtest"
)

// A database is the database server of one script; nil until the script starts it.
type database struct{ *pgtest.Server }

// postgres begins the database server of a script, or begins it again, with the address
// of a store on it in $DB. kill ends it without a word, and end in order.
//
//	postgres begin|end|kill
func postgres(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: postgres begin|end|kill")
	}
	db := ts.Value("database").(*database)
	switch {
	case args[0] == "kill":
		db.End(syscall.SIGKILL)
	case args[0] == "end":
		db.End(syscall.SIGINT)
	case db.Server != nil:
		ts.Check(db.Begin())
	default:
		var err error
		db.Server, err = pgtest.Start()
		ts.Check(err)
		ts.Defer(db.Remove)
		ts.Setenv("DB", db.Address("own"))
	}
}
