package law

import "math"

// The constants of trust.
const (
	trustEach   = 200  // clean answers in which the bound doubles
	trustSilent = 32.0 // requests per second: the highest bound where the provider never spoke of a limit
	trustLost   = 20   // answers that one failure takes back
	trustUsed   = 0.25 // share of the bound: an answer at a slower pace earns nothing
)

// A trust is the bound on the pace of a provider whose owner declared no
// ceiling. It begins at [Ceiling] and doubles after each 200 clean answers in
// which nothing was refused or slow: up to 32/s, and further only where the
// provider has shown that it says so when it has enough, because it announced a
// limit or refused once without more. What is announced is believed at once.
type trust struct {
	earned float64 // the bound; 0: the owner declared a ceiling
	clean  int32   // answers since it was last changed, or lost
	spoke  bool    // the provider announced a limit, or refused
}

// earn counts an answer at a pace, and raises the bound when there were enough of
// them that used it. It reports whether it did.
func (t *trust) earn(pace float64) bool {
	if t.earned == 0 || pace < trustUsed*t.earned {
		return false
	}
	if t.clean++; t.clean < trustEach || t.earned >= trustSilent && !t.spoke {
		return false
	}
	t.earned, t.clean = 2*t.earned, 0
	if !t.spoke {
		t.earned = min(t.earned, trustSilent)
	}
	return true
}

// vouch believes a pace that the provider announced.
func (t *trust) vouch(rate float64) {
	if t.earned > 0 {
		t.earned, t.spoke = max(t.earned, rate), true
	}
}

// object notes that an answer was not clean: refused or slow, which takes all
// back that was counted, or failed, which takes a part of it.
func (t *trust) object(lost int32) { t.clean = max(0, t.clean-lost) }

// betray takes the bound back to where it was before it last rose.
func (t *trust) betray() {
	if t.earned > 0 {
		t.earned, t.clean = max(Ceiling, t.earned/2), 0
	}
}

// undeclared is the ceiling of a provider that has none: what it earned bounds it.
var undeclared = math.Inf(1)
