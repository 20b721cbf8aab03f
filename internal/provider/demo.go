package provider

import (
	"net/http"
	"time"
)

// The demo has four phases of this many requests: together as many as 2,000
// tickets in 20 pages and their 2,000 details take.
const demoPhase = (20 + 2000) / 4

// The limits of the phases, in requests a second. Each is lower than the one
// before, so that a client that has learned one meets the next. At these the
// whole takes 14 s; what a polite client adds, by starting slowly and by
// waiting when it is told to, comes to some ten more.
const (
	demoFirst  = 220
	demoSecond = 180
	demoThird  = 140
	demoFourth = 100

	demoBurst   = 20
	demoLongest = 2 * time.Second // a queue that grows without end would only look hung
)

// In the middle of each phase the provider throttles that many requests,
// whatever their pace, so that also a client that stays under the limit gets to
// see it. One could be taken for a slip; many would trip a client's breaker.
const demoSlips = 2

// demoSlip is how slow a slip is in the phase of slowness.
const demoSlip = 300 * time.Millisecond

// Demo returns a provider to watch a client by: 2,000 tickets with a detail
// each, and a limit it does not announce, enforced in four ways one after the
// other: by 429 with Retry-After, by 429 alone, by 503, and by slowness. After
// 2,020 requests it goes on being slow.
func Demo(seed uint64) *Server {
	slips := When{From: demoPhase / 2, To: demoPhase/2 + demoSlips - 1}
	refusing := func(rate float64, with Refusal) Mode {
		return During(When{}, During(slips, Limit(0, 0, with)), Limit(rate, demoBurst, with))
	}
	return New(Script{Seed: seed, Modes: []Mode{InTurn(demoPhase,
		refusing(demoFirst, Refusal{RetryAfter: time.Second}),
		refusing(demoSecond, Refusal{}),
		refusing(demoThird, Refusal{Status: http.StatusServiceUnavailable, HTML: true}),
		During(When{}, During(slips, Latency(demoSlip)), SlowDown(demoFourth, demoLongest)),
	)}})
}
