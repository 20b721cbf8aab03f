package sim

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	"collect/pacing/law"
)

// Contenders returns the clients that are compared: the laws of package
// pacing, and what AWS SDKs and Scrapy do, written from their published
// formulas. Like ours, the others keep to the owner's ceiling.
func Contenders() []Client {
	var all []Client
	for _, name := range law.Laws() {
		all = append(all, Governed(name))
	}
	return append(all,
		Client{"aws-adaptive", func(p *Provider, _ *[]byte) ([]http.RoundTripper, func()) {
			return []http.RoundTripper{&adaptive{base: patient{p, time.Minute}, chance: p.chance, rate: 0.5, buckets: math.Inf(-1)}}, func() {}
		}},
		Client{"autothrottle", func(p *Provider, _ *[]byte) ([]http.RoundTripper, func()) {
			return []http.RoundTripper{&autothrottle{base: patient{p, 3 * time.Minute}, delay: 5}}, func() {}
		}},
		Informed(),
	)
}

// A patient client gives up a request that is not answered in time: after 60
// seconds as botocore does (read_timeout), or after 180 as Scrapy does
// (DOWNLOAD_TIMEOUT).
type patient struct {
	base http.RoundTripper
	most time.Duration
}

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), p.most)
	defer cancel() // the body is in memory
	return p.base.RoundTrip(r.WithContext(ctx))
}

// A slots is a queue of departures, no closer than the ceiling allows.
type slots struct {
	mu   sync.Mutex
	next time.Time
}

// wait sleeps until the next slot; every caller's slot is interval after the
// one before. interval is called with mu held.
func (s *slots) wait(ctx context.Context, interval func() float64) error {
	s.mu.Lock()
	now := time.Now()
	if s.next.Before(now) {
		s.next = now
	}
	at := s.next
	gap := max(1.0/Ceiling, interval())
	s.next = at.Add(time.Duration(gap * float64(time.Second)))
	s.mu.Unlock()
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func refusing(status int) bool { return status == 429 || status == 503 }

// adaptive is the adaptive retry mode of the AWS SDKs: a token bucket whose
// rate follows CUBIC from the first throttle on, around retries with full
// jitter. The constants are those of botocore's throttling.py and the Go SDK's
// adaptive_ratelimit.go: beta 0.7, scale 0.4, half-second buckets, smoothing
// 0.8; of the retries, those of standard.go: three attempts, a second doubling
// to twenty for throttles.
type adaptive struct {
	base   http.RoundTripper
	chance func() float64
	slots

	enabled  bool
	rate     float64
	most     float64 // w_max
	last     time.Time
	measured float64
	count    float64
	buckets  float64 // the half second that is being counted
}

func (a *adaptive) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		err := a.wait(r.Context(), func() float64 {
			if !a.enabled {
				return 0
			}
			return 1 / a.rate
		})
		if err != nil {
			return nil, err
		}
		resp, err := a.base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		a.record(refusing(resp.StatusCode))
		if resp.StatusCode < 429 || attempt == 2 {
			return resp, nil
		}
		pause := time.Duration(a.chance() * min(20, math.Exp2(float64(attempt))) * float64(time.Second))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.Context().Done():
			timer.Stop()
			return nil, context.Cause(r.Context())
		}
		placeOf(r.Context()).turn()
	}
}

func (a *adaptive) record(throttled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.count++
	if bucket := math.Floor(float64(now.UnixMilli()) / 500); bucket > a.buckets {
		if !math.IsInf(a.buckets, -1) {
			a.measured = 0.8*a.count/((bucket-a.buckets)/2) + 0.2*a.measured
		}
		a.count, a.buckets = 0, bucket
	}
	var rate float64
	if throttled {
		a.most = a.measured
		if a.enabled {
			a.most = min(a.measured, a.rate)
		}
		a.enabled, a.last = true, now
		rate = 0.7 * a.most
	} else {
		if !a.enabled {
			return
		}
		k := math.Cbrt(0.3 * a.most / 0.4)
		dt := now.Sub(a.last).Seconds() - k
		rate = 0.4*dt*dt*dt + a.most
	}
	a.rate = max(0.5, min(rate, 2*a.measured))
}

// autothrottle is Scrapy's AutoThrottle extension (throttle.py): the delay is
// half way to latency/concurrency for each response, only a 200 may lower it,
// it starts with 5 s and is at most 60 s; the target concurrency is 1. Refusals
// are retried at once, as new requests, twice.
type autothrottle struct {
	base http.RoundTripper
	slots
	delay float64
}

func (a *autothrottle) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		if err := a.wait(r.Context(), func() float64 { return a.delay }); err != nil {
			return nil, err
		}
		sent := time.Now()
		resp, err := a.base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		latency := time.Since(sent).Seconds()
		a.mu.Lock()
		delay := max(latency, (a.delay+latency)/2)
		if resp.StatusCode == 200 || delay > a.delay {
			a.delay = min(delay, 60)
		}
		a.mu.Unlock()
		if resp.StatusCode < 429 || attempt == 2 {
			return resp, nil
		}
	}
}
