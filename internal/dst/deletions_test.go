package dst_test

import (
	"time"

	"collect/collection"
)

// In some histories the provider deletes items and has some of them again, and
// the complete walks of its list are what shows it. Never more than a quarter of
// the items is deleted: at more than half the provider would be doubted.

// deleted reports whether the provider does not have the item now.
func (i *item) deleted() bool { return len(i.turns)%2 == 1 }

// deletedSince reports whether there was a moment, at a time or after it, at which the
// provider did not have the item.
func (i *item) deletedSince(t time.Time) bool {
	n := len(i.turns)
	return n > 0 && (i.deleted() || i.turns[n-1].After(t))
}

// deletedAllThrough reports whether the provider has not had the item since a time.
func (i *item) deletedAllThrough(t time.Time) bool {
	return i.deleted() && !i.turns[len(i.turns)-1].After(t)
}

// turn deletes items, or has them again, in some of the histories that sweep.
func (w *world) turn(t time.Time) {
	if !w.plan.sweep || w.fates.IntN(2) == 0 {
		return
	}
	if w.plan.kind.counts() {
		w.turnTail(t)
		return
	}
	if n := len(w.items) / 4; n > 0 {
		w.turnOne(w.items[4*w.fates.IntN(n)+3], t)
	}
}

func (w *world) turnOne(i *item, t time.Time) {
	if i.turns = append(i.turns, t); !i.deleted() && i.changed() != t && w.fates.IntN(2) == 0 {
		i.history = append(i.history, t)
	}
	w.order = nil
}

// turnTail deletes the last items of a list whose pages are counted, or has all of
// them again: no other item moves to another page, where a walk would miss it.
func (w *world) turnTail(t time.Time) {
	begin := w.length()
	if begin == len(w.items) {
		begin -= w.fates.IntN(len(w.items)/4 + 1)
	}
	for _, i := range w.items[begin:] {
		w.turnOne(i, t)
	}
}

// length returns how many items a list has whose pages are counted.
func (w *world) length() int {
	n := len(w.items)
	for n > 0 && w.items[n-1].deleted() {
		n--
	}
	return n
}

// shortened reports whether an item that is created would take the page of one that
// is deleted.
func (w *world) shortened() bool { return w.plan.kind.counts() && w.length() < len(w.items) }

// turnRounds is how many of the runs without faults find the list with other items
// deleted, in histories that sweep: before them few walks come to their end, and two have to lack an item.
const turnRounds = 6

// deletesStill deletes items before a run without faults, if it is one of the first.
func (h *history) deletesStill(round int) bool {
	if !h.plan.sweep || round >= turnRounds {
		return false
	}
	h.wire.mu.Lock()
	defer h.wire.mu.Unlock()
	h.wire.world.turn(h.wire.world.tick(time.Now()))
	return true
}

// Deletions are what is known of the sweeps that took effect.
type deletions struct {
	began map[int64]time.Time        // when the walk began that a commit marked records for
	shown map[string]int64           // the newest commit that delivered an item, by its key
	under map[collection.Place]int64 // the epoch under which the newest walk of a place was begun

	// When the last two walks of a place began, the older one first, as far as they are complete.
	complete map[collection.Place][2]time.Time
}

func newDeletions() deletions {
	return deletions{map[int64]time.Time{}, map[string]int64{}, map[collection.Place]int64{}, map[collection.Place][2]time.Time{}}
}

// tookOfList notes what a slice of items showed and marked. h.mu is held.
func (h *history) tookOfList(s collection.Slice, done collection.Committed, begins, moved bool) {
	if !h.plan.sweep {
		return
	}
	d := h.deletions
	for _, r := range s.Records {
		d.shown[r.Key] = done.Commit
	}
	if moved && begins {
		d.under[s.Place] = h.epoch
	}
	if !moved || !done.Next.Done {
		return
	}
	two := [2]time.Time{d.complete[s.Place][1], h.walks[s.Place]}
	if e := done.Evidence; e.Holes > 0 || e.Suspicion() != "" {
		two[1] = time.Time{}
	} else if before, _ := e.Sweep(); before == e.Pass {
		two[0] = two[1] // a list of one page marks what it lacks at once
	}
	d.complete[s.Place] = two
	switch {
	case done.Deleted > 0:
		d.began[done.Commit] = h.walks[s.Place]
		h.counts["sweep"]++
		if d.under[s.Place] != h.epoch {
			h.counts["sweep of a walk of several processes"]++
		}
		if s.Lane == collection.Backfill {
			h.counts["sweep, backfill"]++
		}
	case done.Evidence.Holes > 0:
		h.counts["walk with a hole, not swept"]++
	}
}

// checkDeletions compares what is marked as deleted with what the provider has.
func (h *history) checkDeletions(before, now rest) {
	if !h.plan.sweep {
		return
	}
	d, w := h.deletions, h.wire.world
	for key, commit := range now.deleted {
		began, known := d.began[commit]
		switch {
		case !known:
			h.violate("I25: %s is marked by commit %d, which is not the end of a walk", key, commit)
		case !w.byID[key].deletedSince(began):
			h.violate("I25: %s is marked as deleted by a walk that began at %s, and the provider had it all the time", key, clock(began))
		case d.shown[key] >= commit:
			h.violate("I25: %s is marked by commit %d, and commit %d showed it", key, commit, d.shown[key])
		}
	}
	for key, commit := range before.deleted {
		if now.deleted[key] != 0 {
			continue
		}
		h.count("there again")
		if d.shown[key] <= commit {
			h.violate("I25: %s is not marked any more, and nothing showed it", key)
		}
	}
	if h.plan.kind.counts() || h.plan.keyless {
		return // it takes another walk, or cannot be known
	}
	for at, c := range now.cursors {
		began := h.deletions.complete[at][0]
		if !c.Done || began.IsZero() || h.deletions.complete[at][1] != h.walks[at] {
			continue
		}
		for key := range now.records["items"] {
			if w.byID[key].deletedAllThrough(began) && now.deleted[key] == 0 {
				h.violate("I25: the two walks of %s since %s are complete, and %s, which was deleted before, is not marked", place(at), clock(began), key)
			}
		}
	}
}
