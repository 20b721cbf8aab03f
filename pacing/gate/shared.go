package gate

import (
	"encoding/json"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// Share lets another process use the gate: its ceilings hold for all, and as
// many requests may be in flight as either allows. A ceiling that is none is
// left out.
func (g *Gate) Share(ceilings []collection.Ceiling, concurrency int) {
	g.slots.Raise(concurrency)
	var usable []collection.Ceiling
	for _, c := range ceilings {
		if c.Count <= 0 || c.Per <= 0 {
			continue
		}
		c = g.reserved(c)
		usable = append(usable, c)
		i := slices.IndexFunc(g.windows, func(w window) bool { return w.per == c.Per })
		if i < 0 {
			g.windows = append(g.windows, newWindow(c))
			continue
		}
		g.windows[i].count = min(g.windows[i].count, c.Count)
	}
	if interval := strictest(usable); interval > 0 && (g.ceiling == 0 || law.PerSecond(interval) < g.ceiling) {
		g.ceiling = law.PerSecond(interval)
	}
}

// TakeOver goes on for a process that died a moment ago. What it sent in the
// windows that are too short to be saved is not known, so they count as used
// up.
func (g *Gate) TakeOver(at time.Time) {
	now := g.clock.moment(at)
	for i := range g.windows {
		if w := &g.windows[i]; w.per < longWindow {
			w.expire(now)
			w.add(now, max(0, w.count-w.total))
		}
	}
}

// Newest returns the state that was saved last; one that cannot be read is
// older than any other.
func Newest(a, b []byte) []byte {
	if recordedAt(b).After(recordedAt(a)) {
		return b
	}
	return a
}

func recordedAt(state []byte) time.Time {
	var k kept
	if json.Unmarshal(state, &k) != nil {
		return time.Time{}
	}
	return k.RecordedAt
}
