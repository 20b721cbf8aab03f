// Package pacing decides when the next request to a provider may leave.
//
// A connector is given the client of a [Governor] and nothing else that can
// send, so that no connector can misbehave. Behind that client, each attempt
// passes the same gate, outermost first:
//
//	freeze → breaker → one wait → request cap → slot in flight → send → classify → record
//	   ↑                                                                          │
//	   └───────────────────── retry, while tokens and attempts last ←─────────────┘
//
// The wait is the longest of all reasons to wait (the pace, the ceilings, a
// Retry-After, the breaker, the backoff of a retry), never their sum. It is
// the only place that sleeps. An attempt takes its slot when it leaves, and
// gives it back before anybody waits for a retry.
//
// The pace is learned. It starts slow: the first request itself waits for one
// interval. Each success adds a constant step to the rate, and each throttle
// episode halves it, once, however many refusals the episode has: it lasts
// until a request that left after the decrease is answered. An error never
// makes the pace faster. Declared ceilings are exact on top of it, for every
// window at once and across restarts.
//
// What ends a request for good is a *[collection.Stop] inside the error of the
// client: a budget of ours, a wait that the run does not grant, a refusal, or
// attempts that are used up. The *url.Error that [http.Client] puts around it
// quotes the URL, so show the stop and not the error around it.
//
// What must outlive the process (a hold, a freeze, the breaker, the counts of
// long windows) is saved before anything relies on it. Everything that decides
// is pure and takes the time as an argument; only the Governor looks at the
// clock.
package pacing

import "time"

// The pace with a provider that nobody described. The start and the floor are
// those PDP-Connect/pdpp arrived at with live providers. The slowest pace is
// well above its 30 s, because providers that grant one request a minute exist.
const (
	startInterval   = time.Second
	floorInterval   = 250 * time.Millisecond
	slowestInterval = time.Minute
)

// stepShare is the share of the starting rate that one success adds, so that
// the first success shortens an interval of 1000 ms to 900 ms. The step is
// constant in rate and not in time: a step in time grows with the square of
// the rate, and pdpp met 429 twelve requests after it reached the floor.
const stepShare = 1.0 / 9

// A signal is what a finished attempt says about the pace.
type signal uint8

const (
	silent    signal = iota // nothing: it was cancelled, or refused for a reason that is not the pace
	succeeded               // the provider did what was asked
	answered                // the provider refused this request, not the pace
	throttled               // the provider asked for less
	failed                  // no usable answer
)

// A pacer spaces requests: GCRA keeps the spacing, AIMD on the rate moves it.
//
// GCRA is ITU-T I.371's generic cell rate algorithm: a request conforms at t
// if t ≥ tat − burst, and then tat = max(tat, t) + interval. Idle time earns
// at most burst/interval requests, which is none in production.
type pacer struct {
	off     bool          // the provider is not paced
	start   time.Duration // the interval before anything is learned
	floor   time.Duration // the shortest interval
	slowest time.Duration // the longest interval
	burst   time.Duration
	step    float64 // requests per second that one success adds

	interval time.Duration // in [floor, slowest]
	tat      time.Time     // GCRA's theoretical arrival time; zero before the first request
	sent     uint64        // the id of the latest request
	fence    uint64        // the id of the latest request sent before the last decrease
	slowed   bool          // a throttle episode is open
	heard    time.Time     // when the provider last said anything about the pace
}

// newPacer returns a pacer that starts with start, or at floor if that is slower.
func newPacer(start, floor time.Duration) pacer {
	p := pacer{start: max(start, floor), floor: floor}
	p.slowest = max(slowestInterval, p.start)
	p.step = stepShare / p.start.Seconds()
	p.interval = p.start
	return p
}

// next returns when the next request may leave. The first one that is asked
// for waits a whole interval.
func (p *pacer) next(now time.Time) time.Time {
	if p.off {
		return time.Time{}
	}
	if p.tat.IsZero() {
		p.tat = now.Add(p.interval)
	}
	return p.tat.Add(-p.burst)
}

// onSend records that a request leaves. bound says that the pace is what held
// it back: it left within 2/3 of an interval after it might have, so the run
// uses at least 60 % of the pace.
func (p *pacer) onSend(now time.Time) (id uint64, bound bool) {
	p.sent++
	bound = now.Sub(p.tat) <= p.interval*2/3
	if p.tat.Before(now) {
		p.tat = now
	}
	p.tat = p.tat.Add(p.interval)
	return p.sent, bound
}

// onResult moves the pace after the attempt id. Only a success makes it
// faster, and only if the run used the pace it had. What was sent before a
// decrease says nothing about the pace after it.
func (p *pacer) onResult(id uint64, bound bool, s signal, now time.Time) {
	if p.off || id <= p.fence {
		return
	}
	if s != silent && s != failed {
		p.heard = now
	}
	switch s {
	case throttled:
		if p.slowed {
			return
		}
		p.slowed, p.fence = true, p.sent
		p.interval = min(2*p.interval, p.slowest)
		if resume := now.Add(p.interval); p.tat.Before(resume) {
			p.tat = resume
		}
	case succeeded:
		p.slowed = false
		if bound {
			p.quicken()
		}
	case answered:
		p.slowed = false
	}
}

// quicken adds one step to the rate, also for the wait that has begun.
func (p *pacer) quicken() {
	was := p.interval
	next := time.Duration(float64(time.Second) / (float64(time.Second)/float64(was) + p.step))
	if was-next >= time.Millisecond {
		next = next.Round(time.Millisecond) // the published ramp is in whole milliseconds
	}
	p.interval = max(p.floor, next)
	p.tat = p.tat.Add(p.interval - was)
}

// rate returns the pace in requests per second; 0 if there is none.
func (p *pacer) rate() float64 {
	if p.off {
		return 0
	}
	return float64(time.Second) / float64(p.interval)
}

// freshFor is how long a learned interval is believed. (pdpp: a guard of a few
// seconds discarded every value that was ever learned.)
const freshFor = 6 * time.Hour

// learned returns the interval worth keeping: never worse than the start, or
// one bad evening would slow down every run after it.
func (p *pacer) learned() time.Duration { return min(p.interval, p.start) }

// restore continues with an interval that was confirmed last at heard, within
// the limits of today.
func (p *pacer) restore(interval time.Duration, heard, now time.Time) {
	if interval > 0 && now.Sub(heard) <= freshFor {
		p.interval, p.heard = min(max(interval, p.floor), p.slowest), heard
	}
}
