package sim_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// TestNothingDeclared: where nothing is declared, the bound rises as it is
// earned, and is kept, so that a provider that allows 50 a second is not asked
// for a twelfth of it.
func TestNothingDeclared(t *testing.T) {
	const records = 2020
	for _, tc := range []struct {
		name       string
		limit      sim.Limiter
		latency    func(*rand.Rand) float64
		cold, warm time.Duration
		refused    int
	}{
		{"50 a second", sim.Bucket(50, 50), ordinary, 140 * time.Second, 70 * time.Second, 4},
		{"50 a second, half a second away", sim.Bucket(50, 50), func(*rand.Rand) float64 { return 0.2 }, 145 * time.Second, 70 * time.Second, 4},
		{"500 a second", sim.Bucket(500, 500), ordinary, 140 * time.Second, 70 * time.Second, 0},
		{"6 a second", sim.Bucket(6, 6), ordinary, 400 * time.Second, 360 * time.Second, 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(tc.limit, tc.latency)
				c := sim.Owned(collection.Provider{}, 0)
				var state []byte
				cold := sim.Job(p, c, records, time.Hour, &state)
				refused, _ := p.Refused()
				time.Sleep(15 * time.Minute)
				warm := sim.Job(p, c, records, time.Hour, &state)
				t.Logf("cold %v, warm %v, %d refused", cold, warm, refused)
				if cold > tc.cold || warm > tc.warm || refused > tc.refused {
					t.Errorf("cold %v, warm %v, %d refused, want at most %v, %v and %d", cold, warm, refused, tc.cold, tc.warm, tc.refused)
				}
			})
		})
	}
}
