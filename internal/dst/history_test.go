package dst_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors"
	"collect/pacing/gate"
	"collect/store"
)

// A history is one seed being played: a world, the wire to it, one store, and
// one process after the other.
type history struct {
	plan  plan
	wire  *wire
	order *order
	bug   bug

	stage     stage
	connector connectors.Connector
	streams   []collection.Stream
	last      *rest  // what was read last; nil: something may have changed since
	rests     []rest // all that was read

	waits waits

	revived map[collection.Place]bool // streams and lanes of which a person had dead gaps tried again

	mu         sync.Mutex
	processes  int
	running    map[*process]bool
	epoch      int64
	violations []string
	log        []entry
	counts     map[string]int

	// What the store must hold: every slice that took effect, applied to the
	// simplest store there is.
	records  map[string]map[string]int // stream, key: the newest version delivered
	rejected map[string]bool
	cursors  map[collection.Place]collection.Cursor
	asked    map[collection.Place]time.Time // when the newest walk of a place was begun
	walks    map[collection.Place]time.Time // the same, once its first slice was committed

	deletions deletions
}

// play plays a plan, then lets everything come to its end without
// any fault, and returns the history with what it violated.
func play(t *testing.T, p plan, on stage, b bug) *history {
	t.Helper()
	fresh := p.chance(0, "first run") < 0.1
	if !fresh {
		on.sweep(t)
	}
	h := &history{
		plan: p, bug: b, counts: map[string]int{}, running: map[*process]bool{},
		records: map[string]map[string]int{}, rejected: map[string]bool{},
		cursors: map[collection.Place]collection.Cursor{},
		asked:   map[collection.Place]time.Time{}, walks: map[collection.Place]time.Time{},
		deletions: newDeletions(), waits: waits{due: map[int64]limit{}}, revived: map[collection.Place]bool{},
	}
	props := on.props()
	h.connector = props.connector(p)
	h.streams = h.connector.Streams()
	h.order = &order{plan: p, times: map[sum]int{}, names: props.names}
	synctest.Test(t, func(t *testing.T) {
		h.wire = &wire{h: h, world: newWorld(h.plan, time.Now()), times: map[string]int{}, leads: map[string]string{}, forgotten: newForgotten()}
		h.stage = on
		if fresh {
			h.stage = on.another(t)
			defer h.stage.strike(t)
		}
		h.disturbed()
		h.finish()
	})
	return h
}

// disturbed runs the sessions of the plan.
func (h *history) disturbed() {
	for _, s := range h.plan.sessions {
		time.Sleep(s.pause)
		h.setClock(s.clock)
		h.wire.mu.Lock()
		if h.plan.changes > 0 {
			h.wire.world.change(time.Now())
		}
		h.wire.mu.Unlock()
		before := h.rest()
		e := h.execute(s, false)
		h.checkRest(before, s, e)
		if h.failed() {
			return
		}
	}
}

// calmRounds is how many runs without faults a history gets to finish. A gap
// may wait 6 h before it is tried again, and a run that finds something
// unfinished only finishes that.
const calmRounds = 30

// finish lets the history come to its end without faults, with an operator
// who does what only an operator can, and checks that everything is there.
func (h *history) finish() {
	h.wire.mu.Lock()
	h.wire.calm = true
	h.wire.world.mend(time.Now())
	h.wire.mu.Unlock()
	lanes := []collection.Lane{collection.Incremental}
	if h.plan.backfill {
		lanes = append(lanes, collection.Backfill)
	}
	fresh := 0
	for round := 0; fresh < 2; round++ {
		if h.failed() {
			return
		}
		if round == calmRounds {
			h.violate("I2: not done after %d runs without faults", round)
			h.describeRest()
			return
		}
		time.Sleep(7 * time.Hour)
		h.operate()
		done := !h.deletesStill(round)
		for _, lane := range lanes {
			s := session{mode: collection.Resume, lane: lane, concurrency: 1 + round%3}
			if !done && round%3 == 2 {
				s.cap = 2 // the next run goes on with the walk
			}
			before := h.rest()
			begun := len(h.unfinished(before, lane)) == 0
			e := h.execute(s, false)
			h.checkRest(before, s, e)
			done = done && begun && e.err == nil && e.run.Reason == "" && len(e.owed) == h.gone(e.owed)
		}
		fresh++
		if !done {
			fresh = 0
		}
	}
	h.checkEnd()
}

// gone counts the gaps for what is gone for good, which nobody owes.
func (h *history) gone(owed []store.OwnedGap) (n int) {
	for _, gap := range owed {
		if gap.Reason == collection.Gone {
			n++
		}
	}
	return n
}

// operate does what a person would: releases a freeze, has what is not tried
// any more by itself tried again, and, where that did not help either, its
// stream collected anew.
func (h *history) operate() {
	ctx := context.Background()
	db, _, err := h.stage.enter(ctx, false)
	if err != nil {
		h.violate("operator: open: %v", err)
		return
	}
	defer h.stage.leave(db) // nothing is left in it
	audit := store.Audit{Who: "operator", Why: "settled"}
	state, err := db.Provider(ctx, domain)
	if err == nil && state != nil {
		released, events, err := gate.Release(state, time.Now())
		if err == nil && len(events) > 0 {
			edit := func(stands []byte) ([]byte, error) { return gate.Amend(stands, released, time.Now()) }
			err = db.Override(ctx, "sim", domain, edit, audit, events...)
			h.wire.released()
			h.count("released by an operator")
		}
		if err != nil {
			h.violate("operator: release: %v", err)
		}
	}
	gaps, err := db.Gaps(ctx, "sim")
	if err != nil {
		h.violate("operator: gaps: %v", err)
	}
	defer func() { h.last = nil }()
	var homes []collection.Place // of what is dead, in its order
	dead := map[collection.Place][]int64{}
	for _, gap := range gaps {
		if gap.State == collection.GapDead && gap.Reason != collection.Gone {
			home := collection.Place{Stream: gap.Stream, Lane: gap.Lane}
			if dead[home] == nil {
				homes = append(homes, home)
			}
			dead[home] = append(dead[home], gap.ID)
		}
	}
	for _, home := range homes {
		if again := h.plan.chance(0, "tried again") < 0.5; again && !h.revived[home] {
			h.revive(db, home, dead[home], audit)
		} else {
			h.reset(db, home, audit)
		}
	}
}

// reset has the stream of a lane collected anew.
func (h *history) reset(db keeper, home collection.Place, audit store.Audit) {
	if err := db.Reset(context.Background(), "sim", home, collection.Cursor{}, audit); err != nil {
		h.violate("operator: reset: %v", err)
	}
	for at := range h.cursors {
		if at.Stream == home.Stream && at.Lane == home.Lane {
			delete(h.cursors, at)
			delete(h.walks, at)
		}
	}
	h.count("reset by an operator")
}

// revive has the dead gaps of a stream and lane tried again, and nothing else
// changed.
func (h *history) revive(db keeper, home collection.Place, ids []int64, audit store.Audit) {
	revived, err := db.Revive(context.Background(), "sim", append(ids, ids[0]), audit)
	if err != nil {
		h.violate("operator: revive: %v", err)
	}
	if len(revived) != len(ids) || revived[0].ID != ids[0] || !revived[0].Revived() {
		h.violate("I14: the gaps %v were revived as %+v", ids, revived)
	}
	h.revived[home] = true
	h.count("revived by an operator")
}

// watched notes when walks begin, and keeps the order of a history.
type watched struct {
	connectors.Connector
	p *process
}

func (w watched) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	h := w.p.h
	if from.Token == "" && from.High == "" {
		h.mu.Lock()
		h.asked[at] = time.Now()
		h.mu.Unlock()
	}
	ordered := *client
	ordered.Transport = orderly{client.Transport, w.p}
	return w.Connector.Slices(ctx, &ordered, at, from)
}

func (w watched) Partition(stream string, parent collection.Parent) (collection.Partition, string, bool, error) {
	w.p.wait("takes ", stream, " of ", parent.Key)
	return w.Connector.Partition(stream, parent)
}

// Ahead is asked by a walk for each page before it is stored. It keeps two that were
// fetched side by side from being ready at the same moment.
func (w watched) Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor {
	w.p.wait("foretells ", w.p.h.order.name(at), " ", from.Token)
	return w.Connector.(connectors.Aheader).Ahead(at, from, n)
}

func (w watched) Before(at collection.Place, from collection.Cursor) (collection.Cursor, bool) {
	return w.Connector.(connectors.Aheader).Before(at, from)
}

// took applies slices that took effect, and moved their checkpoints as done says.
func (h *history) took(group []collection.Slice, done []collection.Committed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range group {
		at, begins := h.cursors[s.Place], s.From == (collection.Cursor{}) || s.From.Done
		if s.Fills == 0 && at != s.From {
			h.violateLocked("I4: a commit at %s moved from where the checkpoint was not", place(s.Place))
		}
		if at == s.From {
			if h.cursors[s.Place] = done[i].Next; done[i].Next != s.Next {
				h.counts["made again"]++
			}
			if begins {
				h.walks[s.Place] = h.asked[s.Place]
			}
		}
		h.tookOfList(s, done[i], begins, at == s.From)
		if h.records[s.Stream] == nil {
			h.records[s.Stream] = map[string]int{}
		}
		for _, r := range s.Records {
			h.records[s.Stream][r.Key] = versionOf(r.Data)
		}
		for _, r := range s.Rejected {
			h.rejected[string(r.Data)] = true
			h.counts["quarantined"]++
		}
		switch {
		case s.Anew:
			h.counts["walk begun anew"]++
		case s.Leaves != nil:
			h.counts["left behind"]++
		case s.Fills != 0:
			h.counts["filled"]++
		}
		if s.Lane == collection.Backfill {
			h.counts["backfill commit"]++
		}
	}
	if len(group) > 1 {
		h.counts["shared commit"]++
	}
}

func (h *history) began(epoch int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if epoch <= h.epoch {
		h.violateLocked("I6: the epoch went from %d to %d", h.epoch, epoch)
	}
	h.epoch = epoch
}

func (h *history) join(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[p] = true
}

func (h *history) leave(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, p)
}

func (h *history) newestEpoch() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

func versionOf(data []byte) int { return int(gjson.GetBytes(data, "v").Int()) }

func quoted(token string) string {
	if token == "" {
		return `""`
	}
	text, err := json.Marshal(token)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(text)
}
