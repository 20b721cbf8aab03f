package provider

import (
	"net/http"
	"time"
)

// The demo throttles in four ways, one after the other. Each has a quarter of
// the requests that 2,000 tickets in 20 pages and their 2,000 details take,
// and a lower limit than the one before, so that a client that has learned one
// meets the next. At the limits the whole takes 19 s; what a polite client
// adds, by starting slowly and by waiting when it is told to, comes to a few
// seconds more.
const (
	demoPhase = (20 + 2000) / 4

	demoFirst  = 150 // requests a second: 429 with Retry-After
	demoSecond = 120 // 429 without
	demoThird  = 100 // 503, and HTML
	demoFourth = 80  // no refusal: a queue

	demoBurst   = 10
	demoLongest = 2 * time.Second // a queue that grows without end would only look hung
)

// Demo returns a provider to watch a client by: 2,000 tickets with a detail
// each, and a limit it does not announce, enforced in four ways one after the
// other: by 429 with Retry-After, by 429 alone, by 503, and by slowness. After
// 2,020 requests it goes on being slow.
func Demo(seed uint64) *Server {
	return New(Script{Seed: seed, Modes: []Mode{InTurn(demoPhase,
		Limit(demoFirst, demoBurst, Refusal{RetryAfter: time.Second}),
		Limit(demoSecond, demoBurst, Refusal{}),
		Limit(demoThird, demoBurst, Refusal{Status: http.StatusServiceUnavailable, HTML: true}),
		SlowDown(demoFourth, demoLongest),
	)}})
}
