package gate

import (
	"encoding/json"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/timeline"
)

// order gives an order: it returns state as change leaves it, with what it was
// before, or as it is if change has nothing to tell.
func order(state []byte, now time.Time, change func(*kept) []collection.Event) ([]byte, []collection.Event, error) {
	k := kept{Version: stateVersion}
	if len(state) > 0 {
		var err error
		if k, err = parseState(state, now); err != nil {
			return nil, nil, err
		}
	}
	k.Saw = &look{k.orders, k.bounded()}
	if k.Breaker != nil {
		k.Breaker = new(*k.Breaker) // which the order changes
	}
	events := change(&k)
	if len(events) == 0 {
		return state, nil, nil
	}
	k.RecordedAt = timeline.Saved(now)
	edited, err := json.Marshal(k)
	if err != nil {
		return nil, nil, err
	}
	return edited, events, nil
}

// Hand returns what the next process goes on with: the order, or state with
// its changes if that was saved later. A state that cannot be read is older
// than any order. It fails as [Gate.Obey] does.
func Hand(state, order []byte, now time.Time) ([]byte, error) {
	if !recordedAt(state).After(recordedAt(order)) {
		return order, nil
	}
	return Amend(state, order, now)
}

// Amend returns state with the changes of the order, whichever was saved later:
// what was said since its giver looked stays, also where a clock was set. Of a
// state that cannot be read nothing can stay: it gives way to the order. It
// fails as [Gate.Obey] does.
func Amend(state, order []byte, now time.Time) ([]byte, error) {
	k, err := parseState(state, now)
	if err != nil {
		return order, nil
	}
	o, err := parseState(order, now)
	if err != nil {
		return nil, err
	}
	is, err := o.amend(&k, now)
	if err != nil {
		return nil, err
	}
	if is.released(k.orders) || o.forgives() {
		k.forgive()
	}
	k.orders, k.Saw, k.RecordedAt = is, nil, timeline.Saved(now)
	return json.Marshal(k)
}

// Newest returns the state that was saved last; one that cannot be read is
// older than any other.
func Newest(a, b []byte) []byte {
	if recordedAt(b).After(recordedAt(a)) {
		return b
	}
	return a
}

func recordedAt(state []byte) time.Time {
	var k kept
	if json.Unmarshal(state, &k) != nil {
		return time.Time{}
	}
	return k.RecordedAt
}
