package gate

import (
	"math/bits"
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// The breaker opens when half of the last 10 outcomes are bad, of at least 5:
// fewer are no evidence, so a cold start cannot open it. It stays open for a
// minute, the default of Sony's gobreaker, and twice as long after each probe
// that fails, up to the ten minutes after which a person would look.
const (
	breakerWindow  = 10
	breakerLeast   = 5
	breakerOpen    = time.Minute
	breakerLongest = 10 * time.Minute
)

// The states of a breaker.
const (
	Closed   = "closed"
	Open     = "open"
	HalfOpen = "half_open"
)

// A breaker stops calls to a provider that does not work:
//
//	         half of the outcomes bad             until
//	closed ──────────────────────────→ open ───────────────→ half_open
//	  ↑                                  ↑                     │   │
//	  │                                  └──── probe failed ───┘   │
//	  └───────────────────────── probe answered ───────────────────┘
//
// Half open, one request is on its way as a probe and the others wait for it.
//
// An operator can force it open or closed. Then no outcome is counted, and
// nothing but the operator leaves that state.
type breaker struct {
	state    string
	forced   *forced
	outcomes uint16 // the last ones, the latest lowest; a set bit is bad
	counted  int    // outcomes that there are
	until    moment
	trips    int    // in a row without closing
	probing  bool   // a probe is in flight
	fence    uint64 // the id of the latest request that was sent before the last transition
}

// onSend notes that the attempt id leaves. probe says that it is the probe.
func (b *breaker) onSend(id uint64) (probe bool, change *collection.BreakerInfo) {
	if b.state == Closed || b.forced != nil {
		return false, nil
	}
	b.probing = true
	if b.state == Open {
		change = b.turn(HalfOpen, "reset_timeout", "before_request", id-1)
	}
	return true, change
}

// onResult counts the outcome of the attempt id. What left before the last
// transition says nothing about the time after it.
func (b *breaker) onResult(id uint64, probe bool, s law.Signal, sent uint64, now moment) *collection.BreakerInfo {
	if probe {
		b.probing = false
	}
	if id <= b.fence || s == law.Silent || b.forced != nil || b.state != Closed && !probe {
		return nil
	}
	bad := s == law.Throttled || s == law.Failed
	why := "success"
	switch s {
	case law.Throttled:
		why = "provider_throttle"
	case law.Failed:
		why = "provider_failure"
	}
	if probe {
		if bad {
			b.trip(now)
			return b.turn(Open, why, why, sent)
		}
		b.trips = 0
		return b.turn(Closed, why, why, sent)
	}
	b.outcomes = b.outcomes << 1 & (1<<breakerWindow - 1)
	b.counted = min(b.counted+1, breakerWindow)
	if !bad {
		return nil
	}
	b.outcomes |= 1
	if b.counted < breakerLeast || 2*bits.OnesCount16(b.outcomes) < b.counted {
		return nil
	}
	b.trip(now)
	return b.turn(Open, why, why, sent)
}

func (b *breaker) trip(now moment) {
	b.until = now + min(breakerLongest, breakerOpen<<min(b.trips, 6))
	b.trips++
}

func (b *breaker) turn(to, reason, trigger string, sent uint64) *collection.BreakerInfo {
	change := &collection.BreakerInfo{Previous: b.state, State: to, Reason: reason, Trigger: trigger}
	b.state, b.fence = to, sent
	b.outcomes, b.counted = 0, 0
	return change
}

// A keptBreaker is the saved form of a breaker that is not closed, or forced.
type keptBreaker struct {
	Until  time.Time `json:"until"`
	Trips  int       `json:"trips"`
	Forced *forced   `json:"forced,omitempty"`
}

func (b *breaker) snapshot(clock *timeline) *keptBreaker {
	if b.state == Closed && b.forced == nil {
		return nil
	}
	return &keptBreaker{saved(clock.when(b.until)), b.trips, b.forced}
}

// restore continues a breaker that was open, or half open with a probe whose
// outcome nobody knows: the next request is the probe.
func (b *breaker) restore(k *keptBreaker, clock *timeline) {
	if k == nil {
		return
	}
	b.state, b.until, b.trips, b.forced = Open, clock.of(k.Until), min(max(1, k.Trips), 6), k.Forced
	if b.forced != nil && b.forced.To != Open {
		*b = breaker{state: Closed, forced: b.forced}
	}
}
