package e2e_test

import (
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/sony/gobreaker/v2"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

// BenchmarkOthers is what well-known limiters and breakers take for an
// admission that does not wait. None of them learns a pace, is asked for the
// time, or can be saved; the least that one can do is BenchmarkBareGCRA in
// package pacing, beside BenchmarkAdmit.
func BenchmarkOthers(b *testing.B) {
	store, err := memstore.NewCtx(16)
	if err != nil {
		b.Fatal(err)
	}
	gcra, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(1e6), MaxBurst: 1e6})
	if err != nil {
		b.Fatal(err)
	}
	xrate := rate.NewLimiter(rate.Inf, 1)
	finite := rate.NewLimiter(1e9, 1e9)
	taker := uber.New(1e9)
	breaker := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{})
	failsafe := circuitbreaker.NewWithDefaults[int]()
	smooth := ratelimiter.NewSmoothWithMaxRate[int](time.Nanosecond)
	for _, bench := range []struct {
		name string
		do   func()
	}{
		{"x-time-rate/Allow", func() { finite.Allow() }},
		{"x-time-rate/Reserve", func() { finite.Reserve() }},
		{"x-time-rate/unlimited", func() { xrate.Allow() }},
		{"uber-ratelimit/Take", func() { taker.Take() }},
		{"throttled/RateLimit", func() { _, _, _ = gcra.RateLimitCtx(b.Context(), "acme", 1) }},
		{"gobreaker/Execute", func() { _, _ = breaker.Execute(func() (int, error) { return 0, nil }) }},
		{"failsafe/breaker", func() {
			if failsafe.TryAcquirePermit() {
				failsafe.RecordSuccess()
			}
		}},
		{"failsafe/smooth", func() { smooth.TryAcquirePermit() }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.do()
			}
		})
	}
}
