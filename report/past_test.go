package report_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/internal/texttest"
	"collect/report"
)

var pastNoon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func hoursAgo(n float64) time.Time { return pastNoon.Add(-time.Duration(n * float64(time.Hour))) }

// TestBreakerOfThePast: before the first change it was what that change says; before the
// first run nothing is known. A freeze outranks the breaker.
func TestBreakerOfThePast(t *testing.T) {
	breaker := func(hours float64, was, is string) collection.Event {
		return collection.Event{Time: hoursAgo(hours), Kind: collection.BreakerChanged, Breaker: &collection.BreakerInfo{Previous: was, State: is}}
	}
	freeze := func(hours float64, on bool) collection.Event {
		return collection.Event{Time: hoursAgo(hours), Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{Frozen: on}}
	}
	p := report.Past{From: hoursAgo(24), To: pastNoon, Begun: hoursAgo(20), Events: []collection.Event{
		breaker(10, "closed", "open"), breaker(9, "open", "half_open"), breaker(8.9, "half_open", "closed"), freeze(4, true), freeze(2, false),
	}}
	texttest.Same(t, "strip", p.Breaker(&report.Account{}).Text(48, false), `        ====================XX~=========####====
breaker, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: not measured 4 h; closed 17 h (3 times); half-open 6 min; open 60 min; frozen 2 h
`)
	// Only what was before the window is known: that holds for all of it.
	p.Begun, p.Events = time.Time{}, []collection.Event{breaker(30, "closed", "open")}
	texttest.Same(t, "before the window", p.Breaker(&report.Account{Breaker: "open"}).Text(24, false), `XXXXXXXXXXXXXXXXXXXXXXXX
breaker, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: open 24 h
`)
	p.Events = []collection.Event{breaker(12, "open", "closed")}
	texttest.Same(t, "before the first change", p.Breaker(&report.Account{}).Text(24, false), `XXXXXXXXXXXX============
breaker, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: closed 12 h; open 12 h
`)
	texttest.Same(t, "no account", p.Breaker(nil).Text(24, false), `
breaker, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: not measured
`)
}

// TestRateOfThePast: what was sent is the mean of each run, refusals are counted by runs,
// the pace was lowered where what is learned fell, and of the levels before the window the
// last one counts.
func TestRateOfThePast(t *testing.T) {
	ceiling := 5.0
	level := func(hours, was, learned float64) collection.Event {
		return collection.Event{Time: hoursAgo(hours), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: was, Learned: learned, Ceiling: &ceiling}}
	}
	run := func(from, to float64, requests int64) collection.Run {
		return collection.Run{Connector: "acme", StartedAt: hoursAgo(from), EndedAt: hoursAgo(to), Tally: collection.Tally{Requests: requests, Throttled: requests / 100}}
	}
	p := report.Past{From: hoursAgo(24), To: pastNoon, Runs: []collection.Run{run(30, 28, 99), run(20, 19, 7200), run(4, 2, 7200), run(1, 1, 5)}, Events: []collection.Event{
		level(40, 10, 9), level(30, 9, 4), level(19.5, 4, 1), level(3, 1, 2),
	}}
	r := p.Rate(nil)
	if len(r.Learned) != 3 || r.Learned[0].PerSecond != 4 {
		t.Errorf("Learned = %v", r.Learned)
	}
	texttest.Same(t, "rate", r.Text(48, false), `        @@                              ++++
.........x......................................
rate, 2026-11-24 12:00 to 2026-11-25 12:00 UTC: sent 2.0/s at most, in the mean of a run; learned 2.0/s in the end; ceiling 5.0/s; 144 refusals; pace lowered 1 time
`)
}
