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

	Waits Holder     // what a request waits for now; Unknown: no request waits
	Until law.Moment // the end of that wait, if it has a time
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

// Timed reports whether the latest request waited for a time.
func (u *Usage) Timed() bool { return u.time&1 != 0 }

// A Pulse measures how fast requests leave, for how long they are on their way, and
// how many of them fail.
type Pulse struct {
	from, next sighting
	busy       time.Duration // that all requests together were on their way, less the moment for each that still is
	flying     int16
	ended      uint8  // up to looksBack
	failed     uint32 // a bit for each that ended, the latest is the lowest: it got no usable answer
}

// A sighting is how many requests had left at a moment, and for how long all
// of them had been on their way.
type sighting struct {
	sent uint64
	at   law.Moment
	busy time.Duration
}

// Leave notes the sent-th request.
func (p *Pulse) Leave(sent uint64, now law.Moment) {
	if p.from.sent == 0 {
		p.from = sighting{sent, now, p.until(now)}
		p.next = p.from
	}
	if sent-p.next.sent >= looksBack {
		p.from, p.next = p.next, sighting{sent, now, p.until(now)}
	}
	p.flying++
	p.busy -= now
}

// End notes the end of a request.
func (p *Pulse) End(failed bool, now law.Moment) {
	p.flying--
	p.busy += now
	p.ended = min(p.ended+1, looksBack)
	p.failed <<= 1
	if failed {
		p.failed |= 1
	}
}

// until returns for how long all requests together were on their way until now.
func (p *Pulse) until(now law.Moment) time.Duration { return p.busy + time.Duration(p.flying)*now }

// Read returns what was measured as the sent-th request was the latest, which left
// at a moment.
func (p *Pulse) Read(sent uint64, left, now law.Moment) (k Kept) {
	k.Ended = int(p.ended)
	k.Failed = bits.OnesCount32(p.failed)
	if p.flying > 0 {
		left = max(left, now) // the next one could have left since
	}
	busy := p.until(now) - p.from.busy
	if over, n := (left - p.from.at).Seconds(), sent-p.from.sent; over > 0 {
		k.PerSecond, k.OnTheWay = float64(n)/over, busy.Seconds()/over
	}
	k.Latency = busy / time.Duration(max(1, sent-p.from.sent))
	return k
}

// Kept is how the latest requests used what they were allowed, as it is
// saved for people.
type Kept struct {
	Held      Holder        `json:"held_by,omitempty"`    // what held most of them back
	Route     int           `json:"route,omitempty"`      // that was held back by a time
	PerSecond float64       `json:"per_second,omitempty"` // requests that left
	InFlight  int           `json:"in_flight,omitempty"`  // that may be at once
	OnTheWay  float64       `json:"on_the_way,omitempty"` // that were at once, on average
	Latency   time.Duration `json:"latency_ns,omitempty"` // for which each was, whether it was answered or not
	Ended     int           `json:"ended,omitempty"`      // the latest that did,
	Failed    int           `json:"failed,omitempty"`     // of which so many got no usable answer
}
