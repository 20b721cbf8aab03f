package cmd

import (
	"errors"

	"collect/store"
)

// What is said of a database that must be mended, and how it is.

func writeOlder(p *problem, _ error, sc scene) {
	p.Headline = "the database was made by an older version of collect"
	p.At = sc.State
	p.Saved = "everything; nothing was changed"
	p.Next = "the next run upgrades it and keeps its contents"
	if sc.Connector != "" {
		p.Do = []step{{"to do it now:", sc.command("run")}}
	}
}

func writeDamaged(p *problem, err error, sc scene) {
	p.Headline = "the database is damaged"
	p.At = sc.State
	p.Why = plainText(err)
	p.Saved = "nothing was changed since; keep a copy of the file, and of its -wal and -shm"
	p.Do = []step{
		{"see how much:", "collect doctor" + sc.Flags},
		{"go back to a backup:", "collect restore FILE" + sc.Flags + " --reason WHY"},
		{"or take out what can be read:", "collect export NAME STREAM --salvage" + sc.Flags},
	}
}

func writeDoubtful(p *problem, err error, sc scene) {
	p.Headline = "the database may have lost its newest commits"
	p.At = sc.State
	p.Why = plainText(err)
	p.Saved = "everything before them; nothing was changed by this command"
	p.Do = []step{
		{Say: "after a power cut: nothing, the next run goes on from the last commit"},
		{"else look first:", "collect doctor" + sc.Flags},
	}
}

func writeLost(p *problem, err error, sc scene) {
	e, _ := errors.AsType[*lostError](err)
	p.Headline = e.Error()
	p.At = sc.place()
	p.Saved = "what could be read is written out; the database was not changed"
	p.Do = []step{
		{"go back to a backup:", "collect restore FILE" + sc.Flags + " --reason WHY"},
		{Say: "or collect again: name a new database with --state and --create"},
	}
}

func writeNothingFound(p *problem, err error, _ scene) {
	p.Headline = err.Error()
	p.Saved = "nothing was changed"
}

func writeTaken(p *problem, err error, _ scene) {
	p.Headline = err.Error()
	p.Saved = "everything; no file was written over"
	p.Do = []step{{Say: "name another file, or add --force to replace it"}}
}

func writeInUse(p *problem, err error, sc scene) {
	p.Headline = "another program has the file open"
	p.Why = plainText(err)
	p.Saved = "everything; nothing was changed"
	p.Do = []step{{Say: "close the other program, then do it again"}}
}

// writeRestore tells of the backup, not of the database that it was to
// replace.
func writeRestore(p *problem, err error, sc scene) {
	p.Headline = "the backup was not restored: " + plainText(err)
	p.Saved = "the database is as it was"
	switch {
	case errors.Is(err, store.ErrDamaged):
		p.Do = []step{{Say: "restore another backup, or take out what can be read with `collect export --salvage --state FILE`"}}
	case errors.Is(err, store.ErrNewer):
		p.Do = []step{{Say: "install the version that made it, or a newer one"}}
	case errors.Is(err, store.ErrMissing), errors.Is(err, store.ErrNotDatabase):
		p.Do = []step{{Say: "name a file that `collect backup` wrote"}}
	case full(err):
		p.Do = []step{{Say: "free some space beside the database, and do it again"}}
	}
}
