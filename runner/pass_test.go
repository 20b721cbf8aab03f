package runner_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// TestAPassGoesOnWhereItWas: a run that goes on with a pass does not look at all
// that the runs before it settled until it has something to ask for.
func TestAPassGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items = 2_400
		m, p := newMemory(), &provider{n: items}
		const pages = items / 3
		for turn, requests := range []int64{pages + 1_900, 40, 60} {
			var first atomic.Int64
			p.before = func(int) { first.CompareAndSwap(0, m.looked.Load()) }
			if _, err := do(t, m, p, func(c *runner.Config) { capped(requests)(c); c.Concurrency = 8 }); err != nil {
				t.Fatal(err)
			}
			if looked := first.Load(); turn > 0 && (looked == 0 || looked > 600) {
				t.Errorf("run %d looked at %d places before it asked for something, want a page of them", turn, looked)
			}
			m = m.reopen()
		}
		p.before = nil
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		for _, key := range p.items() {
			if n := p.askedFor("/details/" + key + "?page="); n != 1 {
				t.Errorf("the detail of %s was asked for %d times, want once", key, n)
			}
		}
	})
}

// TestAPassIsUnsureOfItsPartitions: what nothing shows of the walk of a partition is not known of
// the pass either, whichever run walked it.
func TestAPassIsUnsureOfItsPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 6, bare: true}
		doubt := func(set ...func(*runner.Config)) string {
			_, err := do(t, m, p, func(c *runner.Config) {
				for _, set := range set {
					set(c)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			at := m.at[collection.Place{Stream: "notes", Lane: collection.Incremental}]
			m = m.reopen()
			return fmt.Sprint(at.Cursor.Done, " ", at.Evidence.Doubt())
		}
		counted := func(c *runner.Config) { c.Connector = shelf{counted: true} }
		for turn, test := range []struct {
			set  []func(*runner.Config)
			want string
		}{
			{nil, "true "},
			{[]func(*runner.Config){counted}, "true " + collection.NoTotal},
			{[]func(*runner.Config){counted, capped(2 + 6)}, "false "}, // ends among the notes,
			{nil, "true " + collection.NoTotal},                        // the first of which are not asked for again
			{nil, "true "},
		} {
			if got := doubt(test.set...); got != test.want {
				t.Errorf("run %d: done and in doubt: %q, want %q", turn+1, got, test.want)
			}
		}
	})
}

// TestAPassComesRound: what joins a pass before the place that it goes on from is
// collected before the pass is done, and so is what was not finished there.
func TestAPassComesRound(t *testing.T) {
	for _, crash := range []bool{false, true} {
		bubble(t, fmt.Sprintf("crash=%t", crash), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 30}
			if _, err := do(t, m, p, capped(10+6)); err != nil {
				t.Fatal(err)
			}
			home := m.at[collection.Place{Stream: "details", Lane: collection.Incremental}]
			if home.Token == "" || home.Done {
				t.Fatalf("the pass stands at %+v, want it on its way", home.Cursor)
			}
			// What a late page of the parents' walk brings, and what was lost.
			m.records["items"]["item-000-b"] = record{data: []byte(`{"key":"item-000-b"}`)}
			var lost string // one of those that are done; which ones are depends on whose request was sent first
			for at, state := range m.at {
				if at.Stream == "details" && at.Partition != "" && state.Done {
					lost = strings.TrimPrefix(at.Partition.String(), "item=")
					delete(m.at, at)
					break
				}
			}
			if lost == "" {
				t.Fatal("no detail is done")
			}
			m, p.asked = m.reopen(), nil
			if crash {
				m.failAt = 3
				if _, err := do(t, m, p, nil); err == nil {
					t.Fatal("it did not crash")
				}
				m = m.reopen()
			}
			if _, err := do(t, m, p, nil); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"item-000-b", lost} {
				// What was in flight in a crash is asked for again.
				if n := p.askedFor("/details/" + key + "?page="); n != 1 && (n != 2 || !crash) {
					t.Errorf("the detail of %s was asked for %d times, want once", key, n)
				}
			}
			if got := m.at[home.Place]; !got.Done || got.Version != home.Version || got.Token != "" {
				t.Errorf("the pass stands at %+v, want pass %s done", got.Cursor, home.Version)
			}
		})
	}
}

// TestAPassAsksFirstForWhatItLeft: a run that ends has given its workers more partitions
// than it had time for. The next run begins with these. Otherwise they would wait until the
// pass comes round, which may take many runs.
func TestAPassAsksFirstForWhatItLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 900}
		const list = 300 // pages of items
		done := func(key string) bool {
			partition := collection.NewPartition(map[string]json.RawMessage{"item": json.RawMessage(strconv.Quote(key))})
			return m.at[collection.Place{Stream: "details", Partition: partition, Lane: collection.Incremental}].Done
		}
		for turn, requests := range []int64{list + 100, 80, 80, 80} {
			first := ""
			for _, key := range p.items() {
				if !done(key) {
					first = key
					break
				}
			}
			if _, err := do(t, m, p, func(c *runner.Config) { capped(requests)(c); c.Concurrency = 8 }); err != nil {
				t.Fatal(err)
			}
			if turn > 0 && !done(first) {
				t.Errorf("run %d did not collect the detail of %s, the first that was left", turn, first)
			}
			m = m.reopen()
		}
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	})
}

// stuckAt never answers one request.
type stuckAt struct {
	*provider
	at string // its path?query
}

func (s stuckAt) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.provider.RoundTrip(req)
	if req.URL.Path+"?"+req.URL.RawQuery == s.at {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return resp, err
}

// TestAPassGoesByWhatEndsRuns: a detail whose request ends every run before it is answered
// does not hold up those behind it. Workers may ask for it before those that they were given
// with it, so that a run or two more are needed.
func TestAPassGoesByWhatEndsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 30}
		if _, err := do(t, m, p, capped(10+4)); err != nil {
			t.Fatal(err)
		}
		const want = 29 // all but the one that is stuck
		stuck := stuckAt{provider: p, at: "/details/item-006?page="}
		for runs := 0; runs < 6 && len(m.keys("details")) < want; runs++ {
			m = m.reopen()
			_, err := do(t, m, stuck, func(c *runner.Config) {
				c.Budget, c.Concurrency = pacing.NewBudget(pacing.BudgetLimits{MaxTime: 10 * time.Second}), 1
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := len(m.keys("details")); got != want {
			t.Errorf("%d details are collected, want %d: all but the one that is stuck", got, want)
		}
	})
}

// TestAStopLeavesOneGapOfAPass: what was in flight when a run ended is where its
// pass goes on, so that runs that end early do not make gaps of the pass, one for
// each request in flight.
func TestAStopLeavesOneGapOfAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 60}
		const list = 20 // pages of items
		for _, requests := range []int64{list + 5, 2, 2, 3} {
			if _, err := do(t, m, p, func(c *runner.Config) { capped(requests)(c); c.Concurrency = 8 }); err != nil {
				t.Fatal(err)
			}
			owes := m.owes()
			for _, gap := range owes {
				if gap.Partition != "" || gap.Reason != collection.RequestCap {
					t.Errorf("after %d requests %s is owed (%s), want what a pass goes on with", p.requests(), gap.Place, gap.Reason)
				}
			}
			if len(owes) != 2 {
				t.Errorf("after %d requests %d gaps are owed, want one of each stream that is left", p.requests(), len(owes))
			}
			m = m.reopen()
		}
		if _, err := do(t, m, p, func(c *runner.Config) { c.Run.Mode = collection.Resume }); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		if got, want := p.requests(), list+60+2*60; got != want {
			t.Errorf("all runs sent %d requests, want %d: nothing twice", got, want)
		}
	})
}

// TestAPassThatPartitionsJoinIsUnderWay: a pass that came to its end before its parents were known is
// not at its end when they are. A run that ends among their partitions leaves one gap of it.
func TestAPassThatPartitionsJoinIsUnderWay(t *testing.T) {
	const list = 20 // pages of items
	home := collection.Place{Stream: "details", Lane: collection.Incremental}
	// refused returns what remains of a run that was refused the list, and of one that ended in it.
	refused := func(t *testing.T) (*memory, *provider) {
		m, p := newMemory(), &provider{n: 60}
		p.fail("/items/?page=", 400)
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		p.mend()
		m, p.asked = m.reopen(), nil
		if _, err := do(t, m, p, capped(list-5)); err != nil {
			t.Fatal(err)
		}
		if at := m.at[home]; !at.Done {
			t.Fatalf("the pass without parents stands at %+v, want it done", at.Cursor)
		}
		return m.reopen(), p
	}
	finish := func(t *testing.T, m *memory, p *provider) {
		if _, err := do(t, m.reopen(), p, nil); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	}
	bubble(t, "cut short", func(t *testing.T) {
		m, p := refused(t)
		pass := m.at[home]
		p.before = func(n int) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if n > list && m.at[home].Done {
				t.Errorf("the pass is at its end when request %d leaves, for a detail", n)
			}
		}
		for _, requests := range []int64{5 + 10, 10} {
			if _, err := do(t, m, p, func(c *runner.Config) { capped(requests)(c); c.Concurrency = 8 }); err != nil {
				t.Fatal(err)
			}
			if at := m.at[home]; at.Done || at.Version != pass.Version || at.Evidence.Pass != pass.Evidence.Pass {
				t.Errorf("after %d requests the pass stands at %+v, want pass %s under way", p.requests(), at.Cursor, pass.Version)
			}
			for _, gap := range m.owes() {
				if gap.Partition != "" {
					t.Errorf("after %d requests %s is owed (%s), want only what the pass goes on with", p.requests(), gap.Place, gap.Reason)
				}
			}
			m = m.reopen()
		}
		p.before = nil
		finish(t, m, p)
		if got, want := p.requests(), list+60+2*60; got != want {
			t.Errorf("the runs sent %d requests, want %d: nothing twice", got, want)
		}
	})
	for failAt := 1; failAt <= 20; failAt++ {
		for _, afterEffect := range []bool{false, true} {
			bubble(t, fmt.Sprintf("crash=%d,afterEffect=%t", failAt, afterEffect), func(t *testing.T) {
				m, p := refused(t)
				m.failAt, m.afterEffect = failAt, afterEffect
				if _, err := do(t, m, p, nil); err == nil {
					t.Fatal("it did not crash")
				}
				if got, done := len(m.keys("details")), m.at[home].Done; got > 0 && got < 60 && done {
					t.Errorf("the pass is at its end with %d of 60 details", got)
				}
				finish(t, m, p)
			})
		}
	}
}

// TestARefusedAccountLeavesOneGapOfAPass: a 401 stops everything that was in flight, and
// is one thing for a person to settle, not one for each request.
func TestARefusedAccountLeavesOneGapOfAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const list = 20 // pages of items
		m, p := newMemory(), &provider{n: 60, refuses: list + 3}
		if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 8 }); err != nil {
			t.Fatal(err)
		}
		for _, gap := range m.owes() {
			if gap.Partition != "" || gap.Reason != collection.Auth {
				t.Errorf("%s is owed (%s), want what the pass goes on with", gap.Place, gap.Reason)
			}
		}
		if p.requests() < list+3 {
			t.Error("nothing was refused")
		}
		// As long as it is refused, nothing of the gap is done: it is the same one, and none was filled.
		before := m.owes()
		for range 2 {
			m = m.reopen()
			run, err := do(t, m, p, func(c *runner.Config) { c.Run.Mode, c.Concurrency = collection.Resume, 8 })
			if err != nil {
				t.Fatal(err)
			}
			if run.Tally.GapsShut != 0 {
				t.Errorf("%d gaps were filled by a run that was refused", run.Tally.GapsShut)
			}
			for i, gap := range m.owes() {
				if len(m.owes()) != len(before) || gap.ID != before[i].ID {
					t.Errorf("%s owes g_%d, want g_%d still", gap.Place, gap.ID, before[i].ID)
				}
			}
		}
	})
}

// A choosy connector wants something of one in five items only.
type choosy struct{ shelf }

func (c choosy) Partition(stream string, parent collection.Parent) (collection.Partition, string, bool, error) {
	p, version, ok, err := c.shelf.Partition(stream, parent)
	return p, version, ok && strings.HasSuffix(parent.Key, "3"), err
}

// TestParentsThatAreNotWantedAreCounted: each once, however many passes a run makes.
func TestParentsThatAreNotWantedAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		for range 2 {
			r, err := runner.New(runner.Config{
				Connector: choosy{}, Ledger: m, Base: &provider{n: 40}, Concurrency: 2,
				Run: collection.Run{ID: "r", Connector: "shelf", Mode: collection.Forward, Lane: collection.Incremental},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Do(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, want := r.Passed(), map[string]int64{"details": 36, "notes": 36}; !maps.Equal(got, want) {
				t.Errorf("passed over %v, want %v", got, want)
			}
			m = m.reopen()
		}
	})
}
