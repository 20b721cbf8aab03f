package gate

import (
	"strings"
	"time"
	"unicode"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/timeline"
)

// What an operator decided, as events and saved states name it.
const (
	ByOperator         = halt.ByOperator        // the reason of a freeze, the trigger of a transition
	forcedByOperator   = "forced_by_operator"   // the reason of a transition
	ReleasedByOperator = "released_by_operator" // of a breaker or a freeze
)

// given is what operators ordered, other than of the breaker and the freeze.
type given struct {
	budgets ceiling.Orders // what they allow of the windows
	ask     *ask           // the latest order to ask before the end of a silence
}

// give puts the orders in the place of those before.
func (g *Gate) give(budgets ceiling.Orders, a *ask) {
	if g.given = nil; len(budgets) > 0 || a != nil {
		g.given = &given{budgets, a}
	}
}

// ordered returns what operators ordered.
func (g *Gate) ordered() given {
	if g.given == nil {
		return given{}
	}
	return *g.given
}

// noteBytes bounds the words that an operator leaves behind.
const noteBytes = 200

// note returns text as one printable line.
func note(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), noteBytes)], "")
}

// ForceOpen returns state with a breaker that lets nothing out until
// [ReleaseBreaker] or [ForceClosed], and the event to save it with. note says
// why, in the operator's words. Everything else that was saved stays. An empty
// state is one of which nothing is known yet. It fails if state cannot be
// read, and returns no event if nothing changes; so do the others.
func ForceOpen(state []byte, now time.Time, note string) ([]byte, []collection.Event, error) {
	return force(state, now, halt.Forced{To: halt.Open, Note: note})
}

// ForceOpenUntil is [ForceOpen] up to a time, at which one request may go out as a probe.
func ForceOpenUntil(state []byte, now, until time.Time, note string) ([]byte, []collection.Event, error) {
	return force(state, now, halt.Forced{To: halt.Open, Note: note, Until: timeline.Saved(until)})
}

// ForceClosed returns state with a breaker that stays closed, whatever comes
// back, until [ReleaseBreaker] or [ForceOpen]. The pace, holds and freezes are
// as before: it does not let a request out that they hold back.
func ForceClosed(state []byte, now time.Time, note string) ([]byte, []collection.Event, error) {
	return force(state, now, halt.Forced{To: halt.Closed, Note: note})
}

// ForceClosedUntil is [ForceClosed] up to a time, from which on failures open the
// breaker again.
func ForceClosedUntil(state []byte, now, until time.Time, note string) ([]byte, []collection.Event, error) {
	return force(state, now, halt.Forced{To: halt.Closed, Note: note, Until: timeline.Saved(until)})
}

// ReleaseBreaker returns state with a breaker that decides for itself again.
// If it was forced open, the next request is a probe.
func ReleaseBreaker(state []byte, now time.Time) ([]byte, []collection.Event, error) {
	return order(state, now, func(k *kept) []collection.Event {
		if k.Breaker == nil || k.Breaker.Forced == nil {
			return nil
		}
		was, to := k.Breaker.Forced.To, halt.Open
		k.Breaker.Forced = nil
		if was != halt.Open {
			k.Breaker, to = nil, halt.Closed
		}
		return []collection.Event{turned(now, was, to, ReleasedByOperator)}
	})
}

func force(state []byte, now time.Time, f halt.Forced) ([]byte, []collection.Event, error) {
	return order(state, now, func(k *kept) []collection.Event {
		was := halt.Closed
		if k.Breaker == nil {
			k.Breaker = &halt.KeptBreaker{Until: timeline.Saved(now)}
		} else if was = halt.Open; k.Breaker.Forced != nil {
			was = k.Breaker.Forced.To
		}
		if is := k.Breaker.Forced; is != nil && is.To == f.To && is.Until.Equal(f.Until) {
			return nil
		}
		f.Note, f.At = note(f.Note), timeline.Saved(now)
		k.Breaker.Forced = &f
		return []collection.Event{turned(now, was, f.To, forcedByOperator)}
	})
}

func turned(now time.Time, was, to, reason string) collection.Event {
	return collection.Event{Time: now, Kind: collection.BreakerChanged, Breaker: &collection.BreakerInfo{
		Previous: was, State: to, Reason: reason, Trigger: ByOperator,
	}}
}

// ForceFreeze returns state with a freeze that only [Release] ends, and the
// event to save it with.
func ForceFreeze(state []byte, now time.Time, why string) ([]byte, []collection.Event, error) {
	return freezeBy(state, now, halt.KeptFreeze{Operator: true, Note: note(why)})
}

// ForceHold returns state with a freeze until a time, at which one test request
// may go out, and the event to save it with. A freeze that is longer stays.
func ForceHold(state []byte, now, until time.Time, why string) ([]byte, []collection.Event, error) {
	if !until.After(now) {
		return state, nil, nil
	}
	return freezeBy(state, now, halt.KeptFreeze{Until: timeline.Saved(until), Note: note(why)})
}

func freezeBy(state []byte, now time.Time, f halt.KeptFreeze) ([]byte, []collection.Event, error) {
	return order(state, now, func(k *kept) []collection.Event {
		f.Strikes, f.Reason, f.Since = 1, ByOperator, timeline.Saved(now)
		if was := k.Freeze; was != nil {
			if !was.Weaker(&f) {
				return nil
			}
			f.Strikes = was.Strikes
		}
		k.Freeze = &f
		return []collection.Event{{Time: now, Kind: collection.FreezeChanged,
			Freeze: &collection.FreezeInfo{Frozen: true, Reason: ByOperator, Until: f.Until}}}
	})
}

// Release returns state with one test request that may go out, and without the bound that a
// refusal left on the pace, and the event to save it with. If the account is frozen, the test
// ends that or begins it anew; if it is not, but the provider is to be left alone, the test asks
// whether that is over. It fails if state cannot be read, and returns state as it is and no
// event if there is nothing to release.
func Release(state []byte, now time.Time) ([]byte, []collection.Event, error) {
	return order(state, now, func(k *kept) []collection.Event {
		switch frozen := k.Freeze != nil && !k.Freeze.Released; {
		case frozen:
			k.Freeze = k.Freeze.Release(timeline.Saved(now))
		case k.silent(now):
			k.Ask = &ask{At: timeline.Saved(now), Ends: k.ends(now)}
		case !k.bounded():
			return nil
		}
		k.forgive()
		return []collection.Event{{Time: now, Kind: collection.FreezeChanged,
			Freeze: &collection.FreezeInfo{Reason: ReleasedByOperator}}}
	})
}
