package gate

import (
	"encoding/json"
	"fmt"
	"time"

	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
	"collect/pacing/response"
)

// stateVersion is the version of the saved form. Fields are only ever added to
// a version.
const stateVersion = 1

// kept is the saved form of a gate, as JSON.
type kept struct {
	Version    int       `json:"version"`
	RecordedAt time.Time `json:"recorded_at"`
	law.Memory           // of the law
	Ceiling    float64   `json:"ceiling_per_second,omitempty"`
	Left       time.Time `json:"left_at,omitzero"` // the latest request; zero: that is not known
	Hold       time.Time `json:"hold_until,omitzero"`
	halt.Kept
	Windows []ceiling.Kept     `json:"windows,omitempty"`
	Reserve time.Time          `json:"reserved_until,omitzero"`
	Share   float64            `json:"reserved_share,omitempty"` // of a limit, which is for people
	Clamp   *ceiling.KeptClamp `json:"clamp,omitempty"`
	Routes  []route.Kept       `json:"routes,omitempty"`
	Quotas  []keptQuota        `json:"quotas,omitempty"`
	Usage   *usage.Kept        `json:"usage,omitempty"`
	Tried   int                `json:"routes_tried,omitempty"` // that turned out to be none
	Saw     *look              `json:"saw,omitempty"`          // by the operator who ordered this state, if one did
}

// Snapshot returns what must be known of the gate in a later process.
func (g *Gate) Snapshot(at time.Time) []byte {
	now := g.clock.Moment(at)
	k := kept{
		Version:    stateVersion,
		RecordedAt: timeline.Saved(at),
		Memory:     g.routes.All[0].Memory(&g.clock),
		Ceiling:    g.ceiling,
		Kept:       halt.Kept{Breaker: g.breaker.Keep(&g.clock), Freeze: g.freeze.Keep(&g.clock)},
		Hold:       g.clock.KeptAhead(g.hold, now),
		Reserve:    g.clock.KeptAhead(g.reserve, now),
		Share:      g.share,
		Clamp:      g.clamp.Keep(&g.clock),
		Routes:     g.routes.Keep(&g.clock, now),
		Quotas:     g.keepQuotas(),
		Usage:      g.usage(),
		Windows:    g.windows.Keep(&g.clock, now),
	}
	if k.Tried = g.routes.Tried(); g.settled {
		k.Left = g.clock.Kept(g.left)
	}
	state, err := json.Marshal(k)
	if err != nil {
		panic(err) // numbers and times of this century always marshal
	}
	return state
}

// SettleUp gives back what the windows have reserved, because the process
// ends: the next snapshot has only what has left, and when the latest did.
func (g *Gate) SettleUp() {
	g.settled = true
	g.windows.Settle()
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
	move(&k.Left, 0)
	if k.Clamp != nil {
		move(&k.Clamp.Since, 0)
	}
	const longestHold = response.Believed + holdLeast + holdSpread
	move(&k.Hold, longestHold)
	move(&k.Reserve, longestHold)
	for i := range k.Routes {
		r := &k.Routes[i]
		move(&r.Hold, longestHold)
		move(&r.Reserve, longestHold)
		move(&r.Told, 0)
		if r.Memory != nil {
			move(&r.Memory.HeardAt, 0)
		}
	}
	for i := range k.Quotas {
		move(&k.Quotas[i].Since, 0)
	}
	k.Move(move, response.Believed)
	return k, nil
}

// longAgo is before anything that matters to a pace.
const longAgo = 24 * time.Hour

// firstWait is how long the first request of a run waits in any case, unless
// the pace is faster: so a process that dies and is started again and again is
// not faster than that, whatever it forgot.
const firstWait = time.Second

// follow makes a pace that is slower than firstWait go on after left, when the
// latest request of the runs before left: a run need not last an interval for
// something to leave in it. It is now if that is not known, as after a crash. So
// before a request leaves, what is saved must not say any more that none has.
func (g *Gate) follow(left, now law.Moment) {
	g.left = left
	for _, r := range g.routes.All {
		rate := r.Pace.Rate()
		if rate == 0 || rate >= 1/firstWait.Seconds() {
			continue
		}
		// A law knows no request of before it: it waits an interval from when it
		// is first asked.
		interval := law.Moment(float64(time.Second) / rate)
		r.Pace.Next(now - min(now-left, interval-firstWait))
		g.settled = g.settled || left < now
	}
}

// Restore continues with a saved state; without one, as a gate that nothing has
// left by yet. After an error nothing has changed.
func (g *Gate) Restore(state []byte, now time.Time) error {
	if len(state) == 0 {
		since := g.clock.Moment(now)
		g.follow(since-longAgo, since) // nothing ever left
		return nil
	}
	k, err := parseState(state, now)
	if err != nil {
		return err
	}
	since := g.clock.Moment(now)
	g.calm, g.usedBefore = false, k.Usage
	g.routes.All[0].Restore(k.Memory, &g.clock, k.RecordedAt, now)
	g.hold = g.clock.Of(k.Hold)
	if g.share < k.Share { // less is for people now
		k.Reserve = time.Time{}
		for i := range k.Routes {
			k.Routes[i].Reserve = time.Time{}
		}
	}
	g.reserve = g.clock.Of(k.Reserve)
	g.clamp.Restore(k.Clamp, since)
	g.restoreQuotas(k.Quotas)
	g.routes.Restore(k.Routes, k.Tried, &g.clock, k.RecordedAt, now)
	g.breaker, g.freeze = halt.NewBreaker(k.Breaker, &g.clock), halt.NewFreeze(k.Freeze, &g.clock)
	g.windows.Restore(k.Windows, &g.clock, since)
	left := since
	if !k.Left.IsZero() {
		left = g.clock.Of(k.Left)
	}
	g.follow(left, since)
	return nil
}
