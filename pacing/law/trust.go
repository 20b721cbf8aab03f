package law

import "math"

// The constants of trust.
const (
	trustEach   = 200  // clean answers in which the bound doubles
	trustSilent = 32.0 // requests per second: the highest bound where the provider never spoke of a limit
	trustFails  = 0.1  // share of failures that says nothing about the pace,
	trustSpread = 3.0  // or so many standard deviations above the share at half the pace
	trustMissed = 4    // doublings of the answers that a bound takes which was taken back
	trustUsed   = 0.25 // share of the bound: an answer at a slower pace earns nothing
)

// A trust is the bound on the pace of a provider whose owner declared no
// ceiling. It begins at [Ceiling] and doubles after each 200 clean answers in
// which nothing was refused or slow: up to 32/s, and further only where the
// provider has shown that it says so when it has enough, because it announced a
// limit or refused once without more. What is announced is believed at once.
//
// One of several servers that is broken fails its share of the requests at any
// pace, so that failures count against a bound only if there are more of them
// than at half of it. Then it is taken back, and takes longer to earn again.
type trust struct {
	earned float64 // the bound; 0: the owner declared a ceiling
	clean  int32   // answers since it was last changed, or something was refused or slow,
	failed int32   // and failures
	usual  float64 // share of failures at half the bound
	missed int32   // how often in a row it was taken back
	spoke  bool    // the provider announced a limit, or refused
}

// earn counts an answer at a pace, and raises the bound when there were enough of
// them that used it. It reports whether it did.
func (t *trust) earn(pace float64) bool {
	if t.earned == 0 || pace < trustUsed*t.earned {
		return false
	}
	if t.clean++; t.clean < trustEach<<t.missed {
		return false
	}
	share := float64(t.failed) / float64(t.clean+t.failed)
	if t.earned > Ceiling && share > max(trustFails, t.usual+trustSpread*math.Sqrt(t.usual/trustEach)) {
		t.betray()
		t.missed = min(t.missed+1, trustMissed)
		return false
	}
	t.restart()
	if t.earned >= trustSilent && !t.spoke {
		return false
	}
	t.usual, t.missed = share, 0
	t.earned *= 2
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

// fail counts a failure.
func (t *trust) fail() { t.failed++ }

// restart begins the count: an answer was refused or slow.
func (t *trust) restart() { t.clean, t.failed = 0, 0 }

// betray takes the bound back to where it was before it last rose.
func (t *trust) betray() {
	if t.earned > 0 {
		t.earned = max(Ceiling, t.earned/2)
		t.restart()
	}
}

// undeclared is the ceiling of a provider that has none: what it earned bounds it.
var undeclared = math.Inf(1)
