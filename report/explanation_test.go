package report_test

import (
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/report"
)

// TestAnnounced: of each limit the newest word is said.
func TestAnnounced(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	minute, hour := 60.0, 3600.0
	var e report.Explanation
	e.Now = noon
	for _, heard := range []struct {
		ago   time.Duration
		limit collection.LimitInfo
	}{
		{2 * time.Hour, collection.LimitInfo{Name: "core", Unit: "requests", Limit: 5000, Remaining: 4990, Window: &hour}},
		{time.Hour, collection.LimitInfo{Unit: "requests", Limit: 300, Remaining: 212, Window: &minute}},
		{time.Minute, collection.LimitInfo{Name: "core", Unit: "requests", Limit: 5000, Remaining: 38, Window: &hour}},
	} {
		e.Hear(collection.Event{Time: noon.Add(-heard.ago), Kind: collection.LimitLearned, Limit: &heard.limit})
	}
	want := []string{"5,000 requests in 60 min, 38 left at 11:59 UTC (core)", "300 requests in 60 s, 212 left at 11:00 UTC"}
	if got := e.Announced(); !slices.Equal(got, want) {
		t.Errorf("announced: %q, want %q", got, want)
	}
	if len(e.History) != 0 {
		t.Errorf("a limit is no change of the pace: %+v", e.History)
	}
}
