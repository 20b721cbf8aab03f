package fleet_test

import (
	"strings"
	"testing"

	"collect/fleet"
)

// TestWrongScheduleNamesItsFields, and not what a parser of numbers says.
func TestWrongScheduleNamesItsFields(t *testing.T) {
	for _, line := range []string{"", "＊ * * * *", "0 0 * * 8"} {
		err := fleet.Schedule{Connector: "shop", Cron: line, Zone: "UTC", CatchUp: fleet.Once}.Check()
		if err == nil || !strings.Contains(err.Error(), "are Sunday") {
			t.Errorf("%q: %v, want the five fields", line, err)
		}
	}
}
