package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// TestSilenceOfAWindow: the law may know better than the provider when a window
// of a second ends; the gate then waits for no more than the pace.
func TestSilenceOfAWindow(t *testing.T) {
	for _, tc := range []struct {
		law  string
		most time.Duration // from one request to the next
	}{{law.Plateau, 600 * time.Millisecond}, {law.AIMD, time.Hour}} {
		p := collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}
		g, err := gate.New(p, tc.law, time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		now, longest := t0, time.Duration(0)
		for i := range 40 {
			o := good
			o.Windows = []response.Quota{{Name: "q", Limit: 2, Remaining: float64(1 - i%2), Reset: time.Second}}
			if i%2 == 1 {
				o.Hold = time.Second
			}
			at, stop := attempt(t, g, now, o)
			if stop != nil {
				t.Fatal(stop)
			}
			if gap := at.Sub(now); i > 2 {
				longest = max(longest, gap)
			}
			now = at
		}
		if longest > tc.most || tc.law == law.AIMD && longest < time.Second {
			t.Errorf("under %s the longest wait is %v", tc.law, longest)
		}
	}
}
