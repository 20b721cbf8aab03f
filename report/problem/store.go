package problem

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"collect/internal/words"
	"collect/store"
)

// Damaged reports whether an error is that the database is damaged, or may be.
func Damaged(err error) bool {
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrDoubtful)
}

// database fills in where the database is, and what is said of it.
func (p *Problem) database(headline string, err error, sc Scene) {
	p.Headline, p.At, p.Why = headline, sc.State, PlainText(err)
}

func writeFull(p *Problem, _ error, sc Scene) {
	p.Headline = "no space left for " + cmp.Or(sc.State, "the database")
	p.At = sc.place()
	if sc.Again != "" {
		p.Saved, p.Do = sc.saved(), []Step{sc.resume("free some space, then:")}
		return
	}
	if sc.Run.ID == "" { // a command of an operator
		p.Saved = "everything that was saved before; nothing was changed"
		p.Do = []Step{{Say: "free some space, then give the command again"}}
		return
	}
	p.Headline += " while saving a slice"
	p.Saved = sc.saved() + ". The slice was not counted; it will replay"
	p.Do = []Step{sc.resume("free some space, then:")}
}

func writeNewer(p *Problem, _ error, sc Scene) {
	p.Headline = "the database was made by a newer version of collect"
	p.At = sc.State
	p.Saved = "everything; nothing was changed"
	p.Do = []Step{{Say: "install that version or a newer one"}}
}

func writeMissing(p *Problem, err error, sc Scene) {
	if errors.Is(err, store.ErrLogGone) {
		p.database("a file beside the database was removed or replaced while this run used it", err, sc)
		p.Saved = "everything up to the last commit; nothing was written since"
		p.Do = []Step{{Say: "wait until no run uses this database"}, {"see whether it is whole:", "collect doctor" + sc.Flags}}
		return
	}
	if sc.Run.ID != "" {
		p.Headline = "the database was removed or replaced while this run used it"
		p.At = sc.State
		p.Why = "the saved records are in the file that was there when the run began"
		p.Do = []Step{{Say: "put that file back if you can; a new one is begun with --create"}}
		return
	}
	p.At = sc.State
	p.Saved = "nothing was started"
	if e, ok := errors.AsType[*store.BegunError](err); ok {
		p.Headline = "there is no database there yet: a copy to it was begun, and is not finished"
		p.Why = "what was copied is in " + e.Part
		p.Saved = "everything; nothing was changed"
		p.Do = []Step{{"go on with it: give the `collect state copy` again that made it; or remove it, if nobody needs it:", e.Remove}}
		return
	}
	if side, ok := errors.AsType[*store.SideError](err); ok {
		p.writeNothingToCopy(side, sc)
		return
	}
	if sc.Usual {
		p.Headline = "nothing was collected yet: there is no database"
		p.Do = []Step{{"to begin:", "collect run <name | file.yaml>"}, {Say: "or name the database that you mean: --state FILE"}}
		return
	}
	if sc.served() {
		p.database("there is no database of collect at the address that was named", err, sc)
		p.Do = []Step{{Say: "correct the address, or begin a new one there: `collect run`, or `collect worker`, with --create makes its tables; the database itself is made with createdb"}}
		return
	}
	p.Headline = "there is no database at the path that was named"
	p.Why = "a mistyped path must not collect everything again"
	p.Do = []Step{{Say: "correct the path, or begin a new database there: `collect run` with --create"}}
}

// writeNothingToCopy tells of a copy whose source, or the database of whose target, does not exist.
func (p *Problem) writeNothingToCopy(side *store.SideError, sc Scene) {
	if side.Copy {
		p.database("there is no database on the server at the address to copy to", side.Err, sc)
		p.Do = []Step{{"correct the address, or make the database with createdb and nothing in it; then:", sc.Again}}
		return
	}
	p.Headline = "there is no database to copy at the place that was named"
	p.Do = []Step{{Say: "correct the path or the address that is copied from"}}
}

// CopyBegun reports whether an error says that a copy is not finished where there is no store.
func CopyBegun(err error) bool {
	_, ok := errors.AsType[*store.BegunError](err)
	return ok
}

func writeNoFolder(p *Problem, err error, sc Scene) {
	e, _ := errors.AsType[*NoFolderError](err)
	p.Headline = "the database cannot be made: " + err.Error()
	p.At = sc.State
	p.Saved = "nothing was started"
	p.Do = []Step{{"make it:", "mkdir -p " + words.Quoted(e.Dir)}, {Say: "or correct the path; if it is on another disk, see that it is mounted"}}
}

func writeNotDatabase(p *Problem, err error, sc Scene) {
	p.Headline = fmt.Sprintf("%s is not a database of collect", cmp.Or(sc.State, "the file"))
	p.Saved = "nothing was started, and nothing was changed"
	p.Do = []Step{{Say: "name another path with --state"}}
	if sc.served() {
		p.Why = PlainText(err)
		p.Do = []Step{{Say: "name another database, or another schema of it: --state 'postgres://.../DATABASE?search_path=SCHEMA'"}}
	}
}

func writeNoAccess(p *Problem, err error, sc Scene) {
	p.database("the database cannot be opened or written", err, sc)
	p.Saved = "nothing was started"
	p.Do = []Step{{Say: "look at who owns the file and its directory, or name another path with --state"}}
	if sc.served() {
		p.Do = []Step{{Say: "look at the user of the address, at its password in PGPASSWORD or ~/.pgpass, and at what it was granted"}}
	}
}

func writeServed(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*ServedError](err)
	p.Headline = err.Error()
	p.Saved = "everything; nothing was changed"
	p.Do = []Step{{"instead:", e.Tool}}
}

func writeServerAway(p *Problem, err error, sc Scene) {
	p.database("the database server cannot be reached", err, sc)
	if _, why, is := strings.Cut(p.Why, store.ErrUnreachable.Error()+": "); is {
		p.Why = why // the headline and the place say the rest
	}
	p.Saved = sc.saved()
	if sc.Run.ID == "" && sc.Again == "" {
		p.Saved = "what was stored before; nothing was changed"
	}
	p.Do = []Step{sc.again("see that the server runs, and that the address is right")}
}

func writeDisk(p *Problem, err error, sc Scene) {
	p.database("the disk of the database does not work as it should", err, sc)
	p.Saved = sc.saved()
	p.Do = []Step{sc.again("look at what the system's log, or that of the database server, says of the disk")}
}

func writeLocked(p *Problem, err error, sc Scene) {
	p.database("the database stays locked", err, sc)
	p.Why = "another program writes to it and does not end, or its disk does not give a lock back: " + p.Why
	p.Saved = sc.saved()
	p.Do = []Step{sc.again("close what has the database open; if nothing has, look at what the system's log says of the disk")}
}

func writeOccupied(p *Problem, err error, _ Scene) {
	e, _ := errors.AsType[*store.OccupiedError](err)
	p.Headline = PlainText(err)
	p.Saved = "everything; nothing was written over"
	p.Do = []Step{{Say: "name another place, or remove what is there if nobody needs it"}}
	side, copying := errors.AsType[*store.SideError](err)
	switch {
	case e.Folder:
		p.Do = []Step{{Say: "name a file in it"}}
	case e.Copied:
		p.Why = "it is the copy already: it was proven equal, and what it was copied from has not changed since"
		p.Do = []Step{{"nothing needs to be copied; to see what it has:", "collect status --state " + words.Quoted(side.Name)}}
	case copying:
		p.Do = append(p.Do, Step{"it may be a copy of an earlier state; to see what it has:", "collect status --state " + words.Quoted(side.Name)})
	}
}

func writeUnfinished(p *Problem, err error, _ Scene) {
	p.Headline = PlainText(err)
	p.Saved = "everything; nothing was changed"
	p.Do = []Step{{Say: "finish it first: give the `collect state copy` again that made it"}}
}

func writeChanging(p *Problem, err error, sc Scene) {
	p.Headline = PlainText(err)
	p.Why = "a run of a connector that was new, or an order, came between; the copy would not have all of it"
	p.Saved = "everything; the copy was not given its name"
	p.Do = []Step{sc.resume("copy it again, which begins anew:")}
}

func writeUnequal(p *Problem, err error, sc Scene) {
	p.Headline = PlainText(err)
	p.Why = "a disk or memory changed what was copied, or it is a bug of collect"
	p.Saved = "the database that was copied is as it was; the copy was not given its name"
	p.Do = []Step{sc.resume("copy it again, which begins anew:"), {Say: "if it is the same again, look at both disks with `collect doctor`, and tell us"}}
}
