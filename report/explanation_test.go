package report_test

import (
	"slices"
	"testing"
	"time"

	"collect/pacing/gate"
	"collect/report"
)

// TestAnnounced: each limit is said as it was told last, with when, and nothing is left
// of what it was once its window is over.
func TestAnnounced(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	e := report.Explanation{Now: noon}
	e.Pace.Announced = []gate.Quota{
		{Name: "core", Limit: 5000, Remaining: 38, Window: time.Hour, Known: true, Ends: noon.Add(20 * time.Minute), Told: noon.Add(-time.Minute)},
		{Limit: 300, Remaining: 212, Window: time.Minute, Known: true, Ends: noon.Add(-10 * time.Second), Told: noon.Add(-time.Minute)},
		{Limit: 5000, Remaining: 4020, Window: 150 * time.Second, Ends: noon.Add(time.Minute), Told: noon},
		{Name: "cost", Unit: "points", Limit: 1000, Remaining: 10, Told: noon.Add(-2 * time.Second)},
		{Limit: 5000, Remaining: 20, Window: time.Hour, Known: true, Told: noon, Each: 44.7},
		{Name: "complexity", Unit: "complexity", Limit: 250_000, Remaining: 6000, Window: time.Hour, Known: true, Told: noon, Each: 2100},
	}
	want := []string{"5,000 requests in 60 min, 38 left 60 s ago (core)", "300 requests in 60 s, granted anew at 11:59 UTC", "5,000 requests until 12:01:00 UTC, 4,020 left 0 s ago", "1,000 points, 10 left 2 s ago (cost)",
		"5,000 in 60 min, 20 left 0 s ago, about 45 less after each request",
		"250,000 complexity in 60 min, 6,000 left 0 s ago, about 2,100 less after each request (complexity)"}
	if got := e.Announced(); !slices.Equal(got, want) {
		t.Errorf("announced: %q, want %q", got, want)
	}
}
