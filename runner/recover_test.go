package runner_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// holed returns what a run leaves that could not have page 2 of the items, the
// details of one item and the notes on another, and a provider that has them
// by now.
func holed(t *testing.T) (*memory, *provider, func(*runner.Config)) {
	t.Helper()
	m, p := newMemory(), &provider{n: 20}
	set := func(c *runner.Config) { c.Connector, c.Run.Mode = shelf{ahead: true}, collection.Resume }
	p.fail("/items/?page=2", http.StatusOK) // not JSON
	p.fail("/details/item-003?page=", http.StatusBadGateway)
	p.fail("/notes/item-002?page=", http.StatusBadGateway)
	if _, err := do(t, m, p, set); err != nil {
		t.Fatal(err)
	}
	if got := m.owes(); len(got) != 3 {
		t.Fatalf("owed %+v, want three gaps", got)
	}
	p.mend()
	p.asked = nil
	time.Sleep(7 * time.Hour)
	return m.reopen(), p, set
}

// TestCrashWhileGapsAreFilled ends the process at each durable step of a run
// that fills gaps, before and after its effect, or has that step answer that
// its outcome is unknown.
func TestCrashWhileGapsAreFilled(t *testing.T) {
	steps := 0
	synctest.Test(t, func(t *testing.T) {
		m, p, set := holed(t)
		if _, err := do(t, m, p, set); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		steps = m.steps
	})
	for failAt := 1; failAt <= steps; failAt++ {
		for _, answer := range []error{nil, collection.ErrUnknown} {
			for _, afterEffect := range []bool{false, true} {
				bubble(t, fmt.Sprintf("step=%d,answer=%v,afterEffect=%t", failAt, answer, afterEffect), func(t *testing.T) {
					m, p, set := holed(t)
					m.failAt, m.afterEffect, m.answer = failAt, afterEffect, answer
					_, err := do(t, m, p, set)
					if m.dead != errors.Is(err, errCrash) {
						t.Errorf("Do = %v, crashed: %t", err, m.dead)
					}
					if answer != nil {
						if err != nil {
							t.Errorf("Do = %v, want it to go on by itself", err)
						}
						checkAll(t, m, p)
						return
					}
					if _, err := do(t, m.reopen(), p, set); err != nil {
						t.Fatal(err)
					}
					checkAll(t, m, p)
				})
			}
		}
	}
}

// TestGapsAreFilledInTheirOrder: the ledger leases gaps by rank, and that is the
// order in which they are asked for, so that a budget leaves the last.
func TestGapsAreFilledInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 9} // more in a row would end the pass
		for _, item := range p.items() {
			p.fail("/details/"+item+"?page=", http.StatusOK) // not JSON
		}
		if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 1 }); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, gap := range m.owes() { // in the order in which they came about
			want = append(want, "/details/"+strings.TrimPrefix(gap.Partition.String(), "item=")+"?page=")
		}
		p.mend()
		p.asked = nil
		time.Sleep(7 * time.Hour)
		set := func(c *runner.Config) { c.Concurrency, c.Run.Mode = 1, collection.Resume }
		if _, err := do(t, m.reopen(), p, set); err != nil {
			t.Fatal(err)
		}
		if got := p.asked[:len(want)]; !slices.Equal(got, want) {
			t.Errorf("asked for %q, want %q", got, want)
		}
	})
}

// TestFullDiskWhileGapsAreFilled: a commit that fails ends the run with its
// error, wherever it was.
func TestFullDiskWhileGapsAreFilled(t *testing.T) {
	for failAt := 1; failAt <= 60; failAt++ {
		bubble(t, fmt.Sprint("step=", failAt), func(t *testing.T) {
			m, p, set := holed(t)
			m.failAt, m.answer = failAt, collection.ErrFull
			_, err := do(t, m, p, set)
			if full := m.steps >= failAt; full != errors.Is(err, collection.ErrFull) {
				t.Errorf("Do = %v, disk full: %t", err, full)
			}
		})
	}
}

// TestResumeFillsGapsFirst, and a run of the usual kind asks for what is new.
func TestResumeFillsGapsFirst(t *testing.T) {
	for mode, want := range map[collection.Mode][]string{
		collection.Resume:  {"/items/?page=2", "/details/item-003?page=", "/notes/item-002?page="},
		collection.Forward: {"/items/?page="},
	} {
		bubble(t, string(mode), func(t *testing.T) {
			m, p, set := holed(t)
			if _, err := do(t, m, p, func(c *runner.Config) { set(c); c.Run.Mode = mode }); err != nil {
				t.Fatal(err)
			}
			if got := p.asked[0]; !slices.Contains(want, got) {
				t.Errorf("asked first for %s, want one of %s", got, want)
			}
			checkAll(t, m, p)
		})
	}
}

// TestPagesInARowThatCannotBeHad: three are left behind. A fourth is a fault
// of the walk, which stands there; a page in between that can be had shows that
// it is not.
func TestPagesInARowThatCannotBeHad(t *testing.T) {
	for _, test := range []struct {
		pages string
		want  int // items stored, of 30
		owed  int
	}{
		{"234", 21, 3}, {"2345", 6, 4}, {"23456", 6, 4}, {"234678", 12, 6},
	} {
		bubble(t, test.pages, func(t *testing.T) {
			m, p := newMemory(), &provider{n: 30}
			for _, page := range test.pages {
				p.fail(fmt.Sprintf("/items/?page=%c", page), http.StatusOK)
			}
			_, err := do(t, m, p, func(c *runner.Config) { c.Connector, c.Streams = shelf{ahead: true}, []string{"items"} })
			if got := len(m.records["items"]); err != nil || got != test.want || len(m.owes()) != test.owed {
				t.Errorf("%d items and %d gaps, %v; want %d and %d", got, len(m.owes()), err, test.want, test.owed)
			}
		})
	}
}

// TestParentLeftOutCostsNoOther: those behind it are collected, the row that
// names it stays the same one, and a crash while it is written is told.
func TestParentLeftOutCostsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 7}
		set := func(c *runner.Config) { c.Connector, c.Run.Mode = shelf{unbound: true}, collection.Resume }
		for range 3 {
			if _, err := do(t, m, p, set); err != nil {
				t.Fatal(err)
			}
			m = m.reopen()
		}
		if got := len(m.records["details"]); got != 6 {
			t.Errorf("details of %d parents, want those of the other 6", got)
		}
		if len(m.gaps) != 2 {
			t.Errorf("%d rows of gaps, want one for each stream: %+v", len(m.gaps), m.gaps)
		}
	})
	for failAt := 1; failAt <= 20; failAt++ {
		bubble(t, fmt.Sprint("step=", failAt), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 7}
			m.failAt = failAt
			_, err := do(t, m, p, func(c *runner.Config) { c.Connector = shelf{unbound: true} })
			if m.dead != errors.Is(err, errCrash) {
				t.Errorf("Do = %v, crashed: %t", err, m.dead)
			}
		})
	}
}
