package gate_test

import (
	"encoding/json"
	"testing"
	"time"
	"unsafe"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// TestSilenceAfterSleep: after the machine slept, or its clock was set, a
// process says the times of its waits by the clock that others read, and takes
// theirs by it, too. What it saves must bind the next process, and an order of
// an hour must not last for the hours that were slept.
func TestSilenceAfterSleep(t *testing.T) {
	for _, jump := range []time.Duration{8 * time.Hour, -8 * time.Hour, 0} {
		g, err := gate.New(collection.Provider{}, "", 24*time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		now = due(g, now)
		pass := g.Leave(&gate.Request{}, now)
		now = jumped(now.Add(time.Second), jump)
		g.Settle(now, pass, &gate.Outcome{Signal: law.Throttled, Hold: time.Hour})

		wall := now.Round(0)
		var saved struct {
			Hold time.Time `json:"hold_until"`
		}
		if err := json.Unmarshal(g.Snapshot(now), &saved); err != nil {
			t.Fatal(err)
		}
		if wait := saved.Hold.Sub(wall); wait < time.Hour || wait > time.Hour+time.Second {
			t.Errorf("after a jump of %v a silence of an hour is saved as one of %v", jump, wait)
		}

		order, _, err := gate.ForceHold(nil, wall, wall.Add(2*time.Hour), "")
		if err == nil {
			err = g.Obey(order, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		if stop := g.Refuse(&gate.Request{}, now.Add(119*time.Minute)); stop == nil {
			t.Errorf("after a jump of %v a freeze for two hours is over before", jump)
		}
		if stop := g.Refuse(&gate.Request{}, now.Add(121*time.Minute)); stop != nil {
			t.Errorf("after a jump of %v a freeze for two hours goes on: %v", jump, stop)
		}
	}
}

// jumped returns now as a process reads it whose steady clock did not hear that
// the time of day moved. There is no other way to make such a time: the steady
// reading is the second word of one that has it.
func jumped(now time.Time, by time.Duration) time.Time {
	later := now.Add(by)
	*(*int64)(unsafe.Add(unsafe.Pointer(&later), 8)) -= int64(by)
	return later
}
