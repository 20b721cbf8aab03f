package problem

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/store"
)

// A FileError is a mistake in a file that a person wrote.
type FileError struct {
	Path         string
	Line, Column int // from 1; 0: not known
	Message      string
	Note         string
	Source       string // the lines around it, with a caret; "" if not known
}

// Error returns path:line:column: message.
func (e *FileError) Error() string { return e.Place() + ": " + e.Message }

func (e *FileError) Place() string {
	if e.Line == 0 {
		return e.Path
	}
	return fmt.Sprintf("%s:%d:%d", e.Path, e.Line, e.Column)
}

// A NoFileError says that there is no connector file at a path.
type NoFileError struct {
	Path  string
	Named string // where collect.yaml names it, file:line; "": on the command line
	Of    string // the connector that was collected with it; "": it was named now
	Near  string // a file beside it with a similar name; "" for none
}

func (e *NoFileError) Error() string {
	if e.Of != "" {
		return fmt.Sprintf("the connector file that %s was collected with is not there any more: %s", e.Of, e.Path)
	}
	return "there is no connector file " + e.Path
}

// An UntrustedError says that a file is not used: the user did not name it, and
// another user can have written it.
type UntrustedError struct {
	Path string
	Why  string
	Name string // how to say that it is meant all the same
}

func (e *UntrustedError) Error() string { return fmt.Sprintf("%s is not used: %s", e.Path, e.Why) }

// A RememberedError says that a command is not run, because only the database
// names the file with the command. A database may come from anywhere.
type RememberedError struct{ Path, Secret string }

func (e *RememberedError) Error() string {
	return fmt.Sprintf("the secret `%s` is the output of a command, in a file that only the database names", e.Secret)
}

// Remedy says how to have the file used. Flags are those that commands repeat.
func (e *RememberedError) Remedy(flags string) string {
	return "name it under `connectors:` in collect.yaml, or give its path: collect run " + words.Quoted(e.Path) + flags
}

// A ReadOnlyError says that a secret is somewhere where collect cannot write it.
type ReadOnlyError struct{ Secret, From string }

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("the secret `%s` comes from %s, where collect writes nothing", e.Secret, e.From)
}

// An UnboundError says that a connector would have sent the token that
// collect.yaml holds for its provider to an origin that it is not for.
type UnboundError struct {
	Provider string
	Origin   string
	Origins  []string // all that the connector would send it to
	Written  string   // where the token is
}

func (e *UnboundError) Error() string {
	return fmt.Sprintf("the token of %s in %s is not for %s", e.Provider, e.Written, e.Origin)
}

// Line returns what to write beside the token.
func (e *UnboundError) Line() string {
	quoted := make([]string, len(e.Origins))
	for i, origin := range e.Origins {
		quoted[i] = fmt.Sprintf("%q", origin)
	}
	return "origins: [" + strings.Join(quoted, ", ") + "]"
}

// A ServedError says that the state is on a database server, whose own tool does what a
// command of ours does for a file.
type ServedError struct {
	Command string // ours
	Tool    string // the command line of the server's
}

func (e *ServedError) Error() string {
	return e.Command + ": the state is on a database server, whose own tools do that"
}

// A UsageError is a mistake on the command line.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Usage returns a *[UsageError] whose message is formatted as by [fmt.Sprintf].
func Usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// An OutsideError is a budget that no operator may set: the files of the connector
// allow less, or not so little.
type OutsideError struct {
	What        string // acme: 5 a second
	Least, Most string
	Origin      string // where the most is declared
}

func (e *OutsideError) Error() string {
	return e.What + " is outside of what an operator may allow, " + e.Bounds()
}

// Bounds says what would not be outside, and where to change that.
func (e *OutsideError) Bounds() string {
	return e.Least + " to " + e.Most + "; to allow more, change " + e.Origin
}

// An UnknownConnectorError is a name that no connector has.
type UnknownConnectorError struct {
	Name  string
	Known []string
	File  string // of the name, where the command was given; "" for none
}

func (e *UnknownConnectorError) Error() string { return fmt.Sprintf("no connector named %q", e.Name) }

// A PanicError is a bug that was caught on its way out.
type PanicError struct {
	Value any
	Stack []byte // for -v only: it may quote what it worked on
}

func (e *PanicError) Error() string {
	if fault, ok := e.Value.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("panic with a %T", e.Value) // its value may quote a record
}

// A WhichStreamError says that a command wants one stream of a connector, and
// which ones there are.
type WhichStreamError struct {
	Connector string // as it was typed
	Known     []string
}

func (e *WhichStreamError) Error() string { return "which stream: " + strings.Join(e.Known, ", ") }

// ErrNoHome: no database was named, and there is no place for one.
var ErrNoHome = errors.New("there is no place for the database: neither HOME nor XDG_STATE_HOME is set")

// A NoFolderError says that the database was to be made in a folder that is
// not there.
type NoFolderError struct{ Dir string }

func (e *NoFolderError) Error() string { return "there is no folder " + e.Dir }

// A TakenError says that there is a file where a backup was to go.
type TakenError struct{ Path string }

func (e *TakenError) Error() string { return "there is a file at " + e.Path }

// A PausedError says that a person paused a connector, so that no run of it begins, or goes on.
type PausedError struct {
	Connector string
	Pause     store.Pause
}

func (e *PausedError) Error() string { return e.Connector + " is paused by " + e.Pause.Who }

// A RestoreError is one that kept a backup from being restored.
type RestoreError struct{ Err error }

func (e *RestoreError) Error() string { return e.Err.Error() }
func (e *RestoreError) Unwrap() error { return e.Err }

// An OutputError says that what was asked for could not be written where it
// was to go.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// A LostError says that a salvage did not find all records.
type LostError struct{ Found, Had int64 } // Had is -1 if it is not known

func (e *LostError) Error() string {
	if e.Had < 0 {
		return fmt.Sprintf("%s could be read; how many there were is damaged, too", words.Counted(e.Found, "record", "records"))
	}
	return fmt.Sprintf("%s of %s could be read", words.Count(e.Found), words.Counted(e.Had, "record", "records"))
}

// A NothingFoundError says that a salvage found no record of a stream.
type NothingFoundError struct{ Streams [][2]string } // the streams it found

func (e *NothingFoundError) Error() string {
	if len(e.Streams) == 0 {
		return "no record could be read"
	}
	var names []string
	for _, stream := range e.Streams {
		names = append(names, strings.Join(stream[:], " "))
	}
	return "no record of that stream could be read; there are some of: " + strings.Join(names, ", ")
}

// A BusyError says which run must end before its account can be changed, and
// why it cannot be told.
type BusyError struct {
	Run collection.Run
	Why string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("run %s of %s uses this account (pid %d on %s): %s", e.Run.ID, e.Run.Connector, e.Run.Holder.PID, e.Run.Holder.Host, e.Why)
}

// A ParamsError says that a connector was collected with other parameters, so
// that its checkpoints mean nothing now.
type ParamsError struct {
	Connector string
	Was, Now  map[string]string
}

func (e *ParamsError) Error() string {
	all := map[string]string{}
	maps.Copy(all, e.Was)
	maps.Copy(all, e.Now)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := e.Was[name]
		switch now, has := e.Now[name]; {
		case !has:
			changed = append(changed, fmt.Sprintf("%s was %q and is not given now", name, was))
		case !had:
			changed = append(changed, fmt.Sprintf("%s was not given and is now %q", name, now))
		case was != now:
			changed = append(changed, fmt.Sprintf("%s was %q and is now %q", name, was, now))
		}
	}
	return fmt.Sprintf("%s was collected with other parameters: %s", e.Connector, strings.Join(changed, ", "))
}

// A MeaningError says that streams of a connector are not what they were when
// their records were stored.
type MeaningError struct {
	Connector string
	Changes   []StreamChange
	File      string // it was collected with, where it is the built-in connector now; "": it is not
}

// A StreamChange is what became of a stream: Keys of its file have other
// values now, or, if there are none, it is not there any more.
type StreamChange struct {
	Stream string
	Keys   []KeyChange
}

// Gone reports whether the file has no such stream any more.
func (c StreamChange) Gone() bool { return len(c.Keys) == 0 }

// A KeyChange is another value of a key of a connector file. Was and Now are
// for people only where both are set.
type KeyChange struct{ Key, Was, Now string }

func (e *MeaningError) Error() string {
	if e.File != "" {
		return fmt.Sprintf("%s was collected with the connector file %s, and this is the built-in connector", e.Connector, e.File)
	}
	var said []string
	for _, change := range e.Changes {
		said = append(said, change.String())
	}
	return fmt.Sprintf("%s was collected with another connector file: %s", e.Connector, strings.Join(said, "; "))
}

func (c StreamChange) String() string {
	if len(c.Keys) == 0 {
		return fmt.Sprintf("the stream `%s` is no longer in it", c.Stream)
	}
	var said []string
	for _, key := range c.Keys {
		switch {
		case key.Key == "key" || key.Key == "since" && key.Was != "" && key.Now != "":
			said = append(said, fmt.Sprintf("`%s` of %s was %s and is now %s", key.Key, c.Stream, key.Was, key.Now))
		default:
			said = append(said, fmt.Sprintf("`%s` of %s has changed", key.Key, c.Stream))
		}
	}
	return strings.Join(said, ", ")
}

// ErrUpgraded says that a newer version of collect changed the tables that workers share, in a
// way that a worker which was at work cannot go on with.
var ErrUpgraded = errors.New("a newer version of collect changed the database while this worker was at work")

// A ClockError says that the clock of this machine is off that of the database server.
type ClockError struct {
	By  time.Duration // it is ahead; negative: behind
	May time.Duration // be off
}

func (e *ClockError) Error() string {
	way, by := "ahead of", e.By
	if by < 0 {
		way, by = "behind", -by
	}
	return fmt.Sprintf("the clock of this machine is %v %s that of the database server, and may be off by %v: a provider that asks to wait would be asked again too early, or late", by.Round(100*time.Millisecond), way, e.May)
}
