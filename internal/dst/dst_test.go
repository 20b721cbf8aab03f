// Package dst plays whole histories of collecting, with everything that can go
// wrong in them, and checks that nothing is lost and nothing silently missing.
//
// A seed is one history. It draws what a provider offers (a list by cursor, by
// page number, by offset, by what changed since; details and lists below each
// item), what the network and the provider do to each request, and what
// happens to one process after the other: it is killed, at a write to the
// store or with a request in flight; its commits fail, or succeed and say that
// it is not known; no space is left; it is interrupted, capped, timed out;
// another process starts beside it, or takes its lock; it is stopped for days,
// and wakes; the clock is set before it starts, or while it runs. Meanwhile
// items are created and updated, and in histories that sweep deleted, and there again. The runner, the governed client, the connector
// language and the store are the real ones; time is virtual (testing/synctest),
// the network is a function call, and the database is on a file system in memory.
//
// A history is played on the store, on a twin of it, which does the same with
// maps and takes a quarter of the time, or on both: then it must go the same
// way to the millisecond, and find the same stored whenever no process runs. So
// the twin is also a second opinion on what a store does.
//
// Whenever no process runs, also after each kill, the store is read with SQL
// and must hold exactly what took effect, and owe or be in front of whatever
// it does not hold. While processes run, the provider's log must show that no
// budget was exceeded and no silence broken. At last everything goes well
// until nothing is left to do, and then the store must hold what the provider
// has. The checks name the invariants: I1 data before cursor, I2 coverage, I3
// once by key, I4 monotone, I5 opaque cursors, I6 one writer, I7 no orphan, I9
// planned stops, I10 budgets, I12 silence, I13 ends, I14 the life of gaps, I15
// two lanes, I16 no wait is longer for a clock that was set, I17 confluence,
// I23 unknown commits, I24 no false success, I25 what is marked as deleted was deleted.
//
// # What it does not show
//
// A killed process is one whose every later step has no effect; what the
// kernel and the disk make of a real kill or a power cut is for the tests of
// the store. Nine of ten processes find the store open, and nine of ten
// histories that are played on the real store find its streams declared: see
// stage. A clock that is set moves what is stored, not what a connector reads of
// the time meanwhile: see setClock. A provider that lies without a trace, such
// as one that answers a page number with another page, cannot be caught by any
// client.
//
// # Replaying
//
// A seed shows the same history each time, step by step and to the millisecond.
// What happens to a request depends on the seed and on what is asked for, jitter
// is drawn from the seed, and an order keeps the scheduler from deciding what
// comes first. Only what a killed process still wants to do, and cannot, may
// come in another order, and is not told. scripts/dst plays more histories than
// the tests do, and one of them again.
package dst_test

import (
	"flag"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"collect/collection"
)

var (
	seedCount = flag.Int("dst.seeds", 0, "play the histories of this many seeds; 0: as many as a test has time for")
	keepGoing = flag.Bool("dst.all", false, "go on after a history that fails")
	firstSeed = flag.Uint64("dst.first", 1, "the first of these seeds")
	realEvery = flag.Uint64("dst.real", 4, "play every so many-th history on the real store, too; 0: on nothing but the real store")
	oneSeed   = flag.Uint64("dst.seed", 0, "play the history of this seed only, and tell it")
)

// enough is how many histories have everything happen in them; see branches.
const enough = 250

// workers is how many histories are played at once: as many as there are
// cores where the tests of this project run.
const workers = 2

func TestHistories(t *testing.T) {
	if *oneSeed != 0 {
		on := newTheatre(t)
		defer on.strike(t)
		h, differs := on.both(t, *oneSeed)
		t.Log(h)
		if h.failed() || differs != "" {
			t.Error(differs)
		}
		return
	}
	histories := *seedCount
	if histories == 0 {
		histories = enough
		if raced {
			histories = enough / 10
		}
	}
	// A history keeps little and makes much: let it lie a while.
	defer debug.SetGCPercent(debug.SetGCPercent(600))
	total := map[string]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	seeds := make(chan uint64)
	for range workers {
		group.Go(func() {
			on := newTheatre(t)
			defer on.strike(t)
			for seed := range seeds {
				h, differs := on.play(t, seed)
				mu.Lock()
				for what, n := range h.counts {
					total[what] += n
				}
				total["requests"] += h.wire.arrivals
				if h.failed() {
					t.Errorf("%s", h)
				}
				if differs != "" {
					t.Errorf("seed %d is not the same on both stages: %s", seed, differs)
				}
				mu.Unlock()
			}
		})
	}
	for i := range histories {
		if t.Failed() && !*keepGoing {
			break
		}
		seeds <- *firstSeed + uint64(i)
	}
	close(seeds)
	group.Wait()
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%8d %s", total[what], what)
	}
	for _, what := range branches() {
		if total[what] == 0 && histories >= enough && !t.Failed() {
			t.Errorf("%q never happened in %d histories: they prove nothing about it", what, histories)
		}
	}
}

// tied is a history in which a slice becomes ready at the instant at which the
// committer takes what is ready. Whether it still shares that transaction is up to Go's
// scheduler, and either is right.
const tied = 12

// TestReplay plays histories twice, and both times the same must happen at the
// same times.
func TestReplay(t *testing.T) {
	on := newTwin()
	histories := uint64(60)
	if raced {
		histories = 4
	}
	for seed := *firstSeed; seed < *firstSeed+histories; seed++ {
		if seed == tied {
			continue
		}
		first, second := play(t, newPlan(seed), on, bug{}), play(t, newPlan(seed), on, bug{})
		if was, is := first.String(), second.String(); was != is {
			t.Errorf("played again, a history went another way. %s\n\nFirst it was\n%s", is, was)
		}
	}
}

// TestHistoriesThatFailedOnce plays what a longer run found, as long as the
// seeds still stand for it: 13913 (I16) is a process that was killed long after
// it was heard of last, and a clock that was then set back by a year; 20812, of
// which the oracle thought wrongly, is a refusal that is told to a process that
// has lost its lease, and that no other hears of; 20950 did not end, because a
// mutex was held while virtual time was to go on; of the others (I16), the clock
// was set back under a run, whose next beat took the place of the one that told
// by how much.
func TestHistoriesThatFailedOnce(t *testing.T) {
	on := newDisk(t)
	defer on.strike(t)
	for _, seed := range []uint64{733, 13913, 20812, 20950, 5004648, 1010885, 1058256, 1085980, 1088607} {
		if h := play(t, newPlan(seed), on, bug{}); h.failed() {
			t.Errorf("%s", h)
		}
	}
}

// branches returns what must happen in the histories for them to be worth
// something.
func branches() []string {
	must := []string{
		"killed before a write", "killed after a write", "killed in flight", "killed at a time",
		"unknown commit, with effect", "unknown commit, without effect", "commit failed", "disk full",
		"interrupted", "cancelled", "held by another", "lock stolen", "fenced", "began inside a silence",
		"left behind", "filled", "gap leased", "quarantined", "backfill commit", "shared commit",
		"hold", "freeze", "web page instead", "refused, and asked for another", "gap forbidden", "released by an operator", "reset by an operator", "revived by an operator",
		"clock set back", "clock set forward", "clock set back under a run", "clock set forward under a run",
		"stopped", "fenced after a sleep", "beat", "beat lost", "gap leased, backfill",
		"sweep", "sweep of a walk of several processes", "there again", "walk with a hole, not swept",
		"cursor forgotten", "cursor forgotten, and no list", "walk begun anew",
		"killed beside another run", "disk full beside another run", "unknown commit of a run that lost its lease",
	}
	for _, f := range faultOrder {
		must = append(must, string(f))
	}
	for _, r := range []collection.Reason{
		collection.RequestCap, collection.WallClock, collection.RetryBudget, collection.Interrupted, collection.CircuitOpen,
		collection.RateLimited, collection.UpstreamPressure, collection.RetryAfter, collection.Auth, collection.Frozen,
		collection.SchemaDrift, collection.BadPage, collection.NotFound, collection.Gone,
	} {
		must = append(must, "gap "+string(r))
	}
	for _, s := range []collection.GapState{collection.GapOpen, collection.GapRecovered, collection.GapSuperseded, collection.GapDead} {
		must = append(must, "gap "+string(s))
	}
	for _, o := range []collection.Outcome{collection.Complete, collection.NothingNew, collection.Deferred, collection.Waiting,
		collection.Blocked, collection.RunInterrupted} {
		must = append(must, "outcome "+string(o))
	}
	return must
}
