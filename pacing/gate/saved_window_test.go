package gate_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
)

// TestSavesOfALongWindow: the state is saved before the first request of a
// window of a minute or more, and then for each hundredth of it; one that
// counts as more is saved each time. A short window is never saved.
func TestSavesOfALongWindow(t *testing.T) {
	for _, tc := range []struct {
		ceiling collection.Ceiling
		weight  float64
		every   int // request of 40; 0: none
	}{
		{collection.Ceiling{Count: 1000, Per: time.Minute}, 1, 10},
		{collection.Ceiling{Count: 1000, Per: time.Minute - 1}, 1, 0},
		{collection.Ceiling{Count: 1000, Per: time.Hour}, 2, 5},
		{collection.Ceiling{Count: 1000, Per: time.Hour}, 20, 1},
		{collection.Ceiling{Count: 99, Per: time.Hour}, 1, 1},
	} {
		g := open(t, collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{tc.ceiling}, Routes: map[string]collection.Route{"s": {Weight: tc.weight}}})
		for i := range 40 {
			p := g.Leave(&gate.Request{Stream: "s"}, t0)
			if want := tc.every > 0 && i%tc.every == 0; p.Save != want {
				t.Errorf("%+v, each as %v: request %d is saved first: %t, want %t", tc.ceiling, tc.weight, i, p.Save, want)
			}
		}
	}
}

// window is the saved form of one.
type window struct {
	Log []struct {
		At time.Time
		N  int
	}
	Ahead int
}

// windowOf returns the only window of a saved state.
func windowOf(t *testing.T, state []byte) window {
	var saved struct{ Windows []window }
	if err := json.Unmarshal(state, &saved); err != nil || len(saved.Windows) != 1 {
		t.Fatalf("%s: %v", state, err)
	}
	return saved.Windows[0]
}

// TestSavedWindowIsSmall: what is saved of a full day is some sixty groups, and
// counts each request once.
func TestSavedWindowIsSmall(t *testing.T) {
	const count = 4096
	day := 24 * time.Hour
	g := open(t, collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: count, Per: day}}})
	now := t0
	for range 2 * count {
		now = now.Add(day / count)
		g.Settle(now, g.Leave(&gate.Request{}, now), &good)
	}
	w, n := windowOf(t, g.Snapshot(now)), 0
	for i, d := range w.Log {
		n += d.N
		if i > 1 && d.At.Sub(w.Log[i-2].At) < day/64 {
			t.Errorf("groups %d to %d are within %v", i-2, i, d.At.Sub(w.Log[i-2].At))
		}
	}
	if len(w.Log) < 48 || len(w.Log) > 130 || n < count || n > count+count/1000+1 {
		t.Errorf("%d groups with %d requests, want about 64 with %d", len(w.Log), n, count)
	}
	if got := g.Status(now).Constraints[0].Used; got != n {
		t.Errorf("%d are counted, %d are saved", got, n)
	}
}

// TestRestoredWindow: groups that are none are left out, and what may have left
// since counts as leaving now; an entry of no use does not hide those after it.
func TestRestoredWindow(t *testing.T) {
	const hour = `{"version":1,"recorded_at":"2026-11-21T10:00:00Z","windows":[{"per":60000000000},{"per":3600000000000,"log":[%s],"ahead":%d}]}`
	const counted = time.Hour + ceiling.Transit
	group := func(ago time.Duration, n int) string {
		return fmt.Sprintf(`{"at":%q,"n":%d}`, t0.Add(-ago).Format(time.RFC3339Nano), n)
	}
	for _, tc := range []struct {
		log   string
		ahead int
		used  int
	}{
		{group(time.Minute, 3), 0, 3},
		{group(time.Minute, 0) + "," + group(time.Minute, 3), 0, 3},
		{group(time.Minute, -9) + "," + group(time.Minute, 3), 0, 3},
		{group(time.Minute, 4194304), 0, 4194304},
		{group(time.Minute, 4194305) + "," + group(time.Minute, 3), 0, 3},
		{group(counted, 5) + "," + group(counted-1, 3), 0, 3},
		{group(-time.Minute, 3), 0, 3}, // of the future: the clock was set back
		{"", 1, 1}, {"", 10, 10}, {"", 11, 0}, {"", -1, 0},
	} {
		g := open(t, collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 10, Per: time.Hour}}})
		if err := g.Restore(fmt.Appendf(nil, hour, tc.log, tc.ahead), t0); err != nil {
			t.Fatal(err)
		}
		if got := g.Status(t0).Constraints[0].Used; got != tc.used {
			t.Errorf("[%s] and %d ahead: %d are counted, want %d", tc.log, tc.ahead, got, tc.used)
		}
		for _, d := range windowOf(t, g.Snapshot(t0)).Log {
			if d.N <= 0 {
				t.Errorf("[%s]: %+v is saved again", tc.log, d)
			}
		}
		if later := t0.Add(counted); tc.ahead == 10 && (g.Plan(&gate.Request{}, later.Add(-1)).Ready || !g.Plan(&gate.Request{}, later).Ready) {
			t.Error("what may have left does not count for an hour from now")
		}
	}
}

// TestProvidersThatAreNone are refused, and the bounds themselves are not.
func TestProvidersThatAreNone(t *testing.T) {
	ceiling := func(n int, per time.Duration) collection.Provider {
		return collection.Provider{Ceilings: []collection.Ceiling{{Count: 5, Per: time.Second}, {Count: n, Per: per}}}
	}
	for _, tc := range []struct {
		provider collection.Provider
		ok       bool
	}{
		{ceiling(1, 1), true}, {ceiling(0, time.Second), false}, {ceiling(-1, time.Second), false}, {ceiling(1, 0), false}, {ceiling(1, -1), false},
		{collection.Provider{Reserve: 0.99}, true}, {collection.Provider{Reserve: 1}, false}, {collection.Provider{Reserve: -0.01}, false},
	} {
		if _, err := gate.New(tc.provider, "", time.Minute, 1); (err == nil) != tc.ok {
			t.Errorf("%+v: %v, want ok %t", tc.provider, err, tc.ok)
		}
	}
}
