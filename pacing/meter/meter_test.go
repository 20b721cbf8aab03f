package meter_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/meter"
)

// One request that is throttled and then answered, one that fails, and one
// that is on its way.
func TestCounts(t *testing.T) {
	var m meter.Meter
	m.Ask()
	m.Leave(false)
	m.Settle(300*time.Millisecond, collection.FateThrottled, 429)
	m.Leave(true)
	m.Settle(100*time.Millisecond, collection.FateOK, 200)
	m.Answer(true, collection.CallAnswered)
	m.Ask()
	m.Answer(false, collection.CallFailed) // stopped before it left
	m.Ask()
	m.Leave(false)
	want := collection.Metrics{
		TotalRequests: 3, CompletedRequests: 1, FailedRequests: 1, RateLimitHits: 1, RetriedRequests: 1,
		ActiveRequests: 1, AvgLatency: 0.2, P50Latency: 0.1, P99Latency: 0.1,
	}
	if got := m.Read(); got != want {
		t.Errorf("Read() = %+v, want %+v", got, want)
	}
}

// A percentile is the latency at index floor((n−1)·p) of the latest 100.
func TestPercentiles(t *testing.T) {
	for _, test := range []struct {
		sent          int // attempts that took 1 s, 2 s, 3 s, …
		avg, p50, p99 float64
	}{
		{0, 0, 0, 0},
		{1, 1, 1, 1},
		{2, 1.5, 1, 1},
		{3, 2, 2, 2},
		{100, 50.5, 50, 99},
		{101, 51.5, 51, 100},   // the first is forgotten
		{250, 200.5, 200, 249}, // and so are 149 more
	} {
		t.Run(fmt.Sprint(test.sent), func(t *testing.T) {
			var m meter.Meter
			for i := range test.sent {
				m.Leave(false)
				m.Settle(time.Duration(i+1)*time.Second, collection.FateOK, 200)
				m.Read() // what is read changes nothing of what is read next
			}
			got := m.Read()
			if got.AvgLatency != test.avg || got.P50Latency != test.p50 || got.P99Latency != test.p99 {
				t.Errorf("latencies of 1 s to %d s = %v, %v, %v, want %v, %v, %v", test.sent,
					got.AvgLatency, got.P50Latency, got.P99Latency, test.avg, test.p50, test.p99)
			}
		})
	}
}

// An attempt that was never sent says nothing about the provider.
func TestUnsentIsNotMeasured(t *testing.T) {
	var m meter.Meter
	m.Leave(false)
	m.Settle(time.Second, collection.FateOK, 200)
	m.Leave(false)
	m.Settle(0, collection.FateCancelled, 0)
	if got := m.Read(); got.AvgLatency != 1 || got.ActiveRequests != 0 {
		t.Errorf("Read() = %+v, want a latency of 1 s and nothing active", got)
	}
}

// Whatever the history: what was asked for is completed, failed or under way,
// and the percentiles are in order.
func TestHistories(t *testing.T) {
	retried, throttled := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var m meter.Meter
		open, active, settled := 0, 0, int64(0)
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case step == 0:
				m.Ask()
				open++
			case step == 1 && open > 0:
				m.Answer(rapid.Bool().Draw(t, "ok"), collection.CallAnswered)
				open--
			case step == 2:
				retry := rapid.Bool().Draw(t, "retry")
				m.Leave(retry)
				active++
				if retry {
					retried++
				}
			case step == 3 && active > 0:
				hit, fate := rapid.Bool().Draw(t, "hit"), collection.FateOK
				if hit {
					fate = collection.FateThrottled
				}
				settled++
				m.Settle(time.Duration(rapid.IntRange(0, 1e10).Draw(t, "took")), fate, 429)
				active--
				if hit {
					throttled++
				}
			}
		}
		got := m.Read()
		if got.TotalRequests != got.CompletedRequests+got.FailedRequests+int64(open) || got.ActiveRequests != active {
			t.Fatalf("%+v with %d open and %d active", got, open, active)
		}
		if got.P50Latency > got.P99Latency {
			t.Fatalf("the percentiles are out of order: %+v", got)
		}
		traffic := m.Traffic()
		if ok, hits := traffic.Attempts[collection.FateOK], traffic.Attempts[collection.FateThrottled]; ok+hits != settled || hits != traffic.Throttles["429"] {
			t.Fatalf("%d attempts ended, and %+v were counted", settled, traffic)
		}
	})
	if retried == 0 || throttled == 0 {
		t.Errorf("%d retries and %d throttles were drawn: this proves nothing", retried, throttled)
	}
}

func BenchmarkAttempt(b *testing.B) {
	var m meter.Meter
	b.ReportAllocs()
	for b.Loop() {
		m.Leave(false)
		m.Settle(time.Millisecond, collection.FateOK, 200)
	}
}
