package law

import (
	"math"
	"time"
)

// How much of a plateau is believed, by its age. A pace that was forbidden is
// believed for ever.
const (
	fullFor   = 2 * time.Hour
	mostlyFor = 24 * time.Hour
	halfFor   = 7 * 24 * time.Hour
	mostly    = 0.8
	half      = 0.5
)

// A keptPlateau is the saved form of what a plateau knows.
type keptPlateau struct {
	Target float64       `json:"target_per_second,omitempty"`
	Limit  float64       `json:"limit_per_second,omitempty"` // 0: the target is not confirmed
	Banned float64       `json:"banned_per_second,omitempty"`
	Window time.Duration `json:"window_ns,omitempty"`
	Every  int           `json:"probe_every,omitempty"`
	Crowd  int           `json:"in_flight,omitempty"`
	Slow   bool          `json:"slow_beyond,omitempty"`
}

// Keep returns what a later process should know. A pace that one bad evening
// left behind is worth nothing: only a plateau that is an estimate, or at which
// answers became quick again, is kept when it is slower than the start.
func (p *plateau) Keep() Memory {
	var m Memory
	kp := keptPlateau{Banned: p.banned}
	if p.heard {
		target := p.plateauOr(p.r)
		if len(p.limits) == 0 && !p.slowBeyond {
			target = max(target, p.start)
		}
		kp.Target, kp.Limit, kp.Window, kp.Every, kp.Crowd = target, p.limit(), p.window, p.every, p.places
		kp.Slow = p.slowBeyond
		m.Interval = interval(target)
	}
	if kp != (keptPlateau{}) {
		m.Plateau = &kp
	}
	return m
}

// Restore continues with it: at half of the plateau, from where it climbs. What
// never refused is not feared more than a provider that nobody knows.
func (p *plateau) Restore(m Memory, age time.Duration) bool {
	kp := keptPlateau{Target: 0}
	if m.Plateau != nil {
		kp = *m.Plateau
	}
	if sane(kp.Banned) {
		p.banned = kp.Banned
		p.r = min(p.r, p.banned)
	}
	share := 1.0
	switch {
	case !sane(kp.Target) || age > halfFor:
		return false
	case age > mostlyFor:
		share = half
	case age > fullFor:
		share = mostly
	}
	p.heard, p.slowBeyond = true, kp.Slow
	if kp.Window > 0 && kp.Window <= longOutage {
		p.window = kp.Window
	}
	if share == 1 {
		p.believe(kp)
	}
	if kp.Limit == 0 && kp.Target <= p.start && !kp.Slow {
		return true
	}
	p.climb(min(share*kp.Target, p.bound()))
	p.r = max(slowest, p.goal*decrease)
	if kp.Limit == 0 {
		p.r = max(p.r, min(p.start, p.goal))
		p.restart = !kp.Slow
	}
	return true
}

// sane reports whether rate can be one that was kept.
func sane(rate float64) bool { return rate >= slowest && !math.IsInf(rate, 0) }

// believe takes what is fresh for as sure as it was.
func (p *plateau) believe(kp keptPlateau) {
	if sane(kp.Limit) {
		p.limits, p.agreed = []float64{kp.Limit}, 1
	}
	if kp.Crowd > 0 && kp.Crowd < 1<<16 {
		p.places = kp.Crowd
	}
	if p.agreed > 0 || p.places > 0 || p.slowBeyond {
		p.every = max(probeLeast, min(kp.Every, probeMost))
	}
}
