package cmd

import (
	"strings"
	"testing"

	"collect/collection"
	"collect/engine/registry"
)

// A run whose process died is taken over aloud. When the next one begins, the
// store has marked it abandoned already.
func TestGoesOnAfterDeath(t *testing.T) {
	before := &collection.Run{ID: "01JD8Z", Outcome: collection.Abandoned}
	if got, want := goesOn(registry.Target{Name: "tickets"}, before, nil), "taking over from run 01JD8Z"; !strings.Contains(got, want) {
		t.Errorf("goesOn() = %q, want %q in it", got, want)
	}
}
