package pacing

import (
	"maps"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// BudgetLimits bounds a run. A zero field is no limit, and for RetryTokens
// the default: 20 % of MaxRequests, at least 1, or 50 if there is no cap.
type BudgetLimits struct {
	MaxRequests int64         // attempts, retries included
	MaxTime     time.Duration // from Since, or else from the first attempt that is asked for
	Since       time.Time
	RetryTokens int64 // retries before the first success; see [Budget]
}

// The retry bucket. A fifth of the cap, and a fifth of a token back for each
// success, is Finagle's retry budget; the capacity without a cap is half of
// pdpp's 100. A bucket without a bound would be no bucket.
const (
	retryShare  = 5 // requests of the cap for each token
	freeTokens  = 50
	tokenParts  = 1000
	tokenRefill = tokenParts / 5
)

// A Budget holds what a run may spend and counts what it spent. Every request
// of the run shares it, whatever the provider. It is safe for concurrent use.
type Budget struct {
	limits BudgetLimits
	ended  chan struct{} // closed when nothing will be admitted any more

	mu          sync.Mutex
	interrupted bool
	started     time.Time
	requests    int64
	retries     int64
	throttled   int64
	tokens      int64 // in thousandths
	capacity    int64 // in thousandths
	waited      map[collection.WaitCause]time.Duration
	told        map[collection.Reason]bool
}

// NewBudget returns a budget that is not used yet.
func NewBudget(l BudgetLimits) *Budget {
	b := &Budget{
		limits:  l,
		ended:   make(chan struct{}),
		started: l.Since,
		waited:  map[collection.WaitCause]time.Duration{},
		told:    map[collection.Reason]bool{},
	}
	tokens := l.RetryTokens
	if tokens <= 0 {
		tokens = freeTokens
		if l.MaxRequests > 0 {
			tokens = max(1, (l.MaxRequests+retryShare-1)/retryShare)
		}
	}
	b.capacity = tokens * tokenParts
	b.tokens = b.capacity
	return b
}

// Interrupt ends the run: no attempt is admitted after it, waits end at once,
// and a request in flight is finished.
func (b *Budget) Interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = true
	b.end()
}

// end tells everybody who waits. b.mu is held.
func (b *Budget) end() {
	select {
	case <-b.ended:
	default:
		close(b.ended)
	}
}

// Tally returns the requests, retries and throttle signals so far.
func (b *Budget) Tally() collection.Tally {
	b.mu.Lock()
	defer b.mu.Unlock()
	return collection.Tally{Requests: b.requests, Retries: b.retries, Throttled: b.throttled}
}

// Waited returns the time that was spent waiting, by cause. Attempts that
// waited for one provider at the same time count once.
func (b *Budget) Waited() map[collection.WaitCause]time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.waited)
}

// deadline returns when the time is up; the zero time if it never is. The
// first call starts the clock, so that setting up is not charged.
func (b *Budget) deadline(now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started.IsZero() {
		b.started = now
	}
	if b.limits.MaxTime <= 0 {
		return time.Time{}
	}
	return b.started.Add(b.limits.MaxTime)
}

// Limits returns what ends the run; nil as long as its time has not begun.
func (b *Budget) Limits() *collection.RunLimits {
	b.mu.Lock()
	defer b.mu.Unlock()
	limits := collection.RunLimits{MaxRequests: b.limits.MaxRequests}
	if most := b.limits.MaxTime; most > 0 {
		if b.started.IsZero() {
			return nil
		}
		limits.Until = b.started.Add(most)
	}
	return &limits
}

// over returns why nothing more may be admitted; "" if something may. A cap
// that is reached is told rather than the time that ran out as well.
func (b *Budget) over(now time.Time) collection.Reason {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.interrupted:
		return collection.Interrupted
	case b.limits.MaxRequests > 0 && b.requests >= b.limits.MaxRequests:
		return collection.RequestCap
	case b.limits.MaxTime > 0 && !b.started.IsZero() && now.Sub(b.started) >= b.limits.MaxTime:
		return collection.WallClock
	}
	return ""
}

// reserve charges one attempt. It reports false, and charges nothing, if none
// is left: the cap is exact however many ask at once.
func (b *Budget) reserve(retry bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.interrupted || b.limits.MaxRequests > 0 && b.requests >= b.limits.MaxRequests {
		return false
	}
	b.requests++
	if retry {
		b.retries++
	}
	if b.requests == b.limits.MaxRequests {
		b.end()
	}
	return true
}

// takeToken takes the token that a retry costs. It reports false, and takes
// nothing, if there is no whole one.
func (b *Budget) takeToken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < tokenParts {
		return false
	}
	b.tokens -= tokenParts
	return true
}

// returnToken gives back a token that was taken for nothing.
func (b *Budget) returnToken() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.capacity, b.tokens+tokenParts)
}

// record counts what a finished attempt says: a success earns a fifth of a
// retry, and asked is a request for less.
func (b *Budget) record(s law.Signal, asked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s == law.Succeeded {
		b.tokens = min(b.capacity, b.tokens+tokenRefill)
	}
	if asked {
		b.throttled++
	}
}

func (b *Budget) addWait(cause collection.WaitCause, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited[cause] += d
}

// firstTold reports whether r is told for the first time in this run.
func (b *Budget) firstTold(r collection.Reason) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.told[r]
	b.told[r] = true
	return first
}

// limit returns the limit behind reason, in its own unit (requests, seconds,
// tokens), and whether r is a budget at all.
func (b *Budget) limit(r collection.Reason) (float64, bool) {
	switch r {
	case collection.RequestCap:
		return float64(b.limits.MaxRequests), true
	case collection.WallClock:
		return b.limits.MaxTime.Seconds(), true
	case collection.RetryBudget:
		return float64(b.capacity / tokenParts), true
	}
	return 0, false
}

// spent returns what a transition of the breaker is told with.
func (b *Budget) spent(now time.Time) (elapsed time.Duration, requests int64, tokens float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started.IsZero() {
		elapsed = now.Sub(b.started)
	}
	return elapsed, b.requests, float64(b.tokens) / tokenParts
}

// used returns the share of each budget that is used up, from 0 to 1; without those
// that have no limit.
func (b *Budget) used(now time.Time) map[collection.Reason]float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := map[collection.Reason]float64{}
	if most := b.limits.MaxRequests; most > 0 {
		used[collection.RequestCap] = min(1, float64(b.requests)/float64(most))
	}
	if most := b.limits.MaxTime; most > 0 && !b.started.IsZero() {
		used[collection.WallClock] = min(1, now.Sub(b.started).Seconds()/most.Seconds())
	}
	if b.capacity > 0 {
		used[collection.RetryBudget] = 1 - float64(b.tokens)/float64(b.capacity)
	}
	return used
}

// RetryTokens returns how many retries are left, and how many there can be.
func (b *Budget) RetryTokens() (left, capacity float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.tokens) / tokenParts, float64(b.capacity) / tokenParts
}
