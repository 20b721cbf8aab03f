package halt_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/law"
)

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// A breaker is one that is told times.
type breaker struct{ halt.Breaker }

func newBreaker() *breaker { return &breaker{halt.NewBreaker(nil, nil)} }

func (b *breaker) until() time.Time { return t0.Add(b.Until) }

func (b *breaker) onSend(id uint64, now time.Time) (probe bool, change *collection.BreakerInfo) {
	return b.OnSend(id, now.Sub(t0))
}

func (b *breaker) onResult(id uint64, probe bool, s law.Signal, sent uint64, now time.Time) *collection.BreakerInfo {
	return b.OnResult(id, probe, s, sent, now.Sub(t0))
}

// TestBreakerNeedsMinimumThroughput plays outcomes: b is bad, t a throttle,
// g good, n an answer that is no news, o an attempt that was cancelled.
func TestBreakerNeedsMinimumThroughput(t *testing.T) {
	for _, tc := range []struct {
		outcomes string
		want     string
	}{
		{"bbbb", halt.Closed},
		{"bbbbb", halt.Open},
		{"tbtbt", halt.Open},
		{"ggbbg", halt.Closed},
		{"gbgbgbgbgbgb", halt.Closed},
		{"bbnbbb", halt.Closed}, // an answer counts as good
		{"bbnbbbb", halt.Open},
		{"oooobbbb", halt.Closed}, // what was cancelled does not count
		{"ggggggggggbbbb", halt.Closed},
		{"ggggggggggbbbbb", halt.Open},
		{"ggggggggggbgbbgbbb", halt.Closed},
		{"ggggggggggbgbbgbbbgbbb", halt.Open},
	} {
		b := newBreaker()
		signals := map[rune]law.Signal{'b': law.Failed, 't': law.Throttled, 'g': law.Succeeded, 'n': law.Answered, 'o': law.Silent}
		for i, c := range tc.outcomes {
			id := uint64(i + 1)
			probe, _ := b.onSend(id, t0)
			b.onResult(id, probe, signals[c], id, t0)
		}
		if got := b.State; got != tc.want {
			t.Errorf("after %s the breaker is %s, want %s", tc.outcomes, got, tc.want)
		}
	}
}

// TestBreakerCountsInTheOrderOfDeparture: one of eight requests hangs, and is given up after all others
// were answered. Where nothing that left later was answered, the provider is away.
func TestBreakerCountsInTheOrderOfDeparture(t *testing.T) {
	for _, tc := range []struct {
		lost func(id uint64) bool
		want string
	}{
		{func(id uint64) bool { return id%8 == 0 }, halt.Closed},
		{func(id uint64) bool { return id <= 8 }, halt.Closed},
		{func(id uint64) bool { return id > 40-5 }, halt.Open},
	} {
		b := newBreaker()
		for _, late := range []bool{false, true} {
			for id := uint64(1); id <= 40; id++ {
				if s := law.Succeeded; tc.lost(id) == late {
					if late {
						s = law.Failed
					}
					b.onResult(id, false, s, 40, t0)
				}
			}
		}
		if got := b.State; got != tc.want {
			t.Errorf("the breaker is %s, want %s", got, tc.want)
		}
	}
}

// TestBreakerBearsChance: a provider that fails one request in eight for ever, and one that fails seven in eight.
func TestBreakerBearsChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	opens := func(share float64) (opened int) {
		b := newBreaker()
		for id := uint64(1); id <= 20000; id++ {
			s := law.Succeeded
			if random.Float64() < share {
				s = law.Failed
			}
			if b.onResult(id, false, s, id, t0) != nil {
				opened++
				*b = *newBreaker()
			}
		}
		return opened
	}
	if got := opens(1. / 8); got > 3 {
		t.Errorf("of 20,000 requests of which one in eight fails, it opened %d times, want 3 at most", got)
	}
	if got := opens(7. / 8); got < 20000/8 {
		t.Errorf("of 20,000 requests of which seven in eight fail, it opened %d times, want every 8 requests", got)
	}
}

// TestBreakerOpensLonger after a probe that failed, until one is answered and it stays closed for as long.
func TestBreakerOpensLonger(t *testing.T) {
	b := newBreaker()
	now, id := t0, uint64(0)
	result := func(s law.Signal) *collection.BreakerInfo {
		id++
		probe, _ := b.onSend(id, now)
		return b.onResult(id, probe, s, id, now)
	}
	for range 4 {
		result(law.Failed)
	}
	var got []time.Duration
	for range 7 {
		result(law.Failed)
		got = append(got, b.until().Sub(now))
		now = b.until()
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 90 * time.Second, 90 * time.Second, 90 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("open for %v, want %v", got, want)
	}
	change := result(law.Succeeded)
	if change == nil || change.Previous != halt.HalfOpen || change.State != halt.Closed || change.Reason != "success" {
		t.Errorf("the answered probe is told as %+v", change)
	}
	for range 4 {
		result(law.Failed)
	}
	if got := b.State; got != halt.Closed {
		t.Errorf("4 failures after it closed, it is %s: the outcomes were not cleared", got)
	}
	result(law.Failed)
	if got, want := b.until().Sub(now), 90*time.Second; got != want {
		t.Errorf("at once after it closed it is open for %v, want %v", got, want)
	}
	now = b.until()
	result(law.Succeeded)
	now = now.Add(91 * time.Second)
	for range 5 {
		result(law.Failed)
	}
	if got, want := b.until().Sub(now), 10*time.Second; got != want {
		t.Errorf("long after it closed it is open for %v, want %v", got, want)
	}
}
