package collection

import (
	"maps"
	"math"
	"time"
)

// Traffic counts what became of what one connector asked for, in all of its runs.
// Counts only grow. Every map has a closed set of keys, so that a Traffic is bounded
// whatever a provider answers.
type Traffic struct {
	Attempts  map[Fate]int64           `json:"attempts,omitempty"`
	Calls     map[CallEnd]int64        `json:"calls,omitempty"`
	Throttles map[string]int64         `json:"throttles,omitempty"` // by signal: see [Signal]
	Waited    map[WaitCause]float64    `json:"waited_seconds,omitempty"`
	Durations Durations                `json:"durations,omitzero"`
	Used      map[Reason]float64       `json:"used_ratio,omitempty"` // of the budgets of the newest run, from 0 to 1
	Exemplars map[int]DurationExemplar `json:"exemplars,omitempty"`  // by bucket: see [DurationBucket]
}

// A Fate is what became of one attempt.
type Fate string

// The fates of attempts. Each attempt that was charged to a budget has one.
const (
	FateOK        Fate = "ok"        // there is an answer for the connector
	FateThrottled Fate = "throttled" // the provider asked for less
	FateFailed    Fate = "failed"    // a 5xx, or no answer
	FateRefused   Fate = "refused"   // an answer, but not with what was asked for
	FateCancelled Fate = "cancelled" // the run ended it, or it was never sent
)

// A CallEnd is how a call ended: what a connector asked for, however many attempts
// it took.
type CallEnd string

// The ends of calls.
const (
	CallAnswered CallEnd = "answered" // with an answer, or with a refusal that the connector file foresees
	CallFailed   CallEnd = "failed"   // without one, though it was sent
	CallStopped  CallEnd = "stopped"  // by a budget, a pause or the end of the run
)

// Signal names the status of an answer that asks for less: 200, 403, 429 or 503,
// and other for any other one.
func Signal(status int) string {
	switch status {
	case 200:
		return "200"
	case 403:
		return "403"
	case 429:
		return "429"
	case 503:
		return "503"
	}
	return "other"
}

// Durations is a histogram of how long attempts took, from sending to the end of the
// body.
type Durations struct {
	Count   int64         `json:"count"`
	Sum     float64       `json:"sum_seconds"`
	Buckets map[int]int64 `json:"buckets,omitempty"` // see [DurationBucket]
}

// The buckets of durations: 8 for each doubling, which is schema 3 of the native
// histograms of Prometheus, from 1 ms to 1,024 s. What is shorter or longer is in the
// first or last one.
const (
	BucketsPerDoubling = 8
	firstBucket        = -10*BucketsPerDoubling + 1
	lastBucket         = 10 * BucketsPerDoubling
)

// DurationBucket returns the bucket of a duration: bucket i is for durations over
// 2^((i−1)/8) s, up to 2^(i/8) s.
func DurationBucket(d time.Duration) int {
	i := math.Ceil(math.Log2(d.Seconds()) * BucketsPerDoubling)
	return int(min(max(i, firstBucket), lastBucket)) // the logarithm of 0 is the least number there is
}

// A DurationExemplar is one attempt of a bucket that a trace has.
type DurationExemplar struct {
	TraceID string    `json:"trace_id"`
	SpanID  string    `json:"span_id"`
	Seconds float64   `json:"seconds"`
	At      time.Time `json:"at"`
}

// Took counts an attempt that took d.
func (h *Durations) Took(d time.Duration) {
	if h.Buckets == nil {
		h.Buckets = map[int]int64{}
	}
	h.Count++
	h.Sum += d.Seconds()
	h.Buckets[DurationBucket(d)]++
}

// Clone returns a copy that shares nothing with t.
func (t Traffic) Clone() Traffic {
	t.Attempts, t.Calls, t.Throttles = maps.Clone(t.Attempts), maps.Clone(t.Calls), maps.Clone(t.Throttles)
	t.Waited, t.Used, t.Exemplars = maps.Clone(t.Waited), maps.Clone(t.Used), maps.Clone(t.Exemplars)
	t.Durations.Buckets = maps.Clone(t.Durations.Buckets)
	return t
}

// Add returns the sum of t and u, which is newer: its budgets and its exemplars
// replace those of t.
func (t Traffic) Add(u Traffic) Traffic {
	sum := u.Clone()
	sum.Attempts, sum.Calls = added(t.Attempts, u.Attempts), added(t.Calls, u.Calls)
	sum.Throttles, sum.Waited = added(t.Throttles, u.Throttles), added(t.Waited, u.Waited)
	sum.Durations = Durations{
		Count: t.Durations.Count + u.Durations.Count, Sum: t.Durations.Sum + u.Durations.Sum,
		Buckets: added(t.Durations.Buckets, u.Durations.Buckets),
	}
	for bucket, e := range t.Exemplars {
		if _, newer := u.Exemplars[bucket]; newer {
			continue
		}
		if sum.Exemplars == nil {
			sum.Exemplars = map[int]DurationExemplar{}
		}
		sum.Exemplars[bucket] = e
	}
	return sum
}

func added[K comparable, N int64 | float64](a, b map[K]N) map[K]N {
	if a == nil && b == nil {
		return nil
	}
	sum := maps.Clone(a)
	if sum == nil {
		sum = map[K]N{}
	}
	for k, n := range b {
		sum[k] += n
	}
	return sum
}
