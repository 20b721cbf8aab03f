package meter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/meter"
	"collect/pacing/response"
)

func quota(remaining float64) response.Quota {
	return response.Quota{Name: "core", Limit: 100, Remaining: remaining, Window: time.Minute, Reset: 30 * time.Second}
}

// A limit is told once, and that little is left of it once in each window.
func TestAnnounced(t *testing.T) {
	var a meter.Announced
	for i, step := range []struct {
		remaining float64
		want      []collection.EventKind
	}{
		{100, []collection.EventKind{collection.LimitLearned}},
		{50, nil},
		{10, nil}, // a tenth is left
		{9, []collection.EventKind{collection.LimitLow}},
		{0, nil},
		{99, nil}, // the next window
		{5, []collection.EventKind{collection.LimitLow}},
	} {
		var got []collection.EventKind
		for _, e := range a.Note([]response.Quota{quota(step.remaining)}) {
			got = append(got, e.Kind)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d, %v of 100 left: %v, want %v", i, step.remaining, got, step.want)
		}
	}
}

func TestAnnouncedSaysWhat(t *testing.T) {
	var a meter.Announced
	got := a.Note([]response.Quota{quota(5)})
	if len(got) != 2 {
		t.Fatalf("%d events, want that it is known and that it is low", len(got))
	}
	l := got[1].Limit
	if l.Name != "core" || l.Unit != "requests" || l.Limit != 100 || l.Remaining != 5 || l.Ratio != 0.05 || *l.Window != 60 || *l.Reset != 30 {
		t.Errorf("low: %+v", l)
	}
}

// What is not said is not made up, and names without end are not remembered.
func TestAnnouncedForeign(t *testing.T) {
	var a meter.Announced
	if got := a.Note([]response.Quota{{Limit: -1, Remaining: 3}, {Limit: 0, Remaining: 0}, {Limit: 10, Remaining: -1}}); got != nil {
		t.Errorf("limits without numbers: %v, want nothing", got)
	}
	told := 0
	for i := range 1000 {
		told += len(a.Note([]response.Quota{{Name: fmt.Sprint(i), Limit: 10, Remaining: 5, Reset: -1}}))
	}
	if told != 16 {
		t.Errorf("%d of 1000 limits were told, want 16", told)
	}
	if got := a.Note([]response.Quota{{Name: "0", Limit: 10, Remaining: 0, Reset: -1}}); len(got) != 1 || got[0].Limit.Reset != nil || got[0].Limit.Window != nil {
		t.Errorf("a limit without a reset: %+v", got)
	}
}
