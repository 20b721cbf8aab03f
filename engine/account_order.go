package engine

import (
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
)

// An Ordered is what an order on an account does.
type Ordered int

// The orders. A console asks for the name of the provider before it thaws, and says what
// opened a breaker before it closes it.
const (
	OpensBreaker Ordered = iota + 1
	ClosesBreaker
	ReleasesBreaker
	Freezes
	Thaws
	LowersBudget
	ReleasesBudget
)

// An AccountOrder is an order on an account with its words, which are the same for
// whoever takes it from a person.
type AccountOrder struct {
	Order
	What    Ordered
	Command string // breaker open
	Means   string // what it will do; %s is the provider
	Done    string // what it did, and what ends it; %[1]s is the provider, %[2]s the connector, %[3]s what commands repeat
	Idle    string // why it changed nothing; %s is the provider
}

// lasting returns o for a time that ends by itself, with the words that it has then; o
// itself for none.
func (o AccountOrder) lasting(lasts time.Duration, until func(state []byte, now, until time.Time, note string) ([]byte, []collection.Event, error), means, done string) AccountOrder {
	if lasts <= 0 {
		return o
	}
	o.Means, o.Done = means, done
	o.Apply = func(state []byte, now time.Time, note string) ([]byte, []collection.Event, error) {
		return until(state, now, now.Add(lasts), note)
	}
	return o
}

// BreakerOpen lets no request out, for a time or, with 0, until it is released.
func BreakerOpen(lasts time.Duration) AccountOrder {
	o := AccountOrder{
		What:    OpensBreaker,
		Command: "breaker open",
		Means:   "This stops all calls to %s by this account until you release it. The work that is left becomes gaps.",
		Done:    "held open: no request to %[1]s leaves. To end it: collect breaker release %[2]s%[3]s --reason WHY",
		Idle:    "the breaker of %s is held open already",
		Order:   Order{Apply: gate.ForceOpen},
	}
	return o.lasting(lasts, gate.ForceOpenUntil,
		"This stops all calls to %s by this account for "+words.Span(lasts)+"; then one request may go out as a probe. The work that is left becomes gaps.",
		"held open for "+words.Span(lasts)+": no request to %[1]s leaves. To end it sooner: collect breaker release %[2]s%[3]s --reason WHY")
}

// BreakerClose lets requests out even if they fail, for a time or, with 0, until it is
// released.
func BreakerClose(lasts time.Duration) AccountOrder {
	o := AccountOrder{
		What:    ClosesBreaker,
		Command: "breaker close",
		Means:   "This lets requests to %s out even if they fail. Going on against refusals may bring a ban.",
		Done:    "held closed: no failure of %[1]s stops a run. To end it: collect breaker release %[2]s%[3]s --reason WHY",
		Idle:    "the breaker of %s is held closed already",
		Order: Order{Apply: gate.ForceClosed, Refuse: func(s gate.Status) string {
			if s.Frozen {
				return "%s is frozen, and a freeze outranks the breaker; first: collect freeze release"
			}
			return ""
		}},
	}
	return o.lasting(lasts, gate.ForceClosedUntil,
		"For "+words.Span(lasts)+" this lets requests to %s out even if they fail. Going on against refusals may bring a ban.",
		"held closed for "+words.Span(lasts)+": no failure of %[1]s stops a run. To end it sooner: collect breaker release %[2]s%[3]s --reason WHY")
}

// BreakerRelease lets the breaker decide for itself again.
var BreakerRelease = AccountOrder{
	What:    ReleasesBreaker,
	Command: "breaker release",
	Means:   "This lets the breaker of %s decide for itself again.",
	Done:    "released: the breaker of %[1]s decides for itself again, from the next run of %[2]s on",
	Idle:    "no operator holds the breaker of %s",
	Order: Order{Apply: func(state []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
		return gate.ReleaseBreaker(state, now)
	}},
}

// FreezeRelease lets one test request out, which ends a freeze or begins it anew, and asks
// whether a silence is over.
var FreezeRelease = AccountOrder{
	What:    Thaws,
	Command: "freeze release",
	Means:   "This lets one test request to %s out; all others wait for what it brings. An answer lets them out again, and a 403 freezes it again. Where nothing is frozen, it asks before the end of a pause that the provider asked for, which goes on unless it is answered.",
	Done:    "released: one test request to %[1]s leaves first, of a run that is on or of the next run of %[2]s; what it brings decides. If a pause that it asked for holds still, give the same order again to ask before its end",
	Idle:    "%s is not frozen and asked for no pause that is not over, and no 403 bounds its pace",
	Order: Order{Apply: func(state []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
		if state == nil {
			return nil, nil, nil
		}
		return gate.Release(state, now)
	}},
}

// FreezeOn stops all calls, for a time or, with 0, until it is released.
func FreezeOn(lasts time.Duration) AccountOrder {
	o := AccountOrder{
		What:    Freezes,
		Command: "freeze on",
		Means:   "This stops all calls to %s by this account until you release it.",
		Done:    "frozen: no request to %[1]s leaves. To end it: collect freeze release %[2]s%[3]s --reason WHY",
		Idle:    "%s is frozen already, for as long or longer",
		Order:   Order{Apply: gate.ForceFreeze},
	}
	return o.lasting(lasts, gate.ForceHold,
		"This stops all calls to %s by this account for "+words.Span(lasts)+"; then one test request may go out.",
		"frozen for "+words.Span(lasts)+": no request to %[1]s leaves. To end it sooner: collect freeze release %[2]s%[3]s --reason WHY")
}
