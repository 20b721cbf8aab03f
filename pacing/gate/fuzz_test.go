package gate_test

import (
	"bytes"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
)

func open(tb testing.TB, p collection.Provider) *gate.Gate {
	tb.Helper()
	g, err := gate.New(p, "", time.Minute, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

const year = 365 * 24 * time.Hour

// FuzzRestore: no saved state crashes, speeds the pace up beyond its ceiling,
// or blocks for longer than any hold can.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"recorded_at":"2026-11-21T09:00:00Z","interval_ns":300000000,"heard_at":"2026-11-21T09:00:00Z","ceiling_per_second":0.1,"hold_until":"2026-11-21T11:00:00Z","breaker":{"until":"2026-11-21T11:00:00Z","trips":3},"freeze":{"strikes":2,"until":"2026-11-21T10:20:00Z","reason":"forbidden"},"windows":[{"per":60000000000,"log":[{"at":"2026-11-21T09:59:30Z","n":5}],"ahead":1}]}`))
	f.Add([]byte(`{"version":1,"recorded_at":"9999-12-31T23:59:59Z","interval_ns":-1,"hold_until":"9999-12-31T23:59:59Z","breaker":{"trips":-5},"windows":[{"per":60000000000,"log":[{"at":"0001-01-01T00:00:00Z","n":9223372036854775807},{"at":"9999-12-31T23:59:59Z","n":3}],"ahead":-4}]}`))
	f.Add([]byte(`{"version":1,"recorded_at":"2026-11-21T09:00:00Z","hold_until":"2999-11-21T11:00:00Z"}`))
	f.Add([]byte(`{"version":1,"recorded_at":"2026-11-21T09:00:00Z","breaker":{"until":"2999-11-21T11:00:00Z","trips":30}}`))
	f.Add([]byte(`{"version":1,"recorded_at":"2026-11-21T09:00:00Z","freeze":{"until":"2999-11-21T11:00:00Z","strikes":1}}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{`))
	p := collection.Provider{Ceilings: []collection.Ceiling{{Count: 6, Per: time.Minute}}}
	f.Fuzz(func(t *testing.T, state []byte) {
		g := open(t, p)
		err := g.Restore(state, t0)
		if interval := time.Duration(float64(time.Second) / g.Rate()); interval < 10*time.Second || interval > time.Minute {
			t.Errorf("the interval is %v", interval)
		}
		if until := g.LeavesAt(t0); until.Sub(t0) > year+time.Hour {
			t.Errorf("the next request leaves in %v", until.Sub(t0))
		}
		if err == nil {
			again := open(t, p)
			saved := g.Snapshot(t0)
			if err := again.Restore(saved, t0); err != nil {
				t.Errorf("what was saved again cannot be read: %v", err)
			}
			if twice := again.Snapshot(t0); len(state) > 0 && !bytes.Equal(twice, saved) {
				t.Errorf("saved as\n%s\nand again as\n%s", saved, twice)
			}
		}
	})
}
