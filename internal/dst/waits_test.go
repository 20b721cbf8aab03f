package dst_test

import (
	"sync"
	"time"

	"collect/collection"
)

// waits knows how long gaps may wait after the clock was set back: no longer
// than when their run was last heard of, and no shorter than they were told.
// (I16.)
type waits struct {
	mu     sync.Mutex
	heard  time.Time           // when a run was heard of last, as it is stored
	left   map[int64]remaining // when the clock was set back; nil: it was not since a run began or was heard of
	limits map[int64]limit     // for what was found waiting then
	due    map[int64]limit     // before which a gap is not tried: only a clock that is set forward brings it nearer
}

// A remaining is how long a gap had to wait when its run was last heard of.
type remaining struct {
	time.Duration
	attempts int
}

// A limit is until when a gap waits at most, unless it is tried again.
type limit struct {
	until    time.Time
	attempts int
}

// beat notes that a run said that it is alive. It takes the place of what it said
// before, also under another clock, and so must move what is waited for. It may
// have been stopped since the time that it says.
func (w *waits) beat(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left != nil {
		w.moved(time.Now())
	}
	w.heard = at
}

// end notes that a run ended, which is stored beside its last beat.
func (w *waits) end(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at.After(w.heard) {
		w.heard = at
	}
}

// age makes what is stored older.
func (w *waits) age(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = w.heard.Add(-d)
	for id, due := range w.due {
		w.due[id] = limit{due.until.Add(-max(0, d)), due.attempts}
	}
}

// setBack notes what is waited for before the clock is set back, whether a run is
// under way or not.
func (w *waits) setBack(r rest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left != nil {
		return
	}
	w.left = map[int64]remaining{}
	for _, g := range r.gaps {
		if !g.until.IsZero() {
			w.left[g.id] = remaining{g.until.Sub(w.heard), g.attempts}
		}
	}
}

// begin notes that a run begins, which moves what is waited for.
func (w *waits) begin(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved(now)
	w.heard = now
}

// moved turns what was left of waits into limits. w.mu is held.
func (w *waits) moved(now time.Time) {
	w.limits = map[int64]limit{}
	for id, left := range w.left {
		w.limits[id] = limit{now.Add(max(0, left.Duration)), left.attempts}
	}
	w.left = nil
}

// renewed notes that gaps wait for something else now.
func (w *waits) renewed(gaps []collection.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, gap := range gaps {
		delete(w.limits, gap.ID)
		delete(w.left, gap.ID)
		delete(w.due, gap.ID)
		if gap.Reason.Kind() == collection.Pressure {
			w.due[gap.ID] = limit{gap.NotBefore, gap.Attempts}
		}
	}
}

// tooEarly returns by how much a gap is tried too early.
func (w *waits) tooEarly(g collection.Gap, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, ok := w.due[g.ID]
	if !ok || due.attempts != g.Attempts {
		return 0
	}
	return max(0, due.until.Sub(now)-time.Millisecond)
}

// tooLong returns by how much a gap that waits waits too long. Until a run is
// heard of under a clock that was set back, nothing can have moved.
func (w *waits) tooLong(g gap) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left != nil || g.state == collection.GapDead || g.until.IsZero() {
		return 0
	}
	over := time.Until(g.until) - longestWait
	if l, ok := w.limits[g.id]; ok && l.attempts == g.attempts {
		over = max(over, g.until.Sub(l.until)-time.Millisecond)
	}
	return max(0, over)
}
