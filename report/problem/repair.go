package problem

import (
	"errors"
	"fmt"

	"collect/store"
)

// What is said of a database that must be mended, and how it is.

func writeOlder(p *Problem, _ error, sc Scene) {
	p.Headline = "the database was made by an older version of collect"
	p.At = sc.State
	p.Saved = "everything; nothing was changed"
	p.Next = "the next run upgrades it and keeps its contents"
	if sc.Connector != "" {
		p.Do = []Step{{"to do it now:", sc.command("run")}}
	}
}

func writeDamaged(p *Problem, err error, sc Scene) {
	p.database("the database is damaged", err, sc)
	p.Saved = "nothing was changed since; keep a copy of the file, and of its -wal and -shm"
	if one, ok := errors.AsType[*store.ChangedError](err); ok && sc.Connector != "" {
		p.Headline = "a stored record of " + sc.Connector + " is damaged"
		p.Why = fmt.Sprintf("record number %d is not what was stored; the runs of other connectors go on", one.Record)
	}
	if sc.served() {
		p.Saved = "nothing was changed since"
		p.Do = []Step{{Say: "look at the log of the database server, and go back to a backup with pg_restore"}}
		return
	}
	p.Do = []Step{
		{"see how much:", "collect doctor" + sc.Flags},
		{"go back to a backup:", "collect restore FILE" + sc.Flags + " --reason WHY"},
		{"or take out what can be read:", "collect export NAME STREAM --salvage" + sc.Flags},
	}
}

func writeDoubtful(p *Problem, err error, sc Scene) {
	p.database("the database may have lost its newest commits", err, sc)
	p.Saved = "everything before them; nothing was changed by this command"
	p.Do = []Step{
		{Say: "after a power cut: nothing, the next run goes on from the last commit"},
		{"else look first:", "collect doctor" + sc.Flags},
	}
}

func writeLost(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*LostError](err)
	p.Headline = e.Error()
	p.At = sc.place()
	p.Saved = "what could be read is written out; the database was not changed"
	p.Do = []Step{
		{"go back to a backup:", "collect restore FILE" + sc.Flags + " --reason WHY"},
		{Say: "or collect again: name a new database with --state and --create"},
	}
}

func writeInUse(p *Problem, err error, sc Scene) {
	p.Headline = "another program has the file open"
	p.Why = PlainText(err)
	p.Saved = "everything; nothing was changed"
	p.Do = []Step{{Say: "close the other program, then give the command again"}}
}

// writeRestore tells of the backup, not of the database that it was to
// replace.
func writeRestore(p *Problem, err error, sc Scene) {
	p.Headline = "the backup was not restored: " + PlainText(err)
	p.Saved = "the database is as it was"
	switch {
	case errors.Is(err, store.ErrDamaged):
		p.Do = []Step{{Say: "restore another backup, or take out what can be read with `collect export --salvage --state FILE`"}}
	case errors.Is(err, store.ErrNewer):
		p.Do = []Step{{Say: "install the version that made it, or a newer one"}}
	case errors.Is(err, store.ErrMissing), errors.Is(err, store.ErrNotDatabase):
		p.Do = []Step{{Say: "name a file that `collect backup` wrote"}}
	case full(err):
		p.Do = []Step{{Say: "free some space beside the database, and give the command again"}}
	}
}
