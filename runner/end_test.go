package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// capped ends a run after n requests.
func capped(n int64) func(*runner.Config) {
	return func(c *runner.Config) { c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: n}) }
}

// TestTallyCountsWhatWasStored.
func TestTallyCountsWhatWasStored(t *testing.T) {
	for _, answer := range []error{nil, collection.ErrUnknown} {
		bubble(t, fmt.Sprint(answer), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			m.failAt, m.answer = 2, answer // in vain
			if answer == nil {
				m.failAt = 0
			}
			run, err := do(t, m, p, nil)
			want := collection.Tally{Requests: 24, Slices: 24, Records: 7 + 7 + 21, Changed: 7 + 7 + 21}
			if err != nil || run.Tally != want {
				t.Errorf("tally %+v, %v, want %+v", run.Tally, err, want)
			}
		})
	}
}

// TestRunCutShortLeavesARowForEveryStreamItDidNotFinish: also for those that a
// run before it had finished, because this one was to begin them anew.
func TestRunCutShortLeavesARowForEveryStreamItDidNotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		m = m.reopen()
		if _, err := do(t, m, p, capped(1)); err != nil {
			t.Fatal(err)
		}
		if got, want := homesOwed(m), []string{"details", "items", "notes"}; !slices.Equal(got, want) {
			t.Errorf("owed at %v, want %v", got, want)
		}
	})
}

// TestBackfillLeavesNoRowForWhatItFinished.
func TestBackfillLeavesNoRowForWhatItFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		for _, n := range []int64{15, 1} {
			_, err := do(t, m, p, func(c *runner.Config) { capped(n)(c); c.Run.Lane = collection.Backfill })
			if err != nil {
				t.Fatal(err)
			}
			if got, want := homesOwed(m), []string{"notes"}; !slices.Equal(got, want) {
				t.Errorf("after %d requests owed at %v, want %v", n, got, want)
			}
			m = m.reopen()
		}
	})
}

// TestInterruptAtOnceBeginsNothingAnew: a run that goes on with unfinished work
// does not walk again what was finished, so it does not owe it either, even if
// it was interrupted before it could look. Only a pass is looked at again.
func TestInterruptAtOnceBeginsNothingAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		if _, err := do(t, m, p, capped(15)); err != nil {
			t.Fatal(err)
		}
		if got, want := homesOwed(m), []string{"notes"}; !slices.Equal(got, want) {
			t.Fatalf("owed at %v, want %v", got, want)
		}
		m = m.reopen()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, err := runner.New(runner.Config{
			Connector: shelf{}, Ledger: m, Base: p,
			Run: collection.Run{ID: "r", Connector: "shelf", Mode: collection.Resume, Lane: collection.Incremental},
		})
		if err != nil {
			t.Fatal(err)
		}
		run, err := r.Do(ctx)
		if err != nil || run.Reason != collection.Interrupted {
			t.Fatalf("it ended with %q, %v", run.Reason, err)
		}
		if got, want := homesOwed(m), []string{"details", "notes"}; !slices.Equal(got, want) {
			t.Errorf("owed at %v, want %v", got, want)
		}
	})
}

// homesOwed returns the streams whose own walk or pass is owed.
func homesOwed(m *memory) []string {
	var streams []string
	for _, g := range m.owes() {
		if g.Partition == "" {
			streams = append(streams, g.Stream)
		}
	}
	slices.Sort(streams)
	return slices.Compact(streams)
}

// TestCrashAtTheEndIsTold: a run that was cut short and cannot leave its rows
// does not end as if it had.
func TestCrashAtTheEndIsTold(t *testing.T) {
	for failAt := 1; failAt <= 20; failAt++ {
		bubble(t, fmt.Sprint("step=", failAt), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			m.failAt = failAt
			if _, err := do(t, m, p, capped(6)); m.dead != errors.Is(err, errCrash) {
				t.Errorf("Do = %v, crashed: %t", err, m.dead)
			}
		})
	}
}

// broken is a ledger whose commits fail when the user has just lost patience.
type broken struct {
	*memory
	cancel context.CancelFunc
}

func (l broken) Commit(context.Context, ...collection.Slice) ([]collection.Committed, error) {
	l.cancel()
	return nil, errCrash
}

// TestCancelHidesNoFailure.
func TestCancelHidesNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := runner.New(runner.Config{
			Connector: shelf{}, Ledger: broken{newMemory(), cancel}, Base: &provider{n: 7},
			Run: collection.Run{ID: "r", Connector: "shelf", Mode: collection.Forward, Lane: collection.Incremental},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Do(ctx); !errors.Is(err, errCrash) {
			t.Errorf("Do = %v, want the failure of the ledger", err)
		}
	})
}

// TestStopsAreToldOnceForEachReason, the first of each.
func TestStopsAreToldOnceForEachReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{n: 7}
		p.fail("/details/item-001?page=", http.StatusForbidden)
		p.fail("/details/item-004?page=", http.StatusForbidden)
		p.fail("/notes/item-002?page=", http.StatusOK) // not JSON
		// Each answer is read before the next one comes.
		slow := distant{p, time.Second, func() bool { return true }}
		r, err := runner.New(runner.Config{
			Connector: shelf{}, Ledger: newMemory(), Base: slow, Concurrency: 1,
			Run: collection.Run{ID: "r", Connector: "shelf", Mode: collection.Forward, Lane: collection.Incremental},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range r.Stops() {
			got = append(got, fmt.Sprint(s.Stop.Reason, " ", s.At.Partition))
		}
		first := "item-001" // unless the request for item-004 was sent before
		if slices.Index(p.asked, "/details/item-004?page=") < slices.Index(p.asked, "/details/item-001?page=") {
			first = "item-004"
		}
		if want := []string{"forbidden item=" + first, "bad_page item=item-002"}; !slices.Equal(got, want) {
			t.Errorf("stops %q, want %q", got, want)
		}
	})
}

// TestVerdict is the order of what a run may be called.
func TestVerdict(t *testing.T) {
	gap := func(reasons ...collection.Reason) (gaps []collection.Gap) {
		for _, r := range reasons {
			gaps = append(gaps, collection.Gap{Reason: r})
		}
		return gaps
	}
	for _, test := range []struct {
		run  collection.Run
		owed []collection.Gap
		want collection.Outcome
	}{
		{collection.Run{Tally: collection.Tally{Changed: 1}}, nil, collection.Complete},
		{collection.Run{}, nil, collection.NothingNew},
		{collection.Run{Tally: collection.Tally{Changed: 1}}, gap(collection.Gone), collection.Complete},
		{collection.Run{}, gap(collection.Gone, collection.RequestCap), collection.Deferred},
		{collection.Run{}, gap(collection.RequestCap, collection.RateLimited), collection.Waiting},
		{collection.Run{Reason: collection.CircuitOpen}, gap(collection.CircuitOpen), collection.Waiting},
		{collection.Run{Reason: collection.RetryAfter}, nil, collection.Waiting},
		{collection.Run{Reason: collection.Auth}, nil, collection.Blocked},
		{collection.Run{Reason: collection.RequestCap}, nil, collection.Deferred},
		{collection.Run{}, gap(collection.CircuitOpen), collection.Deferred},
		{collection.Run{}, gap(collection.RateLimited, collection.Forbidden, collection.RequestCap), collection.Blocked},
		{collection.Run{Tally: collection.Tally{Changed: 1, Rejected: 1}}, nil, collection.Blocked},
		{collection.Run{Reason: collection.Interrupted}, gap(collection.Forbidden), collection.RunInterrupted},
	} {
		if got := collection.OutcomeOf(test.run, test.owed); got != test.want {
			t.Errorf("Verdict(%+v, %+v) = %s, want %s", test.run, test.owed, got, test.want)
		}
	}
}
