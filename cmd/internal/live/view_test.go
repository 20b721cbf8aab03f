package live

import (
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/pacing/gate"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// worked returns the view of a run that worked for a while: 12 slices a
// minute, 2 requests a slice, one throttle.
func worked(d time.Duration, totals Totals) *View {
	v := &View{}
	v.Observe(collection.Event{Time: noon, Kind: collection.RunStarted, Run: "01JD8Z", Connector: "tickets", Provider: "acme"})
	v.Observe(collection.Event{
		Time: noon, Kind: collection.RateChanged, Connector: "tickets", Provider: "acme", Stream: "comments",
		Rate: &collection.RateInfo{Learned: 3.5, Previous: 4, Ceiling: new(4.0), Reason: "429"},
	})
	requests, done := int64(0), int64(392)
	for now := noon; !now.After(noon.Add(d)); now = now.Add(time.Second) {
		if s := now.Second(); s%5 == 0 && (s < 20 || s > 34) {
			requests += 2 + int64(s/10)
			done++
			v.Observe(collection.Event{
				Time: now, Kind: collection.SliceCommitted, Connector: "tickets", Provider: "acme", Stream: "comments",
				Slice: &collection.SliceInfo{Records: 100, Changed: 90},
			})
		}
		if now.Equal(noon.Add(20 * time.Second)) {
			v.Observe(throttled(now))
		}
		t := totals
		t.Requests += requests
		t.Pace = gate.Status{PerSecond: 3.2, Learned: 3.5, Ceiling: new(4.0), Announced: totals.Pace.Announced,
			Constraints: []gate.Constraint{{Name: gate.CeilingOf, PerSecond: 4}, {Name: gate.Unused, PerSecond: 2}}}
		t.Streams = []StreamTotal{
			{Stream: "issues", Records: 812, Complete: true},
			{Stream: "comments", Parent: "issues", Records: 1_175_691, Done: done, Parents: 812, Final: true},
		}
		v.Sample(now, t)
	}
	return v
}

func throttled(now time.Time) collection.Event {
	return collection.Event{
		Time: now, Kind: collection.Throttled, Connector: "tickets", Provider: "acme", Stream: "comments",
		Throttle: &collection.ThrottleInfo{Signal: "429", RetryAfter: new(6.0)},
		Rate:     &collection.RateInfo{Learned: 3.5, Previous: 4, Ceiling: new(4.0), Reason: "429"},
	}
}

// While a run waits, what limits it is what it waits for, in every form.
func TestWhatARunWaitsForLimitsIt(t *testing.T) {
	until := noon.Add(4 * time.Second)
	pace := gate.Status{Constraints: []gate.Constraint{
		{Name: gate.BreakerOf, Until: until, Blocks: true},
		{Name: gate.HoldOf, Route: "search", Until: until, Blocks: true},
		{Name: gate.ReserveOf, Until: until, Blocks: true},
		{Name: gate.CeilingOf, Window: time.Second, Count: 20, Used: 3, PerSecond: 20},
		{Name: gate.CeilingOf, Window: time.Minute, Count: 100, Used: 100, PerSecond: 1.7},
		{Name: gate.Learned, PerSecond: 1.5},
		{Name: gate.InFlightMax, Count: 8, PerSecond: 0.5, Binds: true},
	}}
	for cause, want := range map[collection.WaitCause]gate.Bound{
		collection.WaitBreaker: gate.BreakerOf, collection.WaitRetryAfter: gate.HoldOf, collection.WaitReserve: gate.ReserveOf,
		collection.WaitWindow: gate.CeilingOf, collection.WaitPacing: gate.Learned, collection.WaitBackoff: "",
	} {
		v := &View{}
		v.Sample(noon, Totals{Pace: pace})
		v.Observe(collection.Event{Time: noon, Kind: collection.WaitStarted, Wait: &collection.WaitInfo{Cause: cause, Seconds: 4, Until: until}})
		f := v.Frame(noon)
		if got := f.Limit.Binding(); got != string(want) {
			t.Errorf("a wait for %s is limited by %q, want %q", cause, got, want)
		}
		if k := f.Limit.Limit(); cause == collection.WaitWindow && k.Window != time.Minute {
			t.Errorf("the window of %v limits it, want the one that is used up", k.Window)
		}
		if f = v.Frame(until); f.Limit.Binding() != string(gate.InFlightMax) {
			t.Errorf("after a wait for %s it is limited by %q", cause, f.Limit.Binding())
		}
	}
}

func TestBar(t *testing.T) {
	tests := []struct {
		done, total int64
		n           int
		c           term.Caps
		want        string
	}{
		{0, 4, 8, term.Caps{UTF8: true}, "░░░░░░░░"},
		{1, 4, 8, term.Caps{UTF8: true}, "██░░░░░░"},
		{3, 4, 8, term.Caps{}, "######.."},
		{4, 4, 8, term.Caps{}, "########"},
		{5, 4, 8, term.Caps{}, "########"}, // more parents came than were counted
		{5, 0, 8, term.Caps{}, ""},
		{3, 1 << 40, 8, term.Caps{}, "........"},
	}
	for _, test := range tests {
		if got := bar(test.done, test.total, test.n, test.c); got != test.want {
			t.Errorf("bar(%d, %d, %d) = %q, want %q", test.done, test.total, test.n, got, test.want)
		}
	}
}

// The sparkline moves with the time, also when nothing happens, and a clock
// that jumps does not make it grow.
func TestCellsFollowTheClock(t *testing.T) {
	v := &View{}
	v.Sample(noon, Totals{Requests: 3})
	v.Sample(noon.Add(4*sparkCell), Totals{Requests: 5})
	if got, want := v.Frame(noon.Add(6*sparkCell)).Spark.Bars(8, true), "█   ▆   "; got != want {
		t.Errorf("cells = %q, want %q", got, want)
	}
	v.Sample(noon.Add(-time.Hour), Totals{Requests: 9}) // the clock stepped back
	v.Sample(noon.Add(24*time.Hour), Totals{Requests: 9})
	for i := range 3 * sparkCells {
		v.Sample(noon.Add(24*time.Hour+time.Duration(i)*sparkCell), Totals{Requests: int64(9 + i)})
	}
	if got := len(v.Frame(noon.Add(24*time.Hour + (3*sparkCells-1)*sparkCell)).Spark.Moments); got != sparkCells {
		t.Errorf("%d cells are kept, want %d", got, sparkCells)
	}
}

// Memory does not grow with the length of a run or with how often it is
// looked at.
func TestSamplesAreBounded(t *testing.T) {
	v := &View{}
	for i := range 100_000 {
		v.Sample(noon.Add(time.Duration(i)*100*time.Millisecond), Totals{Requests: int64(i)})
	}
	if got, most := len(v.samples), int(rateOver/time.Second)+3; got > most {
		t.Errorf("%d samples are kept after 100,000, want at most %d", got, most)
	}
	if got, want := v.shown.RateNow, 10.0; got != want {
		t.Errorf("rate = %v/s, want %v/s", got, want)
	}
}

// What stops first follows from the pace that binds, as explain says it: 2 a second, for the 416 of 812 partitions
// that are left after 15 s.
func TestEnds(t *testing.T) {
	quota := func(remaining float64, ends time.Duration) Totals {
		return Totals{Pace: gate.Status{Announced: []gate.Quota{{Limit: 3600, Remaining: remaining, Window: time.Hour, Ends: noon.Add(ends), Told: noon}}}}
	}
	tests := []struct {
		name   string
		totals Totals
		want   ends
	}{
		{"no limit, so the end of the work", Totals{}, ends{In: 208 * time.Second}},
		{"the cap comes first", Totals{RequestCap: 100}, ends{Reason: collection.RequestCap, In: 45 * time.Second, Near: 486}},
		{"the cap is reached", Totals{RequestCap: 8}, ends{In: 208 * time.Second}},
		{"the time limit", Totals{Deadline: noon.Add(time.Minute)}, ends{Reason: collection.WallClock, In: 45 * time.Second, Near: 486}},
		{"the quota", quota(30, time.Hour), ends{Reason: collection.Quota, In: 15 * time.Second, Near: 397}},
		{"of which enough is left", quota(500, time.Hour), ends{In: 208 * time.Second}},
		{"which is renewed before it is used up", quota(90, 40*time.Second), ends{In: 351 * time.Second}},
	}
	for _, test := range tests {
		if got := worked(15*time.Second, test.totals).shown.Ends; got != test.want {
			t.Errorf("%s: ends = %+v, want %+v", test.name, got, test.want)
		}
	}
}

// How much longer the work takes is said only if it can be known: of all
// streams, and not while nothing can leave.
func TestTimeLeftIsKnownOrNotSaid(t *testing.T) {
	streams := []StreamTotal{
		{Stream: "items", Complete: true}, {Stream: "details", Parent: "items", Done: 200, Parents: 1000, Final: true},
		{Stream: "users", Complete: true}, {Stream: "profiles", Parent: "users", Parents: 500, Final: true},
	}
	paced := gate.Constraint{Name: gate.Learned, PerSecond: 2}
	for _, test := range []struct {
		name  string
		more  []StreamTotal
		paces []gate.Constraint
		want  time.Duration
	}{
		{"two streams", nil, []gate.Constraint{paced}, 650 * time.Second},
		{"nothing leaves", nil, []gate.Constraint{paced, {Name: gate.BreakerOf, Until: noon.Add(time.Minute), Blocks: true}}, 0},
		{"a list is under way", []StreamTotal{{Stream: "teams"}}, []gate.Constraint{paced}, 0},
		{"nothing is paced", nil, nil, 0},
	} {
		v := &View{}
		v.Sample(noon, Totals{Streams: append(streams, test.more...), Pace: gate.Status{Constraints: test.paces}})
		if got := v.shown.Ends.In; got != test.want {
			t.Errorf("%s: %v is left, want %v", test.name, got, test.want)
		}
	}
}

// Parents of which nothing is wanted are settled when the run has looked at them: they are no
// partitions, and the time left is that of the parents that it has not looked at.
func TestWhatIsNotWantedIsNotAhead(t *testing.T) {
	v, now := &View{}, noon
	v.Observe(collection.Event{Time: now, Kind: collection.SliceCommitted, Stream: "details", Slice: &collection.SliceInfo{}})
	sample := func(n int64) {
		v.Sample(now, Totals{Requests: n, Pace: gate.Status{Constraints: []gate.Constraint{{Name: gate.Learned, PerSecond: 1}}}, Streams: []StreamTotal{
			{Stream: "items", Complete: true}, {Stream: "details", Parent: "items", Done: n, Passed: 9 * n, Parents: 3000, Final: true},
		}})
		now = now.Add(time.Second)
	}
	for n := range int64(101) {
		sample(n)
	}
	f := v.Frame(now)
	if got, want := f.Ends.In, 2000*time.Second; got != want {
		t.Errorf("%v is left, want %v", got, want)
	}
	if got, want := f.Line(""), "partitions=100/2100 "; !strings.Contains(got, want) {
		t.Errorf("the line of progress is %q, want %s in it", got, want)
	}
	if got, want := sliceLine(f, false, term.Caps{UTF8: true}), "slices    100 of at most 2,100 items · 33.3%"; got != want {
		t.Errorf("the block says %q, want %q", got, want)
	}
	for n := int64(101); n <= 300; n++ {
		sample(n)
	}
	if got, want := sliceLine(v.Frame(now), false, term.Caps{UTF8: true}), "slices    300 of 300 items · 100.0%"; got != want {
		t.Errorf("at its end the block says %q, want %q", got, want)
	}
}

// What is in quarantine is counted as status counts it: with what was there before the run, and what a
// gap holds, once.
func TestQuarantineIsWhatIsThere(t *testing.T) {
	v := &View{}
	v.Sample(noon, Totals{Streams: []StreamTotal{{Stream: "items", Records: 300, Rejected: 7}}})
	v.Observe(collection.Event{Time: noon, Kind: collection.SliceCommitted, Stream: "items", Slice: &collection.SliceInfo{Rejected: 3}})
	held := &collection.Held{Records: make([]collection.Rejected, 50)}
	v.Observe(collection.Gap{Reason: collection.SchemaDrift, Attempts: 1, Held: held}.Event(collection.GapOpened))
	v.Observe(collection.Gap{Reason: collection.SchemaDrift, Attempts: 2, Held: held}.Event(collection.GapOpened))
	if got, want := recordLine(v.Frame(noon)), "records   300 saved · 60 quarantined"; got != want {
		t.Errorf("the block says %q, want %q", got, want)
	}
}

// A wait is shown until it ends, and only if it is worth a word.
func TestViewWaits(t *testing.T) {
	wait := func(kind collection.EventKind, seconds float64) collection.Event {
		until := noon.Add(time.Duration(seconds * float64(time.Second)))
		return collection.Event{Time: noon, Kind: kind, Wait: &collection.WaitInfo{Cause: collection.WaitPacing, Seconds: seconds, Until: until}}
	}
	tests := []struct {
		name   string
		events []collection.Event
		at     time.Duration
		want   time.Duration
	}{
		{"none", nil, 0, 0},
		{"short", []collection.Event{wait(collection.WaitStarted, 1.5)}, 0, 0},
		{"long", []collection.Event{wait(collection.WaitStarted, 60)}, 22 * time.Second, 38 * time.Second},
		{"over", []collection.Event{wait(collection.WaitStarted, 60)}, 61 * time.Second, 0},
		{"ended early", []collection.Event{wait(collection.WaitStarted, 60), wait(collection.WaitEnded, 60)}, 0, 0},
		{"another one ended", []collection.Event{wait(collection.WaitStarted, 60), wait(collection.WaitEnded, 5)}, 0, time.Minute},
		{"the longest counts", []collection.Event{wait(collection.WaitStarted, 60), wait(collection.WaitStarted, 9)}, 0, time.Minute},
	}
	for _, test := range tests {
		v := &View{}
		for _, e := range test.events {
			v.Observe(e)
		}
		if got := v.Frame(noon.Add(test.at)).Waiting; got != test.want {
			t.Errorf("%s: waiting %v, want %v", test.name, got, test.want)
		}
	}
}
