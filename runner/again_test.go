package runner_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
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

// TestAPageIsAskedForFourTimesAtMost: a page that cannot be read the fourth time is owed, and so is one at
// once where no other was ever read: there the connector is wrong.
func TestAPageIsAskedForFourTimesAtMost(t *testing.T) {
	for _, c := range []struct {
		at      string
		earlier bool // a run before had some pages
		want    int
	}{
		{"/items/?page=2", false, 4},
		{"/details/item-013?page=", false, 4},
		{"/notes/item-013?page=1", false, 4},
		{"/items/?page=", false, 1},
		{"/items/?page=", true, 4},
		{"/details/item-001?page=", true, 4}, // the first one of the run
	} {
		bubble(t, fmt.Sprintf("%s,earlier=%t", c.at, c.earlier), func(t *testing.T) {
			m, p := newMemory(), &provider{n: 20}
			if c.earlier {
				m = collected(t, p)
			}
			p.fail(c.at, http.StatusOK)
			began := time.Now()
			if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency = 1 }); err != nil {
				t.Fatal(err)
			}
			if owes := m.owes(); len(owes) == 0 || owes[0].Reason != collection.BadPage || owes[0].Attempts != 1 {
				t.Errorf("owed %+v, want the page, tried by one run", owes)
			}
			if got := p.askedFor(c.at); got != c.want {
				t.Errorf("asked %d times for %s, want %d", got, c.at, c.want)
			}
			if took := time.Since(began); c.want > 1 && took < 14*time.Second {
				t.Errorf("the run took %s, want 2, 4 and 8 s before the page is asked for again", took)
			}
		})
	}
}

// collected returns a ledger in which an earlier run stored the first item of p, and what is below it.
func collected(t *testing.T, p *provider) *memory {
	t.Helper()
	m, n := newMemory(), p.n
	p.n = 1
	if _, err := do(t, m, p, nil); err != nil {
		t.Fatal(err)
	}
	p.n, p.asked = n, nil
	return m.reopen()
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

// TestAPageIsAskedForOnce: where each answer is known before, as of a recording, no second one is asked for.
func TestAPageIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &provider{n: 20}
		p.fail("/items/?page=2", http.StatusOK)
		if _, err := do(t, m, p, func(c *runner.Config) { c.Once = true }); err != nil {
			t.Fatal(err)
		}
		if got := p.askedFor("/items/?page=2"); got != 1 {
			t.Errorf("asked %d times, want once", got)
		}
	})
}

// TestDetailsThatAreAskedForAgainInVain: details after the first few are asked for once each, whether others
// can be read at once or not, and the run waits for 22 s at most.
func TestDetailsThatAreAskedForAgainInVain(t *testing.T) {
	for _, some := range []bool{false, true} { // others can be read at once
		bubble(t, fmt.Sprintf("some=%t", some), func(t *testing.T) {
			p := &provider{n: 21}
			m, items := collected(t, p), p.items()[1:]
			for i, item := range items {
				if !some || i%2 == 0 {
					p.fail("/details/"+item+"?page=", http.StatusOK)
				}
			}
			began := time.Now()
			if _, err := do(t, m, p, func(c *runner.Config) { c.Concurrency, c.Streams = 1, []string{"items", "details"} }); err != nil {
				t.Fatal(err)
			}
			var got []int
			for i, item := range items {
				if !some || i%2 == 0 {
					got = append(got, p.askedFor("/details/"+item+"?page="))
				}
			}
			if got = got[:10]; got[0] != 4 || slices.Max(got[4:]) > 1 {
				t.Errorf("the details were asked for %v times, want 4 times the first, and once those after the fourth", got)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("the run took %s, want 22 s and what its requests took", took)
			}
		})
	}
}

// TestWhatHelpedIsDoneAgain: a page of a list that comes, and one that was asked for again and comes, give those
// after it all their requests.
func TestWhatHelpedIsDoneAgain(t *testing.T) {
	for name, at := range map[string]struct{ never, once []string }{ // how often they cannot be read
		"list":    {never: []string{"/items/?page=2", "/items/?page=5"}},
		"details": {never: []string{"/details/item-002?page=", "/details/item-003?page=", "/details/item-016?page="}, once: []string{"/details/item-010?page=", "/details/item-011?page="}},
	} {
		bubble(t, name, func(t *testing.T) {
			m, p := newMemory(), &provider{n: 20}
			for _, at := range slices.Concat(at.never, at.once) {
				p.fail(at, http.StatusOK)
			}
			p.before = func(int) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if newest := p.asked[len(p.asked)-1]; slices.Contains(at.once, newest) {
					delete(p.answer, newest)
				}
			}
			if _, err := do(t, m, p, func(c *runner.Config) { c.Connector, c.Concurrency = shelf{ahead: true}, 1 }); err != nil {
				t.Fatal(err)
			}
			for _, at := range at.never {
				if got := p.askedFor(at); got != 4 {
					t.Errorf("asked %d times for %s, want 4", got, at)
				}
			}
		})
	}
}

// A pool is a provider that has ten servers, one of which answers by HTML; to three requests in a row for
// a page at most.
type pool struct {
	*provider
	dice   *rand.Rand
	row    map[string]int
	broken *int // requests that it got
}

func (p pool) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	at := req.URL.String()
	broken := p.row[at] < 3 && p.dice.IntN(10) == 0
	p.row[at]++
	if broken {
		*p.broken++
	} else {
		p.row[at] = 0
	}
	p.mu.Unlock()
	resp, err := p.provider.RoundTrip(req)
	if err == nil && broken {
		resp.Body = io.NopCloser(strings.NewReader("<html>"))
	}
	return resp, err
}

// TestAListGoesOnBesideABrokenServer: a run of hundreds of pages and details needs no person for it.
func TestAListGoesOnBesideABrokenServer(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		bubble(t, fmt.Sprintf("concurrency=%d", concurrency), func(t *testing.T) {
			p, broken := &provider{n: 300}, 0
			m := collected(t, p)
			run, err := do(t, m, pool{p, rand.New(rand.NewPCG(7, 1)), map[string]int{}, &broken}, func(c *runner.Config) {
				c.Connector, c.Concurrency = shelf{ahead: concurrency > 1}, concurrency
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := collection.OutcomeOf(run, m.owes()); got != collection.Complete || broken < 50 {
				t.Errorf("%d answers were broken, and the run ended %s, want %s", broken, got, collection.Complete)
			}
			checkAll(t, m, p)
		})
	}
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
