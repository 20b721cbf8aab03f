// Package usage tells how requests use what they are allowed: what held them
// back, and how fast they left.
package usage

import (
	"math/bits"
	"time"

	"collect/pacing/law"
)

// looksBack is how many requests are looked back at, and Least how many must have
// left to say anything.
const (
	looksBack = 32
	Least     = 8
)

// A Holder is what held back a request, or most of the latest ones.
type Holder uint8

const (
	Unknown   Holder = iota // too few have left
	ByTime                  // the pace, or something else that has a time
	BySlot                  // there was no slot in flight
	ByNothing               // it left when it came: the run asks for no more
)

// A Usage remembers of the latest requests of a route what held them back.
type Usage struct {
	sent uint64
	time uint32 // a bit for each, the latest is the lowest: somebody waited for a time,
	slot uint32 // or for a slot in flight

	Waits Holder // what somebody waits for now; Unknown: nobody does
}

// Leave notes a request that leaves.
func (u *Usage) Leave() {
	u.sent++
	u.time = u.time<<1 | uint32(u.Waits&ByTime)
	u.slot = u.slot<<1 | uint32(u.Waits&BySlot)>>1
	u.Waits = Unknown
}

// Held returns what held back most of the latest requests.
func (u *Usage) Held() Holder {
	n := int(min(u.sent, looksBack))
	switch {
	case n < Least:
		return Unknown
	case 2*bits.OnesCount32(u.time) >= n:
		return ByTime
	case 2*bits.OnesCount32(u.slot) >= n:
		return BySlot
	}
	return ByNothing
}

// A Pulse measures how fast requests leave, and how long answers take.
type Pulse struct {
	from, next sighting
	Latency    time.Duration // a moving average; 0: not known
}

// A sighting is how many requests had left at a moment.
type sighting struct {
	sent uint64
	at   law.Moment
}

// Leave notes the sent-th request.
func (p *Pulse) Leave(sent uint64, now law.Moment) {
	if p.from.sent == 0 {
		p.from = sighting{sent, now}
		p.next = p.from
	}
	if sent-p.next.sent >= looksBack {
		p.from, p.next = p.next, sighting{sent, now}
	}
}

// Answer notes that an answer took so long.
func (p *Pulse) Answer(took time.Duration) {
	if p.Latency == 0 {
		p.Latency = took
	}
	p.Latency += (took - p.Latency) / 16
}

// PerSecond returns the rate at which the latest requests left; 0 if that is not
// known.
func (p *Pulse) PerSecond(sent uint64, left law.Moment) float64 {
	if left <= p.from.at {
		return 0
	}
	return float64(sent-p.from.sent) / (left - p.from.at).Seconds()
}

// Kept is how the latest requests used what they were allowed, as it is
// saved for people.
type Kept struct {
	Held      Holder        `json:"held_by,omitempty"`    // what held most of them back
	Route     int           `json:"route,omitempty"`      // that was held back by a time
	PerSecond float64       `json:"per_second,omitempty"` // requests that left
	InFlight  int           `json:"in_flight,omitempty"`  // that may be at once
	Latency   time.Duration `json:"latency_ns,omitempty"` // of an answer
}
