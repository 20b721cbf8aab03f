package gate

import (
	"math/bits"
	"time"

	"collect/pacing/law"
)

// usageKept is how many requests a usage looks back at, and usageLeast how many
// must have left for it to say anything.
const (
	usageKept  = 32
	usageLeast = 8
)

// A holder is what held back a request, or most of the latest ones.
type holder uint8

const (
	unknown   holder = iota // too few have left
	byTime                  // the pace, or something else that has a time
	bySlot                  // there was no slot in flight
	byNothing               // it left when it came: the run asks for no more
)

// A usage remembers of the latest requests of a route what held them back.
type usage struct {
	sent uint64
	time uint32 // a bit for each, the latest is the lowest: somebody waited for a time,
	slot uint32 // or for a slot in flight

	waits holder // what somebody waits for now; unknown: nobody does
}

// leave notes a request that leaves.
func (u *usage) leave() {
	u.sent++
	u.time = u.time<<1 | uint32(u.waits&byTime)
	u.slot = u.slot<<1 | uint32(u.waits&bySlot)>>1
	u.waits = unknown
}

// held returns what held back most of the latest requests.
func (u *usage) held() holder {
	n := int(min(u.sent, usageKept))
	switch {
	case n < usageLeast:
		return unknown
	case 2*bits.OnesCount32(u.time) >= n:
		return byTime
	case 2*bits.OnesCount32(u.slot) >= n:
		return bySlot
	}
	return byNothing
}

// A pulse measures how fast requests leave, and how long answers take.
type pulse struct {
	from, next sighting
	latency    time.Duration // a moving average; 0: not known
}

// A sighting is how many requests had left at a moment.
type sighting struct {
	sent uint64
	at   law.Moment
}

// leave notes the sent-th request.
func (p *pulse) leave(sent uint64, now law.Moment) {
	if p.from.sent == 0 {
		p.from = sighting{sent, now}
		p.next = p.from
	}
	if sent-p.next.sent >= usageKept {
		p.from, p.next = p.next, sighting{sent, now}
	}
}

// answer notes that an answer took so long.
func (p *pulse) answer(took time.Duration) {
	if p.latency == 0 {
		p.latency = took
	}
	p.latency += (took - p.latency) / 16
}

// perSecond returns the rate at which the latest requests left; 0 if that is not
// known.
func (p *pulse) perSecond(sent uint64, left law.Moment) float64 {
	if left <= p.from.at {
		return 0
	}
	return float64(sent-p.from.sent) / (left - p.from.at).Seconds()
}

// A keptUsage is how the latest requests used what they were allowed, as it is
// saved for people.
type keptUsage struct {
	Held      holder        `json:"held_by,omitempty"`    // what held most of them back
	Route     int           `json:"route,omitempty"`      // that was held back by a time
	PerSecond float64       `json:"per_second,omitempty"` // requests that left
	InFlight  int           `json:"in_flight,omitempty"`  // that may be at once
	Latency   time.Duration `json:"latency_ns,omitempty"` // of an answer
}

// usage returns how the latest requests used what they were allowed. Of several
// routes it is the slowest that is held back.
func (g *Gate) usage() *keptUsage {
	if g.sent == 0 || g.sent < usageLeast && g.usedBefore != nil {
		return g.usedBefore
	}
	k := &keptUsage{PerSecond: g.pulse.perSecond(g.sent, g.left), InFlight: g.slots.Limit(), Latency: g.pulse.latency}
	slowest := 0.0
	for i, r := range g.routes {
		held := r.usage.held()
		switch rate := r.law.Rate(); {
		case held == unknown:
		case held == byTime && (k.Held != byTime || rate < slowest):
			k.Held, k.Route, slowest = byTime, i, rate
		case held == bySlot && k.Held != byTime, k.Held == unknown:
			k.Held = held
		}
	}
	// Where there are as many workers as slots, none waits for one. What is in
	// flight is how many leave times how long each is on its way (Little's law).
	if k.Held == byNothing && k.PerSecond*k.Latency.Seconds() >= full*float64(g.slots.Max()) {
		k.Held = bySlot
	}
	return k
}

// full is the share of the slots that are in use on average when they are what
// limits the pace.
const full = 0.8

// boundOf names what a law is limited by.
var boundOf = map[law.Limit]Bound{
	"": Learned, law.Rising: Rising, law.Refusals: Learned, law.LateAnswers: Slow, law.Headers: Announced, law.Places: Places,
}
