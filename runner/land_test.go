package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
)

// distant is a provider whose answers take a while to some requests, which may not
// wait for them.
type distant struct {
	*provider
	by   time.Duration
	when func() bool
}

func (d distant) RoundTrip(req *http.Request) (*http.Response, error) {
	if d.when() {
		select {
		case <-time.After(d.by):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	return d.provider.RoundTrip(req)
}

// items limits a run to the list, one request at a time.
func items(c *runner.Config) { c.Streams, c.Concurrency = []string{"items"}, 1 }

// TestPagesAreFetchedWhileOthersAreStored: with a page a second and a commit a
// second, a list takes half the time that it would one after the other.
func TestPagesAreFetchedWhileOthersAreStored(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		m, p := newMemory(), &provider{n: 60}
		began := time.Now()
		_, err := do(t, m, distant{p, time.Second, func() bool { return true }}, func(c *runner.Config) { items(c); c.Ledger = &slow{memory: m} })
		if took := time.Since(began); err != nil || took != 21*time.Second {
			t.Errorf("20 pages took %v, %v, want 21 s", took, err)
		}
	})
}

// TestPagesThatAreReadyShareATransaction: when the disk is slower than the provider,
// pages of one list share a transaction, and no more than eight wait for one.
func TestPagesThatAreReadyShareATransaction(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		m, p := newMemory(), &provider{n: 60}
		l := &slow{memory: m}
		var stored atomic.Int64
		most := 0
		p.before = func(asked int) { most = max(most, asked-int(stored.Load())) }
		_, err := do(t, m, p, func(c *runner.Config) {
			items(c)
			c.Ledger = l
			c.Observe = func(e collection.Event) {
				if e.Kind == collection.SliceCommitted {
					stored.Add(1)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		// Of eight, those that are being stored and those that wait for the next transaction
		// take turns: 1 and 7 or 4 and 4, as the first of them happened to have.
		if got := slices.Max(l.groups); got < 4 || got > 8 {
			t.Errorf("the largest transaction had %d pages, want 4 to 8", got)
		}
		if most > 10 { // eight that are stored, one that waits for room, one that is asked for
			t.Errorf("%d pages were asked for and not stored, want at most 10", most)
		}
	})
}

// TestDetailsThatAreReadyShareATransaction: when the disk is slower than the provider,
// more details share a transaction than are asked for at once. Four for each of those
// are asked for and not stored, and no more.
func TestDetailsThatAreReadyShareATransaction(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		m := newMemory()
		if _, err := do(t, m, &provider{n: 300}, items); err != nil {
			t.Fatal(err)
		}
		p, l := &provider{n: 300}, &slow{memory: m.reopen()}
		var stored, most atomic.Int64
		p.before = func(asked int) {
			for n := int64(asked) - stored.Load(); ; {
				if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
					return
				}
			}
		}
		_, err := do(t, l.memory, p, func(c *runner.Config) {
			c.Streams, c.Concurrency, c.Ledger = []string{"details"}, 8, l
			c.Observe = func(e collection.Event) {
				if e.Kind == collection.SliceCommitted {
					stored.Add(1)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(l.groups); got > 25 {
			t.Errorf("300 details took %d transactions, want at most 25", got)
		}
		if n := most.Load(); n > 4*8 {
			t.Errorf("%d details were asked for and not stored, want at most 32", n)
		}
	})
}

// TestAPageIsToldWhenItIsStored, and not when the one behind it has come.
func TestAPageIsToldWhenItIsStored(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		m, p := newMemory(), &provider{n: 6}
		began := time.Now()
		var told []time.Duration
		_, err := do(t, m, distant{p, 20 * time.Second, func() bool { return p.requests() > 0 }}, func(c *runner.Config) {
			items(c)
			c.Ledger = &slow{memory: m}
			c.Observe = func(e collection.Event) {
				if e.Kind == collection.SliceCommitted {
					told = append(told, time.Since(began))
				}
			}
		})
		if want := []time.Duration{time.Second, 21 * time.Second}; err != nil || !slices.Equal(told, want) {
			t.Errorf("pages were told after %v, %v, want %v", told, err, want)
		}
	})
}

// failing is a ledger whose commits take a second, and fail from one on: that one after
// its effect, perhaps.
type failing struct {
	*memory
	cause       error
	failAt      int
	afterEffect bool
	commits     atomic.Int64
}

func (l *failing) Commit(ctx context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	n := int(l.commits.Add(1))
	time.Sleep(time.Second)
	if n > l.failAt || n == l.failAt && !l.afterEffect {
		return nil, l.cause
	}
	done, err := l.memory.Commit(ctx, group...)
	if n == l.failAt {
		return nil, l.cause
	}
	return done, err
}

// TestAFailedCommitDropsWhatIsBehind: a page that is not stored ends the run at once,
// whatever the one behind it waits for; nothing behind it is stored; what was told
// is stored; and the next run asks again for at most eight pages and the two behind them.
func TestAFailedCommitDropsWhatIsBehind(t *testing.T) {
	for _, cause := range []error{collection.ErrFull, errCrash} {
		for failAt := 1; failAt <= 6; failAt++ {
			for _, wait := range []time.Duration{0, 20 * time.Second} {
				for _, afterEffect := range []bool{false, true} {
					bubble(t, fmt.Sprintf("%v at %d, after its effect %t, wait %v", cause, failAt, afterEffect, wait), func(t *testing.T) {
						m := newMemory()
						failACommit(t, &failing{memory: m, cause: cause, failAt: failAt, afterEffect: afterEffect}, wait)
					})
				}
			}
		}
	}
}

func failACommit(t *testing.T, l *failing, wait time.Duration) {
	const pages = 60 // six commits of at most eight pages never store them all
	m, p := l.memory, &provider{n: 3 * pages}
	began, told := time.Now(), 0
	_, err := do(t, m, distant{p, wait, func() bool { return l.commits.Load() >= int64(l.failAt) }}, func(c *runner.Config) {
		items(c)
		c.Ledger = l
		c.Observe = func(e collection.Event) {
			if e.Kind == collection.SliceCommitted {
				told += e.Slice.Records
			}
		}
	})
	if !errors.Is(err, l.cause) {
		t.Fatalf("Do = %v, want %v", err, l.cause)
	}
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("the run took %v: it waited for a page behind one that was not stored", took)
	}
	stored := m.keys("items")
	if told > len(stored) {
		t.Errorf("%d records were told of, and %d are stored", told, len(stored))
	}
	if want := p.want("items")[:len(stored)]; !slices.Equal(stored, want) {
		t.Errorf("stored %v, want the first ones", stored)
	}
	again := p.requests() - len(stored)/3
	if again > 10 {
		t.Errorf("%d pages are fetched again, want at most 10", again)
	}
	if _, err := do(t, m.reopen(), p, items); err != nil {
		t.Fatal(err)
	}
	if got, want := m.keys("items"), p.want("items"); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
	if got, want := p.requests(), pages+again; got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}

// TestACapBetweenTwoPages: when a budget ends the run while a page is being stored,
// the gap is left behind that page, and the next run asks for nothing again.
func TestACapBetweenTwoPages(t *testing.T) {
	for limit := 1; limit < 20; limit++ {
		bubble(t, fmt.Sprint(limit), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 60}
			run, err := do(t, m, p, func(c *runner.Config) {
				items(c)
				c.Ledger = &slow{memory: m}
				c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: int64(limit)})
			})
			if err != nil || run.Reason != collection.RequestCap {
				t.Fatalf("%q, %v, want %s", run.Reason, err, collection.RequestCap)
			}
			if got, want := len(m.keys("items")), 3*limit; got != want || run.Tally.Records != int64(want) {
				t.Errorf("%d records stored and %d counted, want %d", got, run.Tally.Records, want)
			}
			owes := m.owes()
			at := m.at[collection.Place{Stream: "items", Lane: collection.Incremental}]
			if len(owes) != 1 || owes[0].Cursor != at.Cursor {
				t.Errorf("owed %+v, want one gap at the checkpoint %+v", owes, at.Cursor)
			}
			if _, err := do(t, m.reopen(), p, items); err != nil {
				t.Fatal(err)
			}
			if got := p.requests(); got != 20 {
				t.Errorf("%d requests, want 20", got)
			}
		})
	}
}

// unsure is a ledger that takes a second, answers one commit with "not known", with
// or without its effect, and notes what is asked of it.
type unsure struct {
	*memory
	mu          sync.Mutex
	failAt      int
	afterEffect bool
	commits     int
	unread      bool // the outcome of a commit is not known
	blind       int  // commits of something new meanwhile
	groups      []int
}

func (l *unsure) Commit(ctx context.Context, group ...collection.Slice) (done []collection.Committed, err error) {
	time.Sleep(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.commits++; l.unread {
		l.blind++
	}
	l.groups = append(l.groups, len(group))
	if l.commits != l.failAt {
		return l.memory.Commit(ctx, group...)
	}
	if l.unread = true; l.afterEffect {
		if _, err := l.memory.Commit(ctx, group...); err != nil {
			return nil, err
		}
	}
	return nil, collection.ErrUnknown
}

func (l *unsure) Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error) {
	l.mu.Lock()
	l.unread = false
	l.mu.Unlock()
	return l.memory.Checkpoint(ctx, at)
}

// TestAnUnknownCommitWithPagesBehind (I23): it is read back before anything behind it
// is stored, also if those behind it were in its transaction; and nothing is asked
// for twice.
func TestAnUnknownCommitWithPagesBehind(t *testing.T) {
	shared := false
	for failAt := 1; failAt <= 8; failAt++ {
		for _, afterEffect := range []bool{false, true} {
			bubble(t, fmt.Sprintf("commit=%d,afterEffect=%t", failAt, afterEffect), func(t *testing.T) {
				m, p := newMemory(), &provider{n: 60}
				l := &unsure{memory: m, failAt: failAt, afterEffect: afterEffect}
				if _, err := do(t, m, p, func(c *runner.Config) { items(c); c.Ledger = l }); err != nil {
					t.Fatal(err)
				}
				if got, want := m.keys("items"), p.want("items"); !slices.Equal(got, want) || l.blind > 0 {
					t.Errorf("stored %d of %d records; %d commits without a look", len(got), len(want), l.blind)
				}
				if got := p.requests(); got != 20 {
					t.Errorf("%d requests, want 20", got)
				}
				shared = shared || len(l.groups) >= failAt && l.groups[failAt-1] > 1
			})
		}
	}
	if !shared {
		t.Error("no commit with an unknown outcome had several pages")
	}
}
