package law

import (
	"math"
	"time"
)

// A Limit names what keeps a pace from being faster.
type Limit string

// The limits that a law knows of. Where none is named it was not kept.
const (
	Rising      Limit = "rising"       // nothing yet: the start looks for the limit
	Most        Limit = "most"         // the ceiling of the owner, or the bound that was earned without one
	Refusals    Limit = "refusals"     // the provider refused, or lost, what came faster
	LateAnswers Limit = "late_answers" // answers came late when requests left faster
	Headers     Limit = "headers"      // it follows the limits that answers announce
	Ban         Limit = "ban"          // the account was refused at a faster pace
	Places      Limit = "places"       // the provider refused when more were in flight
)

// A bound that a 403 left rises by a quarter for each day in which it held, so
// that it is tried gently, and after a week or two binds no more.
const (
	banHolds = 24 * time.Hour
	banRises = 1.25
	banMost  = 60 // times at once, so that it stays a number
)

// A BanBound is the bound that a refused account leaves on the pace.
type BanBound struct {
	PerSecond float64
	Age       time.Duration // since the account was refused
	Held      time.Duration // since the bound was last raised
}

// Rises returns in which time a faster pace is tried.
func (b BanBound) Rises() time.Duration { return banHolds - b.Held }

// BanBound returns the bound that m tells of when the provider was heard some time
// ago. It reports false if there is none.
func (m *Memory) BanBound(ago time.Duration) (b BanBound, ok bool) {
	if m.Plateau == nil || !sane(m.Plateau.Banned) {
		return b, false
	}
	kp, ago := m.Plateau, min(max(0, ago), banMost*banHolds)
	held := max(0, kp.Held+ago)
	return BanBound{
		PerSecond: kp.Banned * math.Pow(banRises, float64(min(held/banHolds, banMost))),
		Age:       max(0, kp.Held+ago, kp.Age+ago),
		Held:      held % banHolds,
	}, true
}
