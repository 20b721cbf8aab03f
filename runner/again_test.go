package runner_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/runner"
)

// failTimes has a page come as one that cannot be read, the first n times it is asked for.
func (p *provider) failTimes(at string, n int) {
	p.fail(at, http.StatusOK)
	p.before = func(int) {
		if p.askedFor(at) == n {
			p.mend()
		}
	}
}

// TestAPageIsAskedForOnceMore: a page that came once as one that cannot be read, among
// others that could, costs one request and a few seconds, and no walk.
func TestAPageIsAskedForOnceMore(t *testing.T) {
	for _, at := range []string{"/items/?page=2", "/details/item-013?page=", "/notes/item-013?page=1"} {
		for _, ahead := range []bool{false, true} {
			for _, concurrency := range []int{1, 4} {
				bubble(t, fmt.Sprintf("%s,ahead=%t,concurrency=%d", at, ahead, concurrency), func(t *testing.T) {
					m, p := newMemory(), &provider{n: 20}
					p.failTimes(at, 1)
					began := time.Now()
					run, err := do(t, m, p, func(c *runner.Config) {
						c.Connector, c.Concurrency = shelf{ahead: ahead}, concurrency
					})
					if err != nil {
						t.Fatal(err)
					}
					checkAll(t, m, p)
					if got := collection.OutcomeOf(run, m.owes()); got != collection.Complete {
						t.Errorf("Verdict = %s, want %s", got, collection.Complete)
					}
					if got := p.askedFor(at); got != 2 {
						t.Errorf("asked %d times for %s, want 2", got, at)
					}
					if took := time.Since(began); took < 2*time.Second {
						t.Errorf("the run took %s: the page was asked for again at once", took)
					}
				})
			}
		}
	}
}

// TestAPageIsAskedForTwiceAtMost: a page that cannot be read the second time is owed, and
// so is one at once where nothing else could be read: there the connector is wrong.
func TestAPageIsAskedForTwiceAtMost(t *testing.T) {
	for at, want := range map[string]int{
		"/items/?page=2":          2,
		"/details/item-013?page=": 2,
		"/notes/item-013?page=1":  2,
		"/items/?page=":           1,
	} {
		bubble(t, at, func(t *testing.T) {
			m, p := newMemory(), &provider{n: 20}
			p.fail(at, http.StatusOK)
			if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 1 }); err != nil {
				t.Fatal(err)
			}
			if owes := m.owes(); len(owes) == 0 || owes[0].Reason != collection.BadPage || owes[0].Attempts != 1 {
				t.Errorf("owed %+v, want the page, tried by one run", owes)
			}
			if got := p.askedFor(at); got != want {
				t.Errorf("asked %d times for %s, want %d", got, at, want)
			}
		})
	}
}

// TestDetailsOfWhichNoneCameAreAskedForOnce: where no detail can be read, no second
// request says more than the first.
func TestDetailsOfWhichNoneCameAreAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 20}
		for _, item := range p.items() {
			p.fail("/details/"+item+"?page=", http.StatusOK)
		}
		if _, err := do(t, m, p, nil); err != nil {
			t.Fatal(err)
		}
		for _, item := range p.items() {
			if got := p.askedFor("/details/" + item + "?page="); got > 1 {
				t.Errorf("asked %d times for %s, want once at most", got, item)
			}
		}
	})
}

// TestEachPageIsAskedForOnceMore: pages that fail once each, now and then, end no walk.
func TestEachPageIsAskedForOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 40}
		for i := 2; i < 12; i += 2 {
			p.fail(fmt.Sprintf("/items/?page=%d", i), http.StatusOK)
		}
		p.before = func(int) {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.answer, p.asked[len(p.asked)-1])
		}
		if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 1 }); err != nil {
			t.Fatal(err)
		}
		checkAll(t, m, p)
	})
}
