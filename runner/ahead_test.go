package runner_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// TestPagesAheadGrowFromOne: a list is fetched one page at a time, then two,
// then four. So a list of one page costs one request, none more than three
// beyond its end, and a long one a quarter of the time.
func TestPagesAheadGrowFromOne(t *testing.T) {
	for _, test := range []struct {
		pages       int
		least, most time.Duration // a page takes a second
	}{
		{1, time.Second, time.Second}, {3, 2 * time.Second, 3 * time.Second}, {40, 11 * time.Second, 14 * time.Second},
	} {
		bubble(t, fmt.Sprint(test.pages), func(t *testing.T) {
			p := &provider{n: 3 * test.pages, before: func(int) { time.Sleep(time.Second) }}
			began := time.Now()
			_, err := do(t, newMemory(), p, func(c *runner.Config) {
				c.Connector, c.Concurrency, c.Streams = shelf{ahead: true}, 4, []string{"items"}
			})
			if took := time.Since(began); err != nil || took < test.least || took > test.most {
				t.Errorf("%v, %v, want %v to %v", took, err, test.least, test.most)
			}
			if beyond := p.requests() - test.pages; beyond < 0 || beyond > 3 || test.pages == 1 && beyond > 0 {
				t.Errorf("%d requests beyond the end", beyond)
			}
		})
	}
}

// TestPagesAheadDoNotWaitForTheDisk: while a slice waits for room among the eight that
// are being stored, as many are in flight as may be. So much, and no more, is asked for
// again after a kill.
func TestPagesAheadDoNotWaitForTheDisk(t *testing.T) {
	for _, concurrency := range []int{2, 4, 8} {
		bubble(t, fmt.Sprint(concurrency), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 180}
			var mu sync.Mutex
			var stored, most int
			p.before = func(asked int) {
				mu.Lock()
				defer mu.Unlock()
				most = max(most, asked-stored)
			}
			_, err := do(t, m, p, func(c *runner.Config) {
				c.Connector, c.Concurrency, c.Streams, c.Ledger = timed{shelf{ahead: true}, inOrder}, concurrency, []string{"items"}, &slow{memory: m}
				c.Observe = func(e collection.Event) {
					if e.Kind == collection.SliceCommitted {
						mu.Lock()
						defer mu.Unlock()
						stored++
					}
				}
			})
			if want := 8 + 1 + concurrency; err != nil || most != want {
				t.Errorf("%v; %d pages were asked for and not stored, want %d", err, most, want)
			}
		})
	}
}

// TestLatePageHoldsUpNoneBehindIt: while one page of a list is late, as one that is tried again, those behind
// it are fetched as fast as before, four times as many as may be in flight in all; and it is stored before them.
func TestLatePageHoldsUpNoneBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const late = 10
		var mu sync.Mutex
		behind := 0
		m, p := newMemory(), &provider{n: 180}
		takes := func(page int) time.Duration {
			if page == late {
				return 2 * time.Second
			}
			return 100*time.Millisecond + inOrder(page)
		}
		var began time.Time
		_, err := do(t, m, p, func(c *runner.Config) {
			c.Connector, c.Concurrency, c.Streams = timed{shelf{ahead: true}, func(page int) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				if page == late {
					began = time.Now()
				}
				if page > late && time.Since(began) < 2*time.Second {
					behind++
				}
				return takes(page)
			}}, 4, []string{"items"}
		})
		if err != nil || !slices.Equal(m.keys("items"), p.want("items")) {
			t.Errorf("%v, stored %d records, want %d", err, len(m.keys("items")), len(p.want("items")))
		}
		if behind != 15 {
			t.Errorf("%d pages were asked for while one was late, want 15", behind)
		}
	})
}

// timed is a shelf whose pages take their time.
type timed struct {
	shelf
	takes func(page int) time.Duration
}

func (s timed) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	page, _ := strconv.Atoi(from.Token)
	time.Sleep(s.takes(page))
	return s.shelf.Slices(ctx, client, at, from)
}

// inOrder lets pages that are asked for together come one behind the other.
func inOrder(page int) time.Duration { return time.Duration(page) * time.Microsecond }

// slow is a ledger whose commits take a second and tell how many slices they
// were.
type slow struct {
	*memory
	mu     sync.Mutex
	groups []int
}

func (l *slow) Commit(ctx context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	time.Sleep(time.Second)
	l.mu.Lock()
	l.groups = append(l.groups, len(group))
	l.mu.Unlock()
	return l.memory.Commit(ctx, group...)
}

// TestSlicesThatWaitShareATransaction, and no more of them than may.
func TestSlicesThatWaitShareATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 200}
		l := &slow{memory: m}
		_, err := do(t, m, p, func(c *runner.Config) { c.Ledger, c.Concurrency = l, 100 })
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
		most := 0
		for _, n := range l.groups {
			most = max(most, n)
		}
		if most != 64 {
			t.Errorf("the largest transaction had %d slices, want 64: of 100 that wait, as many as may share one", most)
		}
	})
}
