package gate

import (
	"encoding/json"
	"fmt"
	"time"

	"collect/collection"
	"collect/pacing/law"
	"collect/pacing/response"
)

// stateVersion is the version of the saved form. Fields are only ever added to
// a version.
const stateVersion = 1

// kept is the saved form of a gate, as JSON.
type kept struct {
	Version    int          `json:"version"`
	RecordedAt time.Time    `json:"recorded_at"`
	law.Memory              // of the law
	Ceiling    float64      `json:"ceiling_per_second,omitempty"`
	Hold       time.Time    `json:"hold_until,omitzero"`
	Breaker    *keptBreaker `json:"breaker,omitempty"`
	Freeze     *keptFreeze  `json:"freeze,omitempty"`
	Windows    []keptWindow `json:"windows,omitempty"`
}

// Snapshot returns what must be known of the gate in a later process.
func (g *Gate) Snapshot(now time.Time) []byte {
	k := kept{
		Version:    stateVersion,
		RecordedAt: now.UTC().Round(0),
		Memory:     g.law.Keep(),
		Ceiling:    g.ceiling,
		Breaker:    g.breaker.snapshot(),
		Freeze:     g.freeze.snapshot(),
	}
	if g.hold.After(now) {
		k.Hold = g.hold.UTC().Round(0)
	}
	for i := range g.windows {
		k.Windows = append(k.Windows, g.windows[i].snapshot(now))
	}
	state, err := json.Marshal(k)
	if err != nil {
		panic(err) // numbers and times of this century always marshal
	}
	return state
}

// parseState reads a saved state. If the clock has been set back since, times
// to come are moved with it: no hold gets longer than it was. Times that no
// process can have saved are cut to the longest that one can.
func parseState(state []byte, now time.Time) (kept, error) {
	var k kept
	if err := json.Unmarshal(state, &k); err != nil {
		return kept{}, err
	}
	if k.Version != stateVersion {
		return kept{}, fmt.Errorf("version %d is not known", k.Version)
	}
	back := min(0, now.Sub(k.RecordedAt))
	k.RecordedAt = k.RecordedAt.Add(back)
	move := func(t *time.Time, longest time.Duration) {
		if t.IsZero() {
			return
		}
		if *t = t.Add(back); t.Sub(now) > longest {
			*t = now.Add(longest)
		}
	}
	move(&k.HeardAt, 0)
	move(&k.Hold, response.Believed+holdLeast+holdSpread)
	if k.Breaker != nil {
		move(&k.Breaker.Until, breakerLongest)
	}
	if k.Freeze != nil {
		move(&k.Freeze.Until, freezeFirst<<freezeStrikes)
	}
	return k, nil
}

// Restore continues with a saved state. After an error nothing has changed.
func (g *Gate) Restore(state []byte, now time.Time) error {
	if len(state) == 0 {
		return nil
	}
	k, err := parseState(state, now)
	if err != nil {
		return err
	}
	g.law.Restore(k.Memory, now)
	g.hold = k.Hold
	g.breaker.restore(k.Breaker)
	g.freeze.restore(k.Freeze)
	for i := range g.windows {
		for _, w := range k.Windows {
			if w.Per == g.windows[i].per {
				g.windows[i].restore(w, now)
				break
			}
		}
	}
	return nil
}

// A Status says how things stand with a provider, for people.
type Status struct {
	PerSecond float64   // the pace; 0: not paced, or not known
	Ceiling   *float64  // the strictest pace the owner allows; nil: none declared
	HoldUntil time.Time // the provider asked for silence until then; zero: it did not
	Breaker   string    // closed, open or half_open
	OpenUntil time.Time // when the breaker lets a probe out; zero: it is closed

	Frozen       bool
	FreezeReason string
	FrozenUntil  time.Time // when one test request may go out; zero: only an operator releases it
}

func (g *Gate) Status(now time.Time) Status {
	s := Status{Ceiling: g.perSecond(), Breaker: g.breaker.state}
	if g.law != nil {
		s.PerSecond = g.law.Rate()
	}
	if g.hold.After(now) {
		s.HoldUntil = g.hold
	}
	if g.breaker.state != Closed {
		s.OpenUntil = g.breaker.until
	}
	if g.freeze.frozen {
		s.Frozen, s.FreezeReason, s.FrozenUntil = true, g.freeze.reason, g.freeze.until
	}
	return s
}

// perSecond returns the ceiling; nil if there is none.
func (g *Gate) perSecond() *float64 {
	if g.ceiling == 0 {
		return nil
	}
	ceiling := g.ceiling
	return &ceiling
}

// Inspect returns how things stood when state was saved, seen at now. It
// fails if state cannot be read.
func Inspect(state []byte, now time.Time) (Status, error) {
	k, err := parseState(state, now)
	if err != nil {
		return Status{}, err
	}
	g := Gate{ceiling: k.Ceiling, hold: k.Hold, breaker: breaker{state: Closed}}
	g.breaker.restore(k.Breaker)
	g.freeze.restore(k.Freeze)
	st := g.Status(now)
	if k.Interval > 0 {
		st.PerSecond = law.PerSecond(k.Interval)
	}
	return st, nil
}

// Release returns state without its freeze, as an operator wants it, and the
// event to save it with. It fails if state cannot be read, and returns state
// as it is and no event if there is no freeze.
func Release(state []byte, now time.Time) ([]byte, []collection.Event, error) {
	k, err := parseState(state, now)
	if err != nil {
		return nil, nil, err
	}
	if k.Freeze == nil {
		return state, nil, nil
	}
	k.Freeze = nil
	released, err := json.Marshal(k)
	if err != nil {
		return nil, nil, err
	}
	return released, []collection.Event{{
		Time: now, Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{Reason: "released_by_operator"},
	}}, nil
}
