package problem

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
)

// A Scene is what a front knows of the situation in which an error is
// explained. Every field may be empty.
type Scene struct {
	Connector  string
	Command    string // what was typed: "collect run"
	Flags      string // what commands to copy must repeat: " --state x.db"
	Again      string // the whole command, if it goes on where it stopped when it is given again
	Provider   string
	Address    string // where it is asked, if that is one place
	Stream     string
	Partition  collection.Partition
	Pieces, Of int64          // partitions of Stream that owe a gap for the same reason, and all of them; 0: not known
	Run        collection.Run // the run that met the error; ID "" if none began
	Ended      bool           // it is over, and its verdict is the exit code of whatever it met
	Nothing    bool           // no run of the connector has stored a record, or a command has done nothing yet
	Stands     bool           // the walk of Stream stands at the problem
	Passed     bool           // the run went on without what the problem is about
	Credential string         // where it came from: "env ACME_TOKEN"
	Mark       string         // its fingerprint
	State      string         // path of the database, or its address on a server
	Usual      bool           // the path is the usual one, and was not named
	ByHand     bool           // a person waits for it, and no schedule comes back
	RequestCap int64
	MaxTime    time.Duration
	Now        time.Time
}

// exit returns the exit code of a command that ends with a problem whose own code
// is own.
func (sc Scene) exit(own int) int {
	switch {
	case sc.Ended:
		return sc.Run.ExitCode
	case own == ExitPaused: // which only a run with --strict says
		return ExitOK
	}
	return own
}

// served reports whether the database is on a server.
func (sc Scene) served() bool { return strings.Contains(sc.State, "://") }

// place names where a problem was met: tickets/issues repo=acme/api.
func (sc Scene) place() string {
	where := sc.Connector
	if sc.Stream != "" {
		where += "/" + sc.Stream
	}
	if sc.Partition != "" {
		where += " " + sc.Partition.String()
	}
	return where
}

// saved says what is safe.
func (sc Scene) saved() string {
	work := sc.Run.Tally
	stored := work.Stored()
	switch {
	case sc.Again != "" && sc.Nothing:
		return "everything; nothing was copied or changed"
	case sc.Again != "":
		return "what was done so far; the next time goes on from there"
	case sc.Run.ID == "":
		return "nothing was started"
	case sc.Nothing:
		return "nothing yet: no record has been stored"
	case work.Slices == 0:
		return "what earlier runs saved; the checkpoint did not move"
	case stored <= 0:
		return "what earlier runs saved; no record of this run was stored"
	}
	return fmt.Sprintf("%s in %s of this run", words.Counted(stored, "record", "records"), words.Counted(work.Slices, "slice", "slices"))
}

// savedBut says what is safe, and what becomes of the piece that is not.
func (sc Scene) savedBut(owed string) string {
	text := sc.saved() + "; " + owed
	switch {
	case sc.Stands && sc.Partition != "":
		text += ", and the rest of " + sc.Stream + " was not asked for"
	case sc.Stands && sc.Stream != "":
		text += ", and " + sc.Stream + " goes no further until it is filled"
	case sc.Passed && sc.Pieces > 1:
		text += ", and the run went on without them"
	case sc.Passed:
		text += ", and the run went on without it"
	}
	return text
}

// resume is the command that goes on.
func (sc Scene) resume(say string) Step {
	if sc.Again != "" {
		return Step{say, sc.Again}
	}
	return Step{say, sc.command("resume")}
}

// again says to give the command again, after do: where it may be one that only looks,
// or a first run, of which there is nothing to resume.
func (sc Scene) again(do string) Step {
	if sc.Run.ID == "" && sc.Again == "" {
		return Step{Say: do + ", then give the command again"}
	}
	return sc.resume(do + ", then:")
}

// command returns a command on the connector, to be copied.
func (sc Scene) command(verb string) string { return "collect " + verb + " " + sc.Connector + sc.Flags }

// release is the command that ends a freeze.
func (sc Scene) release(why string) Step {
	return Step{"then:", sc.command("freeze release") + fmt.Sprintf(" --reason %q", why)}
}

// pieces says what of a stream a problem is about: "2 of 50 details".
func (sc Scene) pieces() string {
	switch {
	case sc.Pieces > 0 && sc.Of >= sc.Pieces && sc.Partition != "":
		return fmt.Sprintf("%s of %s %s", words.Count(sc.Pieces), words.Count(sc.Of), sc.Stream)
	case sc.Partition != "":
		return "a piece of " + sc.Stream
	case sc.Stream != "":
		return "the list of " + sc.Stream
	}
	return "a piece"
}

// token says which credential was sent; "" if none was.
func (sc Scene) token() string {
	switch {
	case sc.Credential == "":
		return ""
	case sc.Mark == "":
		return "from " + sc.Credential
	}
	return "from " + sc.Credential + ", fingerprint " + sc.Mark
}

// Fingerprint returns four hexadecimal digits that tell one credential from
// another, and nothing about either: a MAC under the store's own salt.
func Fingerprint(salt []byte, credential string) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(credential))
	return hex.EncodeToString(mac.Sum(nil)[:2])
}
