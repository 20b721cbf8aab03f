package law_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestPlacesAreRemembered: that a provider counts what is in flight is known
// to the next run as well, though the pace itself has no limit then. By
// tomorrow it may count otherwise.
func TestPlacesAreRemembered(t *testing.T) {
	var m law.Memory
	state := `{"interval_ns": 125000000, "plateau": {"target_per_second": 8, "in_flight": 3, "probe_every": 256}}`
	if err := json.Unmarshal([]byte(state), &m); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		age  time.Duration
		room bool // for a fourth
	}{{time.Hour, false}, {25 * time.Hour, true}} {
		l, err := law.New(law.Plateau, 1, 20, rand.Float64)
		if err != nil {
			t.Fatal(err)
		}
		if !l.Restore(m, tc.age) {
			t.Fatalf("after %v the pace is not believed", tc.age)
		}
		now, open := l.Next(0)
		for range 3 {
			if !open {
				t.Fatalf("after %v there is no room for three", tc.age)
			}
			l.OnSend(now, 1)
			now, open = l.Next(now)
		}
		if open != tc.room {
			t.Errorf("after %v there is room for a fourth: %v, want %v", tc.age, open, tc.room)
		}
	}
}
