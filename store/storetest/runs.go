package storetest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

func oneRun(t *testing.T, open opener) {
	s, l := ledger(t, open)
	other := opened(t, open)
	for _, s := range []store.Store{s, other} {
		_, err := s.Begin(t.Context(), newRun("run-2"), streams)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok {
			t.Fatalf("a second Begin: error = %v, want *store.HeldError", err)
		}
		if held.Run.ID != "run-1" || held.Run.Holder != (collection.Holder{Host: "here", PID: 4711}) ||
			held.Run.StartedAt.IsZero() || held.Run.BeatAt.IsZero() {
			t.Errorf("held by %+v, want run-1 of pid 4711", held.Run)
		}
		err = s.Reset(t.Context(), connector, home("repos"), collection.Cursor{}, store.Audit{})
		if _, ok := errors.AsType[*store.HeldError](err); !ok {
			t.Errorf("Reset during a run: error = %v, want *store.HeldError", err)
		}
	}
	// It changed nothing, and disturbs no other connector.
	commit(t, l, page(home("repos"), collection.Cursor{}, token("2"), "a"))
	run := newRun("run-3")
	run.Connector = "other"
	l2, err := other.Begin(t.Context(), run, streams)
	if err != nil {
		t.Fatalf("Begin of another connector: %v", err)
	}
	commit(t, l2, page(home("repos"), collection.Cursor{}, token("9"), "z"))
	checkContents(t, s, "repos", `a={"n":"a"}`)

	// Of many that start at once, one gets it.
	finish(t, l)
	finish(t, l2)
	var got sync.Map
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			id := fmt.Sprintf("race-%d", i)
			l, err := []store.Store{s, other}[i%2].Begin(t.Context(), newRun(id), streams)
			if err == nil {
				got.Store(id, l)
			} else if _, ok := errors.AsType[*store.HeldError](err); !ok {
				t.Errorf("Begin in a race: %v", err)
			}
		})
	}
	wait.Wait()
	winners := 0
	got.Range(func(any, any) bool { winners++; return true })
	if winners != 1 {
		t.Errorf("%d runs got the lease, want 1", winners)
	}
}

// fenced lets a run go on after its lease passed to another.
func fenced(t *testing.T, open opener) {
	s, l := ledger(t, open)
	finish(t, l)
	next := begin(t, s, "run-2")
	if next.Epoch() <= l.Epoch() {
		t.Errorf("epoch %d came after %d", next.Epoch(), l.Epoch())
	}
	ctx, at := t.Context(), home("repos")
	before := eventsOf(t, s)
	for what, do := range map[string]func() error{
		"Commit": func() error {
			_, err := l.Commit(ctx, page(at, collection.Cursor{}, token("2"), "a"))
			return err
		},
		"Defer": func() error {
			_, err := l.Defer(ctx, true, collection.Gap{Place: at, Reason: collection.BadPage})
			return err
		},
		"Lease": func() error {
			_, err := l.Lease(ctx, forward, []string{"repos"}, time.Now(), 1)
			return err
		},
		"SaveProvider": func() error { return l.SaveProvider(ctx, "acme", []byte(`{}`)) },
		"Beat":         func() error { return l.Beat(ctx, time.Now(), collection.Tally{Requests: 1}, collection.Metrics{}) },
	} {
		checkError(t, what+" without the lease", do(), collection.ErrFenced)
	}
	checkCursor(t, next, at, collection.Cursor{})
	checkContents(t, s, "repos")
	checkOwed(t, s)
	if after := eventsOf(t, s); !maps.Equal(before, after) {
		t.Errorf("events = %v, want %v", after, before)
	}
}

// abandoned closes the store under a run, as its death does.
func abandoned(t *testing.T, open opener) {
	s := open(t)
	l := begin(t, s, "run-1")
	deferGap(t, l, false, collection.Gap{Place: home("repos"), Reason: collection.RequestCap})
	if got := lease(t, l, time.Now(), 1); len(got) != 1 {
		t.Fatalf("Lease = %v, want the gap", got)
	}
	epoch := l.Epoch()
	closeStore(t, s)

	s = opened(t, open)
	checkOwed(t, s, "leased request_cap 0")
	l = begin(t, s, "run-2")
	if l.Epoch() <= epoch {
		t.Errorf("epoch %d came after %d", l.Epoch(), epoch)
	}
	checkOwed(t, s, "open request_cap 0")
	runs, err := s.Runs(t.Context(), connector, 10)
	if err != nil || len(runs) != 2 || runs[0].Outcome != collection.Running || runs[1].Outcome != collection.Abandoned || runs[1].EndedAt.IsZero() {
		t.Errorf("Runs = %+v, %v, want run-2 running and run-1 abandoned", runs, err)
	}
	for _, run := range runs {
		if run.ExitCode != -1 {
			t.Errorf("%s, which is %s, has exit code %d, want -1", run.ID, run.Outcome, run.ExitCode)
		}
	}
	events, err := s.Events(t.Context(), connector, 100)
	ended := slices.IndexFunc(events, func(e collection.Event) bool { return e.Kind == collection.RunFinished })
	if err != nil || ended < 0 || events[ended].Run != "run-1" {
		t.Errorf("Events = %+v, %v, want the end of run-1", events, err)
	}
	if got := lease(t, l, time.Now(), 1); len(got) != 1 {
		t.Errorf("the next run leases %v, want the gap", got)
	}
}

// clockSetBack leaves a gap that waits for an hour under a clock that is a year
// ahead. When that is set right, the gap still waits for the rest of the hour: no
// year longer, and no minute shorter. A run that ended says when it
// did, and one that died when it was last alive.
func clockSetBack(t *testing.T, open opener) {
	for _, after := range []string{"ends", "dies", "dies later", "goes on"} { // the clock is set when it has
		s := open(t)
		now := time.Now()
		ahead := now.AddDate(1, 0, 0)
		name := "run that " + after
		l := begin(t, s, name)
		at := []collection.Place{part("issues", name), part("issues", name+", too")}
		for _, at := range at {
			gap := collection.Gap{Place: at, Reason: collection.RetryAfter, NotBefore: ahead.Add(time.Hour)}
			if after == "dies later" {
				gap.OpenedAt = ahead
			}
			deferGap(t, l, false, gap)
		}
		late := collection.Gap{Place: part("issues", name+", late"), Reason: collection.Interrupted, OpenedAt: ahead}
		deferGap(t, l, false, late) // it waits later
		var beats []time.Time
		switch after {
		case "dies":
			beats = []time.Time{ahead}
		case "dies later": // the gaps tell how late it was
			beats = []time.Time{ahead.Add(-5 * time.Hour)}
		case "goes on": // the second beat takes the place of the first
			beats = []time.Time{ahead, now}
		default:
			if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Waiting, EndedAt: ahead}); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range beats {
			if err := l.Beat(t.Context(), at, collection.Tally{}, collection.Metrics{}); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)

		s = open(t)
		for _, next := range []string{", the next", ", the one after it"} {
			l = begin(t, s, name+next)
			late.Reason, late.NotBefore = collection.RetryAfter, now.Add(time.Hour)
			deferGap(t, l, false, late)
			if got := lease(t, l, now.Add(59*time.Minute), 3); len(got) != 0 {
				t.Errorf("%s%s: leased %v before the hour was over", name, next, got)
			}
			finish(t, l)
		}
		l = begin(t, s, name+", the last")
		if got := lease(t, l, now.Add(59*time.Minute), 3); len(got) != 0 {
			t.Errorf("%s: at last, leased %v before the hour was over", name, got)
		}
		if got := lease(t, l, now.Add(61*time.Minute), 3); len(got) != 3 {
			t.Errorf("%s: leased %v after the hour, want all three gaps", name, got)
		}
		commit(t, l, page(late.Place, collection.Cursor{}, collection.Cursor{Done: true}, name+", late"),
			page(at[0], collection.Cursor{}, collection.Cursor{Done: true}, name),
			page(at[1], collection.Cursor{}, collection.Cursor{Done: true}, name+", too"))
		finish(t, l)
		closeStore(t, s)
	}
}

// clockSetBackUnderGaps: a gap that is left after the clock was set back under its
// run waits by that clock, and what the run does next moves only those before it.
func clockSetBackUnderGaps(t *testing.T, open opener) {
	s, l := ledger(t, open)
	now := time.Now()
	hour, ahead := now.Add(time.Hour), now.AddDate(1, 0, 0)
	beat := func(at time.Time) {
		if err := l.Beat(t.Context(), at, collection.Tally{}, collection.Metrics{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, leave := range []func(collection.Gap){
		func(gap collection.Gap) { deferGap(t, l, false, gap) },
		func(gap collection.Gap) {
			commit(t, l, collection.Slice{Place: gap.Place, Next: token("2"), Leaves: &gap})
		},
	} {
		before, after := part("issues", fmt.Sprint("before ", i)), part("issues", fmt.Sprint("after ", i))
		deferGap(t, l, false, collection.Gap{Place: before, Reason: collection.RetryAfter, NotBefore: ahead.Add(time.Hour)})
		beat(ahead)
		leave(collection.Gap{Place: after, Reason: collection.RetryAfter, NotBefore: hour})
		beat(now)
		gaps, err := s.Gaps(t.Context(), connector)
		if err != nil || len(gaps) != 2 {
			t.Fatalf("Gaps = %v, %v, want two", gaps, err)
		}
		for _, gap := range gaps {
			if off := gap.NotBefore.Sub(hour); off < 0 || off > 10*time.Minute {
				t.Errorf("%v waits until %v, want %v or little more", gap.Partition, gap.NotBefore, hour)
			}
		}
		for _, gap := range gaps {
			commit(t, l, collection.Slice{Place: gap.Place, From: gap.Cursor, Next: collection.Cursor{Done: true}, Fills: gap.ID})
		}
	}
}

// clockGoesOn: the time between two runs is no clock that was set, and moves
// nothing.
func clockGoesOn(t *testing.T, open opener) {
	s := opened(t, open)
	now := time.Now()
	want := now.Add(time.Hour).UTC().Truncate(time.Second)
	for i, ended := range []time.Time{now.Add(-time.Hour), now.Add(-time.Minute), {}} {
		l := begin(t, s, fmt.Sprintf("run-%d", i))
		if i == 0 {
			deferGap(t, l, false, collection.Gap{
				Place: home("repos"), Reason: collection.RetryAfter, NotBefore: want, OpenedAt: now.Add(-2 * time.Hour),
			})
		}
		gaps, err := s.Gaps(t.Context(), connector)
		if err != nil || len(gaps) != 1 || !gaps[0].NotBefore.Equal(want) {
			t.Errorf("run %d: Gaps = %+v, %v, want one that waits until %v", i, gaps, err, want)
		}
		if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Waiting, EndedAt: ended}); err != nil {
			t.Fatal(err)
		}
	}
}

// clocks gives every write a time of another age. (A run whose clock is wrong
// must be as safe as any other.)
func clocks(t *testing.T, open opener) {
	s := opened(t, open)
	at, from := home("repos"), collection.Cursor{}
	for i, now := range []time.Time{time.Unix(0, 0), time.Now().AddDate(90, 0, 0), {}, time.Now().AddDate(9000, 0, 0), time.Unix(1e9, 0)} {
		run := newRun(fmt.Sprintf("run-%d", i))
		run.StartedAt = now
		l, err := s.Begin(t.Context(), run, streams)
		if err != nil {
			t.Fatalf("Begin at %v: %v", now, err)
		}
		if err := l.Beat(t.Context(), now, collection.Tally{}, collection.Metrics{}); err != nil {
			t.Errorf("Beat at %v: %v", now, err)
		}
		// However old its sign of life, a run that lives keeps the lease.
		_, err = s.Begin(t.Context(), newRun("thief"), streams)
		if _, ok := errors.AsType[*store.HeldError](err); !ok {
			t.Errorf("Begin beside a run of %v: error = %v, want *store.HeldError", now, err)
		}
		deferGap(t, l, false, collection.Gap{Place: at, Cursor: from, Reason: collection.RequestCap, OpenedAt: now})
		if got := lease(t, l, now, 1); len(got) != 1 {
			t.Errorf("at %v leased %v, want the planned gap", now, got)
		}
		next := token(run.ID)
		commit(t, l, page(at, from, next, run.ID))
		checkCursor(t, l, at, next)
		from = next
		checkOwed(t, s)
		if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete, EndedAt: now}); err != nil {
			t.Errorf("Finish at %v: %v", now, err)
		}
	}
}

func reset(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := part("issues", "x")
	commit(t, l, page(at, collection.Cursor{}, token("2"), "1"), page(part("issues", "y"), collection.Cursor{}, token("2"), "2"))
	deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.CursorExpired})
	deferGap(t, l, true, collection.Gap{Place: part("issues", "y"), Cursor: token("2"), Reason: collection.CursorExpired})
	commits, err := l.Checkpoint(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, l)

	audit := store.Audit{Who: "kim", Why: "the provider lost a month", Holder: collection.Holder{Host: "here", PID: 1}}
	if err := s.Reset(t.Context(), connector, at, token("1"), audit); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	checkOwed(t, s, "open cursor_expired 1")
	l = begin(t, s, "run-2")
	checkCursor(t, l, at, token("1"))
	checkCursor(t, l, part("issues", "y"), token("2"))
	if done := commit(t, l, page(at, token("1"), token("2"), "1")); done[0].Commit <= commits.Commit {
		t.Errorf("after the reset commit %d came after %d", done[0].Commit, commits.Commit)
	}
	events, err := s.Events(t.Context(), connector, 100)
	i := slices.IndexFunc(events, func(e collection.Event) bool { return e.Kind == collection.CheckpointReset })
	if err != nil || i < 0 || !strings.Contains(events[i].Message, "kim") || !strings.Contains(events[i].Message, "lost a month") {
		t.Errorf("Events = %+v, %v, want a reset that names who and why", events, err)
	}
	finish(t, l)
	if err := s.Reset(t.Context(), connector, home("nothing"), token(""), audit); err == nil {
		t.Error("Reset of a stream that does not exist succeeded")
	}
}

func resetPartitions(t *testing.T, open opener) {
	s, l := ledger(t, open)
	x, y, back := part("issues", "x"), part("issues", "y"), part("issues", "x")
	back.Lane = backfill
	for _, at := range []collection.Place{home("issues"), x, y, back, home("repos")} {
		commit(t, l, page(at, collection.Cursor{}, token("2")))
		deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.BadPage})
	}
	unmade := collection.Place{Stream: "issues", Partition: collection.Unmade("z"), Lane: collection.Incremental}
	commit(t, l, page(unmade, collection.Cursor{}, collection.Cursor{Done: true}))
	checkPartitions(t, s, "issues", 0, 2)
	finish(t, l)
	if err := s.Reset(t.Context(), connector, home("issues"), collection.Cursor{}, store.Audit{}); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	checkPartitions(t, s, "issues", 0, 2)
	l = begin(t, s, "run-2")
	checkCursor(t, l, unmade, collection.Cursor{})
	if at, err := l.Checkpoint(t.Context(), unmade); err != nil || !at.SavedAt.IsZero() {
		t.Errorf("after a reset, what stood for a parent has the checkpoint %+v, %v, want none", at, err)
	}
	for _, at := range []collection.Place{home("issues"), x, y} {
		checkCursor(t, l, at, collection.Cursor{})
	}
	checkCursor(t, l, back, token("2"))
	checkCursor(t, l, home("repos"), token("2"))
	checkOwed(t, s, "open bad_page 1", "open bad_page 1")
}

// checkPartitions checks how many partitions the incremental lane of a stream
// has, and how many are done: those of parents that could be made.
func checkPartitions(t *testing.T, s store.Reader, stream string, done, all int64) {
	t.Helper()
	streams, err := s.Streams(t.Context(), connector)
	if err != nil {
		t.Fatalf("Streams: %v", err)
	}
	for _, state := range streams {
		for _, lane := range state.Lanes {
			if state.Name == stream && lane.Lane == collection.Incremental && (lane.Done != done || lane.Partitions != all) {
				t.Errorf("%s has %d of %d partitions done, want %d of %d", stream, lane.Done, lane.Partitions, done, all)
			}
		}
	}
}

// live is how requests fare while a run goes on: one event, always the newest.
func live(t *testing.T, open opener) {
	s, l := ledger(t, open)
	told := func(when string, want ...int64) {
		t.Helper()
		events, err := s.Events(t.Context(), connector, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, e := range events {
			if e.Kind == collection.Progress {
				got = append(got, e.Metrics.TotalRequests)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: requests %v, want %v", when, got, want)
		}
	}
	beat := func(n int64) {
		t.Helper()
		if err := l.Beat(t.Context(), time.Now(), collection.Tally{}, collection.Metrics{TotalRequests: n}); err != nil {
			t.Fatalf("Beat: %v", err)
		}
	}
	beat(0)
	told("before there was a request")
	beat(1)
	told("while the run goes on", 1)
	beat(0) // which says nothing of requests
	told("while the run goes on", 1)
	beat(2)
	told("while the run goes on", 2)
	finish(t, l)
	told("when it has ended")
}

// traffic adds up over runs, those included whose process died, and never goes back.
func traffic(t *testing.T, open opener) {
	s := open(t)
	total := func(when string, want int64) {
		t.Helper()
		all, err := s.Measures(t.Context(), connector)
		got := all[connector].Traffic
		if err != nil || got.Attempts[collection.FateOK] != want || got.Durations.Count != want || got.Waited[collection.WaitPacing] != float64(want) {
			t.Errorf("%s: Measures = %+v, %v, want %d of each", when, all, err, want)
		}
	}
	sent := func(n int64) collection.Metrics {
		return collection.Metrics{TotalRequests: n, Traffic: &collection.Traffic{
			Attempts:  map[collection.Fate]int64{collection.FateOK: n},
			Waited:    map[collection.WaitCause]float64{collection.WaitPacing: float64(n)},
			Durations: collection.Durations{Count: n, Sum: float64(n), Buckets: map[int]int64{3: n}},
		}}
	}
	beat := func(l store.Ledger, n int64) {
		t.Helper()
		if err := l.Beat(t.Context(), time.Now(), collection.Tally{}, sent(n)); err != nil {
			t.Fatalf("Beat: %v", err)
		}
	}
	total("before any run", 0)
	l := begin(t, s, "run-1")
	beat(l, 2)
	beat(l, 5)
	total("a run counts from its start", 5)
	closeStore(t, s)
	s = opened(t, open)
	l = begin(t, s, "run-2")
	total("after a run that died", 5)
	beat(l, 1)
	total("while the next one goes on", 6)
	waited := func(when string, want time.Duration) {
		t.Helper()
		if got, err := s.Runs(t.Context(), connector, 1); err != nil || len(got) != 1 || got[0].Waited[collection.WaitPacing] != want {
			t.Errorf("%s: Runs = %+v, %v, want that it waited %v", when, got, err, want)
		}
	}
	waited("while the run goes on", time.Second)
	if err := l.Beat(t.Context(), time.Now(), collection.Tally{}, collection.Metrics{}); err != nil {
		t.Fatalf("Beat: %v", err)
	}
	waited("after a beat that says nothing of requests", time.Second)
	run := newRun("run-2")
	run.Outcome, run.Metrics = collection.Complete, sent(4)
	if err := l.Finish(t.Context(), run); err != nil {
		t.Fatalf("Finish: %v", err)
	}
	total("at its end", 9)
	finish(t, begin(t, s, "run-3"))
	total("after a run that asked for nothing", 9)
	if got, err := s.Measures(t.Context(), "nobody"); err != nil || len(got) != 0 {
		t.Errorf("Measures of nobody = %+v, %v, want nothing", got, err)
	}
}

// The last success is that of the newest run with exit code 0, however many failed
// since, and one read has it for all connectors.
func successes(t *testing.T, open opener) {
	s := opened(t, open)
	ended := time.Now().UTC().Truncate(time.Millisecond)
	play := func(connector string, codes ...int) {
		t.Helper()
		for i, code := range codes {
			run := newRun(fmt.Sprintf("%s-%d", connector, i))
			run.Connector = connector
			l, err := s.Begin(t.Context(), run, nil)
			if err != nil {
				t.Fatalf("Begin: %v", err)
			}
			run.Outcome, run.ExitCode, run.EndedAt = collection.Complete, code, ended.Add(time.Duration(i)*time.Minute)
			if err := l.Finish(t.Context(), run); err != nil {
				t.Fatalf("Finish: %v", err)
			}
		}
	}
	play("lately", append([]int{0, 0}, slices.Repeat([]int{1}, 150)...)...)
	play("never", 1, 75)
	play("now", 1, 0)
	all, err := s.Measures(t.Context(), "")
	want := map[string]store.Measures{"lately": {SuccessAt: ended.Add(time.Minute)}, "never": {}, "now": {SuccessAt: ended.Add(time.Minute)}}
	if err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("Measures = %+v, %v, want %+v", all, err, want)
	}
	one, err := s.Measures(t.Context(), "now")
	if err != nil || !reflect.DeepEqual(one, map[string]store.Measures{"now": want["now"]}) {
		t.Errorf("Measures of one = %+v, %v, want it alone", one, err)
	}
}

func runs(t *testing.T, open opener) {
	s := opened(t, open)
	ended := time.Now().UTC().Truncate(time.Millisecond)
	tally := collection.Tally{Requests: 1, Retries: 2, Throttled: 3, Slices: 4, Records: 5, Changed: 6, Rejected: 7, Older: 10, GapsOpen: 8, GapsShut: 9}
	for _, id := range []string{"run-1", "run-2"} {
		l := begin(t, s, id)
		if err := l.Beat(t.Context(), ended, tally, collection.Metrics{}); err != nil {
			t.Fatalf("Beat: %v", err)
		}
		run := newRun(id)
		run.Outcome, run.Reason, run.EndedAt, run.ExitCode, run.Tally = collection.Deferred, collection.RequestCap, ended, 75, tally
		run.Waited = map[collection.WaitCause]time.Duration{collection.WaitPacing: 3 * time.Second}
		run.Metrics = collection.Metrics{TotalRequests: 7, MaxConcurrency: 2, P99Latency: 0.25}
		if err := l.Finish(t.Context(), run); err != nil {
			t.Fatalf("Finish: %v", err)
		}
	}
	got, err := s.Runs(t.Context(), connector, 1)
	if err != nil || len(got) != 1 {
		t.Fatalf("Runs = %v, %v, want the newest", got, err)
	}
	want := newRun("run-2")
	want.Outcome, want.Reason, want.ExitCode, want.Tally = collection.Deferred, collection.RequestCap, 75, tally
	want.Waited = map[collection.WaitCause]time.Duration{collection.WaitPacing: 3 * time.Second}
	want.Epoch, want.StartedAt, want.BeatAt, want.EndedAt = got[0].Epoch, got[0].StartedAt, got[0].BeatAt, got[0].EndedAt
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("Runs = %+v, want %+v", got[0], want)
	}
	if !got[0].EndedAt.Equal(ended) || !got[0].BeatAt.Equal(ended) || got[0].StartedAt.IsZero() {
		t.Errorf("times of the run = %v, %v, %v, want %v", got[0].StartedAt, got[0].BeatAt, got[0].EndedAt, ended)
	}
	events, err := s.Events(t.Context(), connector, 100)
	if err != nil {
		t.Fatal(err)
	}
	finished := slices.IndexFunc(events, func(e collection.Event) bool { return e.Kind == collection.RunFinished && e.Run == "run-2" })
	if metrics := (collection.Metrics{TotalRequests: 7, MaxConcurrency: 2, P99Latency: 0.25}); finished < 0 || events[finished].Metrics == nil || *events[finished].Metrics != metrics {
		t.Errorf("the end of the run is %+v, want the metrics %+v in it", events[max(0, finished)], metrics)
	}
	if all, err := s.Runs(t.Context(), "", 10); err != nil || len(all) != 2 || all[0].ID != "run-2" {
		t.Errorf("Runs of all = %v, %v, want two, the newest first", all, err)
	}
	n, total, err := s.Totals(t.Context(), connector)
	double := collection.Tally{Requests: 2, Retries: 4, Throttled: 6, Slices: 8, Records: 10, Changed: 12, Rejected: 14, Older: 20, GapsOpen: 16, GapsShut: 18}
	if err != nil || n != 2 || total != double {
		t.Errorf("Totals = %d, %+v, %v, want 2, %+v", n, total, err, double)
	}
	if n, total, err := s.Totals(t.Context(), "nobody"); n != 0 || total != (collection.Tally{}) || err != nil {
		t.Errorf("Totals of nobody = %d, %v, %v, want nothing", n, total, err)
	}
}

// broken: what broke a run that failed is known wherever it is told of, and a run after it has none of that.
func broken(t *testing.T, open opener) {
	s := opened(t, open)
	what := collection.Metrics{Broke: "E0001", BrokeBy: "something is amiss"}
	for _, outcome := range []collection.Outcome{collection.Failed, collection.Complete} {
		l := begin(t, s, "run-"+string(outcome))
		run := newRun("run-" + string(outcome))
		run.Outcome, run.ExitCode = outcome, 1
		if outcome == collection.Failed {
			run.Metrics = what
		}
		if err := l.Finish(t.Context(), run); err != nil {
			t.Fatalf("Finish: %v", err)
		}
		all, err := s.States(t.Context(), connector)
		if err != nil || len(all) != 1 || all[0].Newest.Metrics != run.Metrics {
			t.Errorf("States = %+v, %v, want a run with %+v", all, err, run.Metrics)
		}
	}
	all, err := s.Runs(t.Context(), connector, 5)
	if err != nil || len(all) != 2 || all[0].Metrics != (collection.Metrics{}) || all[1].Metrics != what {
		t.Errorf("Runs = %+v, %v, want two, the older one with %+v", all, err, what)
	}
	one, there, err := s.Run(t.Context(), "run-failed")
	if err != nil || !there || one.Metrics != what {
		t.Errorf("Run = %+v, %v, want %+v", one, err, what)
	}
}

func finishOnce(t *testing.T, open opener) {
	s, l := ledger(t, open)
	finish(t, l)
	finish(t, l)
	begin(t, s, "run-2")
	finish(t, l) // does not end the other run
	if _, err := s.Begin(t.Context(), newRun("run-3"), streams); err == nil {
		t.Error("finishing a run again released the lease of another")
	}
	if got := eventsOf(t, s)[collection.RunFinished]; got != 1 {
		t.Errorf("%d runs finished, want 1", got)
	}
}

func tallyOfTheDead(t *testing.T, open opener) {
	s := open(t)
	l := begin(t, s, "run-1")
	commit(t, l, page(home("repos"), collection.Cursor{}, token("1"), "1", "2"))
	if err := l.Beat(t.Context(), time.Now(), collection.Tally{Requests: 3, Records: 1}, collection.Metrics{}); err != nil {
		t.Fatal(err)
	}
	// Of slices that are committed together the one that knows most counts.
	second, third := page(home("repos"), token("1"), token("2"), "2", "3"), page(part("issues", "x"), collection.Cursor{}, token("2"))
	second.Spent = collection.Tally{Requests: 5, Retries: 1, Throttled: 2}
	third.Spent = collection.Tally{Requests: 4, Throttled: 1}
	commit(t, l, second, third)
	late := collection.Tally{Requests: 4, Throttled: 1} // from before the commit
	if err := l.Beat(t.Context(), time.Now(), late, collection.Metrics{}); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs(t.Context(), connector, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := collection.Tally{Requests: 5, Retries: 1, Throttled: 2, Slices: 2, Records: 4, Changed: 3}
	if got := runs[0].Tally; got != want {
		t.Errorf("the run did %+v so far, want %+v", got, want)
	}
	finish(t, l)
	closeStore(t, s)
}

// runAlone: a run is found by its id however many runs and commits came after it, with its
// events, its metrics and the run of its connector that followed.
func runAlone(t *testing.T, open opener) {
	s, l := ledger(t, open)
	commit(t, l, page(home("repos"), collection.Cursor{}, token("1"), "a"))
	deferGap(t, l, true, collection.Gap{Place: home("repos"), Cursor: token("1"), Reason: collection.BadPage})
	if err := l.Beat(t.Context(), time.Now(), collection.Tally{}, collection.Metrics{TotalRequests: 3}); err != nil {
		t.Fatal(err)
	}
	during, there, err := s.Run(t.Context(), "run-1")
	if err != nil || !there || during.Metrics.TotalRequests != 3 || during.Later != "" {
		t.Errorf("Run while it goes on = %+v, %t, %v, want 3 requests and no later run", during, there, err)
	}
	ended := newRun("run-1")
	ended.Outcome, ended.Metrics = collection.Deferred, collection.Metrics{TotalRequests: 7}
	if err := l.Finish(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other", connector, connector} {
		run := newRun("later-" + name)
		if run.Connector = name; during.Later != "" {
			run.ID = "last"
		}
		during.Later = run.ID
		if name == "other" {
			during.Later = ""
		}
		l, err := s.Begin(t.Context(), run, streams)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, l)
	}
	got, there, err := s.Run(t.Context(), "run-1")
	if err != nil || !there || got.Connector != connector || got.Outcome != collection.Deferred || got.Metrics.TotalRequests != 7 || got.Later != "later-"+connector {
		t.Errorf("Run = %+v, %t, %v, want the deferred run, 7 requests, and the one after it", got, there, err)
	}
	kinds := map[collection.EventKind]int{}
	for _, e := range got.Events {
		kinds[e.Kind]++
		if e.Run != "run-1" || e.Connector != connector {
			t.Errorf("an event of %s of %s", e.Run, e.Connector)
		}
	}
	if kinds[collection.GapOpened] != 1 || kinds[collection.RunFinished] != 1 || kinds[collection.SliceCommitted]+kinds[collection.Progress] != 0 {
		t.Errorf("its events are %v, want those of the run without commits and progress", kinds)
	}
	last, err := s.Happened(t.Context(), connector, 3)
	every, err2 := s.Events(t.Context(), connector, 100)
	every = slices.DeleteFunc(every, func(e collection.Event) bool { return e.Kind == collection.SliceCommitted })
	if err != nil || err2 != nil || !reflect.DeepEqual(last, every[len(every)-3:]) {
		t.Errorf("Happened = %+v, %v, want the newest three of %+v, %v", last, err, every, err2)
	}
	if got, there, err := s.Run(t.Context(), "nobody"); err != nil || there {
		t.Errorf("Run of nobody = %+v, %t, %v", got, there, err)
	}
}
