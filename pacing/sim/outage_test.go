package sim_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestAsksAgainSoonAfterAnOutage: however long the provider was away, and however
// many requests hung meanwhile, it is asked again within two minutes of its end.
func TestAsksAgainSoonAfterAnOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	const from, most = 5 * time.Minute, 2 * time.Minute
	for _, status := range []int{0, 503, 500} {
		for _, rate := range []float64{1, 20} {
			for _, length := range []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute, time.Hour} {
				t.Run(fmt.Sprintf("%d for %v at %v a second", status, length, rate), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := sim.Plain(sim.Bucket(rate, 5), ordinary)
						p.Away(status, from, from+length)
						var state []byte
						sim.Play(p, sim.Owned(perSecond(20), sim.Workers), from+length+2*time.Hour, &state)
						if got := p.AskedAfter(from + length); got > most {
							t.Errorf("asked again %v after the end, want at most %v", got, most)
						}
					})
				})
			}
		}
	}
}
