package law

import "math"

// The constants of trust.
const (
	trustEach   = 200  // clean answers in which the bound doubles
	trustSilent = 32.0 // requests per second: the highest bound where the provider never spoke of a limit
	trustFails  = 0.1  // share of failures that says nothing about the pace,
	trustSpread = 3.0  // or so many standard deviations above the share at half the pace
	trustWait   = 16   // times as many answers at most, before a bound that was taken back is tried again
	trustUsed   = 0.25 // share of the bound: an answer at a slower pace earns nothing
)

// A trust is the bound on the pace of a provider whose owner declared no
// ceiling. It begins at [Ceiling] and doubles after each 200 clean answers in
// which nothing was refused or slow: up to 32/s, and further only where the
// provider has shown that it says so when it has enough, because it announced a
// limit or refused once without more. A rate that is announced is believed at once.
//
// One of several servers that is broken fails its share of the requests at any
// pace, so that failures count against a bound only if there are more of them
// than at half of it. Then it is taken back, and takes longer to earn again.
type trust struct {
	Earned float64 `json:"earned_per_second,omitempty"` // the bound; 0: the owner declared a ceiling
	Clean  int32   `json:"earned_clean,omitempty"`      // answers since it was last changed, or something was refused or slow,
	Failed int32   `json:"earned_failed,omitempty"`     // and failures
	Usual  float64 `json:"earned_fail_share,omitempty"` // share of failures at half of the bound
	Wait   int32   `json:"earned_wait,omitempty"`       // answers beside, since the bound above was taken back; doubles each time,
	Again  bool    `json:"earned_again,omitempty"`      // which is tried once more
	Spoke  bool    `json:"spoke,omitempty"`             // the provider announced a limit, or refused
}

// earn counts an answer at a pace, and raises the bound when there were enough of
// them that used it. It reports whether it did.
func (t *trust) earn(pace float64) bool {
	if t.Earned == 0 || pace < trustUsed*t.Earned {
		return false
	}
	need := int32(trustEach)
	if !t.Again {
		need += t.Wait
	}
	if t.Clean++; t.Clean < need {
		return false
	}
	share := float64(t.Failed) / float64(t.Clean+t.Failed)
	if t.Earned > Ceiling && share > max(trustFails, t.Usual+trustSpread*math.Sqrt(t.Usual/trustEach)) {
		t.betray()
		t.Wait, t.Again = min(max(trustEach, 2*t.Wait), trustWait*trustEach), false
		return false
	}
	if t.Again {
		t.Wait, t.Again = 0, false
	}
	t.restart()
	if t.Earned >= trustSilent && !t.Spoke {
		return false
	}
	t.Usual, t.Again = share, t.Wait > 0
	t.Earned *= 2
	if !t.Spoke {
		t.Earned = min(t.Earned, trustSilent)
	}
	return true
}

// vouch believes a pace that the provider announced.
func (t *trust) vouch(rate float64) {
	if t.Earned > 0 {
		t.Earned, t.Spoke = max(t.Earned, rate), true
	}
}

// fail counts a failure at a pace, as earn counts an answer.
func (t *trust) fail(pace float64) {
	if t.Earned > 0 && pace >= trustUsed*t.Earned {
		t.Failed++
	}
}

// restart begins the count: an answer was refused or slow.
func (t *trust) restart() { t.Clean, t.Failed = 0, 0 }

// betray takes the bound back to where it was before it last rose.
func (t *trust) betray() {
	if t.Earned > 0 {
		t.Earned = max(Ceiling, t.Earned/2)
		t.restart()
	}
}

// sane returns what of t can be what was kept.
func (t trust) sane() trust {
	if !sane(t.Earned) {
		return trust{Spoke: t.Spoke}
	}
	t.Clean, t.Failed = max(0, min(t.Clean, trustEach*(1+trustWait))), max(0, min(t.Failed, countMost))
	t.Usual, t.Wait = max(0, min(t.Usual, 1)), max(0, min(t.Wait, trustWait*trustEach))
	return t
}

// undeclared is the ceiling of a provider that has none: what it earned bounds it.
var undeclared = math.Inf(1)
