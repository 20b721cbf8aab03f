package live

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/internal/texttest"
	"collect/report/problem"
)

// happened holds one event of every kind that people read of.
func happened() []collection.Event {
	at := time.Date(2026, 11, 21, 12, 3, 25, 0, time.UTC)
	until := at.Add(90 * time.Second)
	events := []collection.Event{
		{Kind: collection.RunStarted, Run: "01JD8Z", Lane: collection.Incremental},
		{Kind: collection.SliceCommitted, Slice: &collection.SliceInfo{Records: 100}},
		throttled(at),
		{Kind: collection.RateChanged, Rate: &collection.RateInfo{Learned: 2, Previous: 4, Reason: "slow answers"}},
		{Kind: collection.RateChanged, Rate: &collection.RateInfo{Learned: 4, Previous: 2, Reason: "success"}},
		{Kind: collection.WaitStarted, Wait: &collection.WaitInfo{Cause: collection.WaitRetryAfter, Seconds: 90, Until: until}},
		{Kind: collection.WaitStarted, Wait: &collection.WaitInfo{Cause: collection.WaitPacing, Seconds: 2, Until: until}},
		{Kind: collection.BreakerChanged, Breaker: &collection.BreakerInfo{Previous: "closed", State: "open", Reason: "6 of 10 failed"}},
		{Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{Frozen: true, Reason: "403", Until: until}},
		{Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{Reason: "released"}},
		{Kind: collection.GapOpened, Gap: &collection.GapInfo{ID: 31, Shape: collection.SliceGap, Reason: collection.BadPage, Kind: collection.Stuck, Attempts: 1}},
		{Kind: collection.GapClosed, Gap: &collection.GapInfo{ID: 31, Shape: collection.SliceGap, Reason: collection.BadPage, Kind: collection.Stuck}},
		{Kind: collection.BudgetExhausted, Budget: &collection.BudgetInfo{Axis: collection.RequestCap, Limit: 20000}},
		{Kind: collection.WarningRaised, Message: "learned rate of a newer version: \x1b[31mstarting cold"},
		{Kind: collection.ErrorRaised, Message: "no space left"},
		{Kind: collection.RouteChanged, Route: &collection.RouteInfo{Stream: "search", State: collection.RouteTried}},
		{Kind: collection.RunFinished},
	}
	for i := range events {
		events[i].Time, events[i].Connector, events[i].Provider = at, "tickets", "acme"
		if events[i].Kind != collection.RunStarted {
			events[i].Stream = "issues"
		}
	}
	return events
}

// A piece that is gone for good is not owed and not stuck, in any view of a run.
func TestAGoneGapIsNotStuck(t *testing.T) {
	e := collection.Event{
		Kind: collection.GapOpened, Connector: "tickets", Stream: "details",
		Gap: &collection.GapInfo{ID: 7, Shape: collection.SliceGap, Reason: collection.Gone, Kind: collection.Gone.Kind(), Attempts: 1},
	}
	if got, want := plainLine(e, Journald), "<6>tickets gap_opened gap=g_7 stream=details reason=gone needs=nothing"; got != want {
		t.Errorf("the plain line is %q, want %q", got, want)
	}
	if got, want := gapLineOf(e).Needs, problem.NeedsNothing; got != want {
		t.Errorf("the event needs %q, want %q", got, want)
	}
	if got, want := levelOf(e), slog.LevelInfo; got != want {
		t.Errorf("the log has it as %v, want %v", got, want)
	}
	if got, want := storyOf(e), "gap g_7 in details: gone for good, not owed"; got != want {
		t.Errorf("the line for people is %q, want %q", got, want)
	}
}

func TestPlainLines(t *testing.T) {
	var stamped, journal strings.Builder
	for _, e := range happened() {
		if line := plainLine(e, Stamped); line != "" {
			stamped.WriteString(line + "\n")
			journal.WriteString(plainLine(e, Journald) + "\n")
		}
	}
	want := `2026-11-21T12:03:25Z tickets start run=01JD8Z lane=incremental
2026-11-21T12:03:25Z tickets throttled stream=issues signal=429 retry_after=6s rate=4.0/s->3.5/s
2026-11-21T12:03:25Z tickets slower rate=4.0/s->2.0/s reason="slow answers"
2026-11-21T12:03:25Z tickets waiting cause=retry_after seconds=90 next_at=2026-11-21T12:04:55Z
2026-11-21T12:03:25Z tickets breaker state=closed->open reason="6 of 10 failed"
2026-11-21T12:03:25Z tickets frozen provider=acme reason=403
2026-11-21T12:03:25Z tickets released provider=acme reason=released
2026-11-21T12:03:25Z tickets gap_opened gap=g_31 stream=issues reason=bad_page kind=stuck
2026-11-21T12:03:25Z tickets gap_filled gap=g_31 stream=issues reason=bad_page kind=stuck
2026-11-21T12:03:25Z tickets paused reason=request_cap limit=20000
2026-11-21T12:03:25Z tickets warning message="learned rate of a newer version: starting cold"
2026-11-21T12:03:25Z tickets error message="no space left"
2026-11-21T12:03:25Z tickets route stream=search state=tried
`
	texttest.Same(t, "stamped", stamped.String(), want)
	for i, want := range []string{"<6>tickets start", "<5>tickets throttled", "<5>tickets slower", "<6>tickets waiting", "<4>tickets breaker", "<3>tickets frozen"} {
		if got := strings.Split(journal.String(), "\n")[i]; !strings.HasPrefix(got, want) {
			t.Errorf("journald line %d = %q, want %q...", i+1, got, want)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	m := worked(75*time.Second, Totals{RequestCap: 300}).Frame(noon.Add(75 * time.Second))
	m.Waiting, m.Cause = 9*time.Second, collection.WaitPacing
	got := m.Line(Stamped)
	want := "2026-11-21T12:01:15Z tickets progress stream=comments partitions=405/812 slices=13 records=1300 rate=48/min" +
		" learned=210/min ceiling=240/min requests=51 cap=300 waiting=9s cause=pacing left=124s stops_first=request_cap"
	texttest.Same(t, "heartbeat", got, want)
}

// Between heartbeats a run says what changed, and not more than a person or a
// log can take.
func TestPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := StartPlain(&out, Stamped, 0, &View{})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				p.Observe(collection.Event{Kind: collection.GapOpened, Connector: "tickets", Gap: &collection.GapInfo{ID: 1}})
			})
		}
		wg.Wait()
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		p.Close()
		p.Close()
		time.Sleep(5 * time.Minute)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got, want := len(lines), linesPerBeat+3; got != want {
			t.Fatalf("%d lines in 3 minutes with 1,000 events, want %d", got, want)
		}
		if got, want := lines[linesPerBeat], " events_not_shown=940"; !strings.HasSuffix(got, want) {
			t.Errorf("first heartbeat = %q, want ...%s", got, want)
		}
		if got := lines[linesPerBeat+1]; strings.Contains(got, "not_shown") {
			t.Errorf("second heartbeat = %q, want nothing left out", got)
		}
	})
}

// What a person is told of events.
func TestStory(t *testing.T) {
	var got []string
	s := &story{}
	for _, e := range happened() {
		got = append(got, s.tell(e)...)
	}
	got = append(got, s.rest(noon.Add(4*time.Minute))...)
	want := []string{
		"12:03:25  started run 01JD8Z",
		"12:03:25  throttled by acme: 429, Retry-After 6 s. Rate 4.0/s -> 2.0/s",
		"12:03:25  breaker for acme: closed -> open (6 of 10 failed)",
		"12:03:25  frozen: all calls to acme are stopped (403)",
		"12:03:25  released: calls to acme may leave again",
		"12:03:25  gap g_31 in issues: page cannot be read, stuck",
		"12:03:25  gap g_31 in issues is filled",
		"12:03:25  the request cap is reached (20,000)",
		"12:03:25  warning: learned rate of a newer version: starting cold",
		"12:03:25  error: no space left",
		"12:03:25  a pace of its own is tried for search, which met all the refusals",
		"12:04:00  saved 1 slice of issues · 100 records",
	}
	texttest.Same(t, "story", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// What happens many times a second is told a few times a minute, and nothing
// of it is left out.
func TestStoryGathers(t *testing.T) {
	var got []string
	s := &story{}
	for now := noon; now.Before(noon.Add(12 * time.Second)); now = now.Add(500 * time.Millisecond) {
		e := collection.Event{Time: now, Connector: "tickets", Provider: "acme", Stream: "issues"}
		slice, throttle, slower, faster := e, e, e, e
		slice.Slice = &collection.SliceInfo{Records: 100}
		throttle.Throttle = &collection.ThrottleInfo{Signal: "503"}
		slower.Rate = &collection.RateInfo{Previous: 4, Learned: 2, Reason: "throttled"}
		faster.Rate = &collection.RateInfo{Previous: 2, Learned: 4, Reason: "success"}
		for _, e := range []collection.Event{slice, throttle, slower, faster} {
			got = append(got, s.tell(e)...)
		}
		got = append(got, s.due(now)...)
	}
	other := collection.Event{Time: noon.Add(12 * time.Second), Stream: "comments", Slice: &collection.SliceInfo{Records: 1}}
	got = append(got, s.tell(other)...)
	other.Slice, other.Rate = nil, &collection.RateInfo{Previous: 4, Learned: 3, Reason: "slow answers"}
	got = append(got, s.rest(other.Time)...)
	s.tell(other)
	got = append(got, s.rest(other.Time)...)
	want := []string{
		"12:00:00  throttled by acme: 503. Rate 4.0/s -> 2.0/s",
		"12:00:00  throttled by acme 10 times: 503. Rate 4.0/s -> 2.0/s",
		"12:00:05  throttled by acme 10 times: 503. Rate 4.0/s -> 2.0/s",
		"12:00:10  saved 21 slices of issues · 2,100 records",
		"12:00:12  saved 3 slices of issues · 300 records",
		"12:00:12  throttled by acme 3 times: 503. Rate 4.0/s -> 2.0/s",
		"12:00:12  saved 1 slice of comments · 1 record",
		"12:00:12  rate 4.0/s -> 3.0/s (slow answers)",
	}
	texttest.Same(t, "story", strings.Join(got, "\n"), strings.Join(want, "\n"))
}
