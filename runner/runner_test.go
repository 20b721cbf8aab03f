package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/pacing"
	"collect/runner"
)

// do runs the shelf once over what m remembers.
func do(t *testing.T, m *memory, p http.RoundTripper, change func(*runner.Config)) (collection.Run, error) {
	t.Helper()
	c := runner.Config{
		Connector: shelf{},
		Ledger:    m,
		Run:       collection.Run{ID: "r", Connector: "shelf", Mode: collection.Forward, Lane: collection.Incremental},
		Budget:    pacing.NewBudget(pacing.BudgetLimits{}),
		Domain:    "shelf",
		Learned:   m.provider["shelf"],
		Base:      p,
	}
	if change != nil {
		change(&c)
	}
	r, err := runner.New(c)
	if err != nil {
		return c.Run, err
	}
	return r.Do(t.Context())
}

// checkAll checks that everything the provider serves is stored, and nothing
// is owed.
func checkAll(t *testing.T, m *memory, p *provider) {
	t.Helper()
	for _, stream := range []string{"items", "details", "notes"} {
		if got, want := m.keys(stream), p.want(stream); !slices.Equal(got, want) {
			t.Errorf("%s: stored %d records %v, want %d", stream, len(got), got, len(want))
		}
	}
	if got := m.owes(); len(got) != 0 {
		t.Errorf("owed: %+v, want nothing", got)
	}
}

func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func TestCollectsEverything(t *testing.T) {
	for _, concurrency := range []int{1, 2, 8} {
		for _, ahead := range []bool{false, true} {
			bubble(t, fmt.Sprintf("concurrency=%d,ahead=%t", concurrency, ahead), func(t *testing.T) {
				m, p := newMemory(), &provider{n: 20}
				run, err := do(t, m, p, func(c *runner.Config) {
					c.Concurrency, c.Connector = concurrency, shelf{ahead: ahead}
				})
				if err != nil || run.Reason != "" {
					t.Fatalf("Do = %q, %v", run.Reason, err)
				}
				checkAll(t, m, p)
				if got, want := collection.OutcomeOf(run, m.owes()), collection.Complete; got != want {
					t.Errorf("Verdict = %s, want %s", got, want)
				}
			})
		}
	}
}

func TestSecondRunAsksOnlyForWhatMayBeNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		first := p.requests()
		run, err := do(t, m.reopen(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Items and notes are walked again, details never.
		if got, want := p.requests()-first, 3+2*7; got != want {
			t.Errorf("second run sent %d requests, want %d", got, want)
		}
		if got, want := collection.OutcomeOf(run, m.owes()), collection.NothingNew; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
	})
}

// TestCrashAnywhere ends the process at each durable step in turn, before and
// after its effect, resumes until nothing is left to do, and compares with an
// undisturbed run.
func TestCrashAnywhere(t *testing.T) {
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		if _, err := do(t, m, &provider{n: 15}, nil); err != nil {
			t.Fatal(err)
		}
		steps = m.steps
	})
	if steps < 20 {
		t.Fatalf("an undisturbed run makes %d durable steps: too few to prove anything", steps)
	}
	for _, concurrency := range []int{1, 4} {
		for failAt := 1; failAt <= steps; failAt++ {
			for _, afterEffect := range []bool{false, true} {
				bubble(t, fmt.Sprintf("concurrency=%d,step=%d,afterEffect=%t", concurrency, failAt, afterEffect), func(t *testing.T) {
					m, p := newMemory(), &provider{n: 15}
					m.failAt, m.afterEffect = failAt, afterEffect
					set := func(c *runner.Config) {
						c.Concurrency, c.Connector = concurrency, shelf{ahead: concurrency > 1}
					}
					_, err := do(t, m, p, set)
					if m.dead && !errors.Is(err, errCrash) {
						t.Errorf("Do = %v, want the crash", err)
					}
					if err != nil && strings.Count(err.Error(), "stream ") > 1 {
						t.Errorf("%q names its stream twice", err)
					}
					if _, err := do(t, m.reopen(), p, func(c *runner.Config) { set(c); c.Run.Mode = collection.Resume }); err != nil {
						t.Fatal(err)
					}
					checkAll(t, m, p)
				})
			}
		}
	}
}

// TestUnknownCommitIsReadBack answers each commit in turn with "not known",
// with and without its effect. The run goes on by itself and loses nothing.
func TestUnknownCommitIsReadBack(t *testing.T) {
	for failAt := 1; failAt <= 30; failAt++ {
		for _, afterEffect := range []bool{false, true} {
			bubble(t, fmt.Sprintf("step=%d,afterEffect=%t", failAt, afterEffect), func(t *testing.T) {
				m, p := newMemory(), &provider{n: 7}
				m.failAt, m.afterEffect, m.answer = failAt, afterEffect, collection.ErrUnknown
				if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 3 }); err != nil {
					t.Fatal(err)
				}
				checkAll(t, m, p)
			})
		}
	}
}

func TestRequestCapLeavesPlannedGapsAndResumeFinishes(t *testing.T) {
	for limit := int64(1); limit <= 24; limit++ {
		bubble(t, fmt.Sprintf("cap=%d", limit), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			run, err := do(t, m, p, func(c *runner.Config) {
				c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: limit})
			})
			if err != nil {
				t.Fatal(err)
			}
			if limit < 24 {
				if run.Reason != collection.RequestCap || int64(p.requests()) != limit {
					t.Errorf("reason %q after %d requests, want request_cap after %d", run.Reason, p.requests(), limit)
				}
				if got, want := collection.OutcomeOf(run, m.owes()), collection.Deferred; got != want {
					t.Errorf("Verdict = %s, want %s", got, want)
				}
				for _, stream := range (shelf{}).Streams() {
					home := collection.Place{Stream: stream.Name, Lane: collection.Incremental}
					marked := slices.ContainsFunc(m.owes(), func(g collection.Gap) bool { return g.Place == home })
					if finished := m.at[home].Done; marked == finished {
						t.Errorf("%s: finished %t, marked by a gap %t", stream.Name, finished, marked)
					}
				}
				for _, gap := range m.owes() {
					if gap.Reason.Kind() != collection.Planned || gap.Attempts != 0 {
						t.Errorf("gap %+v, want a planned one without attempts", gap)
					}
				}
			}
			if _, err := do(t, m.reopen(), p, func(c *runner.Config) { c.Run.Mode = collection.Resume }); err != nil {
				t.Fatal(err)
			}
			checkAll(t, m, p)
			if got, want := p.requests(), 3+7+2*7; limit < 24 && got != want {
				t.Errorf("both runs sent %d requests, want %d: nothing twice", got, want)
			}
		})
	}
}

// TestOneDetailRefused: a refusal of one detail costs that detail, leaves a
// row that names it, and does not look like success.
func TestOneDetailRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		p.fail("/details/item-003?page=", http.StatusForbidden)
		run, err := do(t, m, p, nil)
		if err != nil || run.Reason != "" {
			t.Fatalf("Do = %q, %v", run.Reason, err)
		}
		owes := m.owes()
		if len(owes) != 1 || owes[0].Shape != collection.DetailGap || owes[0].Reason != collection.Forbidden {
			t.Fatalf("owed %+v, want one DETAIL_GAP, forbidden", owes)
		}
		if got := len(m.records["details"]); got != 6 {
			t.Errorf("%d details stored, want 6", got)
		}
		if got, want := collection.OutcomeOf(run, owes), collection.Blocked; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}

		// It was refused for good: no later run asks again, and it stays owed.
		for _, mode := range []collection.Mode{collection.Forward, collection.Resume} {
			if _, err := do(t, m.reopen(), p, func(c *runner.Config) { c.Run.Mode = mode }); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.askedFor("/details/item-003?page="); got != 1 || len(m.owes()) != 1 {
			t.Errorf("asked %d times, %d gaps owed; want one of each", got, len(m.owes()))
		}
	})
}

// TestListRefused: a walk that stands at a page that is not there asks for it
// once in a run, since its address may be mended, and holds up no other stream.
func TestListRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		p.fail("/items/?page=1", http.StatusNotFound)
		for range 3 {
			if _, err := do(t, m.reopen(), p, nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.askedFor("/items/?page=1"); got != 3 {
			t.Errorf("asked %d times by 3 runs, want 3", got)
		}
		if got, want := len(m.records["details"]), 3; got != want {
			t.Errorf("%d details stored, want %d: those of the first page", got, want)
		}
	})
}

// TestParentsThatShareAPartition are one piece of work, also when several are
// in flight.
func TestParentsThatShareAPartition(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		bubble(t, fmt.Sprintf("concurrency=%d", concurrency), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 20}
			if _, err := do(t, m, p, func(c *runner.Config) { c.Connector, c.Concurrency = shelf{pairs: true}, concurrency }); err != nil {
				t.Fatal(err)
			}
			if got, want := p.requests(), 7+10+2*10; got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

// TestParentWithoutPartition: a parent that nothing can be asked for leaves a
// row that says so.
func TestParentWithoutPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		run, err := do(t, m, p, func(c *runner.Config) { c.Connector = shelf{unbound: true} })
		if err != nil {
			t.Fatal(err)
		}
		owes := m.owes()
		if len(owes) != 2 || owes[0].Reason != collection.SchemaDrift || owes[0].Detail != errUnbound.Error() {
			t.Fatalf("owed %+v, want one gap for each stream below it", owes)
		}
		if got, want := collection.OutcomeOf(run, owes), collection.Blocked; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
	})
}

// TestParentMendedLater: the row that names such a parent stays while nothing
// can be asked for it, costs no request, is tried once by each run, and ends when
// something can.
func TestParentMendedLater(t *testing.T) {
	for _, mode := range []collection.Mode{collection.Forward, collection.Resume} {
		bubble(t, string(mode), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			for n := range 3 {
				_, err := do(t, m, p, func(c *runner.Config) { c.Connector, c.Run.Mode = shelf{unbound: true}, mode })
				if err != nil {
					t.Fatal(err)
				}
				got := m.owes()
				if len(got) != 2 {
					t.Fatalf("owed %+v, want the two gaps of the parent", got)
				}
				if got[0].Attempts != n+1 || got[1].Attempts != n+1 {
					t.Errorf("tried %d and %d times by %d runs", got[0].Attempts, got[1].Attempts, n+1)
				}
				if got := p.askedFor("/details/?page="); got != 0 {
					t.Errorf("asked %d times for the details of nothing", got)
				}
				m = m.reopen()
			}
			if _, err := do(t, m, p, func(c *runner.Config) { c.Run.Mode = mode }); err != nil {
				t.Fatal(err)
			}
			checkAll(t, m, p)
		})
	}
}

// TestProviderNamesAnotherPage: what was fetched ahead at a cursor that the
// provider then does not name is dropped.
func TestProviderNamesAnotherPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 20, jump: true}
		if _, err := do(t, m, p, func(c *runner.Config) { c.Connector, c.Concurrency = shelf{ahead: true}, 4 }); err != nil {
			t.Fatal(err)
		}
		if got, want := len(m.records["items"]), 17; got != want {
			t.Errorf("%d items stored, want %d: page 2 was not named", got, want)
		}
	})
}

// TestProviderDownIsRecoveredLater: pages that keep failing become provider
// gaps, and a later run fills them when it is time.
func TestProviderDownIsRecoveredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		p.fail("/notes/item-002?page=1", http.StatusBadGateway)
		run, err := do(t, m, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		owes := m.owes()
		if len(owes) != 1 || owes[0].Reason != collection.UpstreamPressure || owes[0].Attempts != 1 || owes[0].Shape != collection.SliceGap {
			t.Fatalf("owed %+v, want one upstream_pressure SLICE_GAP with one attempt", owes)
		}
		if got, want := collection.OutcomeOf(run, owes), collection.Waiting; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
		p.mend()
		time.Sleep(7 * time.Hour)
		if _, err := do(t, m.reopen(), p, func(c *runner.Config) { c.Run.Mode = collection.Resume }); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	})
}

// away refuses all connections.
type away struct{}

func (away) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

// TestProviderThatWasNotReachedIsSoonAskedAgain: nothing was tried that a next run could wait for, and the run ends soon.
func TestProviderThatWasNotReachedIsSoonAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		for range collection.MaxGapAttempts + 1 {
			began := time.Now()
			run, err := do(t, m, away{}, nil)
			if took := time.Since(began); err != nil || run.Tally.Requests != 5 || took > 15*time.Second {
				t.Fatalf("%d requests in %v, %v, want one with five attempts", run.Tally.Requests, took, err)
			}
			m = m.reopen()
			time.Sleep(10 * time.Second)
		}
		for _, gap := range m.owes() {
			if gap.Attempts != 0 || gap.Reason != collection.UpstreamPressure {
				t.Errorf("owed %+v, want no attempt counted", gap)
			}
		}
		if _, err := do(t, m.reopen(), p, nil); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	})
}

// TestBadPageIsLeftBehind: where the next page can be named without it, a page
// that cannot be read costs that page only; recovery fills the hole later.
func TestBadPageIsLeftBehind(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		bubble(t, fmt.Sprintf("concurrency=%d", concurrency), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 20}
			p.fail("/items/?page=2", http.StatusOK) // not JSON
			p.fail("/items/?page=4", http.StatusOK)
			set := func(c *runner.Config) { c.Connector, c.Concurrency = shelf{ahead: true}, concurrency }
			run, err := do(t, m, p, set)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(m.records["items"]), 20-6; got != want {
				t.Errorf("%d items stored, want %d", got, want)
			}
			owes := m.owes()
			if len(owes) != 2 || owes[0].Reason != collection.BadPage || owes[0].Cursor.Token != "2" {
				t.Fatalf("owed %+v, want two bad pages", owes)
			}
			if got, want := collection.OutcomeOf(run, owes), collection.Blocked; got != want {
				t.Errorf("Verdict = %s, want %s", got, want)
			}
			p.mend()
			if _, err := do(t, m.reopen(), p, func(c *runner.Config) { set(c); c.Run.Mode = collection.Resume }); err != nil {
				t.Fatal(err)
			}
			checkAll(t, m, p)
		})
	}
}

// TestLateParentsAreNotForgotten: while another stream is unfinished, those at
// their end are not begun anew; but a run that finds further parents collects
// what belongs to them, or it would call itself complete without.
func TestLateParentsAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		p.fail("/items/?page=2", 400)
		run, err := do(t, m, p, func(c *runner.Config) {
			c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 3 + 6 + 2}) // ends among the notes
		})
		if err != nil || run.Reason != collection.RequestCap {
			t.Fatalf("first run: %q, %v, want %s", run.Reason, err, collection.RequestCap)
		}
		p.mend()
		m = m.reopen()
		run, err = do(t, m, p, func(c *runner.Config) { c.Run.Mode = collection.Resume })
		if err != nil {
			t.Fatal(err)
		}
		if got, want := collection.OutcomeOf(run, m.owes()), collection.Complete; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
		checkAll(t, m, p)
	})
}

// TestEndlessPagesEnd: a server that sends its first page for ever does not
// hold a run for ever, and the run does not call it success.
func TestEndlessPagesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7, repeat: true}
		run, err := do(t, m, p, func(c *runner.Config) { c.Streams = []string{"items"} })
		if err != nil {
			t.Fatal(err)
		}
		if got, want := collection.OutcomeOf(run, m.owes()), collection.Blocked; got != want {
			t.Errorf("Verdict = %s, want %s", got, want)
		}
		if got := p.requests(); got != 1+3 {
			t.Errorf("%d requests, want the first page and 3 without a new record", got)
		}
	})
}

// TestRepeatedPagesAreOwed: a server that ignores the number of a page sends the
// first in the place of the others. None is passed by: when it is right again,
// a resume has them all.
func TestRepeatedPagesAreOwed(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 20, repeat: true}
			counted := func(c *runner.Config) {
				c.Connector, c.Concurrency, c.Streams = shelf{ahead: true}, concurrency, []string{"items"}
			}
			for range 4 { // a run that tries the gap anew looks at the page before it, which may have changed
				run, err := do(t, m, p, counted)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := collection.OutcomeOf(run, m.owes()), collection.Blocked; got != want || len(m.keys("items")) != 3 {
					t.Errorf("Verdict = %s with %d records, want %s with 3", got, len(m.keys("items")), want)
				}
				m = m.reopen()
				p.begins++
			}
			p.repeat = false
			run, err := do(t, m, p, counted)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := collection.OutcomeOf(run, m.owes()), collection.Complete; got != want || len(m.keys("items")) != p.n {
				t.Errorf("Verdict = %s with %d records, want %s with %d", got, len(m.keys("items")), want, p.n)
			}
		})
	}
}

// TestBackfillLeavesTheIncrementalCheckpoint is I15.
func TestBackfillLeavesTheIncrementalCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		before := incremental(m)
		for range 2 {
			if _, err := do(t, m.reopen(), p, func(c *runner.Config) {
				c.Run.Lane = collection.Backfill
				c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 15})
			}); err != nil {
				t.Fatal(err)
			}
		}
		if got := incremental(m); !slices.Equal(got, before) {
			t.Errorf("incremental checkpoints moved: %v, want %v", got, before)
		}
		if len(m.at) <= len(before) {
			t.Error("the backfill committed nothing: this proves nothing")
		}

		// When it is finished it is not begun again.
		for range 2 {
			before := p.requests()
			if _, err := do(t, m.reopen(), p, func(c *runner.Config) { c.Run.Lane = collection.Backfill }); err != nil {
				t.Fatal(err)
			}
			if got := p.requests() - before; got > 0 && len(m.owes()) == 0 && m.at[collection.Place{Stream: "notes", Lane: collection.Backfill}].Done && before > 60 {
				t.Errorf("a finished backfill sent %d requests", got)
			}
		}
	})
}

func incremental(m *memory) []string {
	var all []string
	for place, c := range m.at {
		if place.Lane == collection.Incremental {
			all = append(all, fmt.Sprint(place, c))
		}
	}
	slices.Sort(all)
	return all
}

// TestInterruptFinishesThePageInFlight: the first Ctrl-C lets the page in
// flight be saved, sends nothing more, and leaves gaps that are planned.
func TestInterruptFinishesThePageInFlight(t *testing.T) {
	for at := 1; at <= 24; at++ {
		bubble(t, fmt.Sprintf("request=%d", at), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			budget := pacing.NewBudget(pacing.BudgetLimits{})
			p.before = func(asked int) {
				if asked == at {
					budget.Interrupt()
				}
			}
			run, err := do(t, m, p, func(c *runner.Config) { c.Budget = budget })
			if err != nil {
				t.Fatal(err)
			}
			if got := p.requests(); got != at {
				t.Errorf("%d requests, want %d", got, at)
			}
			if at < 24 && run.Reason != collection.Interrupted {
				t.Errorf("reason %q, want interrupted", run.Reason)
			}
			if got := int(run.Tally.Requests); got != at {
				t.Errorf("tally says %d requests, want %d", got, at)
			}
			p.before = nil
			if _, err := do(t, m.reopen(), p, nil); err != nil {
				t.Fatal(err)
			}
			checkAll(t, m, p)
		})
	}
}

// TestCancelKeepsWhatIsCommitted: a second Ctrl-C ends the run at once.
func TestCancelKeepsWhatIsCommitted(t *testing.T) {
	for at := 1; at <= 24; at++ {
		bubble(t, fmt.Sprintf("request=%d", at), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			ctx, cancel := context.WithCancel(t.Context())
			p.before = func(asked int) {
				if asked == at {
					cancel()
				}
			}
			r, err := runner.New(runner.Config{
				Connector: shelf{}, Ledger: m, Base: p, Concurrency: 2,
				Run: collection.Run{ID: "r", Connector: "shelf", Mode: collection.Forward, Lane: collection.Incremental},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Do(ctx); err != nil {
				t.Fatal(err)
			}
			p.before = nil
			if _, err := do(t, m.reopen(), p, nil); err != nil {
				t.Fatal(err)
			}
			checkAll(t, m, p)
		})
	}
}

func TestFencedRunWritesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		m.failAt, m.answer = 2, collection.ErrFenced
		_, err := do(t, m, p, nil)
		if !errors.Is(err, collection.ErrFenced) {
			t.Fatalf("Do = %v, want ErrFenced", err)
		}
		if got := m.owes(); len(got) != 0 {
			t.Errorf("a fenced run left %+v", got)
		}
	})
}

func TestUnknownStreamIsRefused(t *testing.T) {
	_, err := do(t, newMemory(), &provider{}, func(c *runner.Config) { c.Streams = []string{"itmes"} })
	if unknown, ok := errors.AsType[*connectors.UnknownStreamError](err); !ok || unknown.Stream != "itmes" {
		t.Errorf("Do = %v, want an UnknownStreamError", err)
	}
}
