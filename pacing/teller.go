package pacing

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"collect/collection"
)

// A teller tells Observe what happens, in order and never two things at once, and
// keeps for the next save what a person may ask about later. What it tells of
// changes under its mu, which is taken after the desk's own.
type teller struct {
	mu      sync.Mutex
	name    string                 // of the provider
	account string                 // which of several; "": there is one
	observe func(collection.Event) // nil: nobody is told
	spent   func(now time.Time) (elapsed time.Duration, requests int64, tokens float64)
	ceiling *float64           // the strictest pace the owner allows; nil: none declared
	saves   bool               // there is a save that brings what is kept
	unsaved []collection.Event // changes of the rate, the newest of them
	backoff *collection.BackoffInfo
	pending []collection.Event // told after mu is released
	telling bool               // a goroutine is telling them
	told    *sync.Cond         // signalled when none is any more
}

// tell notes an event for Observe. It is about stream, unless it says another. t.mu
// is held.
func (t *teller) tell(e collection.Event, now time.Time, stream string) collection.Event {
	e.Time, e.Provider, e.Account, e.Stream = now, t.name, t.account, cmp.Or(e.Stream, stream)
	if e.Breaker != nil {
		elapsed, requests, tokens := t.spent(now)
		e.Breaker.ElapsedSeconds, e.Breaker.Requests, e.Breaker.RetryTokensLeft = elapsed.Seconds(), int(requests), tokens
	}
	if e.Rate != nil {
		t.describe(e.Rate)
	}
	if e.Rate != nil || e.Limit != nil {
		t.remember(e)
	}
	if t.observe != nil {
		t.pending = append(t.pending, e)
	}
	return e
}

// unlock releases t.mu and tells what happened under it, in order: if somebody
// is telling, this is told by them, after what they have.
func (t *teller) unlock() {
	defer t.mu.Unlock()
	if !t.telling {
		t.telling = true
		t.tellAll()
	}
}

// unlockLater is unlock for those who must not wait for Observe.
func (t *teller) unlockLater() {
	defer t.mu.Unlock()
	if !t.telling && len(t.pending) > 0 {
		t.telling = true
		go func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.tellAll()
		}()
	}
}

// tellAll tells the pending events. t.mu is held, but not while Observe is called.
func (t *teller) tellAll() {
	for len(t.pending) > 0 {
		events := t.pending
		t.pending = nil
		t.mu.Unlock()
		for _, e := range events {
			t.observe(e)
		}
		t.mu.Lock()
	}
	t.telling = false
	t.told.Broadcast()
}

// wait returns when Observe was told of everything.
func (t *teller) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.telling {
		t.told.Wait()
	}
}

// mostUnsaved bounds the changes of the rate and the announced limits that one
// save brings: what a person asks later is how the pace came to be what it is, not
// every step.
const mostUnsaved = 64

// describe completes a change of the rate with what it is measured by. t.mu is
// held.
func (t *teller) describe(r *collection.RateInfo) {
	r.Ceiling = t.ceiling
	if r.Learned < r.Previous {
		t.backoff = &collection.BackoffInfo{Reason: r.Reason, At: r.Previous}
	}
	r.LastBackoff = t.backoff
}

// remember keeps a change of the rate, or an announced limit, for the next save. t.mu is held.
func (t *teller) remember(e collection.Event) {
	if !t.saves {
		return
	}
	if len(t.unsaved) >= 2*mostUnsaved {
		t.unsaved = append(t.unsaved[:0], t.unsaved[mostUnsaved:]...)
	}
	t.unsaved = append(t.unsaved, e)
}

// history returns events with the changes of the rate, and the limits that were
// announced, since the last save, so that they are stored, and `collect explain`
// can show them.
func (t *teller) history(events []collection.Event) []collection.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.unsaved[max(0, len(t.unsaved)-mostUnsaved):]
	t.unsaved = nil
	for _, e := range events {
		if e.Rate == nil { // those that have one are in all
			all = append(all, e)
		}
	}
	return slices.Clip(all)
}
