package collection

import "errors"

// What a commit can answer other than committed. The first two, and ErrFull,
// mean that nothing was written.
var (
	// ErrFenced: another run holds the connector now, or may before long, and this
	// one must stop.
	ErrFenced = errors.New("another run took over")

	// ErrCursorMoved: the checkpoint is not where the slice started.
	ErrCursorMoved = errors.New("the checkpoint is not where the slice started")

	// ErrUnknown: it is not known whether the commit took effect. The
	// checkpoint must be read back before anything else is done.
	ErrUnknown = errors.New("not known whether the commit took effect")

	// ErrFull: no space is left.
	ErrFull = errors.New("no space left")
)

// Committed says what a commit did for one slice.
type Committed struct {
	Commit   int64
	Changed  int // records that were new or different from what was stored
	Rejected int // records put in quarantine
	Older    int // records that were not stored, because a later version of them is; see [Mark]
	Deleted  int // records that were marked as deleted: tombstones, and what a sweep found missing
	Moved    int // records that another partition had before
	Closed   []Gap
	Left     Gap // what the slice Leaves, or that its records are contested, as it is owed now; the zero Gap: nothing

	Next     Cursor   // where the checkpoint moved, if it did: the Next of the slice, or its Else
	Evidence Evidence // of the pass, this slice included; see Slice
}

// A PlaceState is what a run must know of a place before it works there.
type PlaceState struct {
	Checkpoint Checkpoint
	Left       Reason  // of the gap that marks the checkpoint, if it ended a run: forward work goes on there
	Owed       bool    // a gap at the checkpoint is open, leased or dead whose reason does not end runs: only recovery works here
	Absent     Absence // of a piece that is gone, unless a person gave it up
}
