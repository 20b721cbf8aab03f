// Package report says what is so, from the facts of the store and the pace, as
// types with JSON tags that any front can show.
package report

import (
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/pacing/gate"
)

// A Constraint is one of the things that limit a pace. What is not known is
// null.
type Constraint struct {
	Name      string       `json:"name"`
	Route     *string      `json:"route"`
	PerSecond *float64     `json:"per_second"`
	Window    *float64     `json:"window_seconds"`
	Count     *int         `json:"count"`
	Used      *int         `json:"used"`
	Latency   *float64     `json:"latency_seconds"`
	NextAt    jsonout.Time `json:"next_at"`
	Since     jsonout.Time `json:"since"`
	Again     jsonout.Time `json:"again_at"` // when more is tried
	Blocks    bool         `json:"blocks"`
	Binds     bool         `json:"binds"`
	Origin    *string      `json:"origin"`
}

// ConstraintOf returns k, with its names fit to be shown.
func ConstraintOf(k *gate.Constraint) Constraint {
	c := Constraint{
		Name: string(k.Name), Route: jsonout.OrNull(words.Clean(k.Route)), PerSecond: jsonout.OrNull(k.PerSecond), Window: jsonout.OrNull(k.Window.Seconds()),
		Latency: jsonout.OrNull(k.Latency.Seconds()), NextAt: jsonout.Time(k.Until), Since: jsonout.Time(k.Since), Again: jsonout.Time(k.Again), Blocks: k.Blocks, Binds: k.Binds,
	}
	if k.Count > 0 {
		c.Count, c.Used = &k.Count, &k.Used
	}
	return c
}

// Limit returns what limits the pace; nil if nothing is known to.
func Limit(s *gate.Status) *Constraint {
	if k := s.Limit(); k != nil {
		line := ConstraintOf(k)
		return &line
	}
	return nil
}

// Metrics are how the requests of a run fare. What was not measured is null.
type Metrics struct {
	Total      int64    `json:"total_requests"`
	Completed  int64    `json:"completed_requests"`
	Failed     int64    `json:"failed_requests"`
	Hits       int64    `json:"rate_limit_hits"`
	Retried    int64    `json:"retried_requests"`
	Active     int      `json:"active_requests"`
	Concurrent int      `json:"max_concurrency"`
	Queued     int      `json:"queue_depth"`
	Avg        *float64 `json:"avg_latency_seconds"`
	P50        *float64 `json:"p50_latency_seconds"`
	P99        *float64 `json:"p99_latency_seconds"`
}

// MetricsOf returns nil for a run that asked for nothing.
func MetricsOf(m collection.Metrics) *Metrics {
	if m.TotalRequests == 0 {
		return nil
	}
	return &Metrics{
		m.TotalRequests, m.CompletedRequests, m.FailedRequests, m.RateLimitHits, m.RetriedRequests,
		m.ActiveRequests, m.MaxConcurrency, m.QueueDepth, jsonout.OrNull(m.AvgLatency), jsonout.OrNull(m.P50Latency), jsonout.OrNull(m.P99Latency),
	}
}

// A Freeze is a change of a provider from or to being frozen.
type Freeze struct {
	Frozen bool         `json:"frozen"`
	Reason string       `json:"reason"`
	NextAt jsonout.Time `json:"next_at"`
}

// FreezeOf returns f; nil for none.
func FreezeOf(f *collection.FreezeInfo) *Freeze {
	if f == nil {
		return nil
	}
	return &Freeze{f.Frozen, words.Clean(f.Reason), jsonout.Time(f.Until)}
}
