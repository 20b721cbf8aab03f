package cmd

import (
	"strings"
	"testing"

	"collect/collection"
)

// A run whose process died is taken over aloud. When the next one begins, the
// store has marked it abandoned already.
func TestGoesOnAfterDeath(t *testing.T) {
	s := &session{target: target{name: "tickets"}, before: &collection.Run{ID: "01JD8Z", Outcome: collection.Abandoned}}
	if got, want := s.goesOn(), "taking over from run 01JD8Z"; !strings.Contains(got, want) {
		t.Errorf("goesOn() = %q, want %q in it", got, want)
	}
}
