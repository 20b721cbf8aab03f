package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/engine/registry"
	"collect/report/problem"
	"collect/store"
)

func gaps(reasons ...collection.Reason) (owed []store.OwnedGap) {
	for i, reason := range reasons {
		owed = append(owed, store.OwnedGap{Connector: "tickets", Gap: collection.Gap{ID: int64(i + 1), Reason: reason, State: collection.GapOpen}})
	}
	return owed
}

func TestVerdict(t *testing.T) {
	stop := func(r collection.Reason) error {
		return fmt.Errorf("issues: %w", &collection.Stop{Reason: r})
	}
	work := collection.Tally{Slices: 3, Records: 300, Changed: 300}
	tests := []struct {
		name    string
		e       ending
		outcome collection.Outcome
		code    int
	}{
		{"complete", ending{}, collection.Complete, 0},
		{"nothing new", ending{Run: collection.Run{Tally: collection.Tally{Slices: 1}}}, collection.NothingNew, 0},
		{"planned gaps of another run", ending{Owed: gaps(collection.RequestCap)}, collection.Deferred, 0},
		{"planned, strict", ending{Owed: gaps(collection.RequestCap), Strict: true}, collection.Deferred, 10},
		{"warnings", ending{Warnings: 1}, collection.Complete, 0},
		{"warnings, strict", ending{Warnings: 1, Strict: true}, collection.Complete, 11},
		{"data in doubt", ending{Warnings: 1, Doubted: true}, collection.Complete, 0},
		{"data in doubt, strict", ending{Warnings: 1, Doubted: true, Strict: true}, collection.Complete, 76},
		{"planned with warnings", ending{Warnings: 1, Owed: gaps(collection.WallClock)}, collection.Deferred, 0},
		{"planned with warnings, strict", ending{Warnings: 1, Owed: gaps(collection.WallClock), Strict: true}, collection.Deferred, 11},
		{"gone is not owed", ending{Owed: gaps(collection.Gone)}, collection.Complete, 0},
		{"a 404 that nobody explained", ending{Owed: gaps(collection.Gone, collection.NotFound)}, collection.Blocked, 65},
		{"provider gaps", ending{Owed: gaps(collection.RateLimited, collection.RequestCap)}, collection.Waiting, 75},
		{"stuck beside provider gaps", ending{Owed: gaps(collection.UpstreamPressure, collection.Forbidden)}, collection.Blocked, 65},
		{"an unreadable page beside a forbidden one", ending{Owed: gaps(collection.Forbidden, collection.BadPage)}, collection.Blocked, 76},
		{"the token beside an unreadable page", ending{Err: stop(collection.Auth), Owed: gaps(collection.Auth, collection.BadPage)}, collection.Blocked, 77},
		{"quarantine", ending{Run: collection.Run{Tally: collection.Tally{Rejected: 1, Changed: 9}}}, collection.Blocked, 65},
		{"nothing reached", ending{Unreached: true, Owed: gaps(collection.UpstreamPressure)}, collection.Waiting, 69},
		{"breaker", ending{Run: collection.Run{Reason: collection.CircuitOpen, Tally: work}, Owed: gaps(collection.CircuitOpen)}, collection.Waiting, 75},
		{"long wait", ending{Err: stop(collection.RetryAfter)}, collection.Waiting, 75},
		{"SIGINT", ending{Run: collection.Run{Reason: collection.Interrupted}, Owed: gaps(collection.Interrupted, collection.Forbidden)}, collection.RunInterrupted, 130},
		{"SIGTERM", ending{Err: stop(collection.Interrupted), Interrupted: problem.ExitTerminated, Strict: true}, collection.RunInterrupted, 143},
		{"SIGHUP", ending{Err: stop(collection.Interrupted), Interrupted: problem.ExitHangup}, collection.RunInterrupted, 129},
		{"second SIGINT", ending{Err: fmt.Errorf("commit: %w", context.Canceled)}, collection.RunInterrupted, 130},
		{"SIGINT while the disk is full", ending{Run: collection.Run{Reason: collection.Interrupted}, Err: fmt.Errorf("commit: %w", collection.ErrFull)}, collection.Failed, 74},
		{"provider gaps and nothing reached", ending{Unreached: true, Owed: gaps(collection.UpstreamPressure, collection.Forbidden)}, collection.Blocked, 65},
		{"rejected for good, and nothing says so any more", ending{Run: collection.Run{Reason: collection.Auth}}, collection.Blocked, 77},
		{"something beside a stuck gap", ending{Err: errors.New("something"), Owed: gaps(collection.Forbidden)}, collection.Failed, 65},
		{"damaged", ending{Err: store.ErrDamaged}, collection.Failed, 74},
		{"newer", ending{Err: store.ErrNewer}, collection.Failed, 78},
		{"held", ending{Err: &store.HeldError{}}, collection.Waiting, 75},
		{"fenced", ending{Err: collection.ErrFenced}, collection.Waiting, 75},
		{"unknown commit", ending{Err: collection.ErrUnknown}, collection.Failed, 74},
		{"bug", ending{Err: &problem.PanicError{Value: "x"}, Owed: gaps(collection.Auth)}, collection.Failed, 70},
		{"anything", ending{Err: errors.New("something")}, collection.Failed, 1},
	}
	for _, test := range tests {
		if test.name != "nothing new" && test.e.Run.Tally == (collection.Tally{}) {
			test.e.Run.Tally = work
		}
		outcome, code := verdict(test.e)
		if outcome != test.outcome || code != test.code {
			t.Errorf("%s: verdict = %s, %d, want %s, %d", test.name, outcome, code, test.outcome, test.code)
		}
	}
}

// Exit 0 means that everything is stored, or that what is left is planned: for
// every reason a run can stop for with every two gaps it can leave.
func TestNoFalseSuccess(t *testing.T) {
	planned := func(r collection.Reason) bool {
		return r == "" || r == collection.Gone || r.Kind() == collection.Planned
	}
	zero, other := 0, 0
	for _, reason := range append([]collection.Reason{""}, collection.Reasons()...) {
		for _, first := range append([]collection.Reason{""}, collection.Reasons()...) {
			for _, second := range collection.Reasons() {
				for rejected := range int64(2) {
					e := ending{
						Run:  collection.Run{Reason: reason, Tally: collection.Tally{Changed: 1, Rejected: rejected}},
						Owed: gaps(second),
					}
					if first != "" {
						e.Owed = gaps(first, second)
					}
					outcome, code := verdict(e)
					want := planned(reason) && reason != collection.CircuitOpen && reason != collection.Interrupted &&
						planned(first) && planned(second) && rejected == 0
					input := fmt.Sprintf("stopped for %q with gaps %q, %q, %d in quarantine", reason, first, second, rejected)
					if (code == problem.ExitOK) != want {
						t.Errorf("%s: exit code %d, want success = %v", input, code, want)
					}
					success := outcome == collection.Complete || outcome == collection.NothingNew || outcome == collection.Deferred
					if success != (code == problem.ExitOK) {
						t.Errorf("%s: outcome %s with exit code %d", input, outcome, code)
					}
					if code == problem.ExitOK {
						zero++
					} else {
						other++
					}
				}
			}
		}
	}
	if zero == 0 || other == 0 {
		t.Errorf("%d endings were a success and %d were not, want both", zero, other)
	}
}

// A gap that no run tries needs a person, whatever its reason. One that a person
// had revived waits for the next run, but a run that did not try it does not end
// as if all were well.
func TestVerdictOnADeadGap(t *testing.T) {
	revived := func(reason collection.Reason) ending {
		owed := gaps(reason)
		owed[0].TriedAt = time.Unix(1e9, 0) // before its attempts were set back
		return ending{Owed: owed}
	}
	for _, reason := range []collection.Reason{collection.Auth, collection.Frozen} {
		if outcome, code := verdict(revived(reason)); outcome != collection.Blocked || code != problem.ExitRefused {
			t.Errorf("a revived gap that %s keeps from being tried ends a run as %s with %d", reason, outcome, code)
		}
	}
	for _, reason := range []collection.Reason{collection.UpstreamPressure, collection.RateLimited, collection.BadPage, collection.Forbidden} {
		dead := gaps(reason)
		dead[0].State, dead[0].Attempts = collection.GapDead, collection.MaxGapAttempts
		if outcome, code := verdict(ending{Owed: dead}); outcome != collection.Blocked || code == problem.ExitLater || code == problem.ExitOK {
			t.Errorf("a dead gap for %s ends a run as %s with %d, want blocked", reason, outcome, code)
		}
		if outcome, code := verdict(revived(reason)); outcome == collection.Deferred || code == problem.ExitOK {
			t.Errorf("a run that did not try a revived gap for %s ends as %s with %d, as if nothing was owed", reason, outcome, code)
		}
	}
}

// acme is a connector of which only the provider is asked for.
type acme struct{ connectors.Connector }

func (acme) Provider() collection.Provider { return collection.Provider{Name: "acme"} }

// TestBrokeNamesNoSecret: the sentence of an error that is kept with a run is for all who see the database. It
// names no address of the database, and is left out where it quotes a secret.
func TestBrokeNamesNoSecret(t *testing.T) {
	target := registry.Target{Connector: acme{}, Secrets: []string{"s3cret"}}
	for _, test := range []struct {
		err            error
		code, sentence string
	}{
		{fmt.Errorf("commit: %w", collection.ErrFull), "E0702", "no space left for the database while saving a slice"},
		{errors.New("something is amiss\nat https://a.test/x?key=1"), "E0001", "something is amiss at https://a.test/x"},
		{errors.New("the token s3cret is amiss"), "E0001", ""},
		{&collection.Stop{Reason: collection.Auth}, "", ""},
		{nil, "", ""},
	} {
		if code, sentence := broke(test.err, collection.Run{ID: "run-1"}, target); code != test.code || sentence != test.sentence {
			t.Errorf("%v: %s, %q; want %s, %q", test.err, code, sentence, test.code, test.sentence)
		}
	}
}
