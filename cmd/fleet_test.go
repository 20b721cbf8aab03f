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

// The fleet tells when schedules want the next turns, the soonest first.
func TestFleetTellsSchedules(t *testing.T) {
	a := &app{env: func(string) string { return "" }}
	v := fleet.View{Now: noon, Schedules: []fleet.Schedule{{Connector: "ants", Next: noon.Add(3 * time.Hour)}, {Connector: "bees", Next: noon.Add(time.Hour)}}}
	if got, want := a.fleetText(v), "\nSCHEDULED  NEXT TURN\nbees       13:00 UTC\nants       15:00 UTC\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
