package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
	"collect/pacing/response"
)

func table(routes map[string]collection.Route) route.Table {
	return route.New(collection.Provider{Routes: routes}, law.Unpaced)
}

// TestLearn: the first key belongs to the route of all, each other one begins a
// route, and only an answer moves a stream there. A key that is too long is none,
// and there is an end to routes.
func TestLearn(t *testing.T) {
	tab := table(map[string]collection.Route{"files": {Name: "files"}})
	all := tab.By("users")
	if got := tab.Learn("users", all, "core", law.Throttled); got != all || all.Key() != "core" {
		t.Errorf("the first key belongs to %q", got.Label())
	}
	search := tab.Learn("search", all, "search", law.Throttled)
	if search == all || tab.By("search") != all {
		t.Error("an error moves a stream")
	}
	if tab.Learn("search", all, "search", law.Succeeded); tab.By("search") != search {
		t.Error("an answer does not")
	}
	if got := tab.Learn("files", tab.By("files"), strings.Repeat("k", route.KeyBytes+1), law.Succeeded); got.Key() != "" {
		t.Error("a long key is learned")
	}
	for i := range 100 {
		tab.Learn(fmt.Sprint(i), all, fmt.Sprint("key ", i), law.Succeeded)
	}
	if n := len(tab.All); n != 64 || tab.By("99") != all {
		t.Errorf("%d routes, and the last stream has that of %q", n, tab.By("99").Label())
	}
	var clock timeline.Timeline
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	again := table(map[string]collection.Route{"files": {Name: "files"}})
	kept := tab.Keep(&clock, clock.Moment(now))
	if again.Restore(kept, 3, &clock, now, now); len(again.All) != 64 || again.By("search").Key() != "search" || again.Tried() != 3 {
		t.Errorf("%d routes were kept, search by %q, %d tried", len(again.All), again.By("search").Key(), again.Tried())
	}
}

// TestEmpty: that nothing is left is not believed after three requests in a row
// that waited. What left together counts as one.
func TestEmpty(t *testing.T) {
	nothing := []response.Quota{{Name: "a", Limit: 100, Reset: time.Minute}, {Name: "b", Limit: 50, Remaining: 7, Reset: time.Minute}}
	var e route.Empty
	now := law.Moment(time.Hour)
	for i := range 6 {
		for range 10 { // which left together
			windows, reset := e.Believe(law.Succeeded, nothing, now, now+law.Moment(time.Second))
			if doubted := i >= 3; doubted != (reset == time.Minute) || doubted != (len(windows) == 1) {
				t.Fatalf("after %d waits, %v is believed, and %v is not waited for", i, windows, reset)
			}
		}
		now += law.Moment(2 * time.Minute)
	}
	left := []response.Quota{{Name: "a", Limit: 100, Remaining: 1, Reset: time.Minute}}
	e.Believe(law.Succeeded, left, now, now)
	if _, reset := e.Believe(law.Succeeded, nothing, now, now); reset >= 0 {
		t.Error("not believed although something was left")
	}
}
