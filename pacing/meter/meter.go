// Package meter counts what becomes of the requests to one provider.
//
// A [Meter] is told of each step of a request and has no clock: the shell that
// sends measures how long an attempt took. [Meter.Read] gives the counts at
// any time, and decides nothing:
//
//	Ask ──→ Leave ──→ Settle ──→ … Leave(retry) ──→ Settle ──→ Answer
package meter

import (
	"slices"
	"sync"
	"time"

	"collect/collection"
)

// latest is how many latencies are remembered: a percentile of more would
// still tell of the provider of an hour ago.
const latest = 100

// A Meter counts the requests to one provider. Its zero value has seen none.
// It is safe for concurrent use.
type Meter struct {
	mu        sync.Mutex
	asked     int64              // requests, those that were withdrawn among them
	counts    collection.Metrics // its latencies are those of the last Read
	latencies [latest]time.Duration
	measured  int // latencies there ever were
	sorted    int // how many there were when those of counts were computed
	traffic   collection.Traffic
}

// Ask notes that a connector asks for something, and numbers the request.
func (m *Meter) Ask() (id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	m.counts.TotalRequests++
	return m.asked
}

// Withdraw notes that a request is not needed any more, before it left: it was
// none.
func (m *Meter) Withdraw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.TotalRequests--
}

// Answer notes that a request is over, ok if the connector has an answer.
func (m *Meter) Answer(ok bool, end collection.CallEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ok {
		m.counts.CompletedRequests++
	} else {
		m.counts.FailedRequests++
	}
	m.traffic.Calls = count(m.traffic.Calls, end)
}

// Leave notes that an attempt is sent; retry says that it is not the first of
// its request.
func (m *Meter) Leave(retry bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.ActiveRequests++
	if retry {
		m.counts.RetriedRequests++
	}
}

// Settle notes the end of an attempt that took d; 0 for one that was never
// sent, which says nothing about the provider. The status is of the answer of one
// that was throttled.
func (m *Meter) Settle(d time.Duration, fate collection.Fate, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.ActiveRequests--
	m.traffic.Attempts = count(m.traffic.Attempts, fate)
	if fate == collection.FateThrottled {
		m.counts.RateLimitHits++
		m.traffic.Throttles = count(m.traffic.Throttles, collection.Signal(status))
	}
	if d > 0 {
		m.latencies[m.measured%latest] = d
		m.measured++
		m.traffic.Durations.Took(d)
	}
}

// count returns n with one more of k.
func count[K comparable](n map[K]int64, k K) map[K]int64 {
	if n == nil {
		n = map[K]int64{}
	}
	n[k]++
	return n
}

// Traffic returns what became of all attempts and requests so far.
func (m *Meter) Traffic() collection.Traffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.traffic.Clone()
}

// Read returns the counts so far. What others know better, MaxConcurrency and
// QueueDepth, is left zero.
func (m *Meter) Read() collection.Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sorted == m.measured {
		return m.counts // a run that waits is read again and again
	}
	m.sorted = m.measured
	n := min(m.measured, latest)
	sorted := m.latencies // a copy
	slices.Sort(sorted[:n])
	var sum time.Duration
	for _, d := range sorted[:n] {
		sum += d
	}
	m.counts.AvgLatency = (sum / time.Duration(n)).Seconds()
	m.counts.P50Latency = percentile(sorted[:n], 50).Seconds()
	m.counts.P99Latency = percentile(sorted[:n], 99).Seconds()
	return m.counts
}

// percentile returns the value at index floor((n−1)·p) of sorted, where p is in
// hundredths: a latency that was measured, never one between two.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)-1)*p/100]
}
