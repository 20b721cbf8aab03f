package runner_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// revive does what the order of a person does to the gap at a place: it lives
// its life once more.
func (m *memory) revive(t *testing.T, stream string) {
	t.Helper()
	n := 0
	for i := range m.gaps {
		if g := &m.gaps[i]; g.Stream == stream && g.State == collection.GapDead {
			g.State, g.Attempts, g.NotBefore = collection.GapOpen, 0, time.Time{}
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no gap of %s is dead: %+v", stream, m.owes())
	}
}

// buried returns what runs leave that tried eight times in vain to have one
// detail and one page of the notes on an item, and a provider that still cannot
// give them.
func buried(t *testing.T) (*memory, *provider, func(*runner.Config)) {
	t.Helper()
	m, p := newMemory(), &provider{n: 7}
	p.fail("/details/item-003?page=", http.StatusOK) // not JSON
	p.fail("/notes/item-002?page=1", http.StatusBadGateway)
	set := func(c *runner.Config) { c.Run.Mode = collection.Resume }
	for range collection.MaxGapAttempts {
		if _, err := do(t, m, p, set); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Hour)
		m = m.reopen()
	}
	for _, gap := range m.owes() {
		if gap.State != collection.GapDead || gap.Attempts != collection.MaxGapAttempts {
			t.Fatalf("after eight runs %+v is owed, want it dead", gap)
		}
	}
	if n := len(m.owes()); n != 2 {
		t.Fatalf("%d gaps are owed, want 2", n)
	}
	p.asked = nil
	return m, p, set
}

// checkAsked runs once, and checks which requests that takes.
func checkAsked(t *testing.T, when string, m *memory, p *provider, set func(*runner.Config), want ...string) *memory {
	t.Helper()
	p.asked = nil
	if _, err := do(t, m, p, set); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.asked, want) {
		t.Errorf("%s a run asks for %q, want %q", when, p.asked, want)
	}
	return m.reopen()
}

// TestRevivedGapIsFilled: what no run asks for any more is asked for by the next
// run after the order, as the only thing, and closed with its record. What was
// not revived stays as it is.
func TestRevivedGapIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p, set := buried(t)
		details := func(c *runner.Config) { set(c); c.Streams = []string{"details"} } // which are fetched once
		m = checkAsked(t, "with its gap dead,", m, p, details)
		p.mend()
		m = checkAsked(t, "before the order", m, p, details)
		m.revive(t, "details")
		m = checkAsked(t, "after the order", m, p, details, "/details/item-003?page=")
		m = checkAsked(t, "once more", m, p, details)
		if got := m.owes(); len(got) != 1 || got[0].Stream != "notes" || got[0].State != collection.GapDead {
			t.Errorf("owed: %+v, want the gap of the notes as it was", got)
		}
		m.revive(t, "notes")
		if _, err := do(t, m, p, set); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	})
}

// TestRevivedWalkGoesOn: where the walk stood at a dead gap, it goes on from
// there to its end, and asks for no page before it.
func TestRevivedWalkGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 14}
		set := func(c *runner.Config) { c.Run.Mode, c.Streams = collection.Resume, []string{"items"} }
		p.fail("/items/?page=2", http.StatusOK) // not JSON
		for range collection.MaxGapAttempts {
			if _, err := do(t, m, p, set); err != nil {
				t.Fatal(err)
			}
			m = m.reopen()
		}
		m = checkAsked(t, "with its gap dead,", m, p, set)
		p.mend()
		m.revive(t, "items")
		checkAsked(t, "after the order", m, p, set, "/items/?page=2", "/items/?page=3", "/items/?page=4")
		if got, want := m.keys("items"), p.want("items"); !slices.Equal(got, want) || len(m.owes()) > 0 {
			t.Errorf("stored %v and owed %+v, want %v and nothing", got, m.owes(), want)
		}
	})
}

// TestRevivedGapDiesAgain: it has its eight tries anew, one in a run, and is
// then dead as before.
func TestRevivedGapDiesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p, set := buried(t)
		details := func(c *runner.Config) { set(c); c.Streams = []string{"details"} }
		m.revive(t, "details")
		for try := range collection.MaxGapAttempts {
			m = checkAsked(t, fmt.Sprintf("try %d:", try+1), m, p, details, "/details/item-003?page=")
			for _, gap := range m.owes() {
				dead := gap.State == collection.GapDead
				if gap.Stream == "details" && (gap.Attempts != try+1 || dead != (try+1 == collection.MaxGapAttempts)) {
					t.Errorf("after try %d it is %s with %d attempts", try+1, gap.State, gap.Attempts)
				}
			}
		}
		checkAsked(t, "dead again,", m, p, details)
	})
}

// TestCrashWhileRevivedGapsAreFilled ends the process at each durable step of the
// run after the order, before and after its effect. The next run has what is
// left, and no piece twice in vain.
func TestCrashWhileRevivedGapsAreFilled(t *testing.T) {
	ready := func(t *testing.T) (*memory, *provider, func(*runner.Config)) {
		m, p, set := buried(t)
		p.mend()
		m.revive(t, "details")
		m.revive(t, "notes")
		return m, p, set
	}
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		m, p, set := ready(t)
		if _, err := do(t, m, p, set); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		steps = m.steps
	})
	for failAt := 1; failAt <= steps; failAt++ {
		for _, afterEffect := range []bool{false, true} {
			bubble(t, fmt.Sprintf("step=%d,afterEffect=%t", failAt, afterEffect), func(t *testing.T) {
				m, p, set := ready(t)
				m.failAt, m.afterEffect = failAt, afterEffect
				if _, err := do(t, m, p, set); m.dead != errors.Is(err, errCrash) {
					t.Errorf("Do = %v, crashed: %t", err, m.dead)
				}
				if _, err := do(t, m.reopen(), p, set); err != nil {
					t.Fatal(err)
				}
				checkAll(t, m, p)
				if n := p.askedFor("/details/item-003?page="); n < 1 || n > 2 {
					t.Errorf("the detail was asked for %d times, want once, or twice where the first answer was lost", n)
				}
			})
		}
	}
}
