package dst_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"collect/collection"
)

// checkTrail is I4 and I6 by the audit trail: each commit names the one before
// it at its place, and no lease commits after a newer one.
func (h *history) checkTrail(commits []commit) {
	newest := int64(0)
	last := map[collection.Place]int64{}
	for _, c := range commits {
		if c.epoch < newest {
			h.violate("I6: commit %d under epoch %d came after one under %d", c.id, c.epoch, newest)
		}
		newest = c.epoch
		if c.previous < last[c.at] && c.fills == 0 && c.previous != 0 {
			h.violate("I4: commit %d follows %d, but %d was there", c.id, c.previous, last[c.at])
		}
		if c.fills == 0 {
			last[c.at] = c.id
		}
	}
}

// checkRest checks what must hold whenever no process is running, also after a
// kill.
func (h *history) checkRest(before rest, s session, e end) {
	if h.failed() {
		return
	}
	now := h.snapshot()
	h.last = &now
	// The store holds what took effect, and nothing else (I1, I3, I4): data
	// and checkpoint of each commit, or neither.
	for at, want := range h.cursors {
		if got := now.cursors[at]; got != want {
			h.violate("I1: checkpoint of %s is %+v, want %+v", place(at), got, want)
		}
	}
	for at, got := range now.cursors {
		if _, ok := h.cursors[at]; !ok && got != (collection.Cursor{}) {
			h.violate("I4: a checkpoint of %s that no commit wrote: %+v", place(at), got)
		}
	}
	for stream, want := range h.records {
		if got := now.records[stream]; !maps.Equal(got, want) {
			h.violate("I1, I3: %s: stored %v, want %v", stream, got, want)
		}
	}
	for body := range h.rejected {
		if !now.bodies[body] {
			h.violate("I1: a rejected record is not in quarantine: %s", body)
		}
	}
	if s.lane == collection.Backfill && s.second == 0 {
		for at, c := range now.cursors {
			if at.Lane == collection.Incremental && before.cursors[at] != c {
				h.violate("I15: a backfill moved the checkpoint of %s", place(at))
			}
		}
	}
	h.checkDeletions(before, now)
	h.checkGaps(before, now, e)
	h.checkCovered(now)
	h.checkVerdict(now, e)
}

// longestWait is how long a gap of these histories waits at most: the cooldown
// of the store, which is longer than any silence that is asked for.
const longestWait = 6 * time.Hour

// checkGaps is I9, I14 and, of waits, I16.
func (h *history) checkGaps(before, now rest, e end) {
	was := map[int64]gap{}
	for _, g := range before.gaps {
		was[g.id] = g
	}
	for _, g := range now.gaps {
		h.count("gap " + string(g.reason))
		h.count("gap " + string(g.state))
		old, known := was[g.id]
		if known && !old.owed() && g.state != old.state {
			h.violate("I14: gap %d went from %s to %s", g.id, old.state, g.state)
		}
		if g.state == collection.GapLeased && !e.dead && e.err == nil && !e.held {
			h.violate("I14: gap %d is still leased after its run ended", g.id)
		}
		if over := h.waits.tooLong(g); g.owed() && over > 0 && !e.held {
			h.violate("I16: gap %d (%s) at %s waits until %s, %v too long", g.id, g.reason, place(g.at), clock(g.until), over)
		}
		waits := !g.until.IsZero() && g.reason != collection.CircuitOpen // that one says when the breaker opens, and is tried all the same
		if g.owed() && g.reason.Kind() == collection.Planned && waits {
			h.violate("I9: the planned gap %d (%s) at %s waits", g.id, g.reason, place(g.at))
		}
	}
	for id, old := range was {
		if old.owed() && !slices.ContainsFunc(now.gaps, func(g gap) bool { return g.id == id }) {
			h.violate("I14: gap %d is not there any more", id)
		}
	}
}

// checkCovered is I2: what was there when a walk began is stored in that
// version or a newer one, or is in front of the checkpoint, or is owed.
func (h *history) checkCovered(now rest) {
	owed := map[collection.Place]bool{}
	for _, g := range now.gaps {
		if g.owed() {
			owed[g.at] = true
		}
	}
	for at, began := range h.walks {
		if owed[at] || began.IsZero() {
			continue
		}
		switch {
		case at.Stream == "items":
			h.coveredItems(now, at, began)
		case at.Stream == "notes" && at.Partition != "":
			h.coveredNotes(now, at, began)
		}
	}
}

func (h *history) coveredItems(now rest, where collection.Place, began time.Time) {
	c := now.cursors[where]
	w := h.wire.world
	reached := at{number: -1}
	switch {
	case c.Done:
		reached = at{number: len(w.items)}
	case h.plan.kind == byNumber && c.Token != "":
		n, _ := strconv.Atoi(c.Token)
		reached.number = (n-1)*h.plan.pageSize - 1
	case h.plan.kind == byOffset && c.Token != "":
		n, _ := strconv.Atoi(c.Token)
		reached.number = n - 1
	case h.plan.kind == byToken || h.plan.kind == unordered:
		reached, _ = w.position("/items", c.Token)
	}
	for _, i := range w.items {
		if i.id == "" || i.number > reached.number || i.deletedSince(began) {
			continue
		}
		if got, want := now.records["items"][i.id], i.versionAt(began); got < want {
			h.violate("I2: %s has version %d of item %s, but %d was there when its walk began at %s, and nothing says that it is owed",
				place(where), got, i.id, want, clock(began))
		}
	}
}

func (h *history) coveredNotes(now rest, where collection.Place, began time.Time) {
	id := idOf(where.Partition)
	reached, _ := h.wire.world.position("/items/"+id+"/notes", now.cursors[where].Token)
	if now.cursors[where].Done {
		reached.number = 1 << 30
	}
	i := h.wire.world.byID[id]
	for n, written := range i.notes {
		key := fmt.Sprintf("%s/%d", id, n)
		if _, ok := now.records["notes"][key]; !ok && !written.After(began) && n <= reached.number {
			h.violate("I2: note %s was there when its walk began at %s, is not stored, and is not owed", key, clock(began))
		}
	}
}

func idOf(p collection.Partition) string {
	vars, err := p.Vars()
	if err != nil {
		return ""
	}
	return strings.Trim(string(vars["item"]), `"`)
}

// unfinished returns the places of a lane whose walk is not at its end, and
// whose records are not gone for good.
func (h *history) unfinished(r rest, lane collection.Lane) (open []string) {
	left := map[collection.Place]bool{}
	for at, c := range r.cursors {
		// A parent that no partition could be made of has no walk.
		if at.Lane == lane && !c.Done && !strings.HasPrefix(string(at.Partition), collection.UnmadePrefix) {
			left[at] = true
		}
	}
	for _, stream := range h.streams {
		home := collection.Place{Stream: stream.Name, Lane: lane}
		left[home] = left[home] || !r.cursors[home].Done
		if stream.Parent == "" {
			continue
		}
		name := map[bool]string{true: "item", false: "id"}[stream.Name == "notes"]
		for key := range r.records[stream.Parent] {
			at := home
			at.Partition = collection.Partition(`{"` + name + `":"` + key + `"}`)
			left[at] = left[at] || !r.cursors[at].Done
		}
	}
	for _, g := range r.gaps {
		if g.owed() && g.reason == collection.Gone {
			delete(left, g.at)
		}
	}
	for at, is := range left {
		if is {
			open = append(open, place(at))
		}
	}
	return open
}

// checkVerdict is I24: success is said only where nothing is left, and a
// planned pause only where what is left is planned; or was refused to an account
// that has been answered since, and waits for its turn.
func (h *history) checkVerdict(now rest, e end) {
	if e.held || e.dead || e.err != nil {
		return
	}
	h.count("outcome " + string(e.run.Outcome))
	if e.run.Reason != "" {
		h.checkMarked(now, e.run)
	}
	for _, g := range now.gaps {
		if !g.owed() {
			continue
		}
		if g.reason == collection.Gone {
			continue
		}
		refused := g.reason == collection.Auth || g.reason == collection.Frozen || g.reason == collection.Suspended
		if refused && g.state != collection.GapDead && e.run.Tally.Slices > 0 && e.run.Outcome == collection.Deferred {
			h.count("refused before")
			continue
		}
		success := e.run.Outcome == collection.Complete || e.run.Outcome == collection.NothingNew
		if success || e.run.Outcome == collection.Deferred && g.reason.Kind() != collection.Planned {
			h.violate("I24: outcome %s with an owed gap %s at %s", e.run.Outcome, g.reason, place(g.at))
		}
	}
	if e.run.Outcome != collection.Complete && e.run.Outcome != collection.NothingNew {
		return
	}
	for _, left := range h.unfinished(now, e.run.Lane) {
		h.violate("I24: outcome %s with %s not at its end", e.run.Outcome, left)
	}
}

// checkMarked is I9 and I2: a run that was ended leaves a gap at every stream
// that it did not finish.
func (h *history) checkMarked(now rest, run collection.Run) {
	for _, stream := range h.streams {
		home := collection.Place{Stream: stream.Name, Lane: run.Lane}
		marked := slices.ContainsFunc(now.gaps, func(g gap) bool { return g.owed() && g.at == home })
		if !marked && !now.cursors[home].Done {
			h.violate("I9: a run ended by %s left %s unfinished, and no gap says so", run.Reason, place(home))
		}
	}
}

// checkEnd is I17 and the promise itself: after all that happened the store
// has what the provider has, in its newest versions, and owes nothing.
func (h *history) checkEnd() {
	now := h.snapshot()
	want := map[string]map[string]int{"items": {}, "details": {}, "notes": {}}
	loose := map[string]bool{} // details that are fetched once may be older
	for _, i := range h.wire.world.items {
		if i.deleted() {
			version := now.records["items"][i.id]
			if want["items"][i.id] = version; version == 0 {
				delete(want["items"], i.id) // it was deleted before it was seen
			} else if i.id != "" && now.deleted[i.id] == 0 && !h.plan.keyless {
				h.violate("I17: item %s is deleted, and not marked", i.id)
			}
			continue
		}
		if now.deleted[i.id] != 0 {
			h.violate("I17: item %s is marked as deleted, and is there", i.id)
		}
		if i.id == "" {
			if body := string(i.thing().data); !now.bodies[body] {
				h.violate("I17: an item without a key is not in quarantine: %s", body)
			}
			continue
		}
		want["items"][i.id] = len(i.history)
		if h.plan.details != "" && !i.gone {
			want["details"][i.id] = len(i.history)
			loose[i.id] = h.plan.details == "once"
		}
		for n := range i.notes {
			if h.plan.notes {
				want["notes"][fmt.Sprintf("%s/%d", i.id, n)] = 1
			}
		}
	}
	for stream, all := range want {
		for key, version := range all {
			got := now.records[stream][key]
			if got != version && (got == 0 || !loose[key] || stream != "details") {
				h.violate("I17: %s %s: version %d is stored, want %d", stream, key, got, version)
			}
		}
		if got := len(now.records[stream]); got > len(all) {
			h.violate("I17: %d %s are stored, want %d", got, stream, len(all))
		}
	}
}

// describeRest adds what is left to the log of a history that does not end.
func (h *history) describeRest() {
	now := h.snapshot()
	for _, g := range now.gaps {
		if g.owed() {
			h.note("owed: %+v", g)
		}
	}
	h.note("unfinished: %v", h.unfinished(now, collection.Incremental))
}
