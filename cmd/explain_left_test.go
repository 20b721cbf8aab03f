package cmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/report"
	"collect/store"
)

// walked is a list of 1,500 tickets that was walked to its end, with the
// details of 300 of them.
func walked() report.Explanation {
	e := paced()
	e.Runs[0].Lane = collection.Incremental
	e.Streams = []store.StreamState{
		{Stream: collection.Stream{Name: "tickets", Role: collection.List}, Records: 1500, Lanes: []store.LaneState{{Lane: collection.Incremental, Complete: true}}},
		{Stream: collection.Stream{Name: "details", Role: collection.Detail, Parent: "tickets"}, Lanes: []store.LaneState{
			{Lane: collection.Incremental, Partitions: 400, Done: 300}, {Lane: collection.Backfill, Done: 1499},
		}},
	}
	return e
}

// What is left is said where it is known, and nothing elsewhere.
func TestExplainWhatIsLeft(t *testing.T) {
	tests := []struct {
		name   string
		change func(*report.Explanation)
		want   string // "": not known
	}{
		{"at what was learned", func(*report.Explanation) {}, "at this pace in about 6 min, for at most 1,200 requests"},
		{"a list has more pages", func(e *report.Explanation) { e.Streams[1].Role = collection.List }, "at this pace in about 6 min, for at most 1,200 parents and a request or more each"},
		{"some parents are deleted", func(e *report.Explanation) { e.Streams[0].Deleted = 600 }, "at this pace in about 3 min, for at most 600 requests"},
		{"a ceiling of a day is in the way", func(e *report.Explanation) { e.Pace.Constraints[1].Used = 19_999 }, "at this pace in about 86 min, for at most 1,200 requests"},
		{"so is a limit that is announced", func(e *report.Explanation) {
			e.Pace.Announced = []gate.Quota{{Limit: 60, Remaining: 30, Window: time.Minute, Ends: noon.Add(30 * time.Second), Told: noon}}
		}, "at this pace in about 20 min, for at most 1,200 requests"},
		{"of which all is granted anew", func(e *report.Explanation) {
			e.Pace.Announced = []gate.Quota{{Limit: 1200, Remaining: 0, Window: time.Hour, Ends: noon, Told: noon}}
		}, "at this pace in about 6 min, for at most 1,200 requests"},
		{"when more of it is granted is not said", func(e *report.Explanation) {
			e.Pace.Announced = []gate.Quota{{Limit: 250_000, Remaining: 591, Window: 24 * time.Hour, Told: noon}}
		}, "for at most 1,200 requests"},
		{"another lane", func(e *report.Explanation) {
			e.Runs[0].Lane = collection.Backfill
			e.Streams[0].Lanes[0].Lane = collection.Backfill
		},
			"at this pace in about 10 s, for at most 1 request"},
		{"the list is not at its end", func(e *report.Explanation) { e.Streams[0].Lanes[0].Complete = false }, ""},
		{"nor is what it leads to", func(e *report.Explanation) {
			e.Streams = append(e.Streams, store.StreamState{Stream: collection.Stream{Name: "comments", Role: collection.Detail, Parent: "details"}})
		}, ""},
		{"those that were walked may be walked again", func(e *report.Explanation) {
			e.Streams[1].Refresh, e.Streams[1].Lanes[0].Again = collection.WhenChanged, true
		}, ""},
		{"all is done", func(e *report.Explanation) { e.Streams[1].Lanes[0].Complete = true }, ""},
		{"nothing leaves", func(e *report.Explanation) {
			e.Pace.Constraints = append(e.Pace.Constraints, gate.Constraint{Name: gate.FreezeOf, Blocks: true, Binds: true})
		}, ""},
		{"nothing is paced", func(e *report.Explanation) { e.Pace.Constraints = nil }, ""},
		{"nothing is known", func(e *report.Explanation) { e.Known = false }, ""},
		{"no run", func(e *report.Explanation) { e.Runs = nil }, ""},
	}
	for _, test := range tests {
		e := walked()
		test.change(&e)
		got := ""
		if left := e.Left(); left != nil {
			got = left.Words()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	slow := walked()
	slow.Pace.Constraints = []gate.Constraint{{Name: gate.Learned, PerSecond: 1e-300}}
	if left := slow.Left(); left == nil || left.In < 24*time.Hour {
		t.Errorf("at hardly any pace: %+v", left)
	}
}

// A run at work ends by the limits that it was begun with, whatever the files say; where these
// are not known, that is said.
func TestExplainTheLimitsOfTheRun(t *testing.T) {
	const end = "the end of the work, at this pace in about 6 min, for at most 1,200 requests, with 1 gap owed: collect gaps tickets"
	for _, test := range []struct {
		name   string
		limits *collection.RunLimits
		want   []string
	}{
		{"of time", &collection.RunLimits{Until: noon.Add(25 * time.Second)}, []string{"the time limit of this run, in 25 s: 12:00:25 UTC", end}},
		{"of both", &collection.RunLimits{Until: noon.Add(9 * time.Minute), MaxRequests: 500}, []string{
			"the request cap of this run, at this pace in about 50 s: 137 of 500 requests are left", end, "the time limit of this run, in 9 min: 12:09 UTC",
		}},
		{"none", &collection.RunLimits{}, []string{end + " (this run has no request cap and no time limit)"}},
		{"not known", nil, []string{end + " (the files set no request cap and no time limit; what this run was begun with is not known)"}},
	} {
		e := walked()
		e.Caps = nil
		e.Runs[0].Outcome, e.Runs[0].StartedAt, e.Runs[0].BeatAt = collection.Running, noon.Add(-30*time.Second), noon
		e.Runs[0].Tally.Requests, e.Runs[0].Metrics.Limits = 363, test.limits
		if got := e.Stops(); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q, want\n%q", test.name, got, test.want)
		}
	}
}

// What the provider announces ends a run before the work is done, or it does not.
func TestExplainAQuotaThatEndsTheRun(t *testing.T) {
	day := gate.Quota{Limit: 300, Remaining: 102, Window: 24 * time.Hour, Ends: noon.Add(15 * time.Hour), Told: noon}
	for _, test := range []struct {
		name   string
		change func(e *report.Explanation, q *gate.Quota)
		want   string
	}{
		{"a day's", func(*report.Explanation, *gate.Quota) {}, "the provider's quota, at this pace in about 40 s: 102 of 300 requests are left until 2026-11-22 03:00 UTC"},
		{"enough", func(_ *report.Explanation, q *gate.Quota) { q.Remaining, q.Limit = 1200, 5000 }, ""},
		{"granted anew before", func(_ *report.Explanation, q *gate.Quota) { q.Ends = noon.Add(20 * time.Second) }, ""},
		{"a minute's", func(_ *report.Explanation, q *gate.Quota) { q.Window = time.Minute }, ""},
		{"of something else", func(_ *report.Explanation, q *gate.Quota) { q.Unit = "points" }, ""},
		{"one without an end", func(_ *report.Explanation, q *gate.Quota) { q.Ends, q.Name = time.Time{}, "daily" },
			"the provider's quota (daily), at this pace in about 40 s: 102 of 300 requests are left, and it does not say when there are more"},
		{"of points", func(_ *report.Explanation, q *gate.Quota) { q.Remaining, q.Limit, q.Each = 4600, 5000, 45 },
			"the provider's quota, at this pace in about 40 s: 4,600 of 5,000 (for 102 requests) are left until 2026-11-22 03:00 UTC"},
		{"too few points", func(_ *report.Explanation, q *gate.Quota) {
			q.Remaining, q.Limit, q.Each, q.Unit, q.Ends = 20, 5000, 45, "complexity", time.Time{}
		},
			"the provider's quota, now: 20 of 5,000 complexity (too few for one request) are left, and it does not say when there are more"},
		{"one of yesterday", func(_ *report.Explanation, q *gate.Quota) { q.Ends, q.Told = time.Time{}, noon.Add(-25*time.Hour) }, ""},
		{"none of it is left", func(_ *report.Explanation, q *gate.Quota) { q.Ends, q.Remaining = time.Time{}, 0 }, "the provider's quota, now: 0 of 300 requests are left, and it does not say when there are more"},
		{"another one is used up first", func(e *report.Explanation, q *gate.Quota) {
			e.Pace.Announced = []gate.Quota{{Name: "month", Limit: 9000, Remaining: 500, Window: 30 * 24 * time.Hour, Told: noon}}
			q.Name = "day"
		}, "the provider's quota (day), at this pace in about 40 s: 102 of 300 requests are left until 2026-11-22 03:00 UTC"},
	} {
		e, q := walked(), day
		test.change(&e, &q)
		e.Pace.Announced = append(e.Pace.Announced, q)
		got := ""
		for _, stop := range e.Stops() {
			if strings.Contains(stop, "provider's quota") {
				got = stop
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		// What does not bind is not what would make it faster.
		if quota := strings.HasPrefix(e.Faster(), "More of the provider's quota"); quota != (test.want != "") {
			t.Errorf("%s: what would make it faster is %q", test.name, e.Faster())
		}
	}
}

// How much work there is, is not known as long as a list is walked. A quota is then nothing that ends the run before it is
// done.
func TestExplainAQuotaBesideUnknownWork(t *testing.T) {
	e := walked()
	e.Streams[0].Lanes[0].Complete = false
	e.Runs[0].Outcome, e.Runs[0].StartedAt, e.Runs[0].BeatAt = collection.Running, noon.Add(-30*time.Second), noon
	e.Pace.Announced = []gate.Quota{{Limit: 5000, Remaining: 4987, Window: 24 * time.Hour, Ends: noon.Add(15 * time.Hour), Told: noon}}
	if got := e.Faster(); strings.Contains(got, "quota") {
		t.Errorf("what would make it faster is %q", got)
	}
	const want = "the provider's quota, if the work takes more, at this pace in about 24 min: 4,987 of 5,000 requests are left until 2026-11-22 03:00 UTC"
	if stops := e.Stops(); !slices.Contains(stops, want) {
		t.Errorf("%q is not in %q", want, stops)
	}
}
