package gate_test

import (
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// TestBreakerNeedsMinimumThroughput plays outcomes: b is bad, t a throttle,
// g good, n an answer that is no news, o an attempt that was cancelled.
func TestBreakerNeedsMinimumThroughput(t *testing.T) {
	for _, tc := range []struct {
		outcomes string
		want     string
	}{
		{"bbbb", gate.Closed},
		{"bbbbb", gate.Open},
		{"tbtbt", gate.Open},
		{"ggbbg", gate.Closed},          // 2 of 5
		{"gbgbgb", gate.Open},           // 3 of 6
		{"nnbbb", gate.Open},            // an answer counts as good: 3 of 5
		{"oooobbbb", gate.Closed},       // what was cancelled does not count
		{"ggggggggggbbbb", gate.Closed}, // 4 of the last 10
		{"ggggggggggbbbbb", gate.Open},
	} {
		b := gate.NewBreaker()
		signals := map[rune]law.Signal{'b': law.Failed, 't': law.Throttled, 'g': law.Succeeded, 'n': law.Answered, 'o': law.Silent}
		for i, c := range tc.outcomes {
			id := uint64(i + 1)
			probe, _ := b.OnSend(id)
			b.OnResult(id, probe, signals[c], id, t0)
		}
		if got := b.State(); got != tc.want {
			t.Errorf("after %s the breaker is %s, want %s", tc.outcomes, got, tc.want)
		}
	}
}

// TestBreakerOpensLonger doubles from 60 s to 10 min, until a probe is answered.
func TestBreakerOpensLonger(t *testing.T) {
	b := gate.NewBreaker()
	now, id := t0, uint64(0)
	result := func(s law.Signal) *collection.BreakerInfo {
		id++
		probe, _ := b.OnSend(id)
		return b.OnResult(id, probe, s, id, now)
	}
	for range 4 {
		result(law.Failed)
	}
	var got []time.Duration
	for range 7 {
		result(law.Failed)
		got = append(got, b.Until().Sub(now))
		now = b.Until()
	}
	want := []time.Duration{60 * time.Second, 120 * time.Second, 240 * time.Second, 480 * time.Second, 600 * time.Second, 600 * time.Second, 600 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("open for %v, want %v", got, want)
	}
	change := result(law.Succeeded)
	if change == nil || change.Previous != gate.HalfOpen || change.State != gate.Closed || change.Reason != "success" {
		t.Errorf("the answered probe is told as %+v", change)
	}
	for range 4 {
		result(law.Failed)
	}
	if got := b.State(); got != gate.Closed {
		t.Errorf("4 failures after it closed, it is %s: the outcomes were not cleared", got)
	}
	result(law.Failed)
	if got, want := b.Until().Sub(now), time.Minute; got != want {
		t.Errorf("the next time it is open for %v, want %v", got, want)
	}
}
