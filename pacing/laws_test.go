package pacing_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/law"
)

// TestLaws are selectable by name, and no others.
func TestLaws(t *testing.T) {
	for _, name := range append(law.Laws(), "") {
		synctest.Test(t, func(t *testing.T) {
			m := serve(ok)
			g, start := govern(t, pacing.Config{Base: m, Law: name}), time.Now()
			for range 60 {
				mustFetch(t, g)
			}
			if got := m.gaps(start); got[0] != 0 || slices.Min(got[1:]) < 240*ms {
				t.Errorf("law %q: first gap %v, shortest %v, want none and the default ceiling of 250ms", name, got[0], slices.Min(got[1:]))
			}
		})
	}
	_, err := pacing.New(pacing.Config{Provider: collection.Provider{Name: "acme"}, Law: "cubic"})
	if err == nil || !strings.Contains(err.Error(), law.Plateau) {
		t.Errorf("law %q: %v, want an error that names those there are", "cubic", err)
	}
}
