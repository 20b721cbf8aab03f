package pacing

import (
	"sync"
	"time"
)

// The constants of giving up early: chosen. Four times the longest that was seen is beyond what a provider
// that works comes to, and an answer that would have come all the same costs one request more.
const (
	patienceAfter     = 5               // answers needed before an attempt is given up early
	patienceLeast     = 5 * time.Second // shortest wait of a first attempt
	patienceTimes     = 4               // multiple of the longest answer that a first attempt waits
	patienceDoublings = 10              // attempts after which the wait no longer doubles
	patienceFades     = 1000            // answers after which the longest one is mostly forgotten
)

// A patience knows when an attempt that is not answered will not be any more. A request that one of several
// servers lost holds its place in flight, and its page, for half a minute, where all others take a tenth of a
// second. It is given up after several times the longest that any answer took, and asked for again. Each attempt waits
// twice as long as the one before, and the last one has all the time that there is. It is safe for concurrent
// use; the zero value knows nothing.
type patience struct {
	mu      sync.Mutex
	answers int
	longest time.Duration // to the header of an answer
	latest  time.Time     // when one came
}

// wait returns how long the nth attempt waits for the header of its answer: at most as long as any does.
func (p *patience) wait(n int, most time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers < patienceAfter {
		return most
	}
	return min(most, max(patienceLeast, patienceTimes*p.longest)<<min(n-1, patienceDoublings))
}

// answered notes how long the header of an answer took that has come at now.
func (p *patience) answered(took time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = now
	p.answers = min(p.answers+1, patienceAfter)
	p.longest = max(took, p.longest-p.longest/patienceFades)
}

// heard reports whether an answer came since then. Where none did, all may wait for the provider to go on.
func (p *patience) heard(since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest.After(since)
}
