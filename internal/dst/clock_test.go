package dst_test

import (
	"encoding/json"
	"strings"
	"time"
)

// The clock of a history cannot be set: time in it only goes on. A process
// cannot tell a clock that was set back from times in its store that are all
// later by as much, so those are moved instead. A process that runs meanwhile has
// times of its own, but goes by the steady clock with them, which hears nothing
// of it (pacing/gate, timeline.go): what it saves next has the new time.

// steps are by how much the clock is set.
var steps = []time.Duration{-365 * 24 * time.Hour, -24 * time.Hour, -time.Hour, -90 * time.Second,
	90 * time.Second, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour}

// setClock sets the clock by d while no process runs.
func (h *history) setClock(d time.Duration) {
	if d == 0 {
		return
	}
	h.count(map[bool]string{true: "clock set back", false: "clock set forward"}[d < 0])
	if d < 0 {
		h.waits.setBack(h.rest())
	}
	h.moveClock(d, nil)
}

// stepClock sets the clock by d under a process.
func (h *history) stepClock(p *process, d time.Duration) {
	h.count(map[bool]string{true: "clock set back under a run", false: "clock set forward under a run"}[d < 0])
	if d < 0 {
		now, _, err := h.stage.look()
		if err != nil {
			h.violate("read: %v", err)
		}
		h.waits.setBack(now)
	}
	h.moveClock(d, p)
}

func (h *history) moveClock(d time.Duration, under *process) {
	h.note("the clock is set by %v", d)
	if err := h.stage.age(d); err != nil {
		h.violate("the clock: %v", err)
	}
	h.last = nil
	h.waits.age(d)
	// The end of a silence is a reading of the clock: one that is set forward
	// makes it come sooner, and one that is set back must not. The process that
	// was told of it goes by the steady clock.
	h.wire.mu.Lock()
	defer h.wire.mu.Unlock()
	for i := range h.wire.holds {
		hold := &h.wire.holds[i]
		hold.stored = hold.stored.Add(-max(0, d))
		if hold.by != under {
			hold.until = hold.until.Add(-max(0, d))
		}
	}
}

// older returns a time, or JSON with times in it, older by d.
func older(text string, d time.Duration) string {
	if !strings.HasPrefix(text, "{") {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || t.Year() < 1900 {
			return text
		}
		return t.Add(-d).Format("2006-01-02T15:04:05.000000Z")
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	all, err := json.Marshal(olderIn(value, d))
	if err != nil {
		panic(err) // it was valid before
	}
	return string(all)
}

func olderIn(value any, d time.Duration) any {
	switch v := value.(type) {
	case string:
		return older(v, d)
	case []any:
		for i := range v {
			v[i] = olderIn(v[i], d)
		}
	case map[string]any:
		for name := range v {
			v[name] = olderIn(v[name], d)
		}
	}
	return value
}
