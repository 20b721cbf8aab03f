package sim_test

import (
	"testing"
	"time"

	"collect/pacing/sim"
)

// An hour passes at once, and a panic does not end the process.
func TestVirtual(t *testing.T) {
	began := time.Now()
	var passed time.Duration
	err := sim.Virtual(func() {
		start := time.Now()
		time.Sleep(time.Hour)
		passed = time.Since(start)
	})
	if err != nil || passed != time.Hour {
		t.Errorf("%v passed, %v, want an hour", passed, err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("an hour took %v", took)
	}
	if err := sim.Virtual(func() { panic("oh") }); err == nil || err.Error() != "in virtual time: oh" {
		t.Errorf("a panic gives %v, want an error that says it", err)
	}
}
