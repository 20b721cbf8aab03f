package dst_test

import (
	"time"

	"collect/collection"
)

// A rest is what the store holds while no process is running.
type rest struct {
	cursors map[collection.Place]collection.Cursor
	records map[string]map[string]int
	gaps    []gap
	bodies  map[string]bool  // in quarantine
	deleted map[string]int64 // the commits that marked items as deleted, by their keys
	twice   []string         // records that are there more than once
}

func newRest() rest {
	return rest{cursors: map[collection.Place]collection.Cursor{}, records: map[string]map[string]int{}, bodies: map[string]bool{}, deleted: map[string]int64{}}
}

// A commit is a row of the audit trail.
type commit struct {
	id, epoch, previous, fills int64
	at                         collection.Place
}

// A gap is a row of the gaps, whatever its state.
type gap struct {
	id       int64
	at       collection.Place
	cursor   collection.Cursor
	reason   collection.Reason
	state    collection.GapState
	attempts int
	until    time.Time // before which it is not tried; zero: at any time
	run      string
}

func (g gap) owed() bool {
	return g.state == collection.GapOpen || g.state == collection.GapLeased || g.state == collection.GapDead
}

// rest returns what the store holds; it is read anew if something may have
// changed.
func (h *history) rest() rest {
	if h.last == nil {
		now := h.snapshot()
		h.last = &now
	}
	return *h.last
}

// snapshot reads what the store holds.
func (h *history) snapshot() rest {
	now, commits, err := h.stage.look()
	if err != nil {
		h.violate("read: %v", err)
	}
	for _, twice := range now.twice {
		h.violate("I3: %s is there twice", twice)
	}
	h.checkTrail(commits)
	h.rests = append(h.rests, now)
	return now
}
