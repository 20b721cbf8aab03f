// Package model explores every state that the protocols of lease, commit, lock
// file and shared budget can come to, and checks in each that their promises hold.
//
// The tests of the code play many histories; a model plays all of them, of a
// protocol that is small enough: two or three processes, two or three slices,
// and a bounded number of mishaps, each of which may be a death at any step, a
// commit that fails before or after its effect, a look that fails, a slice that
// cannot be had, or a lock file that somebody removes. A process that stands
// still and wakes needs no step of its own: any other may take all of its steps
// in between.
//
// The states are explored breadth first, so that the way to a broken promise
// is the shortest. commit.pml and handoff.pml say the same in Promela, for Spin,
// whose exploring nobody here wrote. Both have faults: ways to take a part of the
// protocol away. A model that cannot see what is missing then proves nothing,
// so that each fault must be refuted.
//
// What is modelled: store/sqlite's Begin, Commit, Lease and Finish, each one
// transaction; the kernel's lock; runner's walk, which fetches a slice while the one
// before it is stored, recovery and settle. What is not: that it fetches several, that SQLite makes a transaction whole, and the kernel a lock.
package model_test

import (
	"flag"
	"testing"
)

var (
	runners = flag.Int("model.runners", 2, "processes, at most 3")
	walk    = flag.Int("model.slices", 2, "slices, at most 3")
	mishaps = flag.Int("model.mishaps", 3, "how much goes wrong in one history")
)

// TestExplore: the way that is told is the shortest, every state is counted
// once, and a state from which the end is out of reach is found.
func TestExplore(t *testing.T) {
	stairs := model[int]{
		steps: func(at int, add func(who, what string, to int)) {
			if at < 6 {
				add("A", "takes one", at+1)
				add("A", "takes two", at+2)
			}
		},
		promises: []promise[int]{{"five is never reached", func(_, at int) bool { return at == 5 }}},
	}
	got := stairs.explore()
	if got.broken != "five is never reached" || len(got.trace) != 3 {
		t.Errorf("%v by %q, want five in three steps", got, got.trace)
	}
	stairs.promises, stairs.end = nil, func(at int) bool { return at == 6 }
	if got := stairs.explore(); got.broken != outOfReach || len(got.trace) != 4 || got.states != 8 || got.steps != 12 {
		t.Errorf("%v by %q, want the end out of reach from seven, of 8 states and 12 steps", got, got.trace)
	}
}

// TestProtocolKeepsItsPromises visits every state that processes can come to.
func TestProtocolKeepsItsPromises(t *testing.T) {
	got := protocol{runners: *runners, slices: *walk, mishaps: *mishaps}.model().explore()
	t.Logf("%d runners, %d slices, %d mishaps: %v", *runners, *walk, *mishaps, got)
	if got.broken != "" {
		t.Errorf("%s is broken:\n%s", got.broken, got.story())
	}
}

// TestFaultsAreRefuted: without any one of its parts the protocol breaks the
// promise that the part is there for, in so many steps.
func TestFaultsAreRefuted(t *testing.T) {
	for _, test := range []struct {
		name    string
		faults  faults
		promise string
		steps   int
	}{
		{"cursor before data", faults{cursorFirst: true}, "I1 data before cursor", 5},
		{"cursor before gap", faults{gapOpenedLater: true}, "I1 data before cursor", 5},
		{"no epoch: older records", faults{noEpoch: true}, "I3 newest version", 16},
		{"neither epoch nor comparison", faults{noEpoch: true, noCompare: true}, "I4 monotone", 12},
		{"no epoch: late write", faults{noEpoch: true}, "I6 one writer", 8},
		{"epoch asked before the transaction", faults{earlyEpoch: true}, "I6 one writer", 9},
		{"lock by age: two holders", faults{agedLock: true}, "I6 one holder", 2},
		{"lock by age: dead holder", faults{agedLock: true}, "I7 no orphan", 2},
		{"lock that waits for a person", faults{keptLock: true}, outOfReach, 2},
		{"leased gaps never freed", faults{gapsKept: true}, outOfReach, 7},
		{"gap closed before its data", faults{gapClosedFirst: true}, "I14 closed with its data", 8},
		{"unknown taken for done", faults{believed: true}, "I23 unknown is resolved", 6},
		{"unknown repeated unread", faults{repeated: true}, "I23 unknown is resolved", 6},
		{"unknown taken for done: told", faults{believed: true}, "I24 what is told is stored", 6},
		{"write looked for in any epoch", faults{anyEpoch: true}, "I24 what is told is stored", 12},
		{"slice before the one before it", faults{overtakes: true}, "I1 data before cursor", 6},
		{"unknown with a slice behind", faults{hasty: true}, "I23 unknown is resolved", 7},
		{"checkpoint of anybody", faults{anyCheckpoint: true}, "I24 what is told is stored", 13},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := protocol{runners: 2, slices: 2, mishaps: 4, faults: test.faults}
			if test.promise == outOfReach {
				m.mishaps = 2 // these are explored to their end
			}
			got := m.model().only(test.promise).explore()
			if got.broken != test.promise || got.depth != test.steps {
				t.Errorf("%v, want %q broken in %d steps", got, test.promise, test.steps)
			}
			t.Logf("%s: %v\n%s", test.name, got, got.story())
		})
	}
}

// TestOnePartStandsInForAnother: what two parts hold, one of them holds alone.
func TestOnePartStandsInForAnother(t *testing.T) {
	for _, test := range []struct {
		name     string
		faults   faults
		promises []string
	}{
		{"the epoch for the comparison", faults{noCompare: true}, nil},
		{"the comparison for the epoch", faults{noEpoch: true}, []string{"I1 data before cursor", "I4 monotone"}},
		{"the epoch for the lock", faults{agedLock: true}, []string{"I1 data before cursor", "I3 newest version", "I4 monotone", "I6 one writer"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := protocol{runners: 2, slices: 2, mishaps: 2, faults: test.faults}.model()
			if test.promises != nil {
				m = m.only(test.promises...)
			}
			got := m.explore()
			if got.broken != "" {
				t.Errorf("%v, want no promise broken:\n%s", got, got.story())
			}
			t.Logf("%s: %v", test.name, got)
		})
	}
}
