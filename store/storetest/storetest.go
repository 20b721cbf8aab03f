// Package storetest is the conformance suite of stores: every promise of
// package store as a test, named after the invariant it keeps.
//
// A store passes if its own test calls [Test]. What only the store itself can
// show (that it survives power cuts, a full disk, kill -9) belongs in tests
// beside it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// Test runs the suite. The function open opens the store of a test: a new one
// the first time it is called with t, and the same one again after that, also
// while it is open already.
func Test(t *testing.T, open func(t *testing.T) store.Store) {
	tests := []struct {
		name string
		test func(*testing.T, func(*testing.T) store.Store)
	}{
		{"I1 data and cursor move together", dataBeforeCursor},
		{"I1 a group of slices is all or nothing", allOrNothing},
		{"I1 a group of slices is counted", countedTogether},
		{"I1 a group of slices is what each of them is", groupedAlike},
		{"I1 a lost answer is found by the checkpoint", lostAnswer},
		{"I1 what cannot be stored is in quarantine", quarantine},
		{"I2 a pass counts what it delivers", passes},
		{"I2 a pass counts what comes again with a later mark", later},
		{"I2 a walk that is refuted is no end", refuted},
		{"I3 once by key", onceByKey},
		{"I3 a later version stays", laterStays},
		{"I3 a reset forgets which version is later", laterForgotten},
		{"I3 a key belongs to one partition", keyCollision},
		{"I3 a record follows its parent", moves},
		{"I3 a key that two parents share is told", shared},
		{"I3 and where parents are asked from a mark", sharedSilently},
		{"I3 a record that moves while parents are read is decided about", decided},
		{"I3 and by the next run", decidedLater},
		{"I3 and of three parents", decidedOfThree},
		{"I3 and by its mark", decidedByMarks},
		{"I3 and beside other gaps", contestedBeside},
		{"I3 a record of two lists is one record", ofTwoLists},
		{"I3 what comes again and is fine is not rejected any more", admitted},
		{"I3 what is deleted keeps its data", buried},
		{"I3 a complete walk marks what it lacks", swept},
		{"I3 a walk that may not have all marks nothing", doubted},
		{"I3 no other walk does", notSwept},
		{"I3 a record moves between partitions", sweptApart},
		{"I3 most of a stream is marked by a person", sweepAccepted},
		{"I3 the bytes come back unchanged", bytesUnchanged},
		{"I4 a commit starts from the checkpoint", monotone},
		{"I4 only a reset goes back", reset},
		{"I4 a reset of a stream moves its partitions", resetPartitions},
		{"I4 an override is audited", override},
		{"I5 cursors are opaque", opaqueCursors},
		{"I6 one run at a time", oneRun},
		{"I6 who lost the lease writes nothing", fenced},
		{"I7 a dead run is succeeded at once", abandoned},
		{"I14 a gap is renewed at its cursor", gapRenewed},
		{"I14 a gap ends with its data", gapRecovered},
		{"I14 a slice fills a gap behind the checkpoint", gapFilled},
		{"I14 a slice closes the gap it fills", gapFilledElsewhere},
		{"I14 a slice leaves a gap behind", gapLeft},
		{"I14 a gap goes with a walk that begins anew", gapAnew},
		{"I14 gaps are deferred together", gapsTogether},
		{"I14 the end of a walk closes what was planned", gapPlanned},
		{"I14 a gap dies", gapDies},
		{"I14 a dead gap is revived", gapRevived},
		{"I14 only a dead gap is revived", gapNotRevived},
		{"I14 a gap that cools is tried at once", gapHastened},
		{"I14 a gap is waived", gapWaived},
		{"a place whose piece is gone says so", goneIsTold},
		{"I14 a place is walked again", redone},
		{"I14 a gap is leased once in a run", gapLeasedOnce},
		{"I14 gaps are leased by rank", gapRank},
		{"I14 gaps cool down", gapCooldown},
		{"records that all change their nature are refused", schemaDrift},
		{"what is accepted is no drift", schemaAccepted},
		{"what is old goes when it is ordered", pruned},
		{"the newest of what was rejected is kept", prunedToRoom},
		{"the newest events and runs are kept", prunedToSize},
		{"slices that stored nothing", prunedSlices},
		{"the newest slice stays", prunedNewest},
		{"I15 two checkpoints", twoLanes},
		{"I16 clocks decide nothing", clocks},
		{"I16 a clock set back makes no wait longer", clockSetBack},
		{"I16 a clock set back makes no wait of later shorter", clockSetBackUnderGaps},
		{"I16 a clock that goes on moves no wait", clockGoesOn},
		{"I17 places do not disturb each other", concurrentPlaces},
		{"a connector is paused", paused},
		{"what people order is told by itself", ordered},
		{"I21 changes leave evidence", evidence},
		{"I22 looking changes nothing", looking},
		{"streams are described", describe},
		{"windows of time that are whole are noted", spans},
		{"a walk is as new as its beginning", begun},
		{"parents come in pages", parents},
		{"places are read together", places},
		{"metrics of a run that goes on", live},
		{"traffic of all runs", traffic},
		{"the last success", successes},
		{"a run with what happened in it", runAlone},
		{"the past since a time", past},
		{"gaps that opened and closed", gapsMoved},
		{"runs are added up", runs},
		{"what broke a run is known", broken},
		{"provider state is kept", providerState},
		{"fields are noted in the order seen", fields},
		{"a run that died has done what it committed", tallyOfTheDead},
		{"a ledger is finished once", finishOnce},
		{"an undeclared stream is an error", undeclared},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.name, " ", "_"), func(t *testing.T) {
			t.Parallel() // stores are disks, which mostly wait
			test.test(t, open)
			statesAgree(t, open(t))
		})
	}
}

// The connector of the tests and its streams.
const connector = "acme"

var streams = []collection.Stream{
	{Name: "repos", Role: collection.List, Refresh: collection.EachRun},
	{Name: "issues", Role: collection.List, Parent: "repos", Refresh: collection.EachRun, Ordered: true},
	{Name: "comments", Role: collection.Detail, Parent: "issues", Refresh: collection.WhenChanged},
}

const (
	forward  = collection.Incremental
	backfill = collection.Backfill
)

// begin starts a run, which is finished with the test if it is not before.
func begin(t *testing.T, s store.Store, id string) store.Ledger {
	t.Helper()
	l, err := s.Begin(t.Context(), newRun(id), streams)
	if err != nil {
		t.Fatalf("Begin %s: %v", id, err)
	}
	return l
}

func newRun(id string) collection.Run {
	return collection.Run{
		ID: id, Connector: connector, Mode: collection.Forward, Lane: forward,
		Params:    map[string]string{"org": "acme"},
		Holder:    collection.Holder{Host: "here", PID: 4711},
		Source:    "/srv/acme.yaml",
		StartedAt: time.Now(),
	}
}

func finish(t *testing.T, l store.Ledger) {
	t.Helper()
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
		t.Fatalf("Finish: %v", err)
	}
}

func closeStore(t *testing.T, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// opened returns the store of t, closed with it.
func opened(t *testing.T, open func(*testing.T) store.Store) store.Store {
	s := open(t)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// ledger returns the ledger of a run of the store of t.
func ledger(t *testing.T, open func(*testing.T) store.Store) (store.Store, store.Ledger) {
	s := opened(t, open)
	return s, begin(t, s, "run-1")
}

// commit commits slices, which must succeed.
func commit(t *testing.T, l store.Ledger, sl ...collection.Slice) []collection.Committed {
	t.Helper()
	done, err := l.Commit(t.Context(), sl...)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	if len(done) != len(sl) {
		t.Fatalf("Commit of %d slices gave %d results", len(sl), len(done))
	}
	return done
}

// deferGap defers one gap, which must succeed.
func deferGap(t *testing.T, l store.Ledger, worked bool, g collection.Gap) collection.Gap {
	t.Helper()
	gaps, err := l.Defer(t.Context(), worked, g)
	if err != nil || len(gaps) != 1 {
		t.Fatalf("Defer = %v, %v, want one gap", gaps, err)
	}
	return gaps[0]
}

// lease leases up to n gaps of all streams.
func lease(t *testing.T, l store.Ledger, now time.Time, n int) []collection.Gap {
	t.Helper()
	gaps, err := l.Lease(t.Context(), forward, []string{"repos", "issues", "comments"}, now, n)
	if err != nil {
		t.Fatalf("Lease: %v", err)
	}
	return gaps
}

// owed returns the gaps that are owed as "state reason attempts".
func owed(t *testing.T, s store.Store) []string {
	t.Helper()
	gaps, err := s.Gaps(t.Context(), connector)
	if err != nil {
		t.Fatalf("Gaps: %v", err)
	}
	var all []string
	for _, g := range gaps {
		all = append(all, fmt.Sprintf("%s %s %d", g.State, g.Reason, g.Attempts))
	}
	return all
}

func checkOwed(t *testing.T, s store.Store, want ...string) {
	t.Helper()
	if got := owed(t, s); !slices.Equal(got, want) {
		t.Errorf("gaps = %q, want %q", got, want)
	}
}

// contents returns the records of a stream as "key=data".
func contents(t *testing.T, s store.Store, stream string) []string {
	t.Helper()
	var all []string
	for r, err := range s.Records(t.Context(), connector, stream) {
		if err != nil {
			t.Fatalf("Records of %s: %v", stream, err)
		}
		all = append(all, r.Key+"="+string(r.Data))
	}
	return all
}

func checkContents(t *testing.T, s store.Store, stream string, want ...string) {
	t.Helper()
	if got := contents(t, s, stream); !slices.Equal(got, want) {
		t.Errorf("records of %s = %q, want %q", stream, got, want)
	}
}

func cursorOf(t *testing.T, l store.Ledger, at collection.Place) collection.Cursor {
	t.Helper()
	cp, err := l.Checkpoint(t.Context(), at)
	if err != nil {
		t.Fatalf("Checkpoint of %v: %v", at, err)
	}
	if cp.Place != at {
		t.Errorf("Checkpoint of %v is of %v", at, cp.Place)
	}
	return cp.Cursor
}

func checkCursor(t *testing.T, l store.Ledger, at collection.Place, want collection.Cursor) {
	t.Helper()
	if got := cursorOf(t, l, at); got != want {
		t.Errorf("checkpoint of %v = %+v, want %+v", at, got, want)
	}
}

func checkError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error = %v, want %v", what, got, want)
	}
}

// eventsOf counts the events of the store by kind.
func eventsOf(t *testing.T, s store.Store) map[collection.EventKind]int {
	t.Helper()
	events, err := s.Events(context.WithoutCancel(t.Context()), connector, 1000)
	if err != nil {
		t.Fatalf("Events: %v", err)
	}
	count := map[collection.EventKind]int{}
	for _, e := range events {
		count[e.Kind]++
	}
	return count
}

// home is the place of a stream itself.
func home(stream string) collection.Place {
	return collection.Place{Stream: stream, Lane: forward}
}

// part is the place of a partition.
func part(stream, name string) collection.Place {
	return collection.Place{Stream: stream, Partition: collection.Partition(`{"repo":"` + name + `"}`), Lane: forward}
}

func token(s string) collection.Cursor { return collection.Cursor{Token: s} }

// page is a slice of one record {"n":<n>} with key n.
func page(at collection.Place, from, next collection.Cursor, keys ...string) collection.Slice {
	sl := collection.Slice{Place: at, From: from, Next: next}
	for _, key := range keys {
		sl.Records = append(sl.Records, record(key, `{"n":"`+key+`"}`))
	}
	return sl
}

// version is a slice of the record "a" in a version with a mark.
func version(at collection.Place, from, next collection.Cursor, data, scale, mark string) collection.Slice {
	r := record("a", data)
	r.Mark = collection.Mark{Scale: scale, Value: mark}
	return collection.Slice{Place: at, From: from, Next: next, Records: []collection.Record{r}}
}

func record(key, data string) collection.Record {
	return collection.Record{Key: key, Data: []byte(data)}
}
