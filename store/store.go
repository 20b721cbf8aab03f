// Package store is the port to where collected records, checkpoints and gaps
// live. The suite in storetest says what every store must do; sqlite is the
// store of one machine.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"collect/collection"
)

// A ChangedError is [ErrDamaged], and says that it is one record that is not what
// was stored: it stops what is done with its connector, and nothing else. The key
// and the bytes of a record may be secrets; its number finds it.
type ChangedError struct{ Record int64 }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%v: record number %d is not what was stored", ErrDamaged, e.Record)
}

func (*ChangedError) Unwrap() error { return ErrDamaged }

// Errors that a caller acts on.
var (
	// ErrNewer: the store was made by a newer version.
	ErrNewer = errors.New("made by a newer version of collect")

	// ErrOlder: the store was made by an older version. A run brings it up to
	// date; looking does not.
	ErrOlder = errors.New("made by an older version of collect")

	// ErrDamaged: the store cannot be read as what it should be, or is not
	// what was stored.
	ErrDamaged = errors.New("damaged")

	// ErrInUse: another process has a file open that the caller needs alone.
	ErrInUse = errors.New("is in use")

	// ErrDoubtful: the newest commits may be lost, to damage or to a power cut
	// that ended one. A run goes on from the last one that is there.
	ErrDoubtful = errors.New("may have lost its newest commits")

	// ErrMissing: there is no store at the path that was named, or no longer
	// the one that was opened there. What was asked for was not written.
	ErrMissing = errors.New("does not exist")

	// ErrLogGone is ErrMissing, and says that only a file beside the store that
	// its users share was taken away. What another wrote meanwhile is not seen.
	ErrLogGone = fmt.Errorf("lacks its log: it %w any more", ErrMissing)

	// ErrNotDatabase: the file at the path was never a store.
	ErrNotDatabase = errors.New("is not a database of collect")

	// ErrDisk: the operating system did not read, write or lock what it should
	// have, though it allowed it. What was asked for was not written.
	ErrDisk = errors.New("does not work")

	// ErrLocked: the store could not be written to for as long as anybody waits
	// for another. What was asked for was not written.
	ErrLocked = errors.New("stays locked")

	// ErrUnreachable: the server that has the store does not answer, or ended the
	// connection. What was asked for was not written.
	ErrUnreachable = errors.New("cannot be reached")

	// ErrNoAccess: the operating system, or the server that has the store, refuses
	// to open or make it, or to write to it.
	ErrNoAccess = errors.New("cannot be opened or written")
)

// A HeldError says who else runs a connector.
type HeldError struct {
	Run  collection.Run // ID, Holder, StartedAt and BeatAt are set
	Left time.Duration  // until its lease ends, unless it is renewed; 0: it does not end by time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("held by run %s, pid %d on %s", e.Run.ID, e.Run.Holder.PID, e.Run.Holder.Host)
}

// An UnknownFieldError says that no record of a stream had a field.
type UnknownFieldError struct {
	Field string
	Known []string
}

func (e *UnknownFieldError) Error() string { return fmt.Sprintf("no record had a field %q", e.Field) }

// A Store keeps everything that collect remembers. It is safe for concurrent
// use.
type Store interface {
	// Begin takes the lease of run.Connector, marks runs of it whose process
	// died as abandoned, frees their gaps, and starts run (ID, Connector,
	// Mode, Lane, Holder and StartedAt are set). The streams are declared so
	// that readers know them before the first record. If the clock was set
	// back since the last run, what gaps wait for is moved with it.
	//
	// It returns a *HeldError, and changes nothing, if another process holds
	// the lease.
	Begin(ctx context.Context, run collection.Run, streams []collection.Stream) (Ledger, error)

	// Reset moves the checkpoint of a place to to, whatever it is, closes the
	// gaps of the place as superseded, and records who did it and why. The
	// marks of its records are forgotten, so that all that is delivered next
	// is stored. With
	// Partition "" it does so for every partition of the stream's lane, but for
	// those of [collection.Unmade], whose checkpoints are gone then. It takes
	// the lease for the moment it needs, and fails with a *HeldError like Begin.
	Reset(ctx context.Context, connector string, at collection.Place, to collection.Cursor, audit Audit) error

	// Revive opens those of the gaps, by their ids, that belong to the connector
	// and are dead, so that they may be tried at any time, with no attempts, and
	// returns them. What was waived is owed again. One that [collection.Gap.Cools] may
	// be tried at any time, too, and keeps its attempts. Each gets an event that says who did it and why. Every other
	// one is left as it is. It takes the lease for the moment it needs, and
	// fails with a *HeldError like Begin.
	Revive(ctx context.Context, connector string, gaps []int64, audit Audit) ([]collection.Gap, error)

	// Waive gives up those of the gaps, by their ids, that belong to the connector,
	// are owed and [collection.Gap.Waivable], and returns them. They stay among the
	// gaps, dead and with their Waiver, until they are revived, or their place is
	// reset. Each gets an event that says who did it and why. Every other one is
	// left as it is. It takes the lease for the moment it needs, and fails with a
	// *HeldError like Begin.
	Waive(ctx context.Context, connector string, gaps []int64, audit Audit) ([]collection.Gap, error)

	// Redo opens a gap at the start of each of the given places, which are
	// different, and moves their checkpoints there, so that the next run walks
	// them from the start. Older gaps of the places are superseded, and the
	// marks of their records are forgotten, as by Reset. Nothing that is stored
	// is lost. It returns the gaps, takes the lease for the moment it needs, and
	// fails with a *HeldError like Begin.
	Redo(ctx context.Context, connector string, gaps []collection.Gap, audit Audit) ([]collection.Gap, error)

	// AcceptSchema lets fields of the records of a stream be of kinds that they
	// were not of before, too, or be missing; without fields it forgets what the records were like, and learns it anew. Gaps of
	// the stream that are dead with [collection.SchemaDrift], and not waived, are revived, as
	// Revive does, and returned. An event says who did it and why. It returns an
	// *UnknownFieldError, and changes nothing, for a field that no record had. It
	// takes the lease for the moment it needs, and fails with a *HeldError like
	// Begin.
	AcceptSchema(ctx context.Context, connector, stream string, fields map[string]collection.JSONKind, audit Audit) ([]collection.Gap, error)

	// Override changes the state of a pacing domain as an operator wants it, and
	// stores the events that tell of it; the last of them says who and why. edit
	// gets the state as it is at that moment, nil for none, and returns the new
	// one, so that nothing is lost that a run stored since the operator looked.
	// If edit fails, Override returns its error and changes nothing. edit may be
	// called again, and must not use the store.
	//
	// It takes the lease of connector for the moment it needs, and fails
	// with a *HeldError like Begin: a run in progress would overwrite it.
	Override(ctx context.Context, connector, domain string, edit Edit, audit Audit, events ...collection.Event) error

	// Prune removes a bounded part of what [Reader.Prunable] counts, in one
	// transaction, and returns what it removed: nothing, once all of it is gone. An
	// event says who did it and why, and has what the removed runs add up to. It
	// takes no lease, so that it works beside a run.
	Prune(ctx context.Context, connector string, what Prune, audit Audit) (Pruned, error)

	// Pause keeps the runs of a connector from beginning, until they are let begin
	// again. It reports whether that changed anything; then an event says who did it
	// and why. It takes no lease: a run that is on goes on to its end.
	Pause(ctx context.Context, connector string, on bool, audit Audit) (changed bool, err error)

	Reader
	Close() error
}

// A Pause says who paused a connector, when and why. The zero Pause is none.
type Pause struct {
	At       time.Time
	Who, Why string
}

// A Prune says what of the past of a connector may go. Records, checkpoints and what is
// owed never do; nor does an event of what a person ordered, the newest run of each exit
// code, or one that is on.
//
// Of slices, only those go that stored, deleted and rejected nothing: what a record, a
// checkpoint or a pass names stays, and so does one that finished a window of time.
type Prune struct {
	Events     time.Time // events before that time; zero: none
	Runs       time.Time // runs that ended before it; zero: none
	Slices     time.Time // slices committed before it; zero: none
	Quarantine time.Time // rejected records that came last before it; zero: none

	// About how many bytes of each are kept, the newest; 0, or with a time: all.
	EventsRoom, RunsRoom, SlicesRoom, Room int64
}

// Pruned counts what was removed, or may be. Bytes is about how many they took.
type Pruned struct {
	Events, Runs, Slices, Quarantined int64
	Bytes                             int64
}

// Rows returns how many there are.
func (p Pruned) Rows() int64 { return p.Events + p.Runs + p.Slices + p.Quarantined }

// Add returns the sum of p and q.
func (p Pruned) Add(q Pruned) Pruned {
	return Pruned{p.Events + q.Events, p.Runs + q.Runs, p.Slices + q.Slices, p.Quarantined + q.Quarantined, p.Bytes + q.Bytes}
}

// Copies says when a store was copied last, and when such a copy was tried. A zero time
// is not on record.
type Copies struct {
	BackedUp time.Time // a backup was written, and examined
	Drilled  time.Time // all of a restore was done but for its last step
}

// An Edit makes a new state of the one that stands.
type Edit func(state []byte) ([]byte, error)

// An Audit says who changed something by hand.
type Audit struct {
	Who    string
	Why    string
	Holder collection.Holder
}

// String returns who and why, as events say it; who alone gave no reason.
func (a Audit) String() string {
	if a.Why == "" {
		return a.Who
	}
	return a.Who + ": " + a.Why
}

// A Ledger is the write side of a store while one run holds its lease. It is
// safe for concurrent use. After [collection.ErrFenced] it writes nothing more.
type Ledger interface {
	// Epoch is the number of the lease. It grows each time the lease is taken.
	Epoch() int64

	// Checkpoint returns the checkpoint of a place. A place that was never
	// committed has the zero cursor.
	Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error)

	// Commit stores slices in one transaction: their records and rejected
	// records, the checkpoint of each place, compared and swapped on From, and
	// the end of every gap that a slice passes: one open at From, the one it
	// Fills, and, when Next is Done, all open planned gaps of the place. A gap
	// that a slice Leaves is opened, or renewed with its attempts plus one, at
	// From instead; if the slice also Fills a gap, that one moves to Next, where the rest
	// of it is owed. A slice that goes on Anew ends no gap: the one at From moves to
	// Next. Every slice gets its events, and what the slices
	// delivered is added to the tally of the run, with what it had Spent by then. Results are in the order of slices.
	//
	// A slice is refused with a *[collection.Stop] for [collection.SchemaDrift]
	// if the top-level fields of all its records are not what they were in all
	// records of the stream so far, as [collection.Schema] says.
	//
	// A record whose mark is before that of the stored one is not stored, and
	// counted as older. Where marks do not compare, the delivered one is.
	//
	// Where a slice has an Else, the evidence of its pass decides whether the
	// checkpoint moves to Next or there; see [collection.Evidence.Judged]. No
	// key may stand twice among the records of a slice.
	//
	// A record whose key is that of a record with other bytes in another partition
	// has moved, and is stored, unless the other one may be there still: if the pass over all partitions has
	// shown it, if it has a later mark, and, where its partition is asked from a mark or not in each pass, if the
	// record was in the slice's partition before. Then it goes to quarantine as [collection.Contested], does not count
	// as rejected yet, and a gap for it is Left until a slice that fills it Decides. It is rejected with key_collision at
	// once if no pass was begun, or its key was found to be shared before.
	//
	// A record that is stored ends the quarantine of the same bytes in its partition,
	// and of what was kept there under its Key.
	//
	// Errors: collection.ErrFenced, ErrCursorMoved, ErrFull and ErrUnknown; see
	// there. A slice that Fills a gap is not compared with the
	// checkpoint; if the checkpoint equals its From, it moves all the same.
	Commit(ctx context.Context, slices ...collection.Slice) ([]collection.Committed, error)

	// Defer opens gaps, or renews the one that is open at the same place and
	// cursor: its reason, detail, not-before and, with worked, its attempts
	// (plus one). A gap that reaches [collection.MaxGapAttempts], or whose
	// reason is permanent, is dead: shown, and not tried by itself. What is Held of a
	// gap goes to quarantine, and does not count as rejected.
	Defer(ctx context.Context, worked bool, gaps ...collection.Gap) ([]collection.Gap, error)

	// Lease returns up to n gaps that may be tried at now, in the order of
	// [collection.Gap.Rank], and marks them leased by this run. A gap is
	// leased at most once in a run, and a stuck one not by the run that left
	// it. Planned gaps are always eligible; others after their not-before. A
	// dead gap never is.
	Lease(ctx context.Context, lane collection.Lane, streams []string, now time.Time, n int) ([]collection.Gap, error)

	// Parents returns up to n records of parent, by key, after the key
	// after, as the parents of partitions of other streams, each with the commit
	// that stored its bytes: one that was delivered again unchanged keeps it.
	Parents(ctx context.Context, parent string, after string, n int) ([]collection.Parent, error)

	// Places returns the state of the given places, in their order, in one
	// read: the checkpoint and whether a gap is owed there.
	Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error)

	// Contested returns the contested records of a place, by the partitions whose records are stored under
	// their keys.
	Contested(ctx context.Context, at collection.Place) ([]collection.Contest, error)

	// SaveProvider stores what was learned of a pacing domain, as JSON, with
	// the events that led to it.
	SaveProvider(ctx context.Context, domain string, state []byte, events ...collection.Event) error

	// Beat says that the run is alive, with its tally so far. Its metrics are
	// kept as an event: each replaces the one before, and the end of the run
	// replaces the last. Their traffic is added to that of the runs before.
	//
	// A lease that ends by itself is renewed with it. It returns
	// collection.ErrFenced if the lease is lost, or could not be renewed and ends
	// before the next beat could do so: then the run ends. After any other error it
	// goes on.
	Beat(ctx context.Context, now time.Time, tally collection.Tally, metrics collection.Metrics) error

	// Finish ends the run, keeps its verdict, its metrics with the event of its
	// end, opens the gaps it still leases
	// and releases the lease. Nothing else may be called after it. Calling it again does nothing.
	Finish(ctx context.Context, run collection.Run) error
}

// MostFields bounds the fields remembered of a stream, and with them the memory
// of a run. A stream with more has objects used as maps.
const MostFields = 2000

// A Reader looks and changes no byte of the store.
type Reader interface {
	// Salt returns random bytes made with the store. They salt the hashes that
	// name accounts.
	Salt(ctx context.Context) ([]byte, error)

	// Provider returns what was learned of a pacing domain, as JSON; nil if
	// nothing was.
	Provider(ctx context.Context, domain string) ([]byte, error)

	// Connectors returns the names of all connectors that ever ran, sorted.
	Connectors(ctx context.Context) ([]string, error)

	// States returns how a connector stands (all, sorted by name, if it is ""), as
	// Streams, Gaps, Paused, Runs, Totals and Provider say it. One that never ran has
	// none.
	States(ctx context.Context, connector string) ([]ConnectorState, error)

	// Streams describes the streams of a connector, in the order declared.
	Streams(ctx context.Context, connector string) ([]StreamState, error)

	// Fields returns the top-level fields seen in the records of a stream, in
	// the order first seen, and only the first [MostFields].
	Fields(ctx context.Context, connector, stream string) ([]string, error)

	// Spans returns the windows of time of a stream that commits finished, in the
	// order of the commits. A window may be there several times, and overlap others.
	Spans(ctx context.Context, connector, stream string) ([]collection.Span, error)

	// Gaps returns the gaps of a connector (of all, if it is "") that are
	// owed: open, leased or dead; oldest first.
	Gaps(ctx context.Context, connector string) ([]OwnedGap, error)

	// Runs returns the newest n runs of a connector (of all, if it is ""),
	// newest first. The exit code of a run that never came to its Finish,
	// because it is on or its process died, is -1. Of the metrics of a run that
	// failed they have what broke it, and nothing else of them.
	Runs(ctx context.Context, connector string, n int) ([]collection.Run, error)

	// Run returns a run by its id, with what happened in it; there is false if there is no
	// such run.
	Run(ctx context.Context, id string) (run RunState, there bool, err error)

	// Events returns the newest n events of a connector, oldest first. Commits
	// are among them. The metrics of a run are those of its run.finished.
	Events(ctx context.Context, connector string, n int) ([]collection.Event, error)

	// Measures returns what is counted over all runs of a connector (of all, if it is
	// ""), by the name of the connector. One that never ran is not there.
	Measures(ctx context.Context, connector string) (map[string]Measures, error)

	// Happened returns the newest n events of a connector, oldest first, without commits,
	// of which there may be many.
	Happened(ctx context.Context, connector string, n int) ([]collection.Event, error)

	// Past returns what happened to connectors (to all, if none is named) since a time: the
	// runs that were on, and the events of some kinds.
	Past(ctx context.Context, since time.Time, kinds []collection.EventKind, connectors ...string) (Past, error)

	// Moves returns how the number of gaps that connectors owe (all, if none is named) moved
	// since a time: for each hour of UTC in which it did, in order. A gap that was waived is
	// owed no more. Of a connector with very many closed gaps the oldest are forgotten.
	Moves(ctx context.Context, since time.Time, connectors ...string) ([]Move, error)

	// Orders returns the newest n events of what people ordered of a connector (of all,
	// if it is ""), newest first.
	Orders(ctx context.Context, connector string, n int) ([]collection.Event, error)

	// Paused returns who paused a connector; the zero Pause if nobody did.
	Paused(ctx context.Context, connector string) (Pause, error)

	// Prunable counts what may be removed of the past of a connector.
	Prunable(ctx context.Context, connector string, what Prune) (Pruned, error)

	// Totals adds up all runs of a connector, those included that were pruned.
	Totals(ctx context.Context, connector string) (runs int, t collection.Tally, err error)

	// Records yields the records of a stream in the bytewise order of their
	// keys. A record that changes meanwhile is yielded once. It ends with
	// ErrDamaged if a record is not what was stored, or is not found: never
	// with fewer records and no error.
	Records(ctx context.Context, connector, stream string) iter.Seq2[Stored, error]
}

// A ConnectorState is how a connector stands.
type ConnectorState struct {
	Connector string
	Streams   []StreamState
	Gaps      []OwnedGap
	Pause     Pause
	Newest    *collection.Run  // with its metrics; nil: no run began
	Runs      int              // all, those included that were pruned
	All       collection.Tally // of all runs
	Accounts  [][]byte         // what was learned of each domain of the newest run, as JSON; nil: nothing was
}

// A Past is what happened since a time, oldest first.
type Past struct {
	Runs   []collection.Run
	Events []collection.Event
	Oldest time.Time // of any event of these connectors that is kept; zero: none is
}

// A Move is how many gaps were opened, and how many closed, in an hour.
type Move struct {
	At             time.Time // the beginning of the hour
	Opened, Closed int
}

// Measures are what is counted over all runs of a connector.
type Measures struct {
	Traffic   collection.Traffic // what became of all that it asked for, as of the last beat of each run
	SuccessAt time.Time          // when a run ended last with exit code 0; zero: none did
}

// A RunState is a run with what happened in it.
type RunState struct {
	collection.Run                    // with its metrics
	Later          string             // the run of its connector after it; "": it is the newest
	Events         []collection.Event // of the run that are kept, oldest first, commits and progress left out
}

// A StreamState describes a stream for people.
type StreamState struct {
	collection.Stream
	Records     int64 // those that are deleted included
	Deleted     int64
	Quarantined int64
	Collided    int64  // of these, records whose key is that of a record of another partition
	View        string // the SQL view of its records
	Lanes       []LaneState
}

// Living returns how many records the stream has that are not deleted.
func (s StreamState) Living() int64 { return s.Records - s.Deleted }

// A LaneState describes one lane of a stream.
type LaneState struct {
	Lane       collection.Lane
	Partitions int64     // places with a checkpoint or a gap that is owed, the stream's own not counted
	Done       int64     // of these, walked to the end and owing nothing
	Complete   bool      // the stream's own walk, or pass over partitions, reached its end
	Again      bool      // that pass is not the first: partitions that are done may be those of one before it
	SavedAt    time.Time // of the newest commit
	Digest     string    // of the checkpoint, for comparison; never the cursor
	Since      string    // the high-water mark that the next walk of the stream's own asks from; "" for none

	Evidence collection.Evidence // of the newest pass of the stream's own walk

	// When that pass began: the time of its first commit. However late the pass
	// ended, the stream is complete as of then. The zero time: not known.
	Began      time.Time
	BeganEpoch int64 // the lease it began under
	Epoch      int64 // the lease its newest slice was committed under
}

// An OwnedGap is a gap with the connector it belongs to.
type OwnedGap struct {
	Connector string
	collection.Gap
}

// A Stored is a record as it is kept.
type Stored struct {
	collection.Record
	Partition   collection.Partition
	Run         string
	CommittedAt time.Time
	DeletedAt   time.Time // of a record that is deleted: when it was marked so
	DeletedBy   string    // by which run
}
