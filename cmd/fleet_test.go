package cmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"collect/fleet"
)

// TestFleetText: "collect fleet" says what each worker leaves to others, and "collect status" what nobody can take.
func TestFleetText(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	v := fleet.View{
		Now: now, Waits: []fleet.WaitView{{Connector: "ants", Due: now}},
		Workers: []fleet.WorkerView{{ID: "web-1", Since: now, Seen: now, Lacks: map[string]fleet.Lack{"ants": {Why: "no file of it here (E0201)"}}}},
	}
	a := &app{env: os.Getenv}
	if got, want := a.fleetText(v), "\nweb-1 leaves ants to others: no file of it here (E0201)\n"; !strings.Contains(got, want) {
		t.Errorf("fleet:\n%s\nwant:%s", got, want)
	}
	const want = "\nfleet: 1 worker, 0 turns at work, 0 due. No worker can take ants: no file of it here (E0201); copy its file or set its secret on one of them; see: collect fleet\n"
	if got := a.fleetLine(v); got != want {
		t.Errorf("status:\n%s\nwant:%s", got, want)
	}
}
