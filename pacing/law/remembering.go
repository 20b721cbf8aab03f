package law

import (
	"cmp"
	"time"

	"collect/pacing/response"
)

// The share of a plateau at which the next run begins, by its age.
const (
	fullFor   = 2 * time.Hour
	mostlyFor = 24 * time.Hour
	halfFor   = 32 * 24 * time.Hour // a job of each month is one, too
	mostly    = 0.8
	half      = 0.5
)

// calmFor is how long a run looks for no more than the one before it found:
// what was right half an hour ago is not doubted first.
const calmFor = 5 * time.Minute

// What bounds a count that was kept.
const (
	countMost    = 1 << 20
	longestCount = 30 * 24 * time.Hour
	missedMost   = 1 << 10
)

// Keep returns what a later process should know. A pace that one bad evening
// left behind is worth nothing: only a plateau that is an estimate or announced, or at which
// answers became quick again, is kept when it is slower than the start.
//
// What the end of an episode will tell is left to whoever sees it, or goes on much later:
// see wake.
func (p *plateau) Keep() Memory {
	if p.settled == 0 && p.kept != nil { // nothing was learned
		return *p.kept
	}
	m := Memory{By: p.limitedBy()}
	kp := keptPlateau{Banned: p.banned, budget: p.longest()}
	if p.banned > 0 {
		held := cmp.Or(p.heardAt, p.settled) - max(p.first, p.bannedAt) // less than nothing: it came later
		kp.Held, kp.Age = p.bannedFor+held, p.bannedAge+held
	}
	if p.heard {
		target := p.heldPace()
		if p.known == 0 {
			kp.Guesses = p.guesses
		}
		if p.known == 0 && !p.slowBeyond && !p.guessed() && p.mode != following {
			target = max(target, p.start)
		}
		kp.Target, kp.Limit, kp.Window, kp.Every, kp.Crowd = target, p.known, p.window, p.every, p.inFlight.places
		if p.inFlight.capped() {
			kp.Every = p.inFlight.every
		}
		kp.Late, kp.Unseen = p.late.usualLate, p.losses.unseen
		kp.Usual, kp.Scatter = p.late.kept()
		if kp.Losses = p.losses.granted; p.losses.trial.From > 0 {
			trial := p.losses.trial
			kp.Trial = &trial
		}
		if p.lones.Latest != 0 {
			lones := p.lones
			lones.first = nil // its count is of this run
			kp.Lones = &lones
		}
		kp.Back = p.keptComeback()
		kp.Block = p.prior // which is never changed
		kp.Doubt = p.keptDoubt()
		kp.Of = p.of // which is never changed
		kp.Granted, kp.Charge = p.granted(), p.dearest()
		if p.dear > 0 {
			kp.Missed, kp.Asked = p.missed, p.asked
			kp.Dear, kp.Ago = p.dear, max(0, cmp.Or(p.lastHeard(), p.settled)-p.ended)
		}
		kp.Slow, kp.Calm = p.slowBeyond, p.calmed(p.settled)
		kp.trust = p.trust
		kp.Backoff, kp.Count = p.backoff(), p.count()
		if kp.Limit > 0 || p.guessed() {
			kp.Agreed, kp.Lone, kp.TooFast = min(p.agreed, confirmed), p.lone, p.tooFast
		}
		if kp.Limit > 0 || kp.Crowd > 0 || kp.Slow || p.guessed() {
			kp.Since = p.atPlateau()
			if kp.Trying, kp.Tried = p.unfinished(); kp.Trying > 0 {
				kp.Step = p.step
			}
		}
		m.Interval = interval(target)
	}
	if kp != (keptPlateau{}) {
		m.Plateau = &kp
	}
	return m
}

// count returns the count that is under way as it is kept; nil if there is none, or an
// episode that is not kept ends it.
func (p *plateau) count() *keptCount {
	if p.done.answers == 0 || p.blocked && p.backoff() == nil {
		return nil
	}
	unasked := p.done.unasked
	if p.heardAt == 0 { // the next run counts it anew
		unasked -= p.done.pause
	}
	return &keptCount{p.done.counted(), p.done.answers, p.lastHeard() - p.done.began, unasked, p.done.cut, p.done.past.work, p.done.past.span}
}

// limitedBy returns what keeps the pace from being faster.
func (p *plateau) limitedBy() Limit {
	aim := p.pace()
	if p.mode == recovering {
		aim = max(aim, p.goal)
	}
	switch {
	case p.banned > 0 && p.banned < p.most() && aim >= p.banned:
		return Ban
	case p.inFlight.capped() && (p.known == 0 || p.pace() >= p.most()): // else a pace was refused as well
		return Places
	case p.blocked && !p.spent || p.doubt > 0:
		return Refusals
	case p.mode == following && p.r <= p.most() || p.spares(): // what is announced may be all that was earned
		return Headers
	case p.pace() >= p.most():
		return Most
	case p.mode == drain || p.slowBeyond:
		return LateAnswers
	case p.mode == startup || p.restart || p.known == 0 && p.ended == 0:
		return Rising
	}
	return Refusals
}

// heldPace returns the plateau, or the pace where none is known. A level that a
// probe held for long enough is one.
func (p *plateau) heldPace() float64 {
	if p.mode == following { // which may be slow only because little is left just now
		return min(p.bound(), max(p.target, p.announcedPace(false)))
	}
	if p.mode == drain && !p.started { // whether slower helps is not known yet
		return p.preCut
	}
	return p.plateauOr(p.r)
}

// atPlateau returns the answers since the last probe, of the pace or of what is
// in flight.
func (p *plateau) atPlateau() int {
	switch {
	case p.inFlight.capped():
		return p.inFlight.used
	case p.mode == steady:
		return p.since
	case p.mode == probing:
		return p.since
	case p.mode == recovering: // a short run may end before it is at the plateau
		return p.carried + p.done.answers - p.done.earlier
	}
	return p.carried
}

// unfinished returns the level that a probe is at, and for how long it has held; 0 for
// none. A run that is too short for a level goes on with that of the run before.
func (p *plateau) unfinished() (rate float64, held time.Duration) {
	if n := len(p.levels); n > 0 && p.mode == probing {
		return p.levels[n-1].rate, p.settled - p.levels[n-1].at
	}
	return p.trying, p.tried
}

// goOnTrying goes on with the level that the run before was at when it ended.
func (p *plateau) goOnTrying(now Moment) {
	p.search()
	p.try(p.trying, now-p.tried)
	p.since, p.trying, p.carried = p.carried, 0, 0
}

// Restore continues with it. Age lowers the pace at which a run begins, and not
// what is known: the climb back to that takes seconds, and it is kept as it was.
// A limit that few episodes confirmed begins at half. Where nothing was ever
// refused, the start goes on where the run before left it.
func (p *plateau) Restore(m Memory, age time.Duration) bool {
	kp := keptPlateau{Target: 0}
	if m.Plateau != nil {
		kp = *m.Plateau
	}
	if b, banned := m.BanBound(age); banned {
		p.banned, p.bannedFor, p.bannedAge = b.PerSecond, b.Held, b.Age
		p.r = min(p.r, p.banned)
	}
	if !sane(kp.Target) || age > halfFor {
		return false
	}
	p.kept = &m
	p.heard, p.slowBeyond, p.trust.Spoke = true, kp.Slow, kp.Spoke
	if bound := p.trust.Earned; bound > 0 {
		p.trust = kp.trust.sane()
		p.trust.Earned = max(bound, p.trust.Earned)
	}
	if kp.Window > 0 && kp.Window <= longOutage {
		p.window = kp.Window
	}
	if kp.Long >= response.BudgetFrom {
		p.gauges = append(p.gauges, &gauge{name: kp.Name, told: kp.Long})
	}
	p.charges(kp.Charge)
	if kp.Of != nil && (kp.Of.Limit == 0 || sane(kp.Of.Limit) && sane(kp.Of.Pace)) {
		p.of = kp.Of
	}
	p.believe(kp, age)
	if kp.Limit > 0 || kp.Slow || p.guessed() {
		p.target = kp.Target
	}
	p.wake(kp, age)
	target := p.plateauOr(kp.Target)
	rising := p.known == 0 && !kp.Slow && !p.guessed()
	if rising && target <= p.start {
		p.target = 0
		return true
	}
	p.climb(min(target, p.bound()))
	share := 1.0
	switch {
	case age > mostlyFor:
		share = half
	case age > fullFor:
		share = mostly
	}
	p.restart = rising
	if held := kp.Since >= enough; !p.restart && !kp.Slow && kp.Agreed < confirmed && !held {
		share *= decrease
	}
	p.r = max(slowest, share*p.goal)
	if p.restart {
		p.r = max(p.r, min(p.start, p.goal))
	}
	return true
}

// believe takes it for as sure as it was. Only what is fresh is not doubted for
// the first minutes.
func (p *plateau) believe(kp keptPlateau, age time.Duration) {
	fresh := age <= fullFor
	if sane(kp.Limit) {
		p.known, p.agreed, p.lone = kp.Limit, max(0, min(kp.Agreed, confirmed)), kp.Lone && fresh
	}
	if fresh {
		p.guesses = max(0, min(kp.Guesses, confirmed))
	}
	if sane(kp.TooFast) && (p.known > 0 || p.guessed()) {
		p.tooFast = kp.TooFast
	}
	if kp.Late > 0 && kp.Late < 1 { // each run would find anew that slower does not help
		p.late.usualLate, p.late.late = kp.Late, kp.Late
	}
	if fresh { // or each of many short runs would find anew what is granted, and take the first few answers for usual
		p.grants(kp.Granted)
		p.late.goOn(kp.Usual, kp.Scatter)
	}
	p.comeback.goOn(kp.Back)
	p.doubts(kp.Doubt, age)
	if kp.Block.sane() {
		p.prior = kp.Block
	}
	p.losses.unseen = max(0, min(kp.Unseen, longOutage))
	if kp.Losses > 0 && kp.Losses < 1 {
		p.losses.granted, p.losses.often = kp.Losses, kp.Losses
	}
	if fresh && kp.Lones.sane() {
		p.lones = *kp.Lones
	}
	if fresh && kp.Trial.sane() {
		p.losses.trial = *kp.Trial
	}
	if kp.Dear > 0 { // or each run would find anew what it costs
		p.dear, p.missed, p.asked = min(kp.Dear, banHolds), max(0, min(kp.Missed, missedMost)), max(0, min(kp.Asked, banHolds))
		p.lasted, p.ended = p.dear, -max(1, age+min(max(0, kp.Ago), banHolds))
	}
	if kp.Crowd > 0 && kp.Crowd < 1<<16 {
		p.inFlight.places = kp.Crowd
	}
	if p.known > 0 || p.inFlight.capped() || p.slowBeyond || p.guessed() {
		p.every = max(probeLeast, min(kp.Every, probeMost))
		p.carried = max(0, min(kp.Since, countMost))
		if sane(kp.Trying) {
			p.trying, p.tried = kp.Trying, max(0, min(kp.Tried, longOutage))
			p.step = max(p.step, min(kp.Step, stepMost))
		}
	}
	if p.inFlight.capped() {
		p.inFlight.used, p.inFlight.every, p.carried = p.carried, max(capTurns*kp.Crowd, min(kp.Every, probeMost)), 0
	}
	p.calm = min(max(0, kp.Calm), calmFor)
	p.fresh = fresh && (p.inFlight.confirmed() || p.agreed > 0 && kp.Target*(1+stepMost) >= kp.Limit)
}

// calmed returns for how long a run has looked for no more, with those before it
// that were too short to; 0 once it may.
func (p *plateau) calmed(now Moment) time.Duration {
	if was := p.calm + now - p.first; p.fresh && was < calmFor {
		return was
	}
	return 0
}
