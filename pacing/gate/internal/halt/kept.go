package halt

import "time"

// ByOperator is the reason of a freeze that an operator ordered.
const ByOperator = "operator"

// Kept is what is saved of a breaker and a freeze. Each is nil if it stops
// nothing.
type Kept struct {
	Breaker *KeptBreaker `json:"breaker,omitempty"`
	Freeze  *KeptFreeze  `json:"freeze,omitempty"`
}

// Amend returns what the order k of an operator who saw one state makes of
// another: a breaker or a freeze that k does not speak of stays. It reports false
// if k would release anything else than its giver saw. What k holds back is held
// back, and nothing that holds longer is lost.
func (k Kept) Amend(saw, is Kept) (amended Kept, ok bool) {
	amended = is
	if was, to := saw.Breaker.force(), k.Breaker.force(); !was.same(to) {
		if now := is.Breaker.force(); to == nil && now != nil && !was.same(now) {
			return is, false
		}
		amended.Breaker = k.Breaker
	}
	switch {
	case saw.Freeze.same(k.Freeze):
	case k.Freeze.releases() && !is.Freeze.releases() && !saw.Freeze.same(is.Freeze):
		return is, false
	case k.Freeze.releases() && is.Freeze == nil: // it thawed since
	case k.Freeze.releases() || is.Freeze.Weaker(k.Freeze):
		amended.Freeze = k.Freeze
	}
	return amended, true
}

// Standing returns k without an operator's hold on the breaker that has ended by now.
// One that was held open goes on as [Breaker] does when its time is up: the next
// request is a probe.
func (k Kept) Standing(now time.Time) Kept {
	if f := k.Breaker.force(); f == nil || !f.ended(now) {
		return k
	}
	if k.Breaker.Forced.To != Open {
		k.Breaker = nil
		return k
	}
	k.Breaker = new(*k.Breaker)
	k.Breaker.Until, k.Breaker.Forced = k.Breaker.Forced.Until, nil
	return k
}

// Move moves the times of k. None may be further ahead than the longest that a
// process can have saved; believed is that of an operator.
func (k Kept) Move(move func(t *time.Time, longest time.Duration), believed time.Duration) {
	if b := k.Breaker; b != nil {
		move(&b.Until, breakerLongest)
		if b.Forced != nil {
			move(&b.Forced.At, 0)
			move(&b.Forced.Until, believed)
		}
		if b.Failure != nil {
			move(&b.Failure.At, 0)
		}
	}
	if f := k.Freeze; f != nil {
		longest := freezeFirst << freezeStrikes
		if f.Reason == ByOperator {
			longest = believed
		}
		move(&f.Until, longest)
	}
}
