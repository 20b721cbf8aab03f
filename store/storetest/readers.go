package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

func evidence(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	expect := func(what string, want map[collection.EventKind]int) {
		t.Helper()
		if got := eventsOf(t, s); !maps.Equal(got, want) {
			t.Errorf("after %s events = %v, want %v", what, got, want)
		}
	}
	want := map[collection.EventKind]int{collection.LeaseTaken: 1, collection.RunStarted: 1}
	expect("Begin", want)

	commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))
	want[collection.SliceCommitted]++
	expect("Commit", want)

	gap := deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.RequestCap})
	want[collection.GapOpened]++
	expect("Defer", want)

	lease(t, l, time.Now(), 1)
	want[collection.LeaseTaken]++
	expect("Lease", want)

	sl := page(at, token("2"), token("3"), "b")
	sl.Rejected = []collection.Rejected{{Data: []byte(`[]`), Reason: "not_an_object"}}
	done := commit(t, l, sl)
	want[collection.SliceCommitted]++
	want[collection.GapClosed]++
	expect("Commit", want)

	_, err := l.Commit(t.Context(), sl)
	checkError(t, "Commit again", err, collection.ErrCursorMoved)
	expect("a Commit that failed", want)

	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	freeze := collection.Event{Kind: collection.FreezeChanged, Provider: "acme", Freeze: &collection.FreezeInfo{Frozen: true, Reason: "403", Until: until}}
	clamp := collection.Event{Kind: collection.ClampChanged, Provider: "acme", Clamp: &collection.ClampInfo{Previous: 1, Ratio: .9, Ceiling: 3.6, Burn: .1, Reason: "x"}}
	route := collection.Event{Kind: collection.RouteChanged, Provider: "acme", Route: &collection.RouteInfo{Stream: "search", State: collection.RouteKept}}
	if err := l.SaveProvider(t.Context(), "d", []byte(`{}`), route, clamp, freeze); err != nil {
		t.Fatalf("SaveProvider: %v", err)
	}
	want[collection.RouteChanged]++
	want[collection.ClampChanged]++
	want[collection.FreezeChanged]++
	expect("SaveProvider", want)

	checkEvents(t, s, done[0].Commit, gap.ID, *route.Route, *clamp.Clamp, *freeze.Freeze)
}

// checkEvents checks the newest 6 events: a commit that closed a gap, a lease, a
// route, a clamp and a freeze.
func checkEvents(t *testing.T, s store.Store, commit, gap int64, route collection.RouteInfo, clamp collection.ClampInfo, freeze collection.FreezeInfo) {
	t.Helper()
	events, err := s.Events(t.Context(), connector, 6)
	if err != nil || len(events) != 6 {
		t.Fatalf("Events = %v, %v, want the newest 6", events, err)
	}
	if e := events[3]; e.Kind != collection.RouteChanged || e.Route == nil || *e.Route != route {
		t.Errorf("the third of the newest events = %+v, want the route", e)
	}
	if e := events[4]; e.Kind != collection.ClampChanged || e.Clamp == nil || *e.Clamp != clamp {
		t.Errorf("the event before the newest = %+v, want the clamp", e)
	}
	last := events[5]
	if last.Kind != collection.FreezeChanged || last.Freeze == nil || *last.Freeze != freeze || last.Run != "run-1" {
		t.Errorf("the newest event = %+v, want the freeze", last)
	}
	for _, e := range events {
		switch e.Kind {
		case collection.SliceCommitted:
			info := collection.SliceInfo{Commit: commit, Records: 2, Changed: 1, Rejected: 1}
			if e.Slice == nil || *e.Slice != info || e.Stream != "repos" || e.Lane != forward || e.Run != "run-1" {
				t.Errorf("the commit's event = %+v %+v, want %+v", e, e.Slice, info)
			}
		case collection.GapClosed:
			info := collection.GapInfo{ID: gap, Shape: collection.SliceGap, Reason: collection.RequestCap, Kind: collection.Planned, Attempts: 1}
			if e.Gap == nil || *e.Gap != info {
				t.Errorf("the gap's event = %+v %+v, want %+v", e, e.Gap, info)
			}
		}
	}
}

func looking(t *testing.T, open opener) {
	s, l := ledger(t, open)
	commit(t, l, page(home("repos"), collection.Cursor{}, token("2"), "a"))
	deferGap(t, l, true, collection.Gap{Place: home("repos"), Cursor: token("2"), Reason: collection.BadPage})
	look := func() string {
		ctx := t.Context()
		salt, err := s.Salt(ctx)
		if err != nil || len(salt) < 16 {
			t.Errorf("Salt = %d bytes, %v, want at least 16", len(salt), err)
		}
		streams, err1 := s.Streams(ctx, connector)
		gaps, err2 := s.Gaps(ctx, "")
		runs, err3 := s.Runs(ctx, "", 10)
		events, err4 := s.Events(ctx, connector, 100)
		connectors, err5 := s.Connectors(ctx)
		return fmt.Sprintf("%x %+v %+v %+v %d %v %v", salt, streams, gaps, runs, len(events), connectors,
			[]error{err1, err2, err3, err4, err5})
	}
	first := look()
	if second := look(); first != second {
		t.Errorf("looking twice shows %s and then %s", first, second)
	}
	// Others, who do not know the connector, see nothing and no error.
	if got, err := s.Streams(t.Context(), "nobody"); len(got) != 0 || err != nil {
		t.Errorf("Streams of nobody = %v, %v", got, err)
	}
	for r, err := range s.Records(t.Context(), "nobody", "repos") {
		t.Errorf("Records of nobody = %v, %v", r, err)
	}
	other := opened(t, open)
	a, _ := s.Salt(t.Context())
	if b, err := other.Salt(t.Context()); err != nil || !bytes.Equal(a, b) {
		t.Errorf("opened again the salt is %x, %v, want %x", b, err, a)
	}
}

func describe(t *testing.T, open opener) {
	s, l := ledger(t, open)
	got, err := s.Streams(t.Context(), connector)
	if err != nil || len(got) != len(streams) {
		t.Fatalf("Streams = %+v, %v, want the declared ones before their first record", got, err)
	}
	for i, st := range got {
		if st.Stream != streams[i] || st.View == "" || st.Records != 0 {
			t.Errorf("stream %d = %+v, want %+v", i, st, streams[i])
		}
	}
	commit(t, l,
		page(home("issues"), collection.Cursor{}, collection.Cursor{Version: "1"}),
		page(part("issues", "x"), collection.Cursor{}, collection.Cursor{Done: true}, "1", "2"),
		page(part("issues", "y"), collection.Cursor{}, token("2"), "3"))
	st := state(t, s, "issues")
	if st.Records != 3 || len(st.Lanes) != 1 {
		t.Fatalf("issues = %+v, want 3 records in one lane", st)
	}
	if lane := st.Lanes[0]; lane.Lane != forward || lane.Partitions != 2 || lane.Done != 1 || lane.Complete || lane.SavedAt.IsZero() || lane.Digest == "" {
		t.Errorf("lane = %+v, want 2 partitions, 1 done, not complete", lane)
	}
	before, began := st.Lanes[0].Digest, st.Lanes[0].SavedAt
	commit(t, l, page(home("issues"), collection.Cursor{Version: "1"}, collection.Cursor{Version: "1", Done: true}))
	lane := state(t, s, "issues").Lanes[0]
	if !lane.Complete || lane.Digest == before {
		t.Errorf("lane = %+v, want it complete, with another digest than %s", lane, before)
	}
	if lane.BeganEpoch != l.Epoch() || lane.Epoch != l.Epoch() || !lane.Began.Equal(began) {
		t.Errorf("lane = %+v, want it begun at %s and ended under lease %d", lane, began, l.Epoch())
	}

	// A partition that owes a gap is not done, and is one also before its first
	// slice, unless its piece is gone for good.
	deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Cursor: token("9"), Reason: collection.BadPage})
	deferGap(t, l, true, collection.Gap{Place: part("issues", "z"), Reason: collection.Forbidden})
	deferGap(t, l, true, collection.Gap{Place: part("issues", "gone"), Reason: collection.Gone})
	deferGap(t, l, true, collection.Gap{Place: part("issues", "y"), Cursor: token("2"), Reason: collection.RateLimited})
	deferGap(t, l, true, collection.Gap{Place: collection.Place{Stream: "issues", Partition: collection.Unmade("w"), Lane: forward}, Reason: collection.BadPage})
	if lane := state(t, s, "issues").Lanes[0]; lane.Partitions != 3 || lane.Done != 0 {
		t.Errorf("lane = %+v with gaps in all partitions, want 3 partitions, none done", lane)
	}
	finish(t, l)

	// A stream that is declared otherwise is described otherwise.
	changed := slices.Clone(streams)
	changed[0], changed[1] = changed[1], changed[0]
	changed[0].Refresh = collection.Once
	if _, err = s.Begin(t.Context(), newRun("run-2"), changed); err != nil {
		t.Fatalf("Begin: %v", err)
	}
	if got, err := s.Streams(t.Context(), connector); err != nil || got[0].Stream != changed[0] || got[0].Records != 3 {
		t.Errorf("Streams = %+v, %v, want %+v first", got, err, changed[0])
	}
	if names, err := s.Connectors(t.Context()); err != nil || !slices.Equal(names, []string{connector}) {
		t.Errorf("Connectors = %v, %v", names, err)
	}
}

// begun checks that a walk which one run began and another finished can be told
// from a walk of one run.
func begun(t *testing.T, open opener) {
	s, l := ledger(t, open)
	first := l.Epoch()
	commit(t, l, page(home("repos"), collection.Cursor{}, token("2"), "a"), page(home("issues"), collection.Cursor{}, collection.Cursor{Version: "1"}))
	began := state(t, s, "repos").Lanes[0].SavedAt
	finish(t, l)
	l = begin(t, s, "run-2")
	end := collection.Cursor{Done: true}
	commit(t, l, page(home("repos"), token("2"), token("3"), "b"),
		page(home("repos"), token("3"), end, "c"),
		page(home("issues"), collection.Cursor{Version: "1"}, collection.Cursor{Version: "1", Token: "k"}),
		page(home("issues"), collection.Cursor{Version: "1", Token: "k"}, collection.Cursor{Version: "1", Done: true}))
	for _, stream := range []string{"repos", "issues"} {
		if lane := state(t, s, stream).Lanes[0]; !lane.Complete || lane.BeganEpoch != first || lane.Epoch != l.Epoch() || !lane.Began.Equal(began) {
			t.Errorf("%s: lane = %+v, want it begun under lease %d at %s, and ended under %d", stream, lane, first, began, l.Epoch())
		}
	}

	// A pass that partitions join is the same one, and a gap that says that it goes on moves with it.
	done, under := collection.Cursor{Version: "1", Done: true}, collection.Cursor{Version: "1"}
	rest := deferGap(t, l, false, collection.Gap{Place: home("issues"), Cursor: done, Reason: collection.RequestCap})
	joined := page(home("issues"), done, under)
	joined.Anew = true
	commit(t, l, joined)
	if lane := state(t, s, "issues").Lanes[0]; lane.Complete || lane.Again || lane.BeganEpoch != first || !lane.Began.Equal(began) {
		t.Errorf("lane = %+v, want the first pass under way, begun under lease %d at %s", lane, first, began)
	}
	if owed := gapsOf(t, s); len(owed) != 1 || owed[0].ID != rest.ID || owed[0].Cursor != under {
		t.Errorf("owed %+v, want %s at %+v", owed, rest.Place, under)
	}
	commit(t, l, page(home("issues"), under, done))

	commit(t, l, page(home("repos"), end, end, "d"), page(home("issues"), done, collection.Cursor{Version: "2"}))
	for _, stream := range []string{"repos", "issues"} {
		if lane := state(t, s, stream).Lanes[0]; lane.BeganEpoch != l.Epoch() || lane.Began.Before(began) || lane.Again != (stream == "issues") {
			t.Errorf("%s: lane = %+v, want one that begins anew under lease %d; a second pass of issues", stream, lane, l.Epoch())
		}
	}
}

func parents(t *testing.T, open opener) {
	_, l := ledger(t, open)
	x := part("issues", "x")
	stored := map[string]int64{}
	first := commit(t, l, page(x, collection.Cursor{}, token("2"), "10", "9", "B", "a", "é"))[0].Commit
	changed := page(x, token("2"), token("3"), "a", "9")
	changed.Records[0].Data = []byte(`{"n": "a"}`)
	second := commit(t, l, changed)[0].Commit
	for _, key := range []string{"10", "9", "B", "é"} {
		stored[key] = first
	}
	stored["a"] = second
	commit(t, l, page(home("repos"), collection.Cursor{}, token("2"), "other"))
	var got []string
	for after := ""; ; {
		page, err := l.Parents(t.Context(), "issues", after, 2)
		if err != nil {
			t.Fatalf("Parents after %q: %v", after, err)
		}
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			if p.Partition != x.Partition || p.Commit != stored[p.Key] || strings.ReplaceAll(string(p.Data), " ", "") != `{"n":"`+p.Key+`"}` {
				t.Errorf("parent %q = %q of %q, stored by commit %d, want %d", p.Key, p.Data, p.Partition, p.Commit, stored[p.Key])
			}
			got = append(got, p.Key)
		}
		after = page[len(page)-1].Key
	}
	if want := []string{"10", "9", "B", "a", "é"}; !slices.Equal(got, want) {
		t.Errorf("Parents = %q, want %q: the order of their bytes", got, want)
	}
}

func places(t *testing.T, open opener) {
	_, l := ledger(t, open)
	var at []collection.Place
	want := map[string]bool{}
	for name, reason := range map[string]collection.Reason{
		"fresh": "", "rate_limited": collection.RateLimited, "bad_page": collection.BadPage, "not_found": collection.NotFound,
		// What ends a run leaves the place to forward work.
		"request_cap": collection.RequestCap, "auth": collection.Auth, "retry_after": collection.RetryAfter,
	} {
		for _, cursor := range []collection.Cursor{{}, token("2")} {
			p := part("issues", name+cursor.Token)
			at = append(at, p)
			if cursor.Token != "" {
				commit(t, l, page(p, collection.Cursor{}, cursor))
			}
			if reason != "" {
				deferGap(t, l, true, collection.Gap{Place: p, Cursor: cursor, Reason: reason})
			}
			want[string(p.Partition)] = reason != "" && !reason.EndsRun()
		}
	}
	// A gap elsewhere in the place does not make it owed.
	p := part("issues", "elsewhere")
	at = append(at, p, home("repos"))
	deferGap(t, l, true, collection.Gap{Place: p, Cursor: token("7"), Reason: collection.BadPage})

	got, err := l.Places(t.Context(), at)
	if err != nil || len(got) != len(at) {
		t.Fatalf("Places = %d states, %v, want %d", len(got), err, len(at))
	}
	owed := 0
	for i, state := range got {
		if state.Checkpoint.Place != at[i] || state.Owed != want[string(at[i].Partition)] {
			t.Errorf("place %v = %+v, want owed %t", at[i], state, want[string(at[i].Partition)])
		}
		if state.Owed {
			owed++
		}
	}
	if owed != 6 {
		t.Errorf("%d places are owed, want 6", owed)
	}
}

func providerState(t *testing.T, open opener) {
	s, l := ledger(t, open)
	if got, err := s.Provider(t.Context(), "acme/1"); got != nil || err != nil {
		t.Errorf("Provider before = %q, %v, want nil", got, err)
	}
	for _, state := range []string{`{"rate":1.50}`, `{"rate": 2}`} {
		if err := l.SaveProvider(t.Context(), "acme/1", []byte(state)); err != nil {
			t.Fatalf("SaveProvider: %v", err)
		}
		if got, err := s.Provider(t.Context(), "acme/1"); string(got) != state || err != nil {
			t.Errorf("Provider = %q, %v, want %q", got, err, state)
		}
	}
	if got, err := s.Provider(t.Context(), "acme/2"); got != nil || err != nil {
		t.Errorf("Provider of another account = %q, %v, want nil", got, err)
	}
}

func fields(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, collection.Slice{Place: at, Next: token("2"), Records: []collection.Record{
		record("1", `{"b":1,"a":{"inner":2}}`), record("2", `{"a":null,"B":1,"":0,"q\"uote":1,"\u00e9":1}`)}})
	commit(t, l, collection.Slice{Place: at, From: token("2"), Next: token("3"), Records: []collection.Record{record("3", `{"z":1,"b":2}`)}})
	// What was rolled back was not seen, and is noted when it comes again.
	_, err := l.Commit(t.Context(), collection.Slice{Place: at, From: token("3"), Next: token("4"), Records: []collection.Record{record("4", `{"late":1}`)}},
		collection.Slice{Place: at, From: token("?")})
	checkError(t, "Commit", err, collection.ErrCursorMoved)
	check := func(want ...string) {
		t.Helper()
		if got, err := s.Fields(t.Context(), connector, "repos"); err != nil || !slices.Equal(got, want) {
			t.Errorf("Fields = %q, %v, want %q", got, err, want)
		}
	}
	check("b", "a", "B", "", `q"uote`, "é", "z")
	commit(t, l, collection.Slice{Place: at, From: token("3"), Next: token("4"), Records: []collection.Record{record("4", `{"late":1}`)}})
	check("b", "a", "B", "", `q"uote`, "é", "z", "late")

	// In one transaction with those of another stream.
	commit(t, l, collection.Slice{Place: at, From: token("4"), Next: token("5"), Records: []collection.Record{record("5", `{"last":1}`)}},
		page(part("issues", "x"), collection.Cursor{}, token("2"), "1"))
	check("b", "a", "B", "", `q"uote`, "é", "z", "late", "last")
	if got, err := s.Fields(t.Context(), connector, "issues"); err != nil || !slices.Equal(got, []string{"n"}) {
		t.Errorf("Fields of issues = %q, %v, want n", got, err)
	}
}

func undeclared(t *testing.T, open opener) {
	_, l := ledger(t, open)
	if _, err := l.Commit(t.Context(), page(home("nothing"), collection.Cursor{}, token("2"), "a")); err == nil {
		t.Error("Commit to a stream that was not declared succeeded")
	}
	if _, err := l.Checkpoint(t.Context(), home("nothing")); err == nil {
		t.Error("Checkpoint of a stream that was not declared succeeded")
	}
}

func ofFreeze(e collection.Event) bool { return e.Kind == collection.FreezeChanged }

func override(t *testing.T, open opener) {
	s, l := ledger(t, open)
	if err := l.SaveProvider(t.Context(), "d", []byte(`{"frozen":true}`)); err != nil {
		t.Fatalf("SaveProvider: %v", err)
	}
	audit := store.Audit{Who: "operator", Why: "support answered", Holder: collection.Holder{Host: "here", PID: 1}}
	release := []collection.Event{{Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{}}}
	var stood string
	leave := func(state string) store.Edit {
		return func(stands []byte) ([]byte, error) { stood = string(stands); return []byte(state), nil }
	}
	err := s.Override(t.Context(), connector, "d", leave(`{}`), audit, release...)
	if _, ok := errors.AsType[*store.HeldError](err); !ok {
		t.Errorf("Override during a run: error = %v, want *store.HeldError", err)
	}
	if got, err := s.Provider(t.Context(), "d"); string(got) != `{"frozen":true}` || err != nil {
		t.Errorf("Provider = %q, %v, want it unchanged", got, err)
	}
	finish(t, l)

	// An edit gets the state as it is at that moment, and one that fails changes
	// nothing.
	refused := errors.New("not what was seen")
	err = s.Override(t.Context(), connector, "d", func([]byte) ([]byte, error) { return []byte(`{}`), refused }, audit, release...)
	if !errors.Is(err, refused) {
		t.Errorf("Override whose edit fails: error = %v, want %v", err, refused)
	}
	if events, err := s.Events(t.Context(), connector, 100); err != nil || slices.ContainsFunc(events, ofFreeze) {
		t.Errorf("Events = %+v, %v, want none of an order that was not carried out", events, err)
	}
	if err := s.Override(t.Context(), connector, "d", leave(`{}`), audit, release...); err != nil {
		t.Fatalf("Override: %v", err)
	}
	if want := `{"frozen":true}`; stood != want {
		t.Errorf("Override edits %q, want %q", stood, want)
	}
	if got, err := s.Provider(t.Context(), "d"); string(got) != `{}` || err != nil {
		t.Errorf("Provider = %q, %v, want {}", got, err)
	}
	events, err := s.Events(t.Context(), connector, 100)
	i := slices.IndexFunc(events, ofFreeze)
	if err != nil || i < 0 || !strings.Contains(events[i].Message, "operator") || !strings.Contains(events[i].Message, "support answered") {
		t.Errorf("Events = %+v, %v, want a release that names who and why", events, err)
	}
	if release[0].Message != "" {
		t.Errorf("Override wrote into its argument: %+v", release)
	}
	if err := s.Override(t.Context(), connector, "d", leave(`{"silent":1}`), audit); err != nil {
		t.Errorf("Override without an event: %v", err)
	}
	if err := s.Override(t.Context(), connector, "unheard of", leave(`{}`), audit); err != nil || stood != "" {
		t.Errorf("Override of what nothing is known of: edits %q, %v, want nothing", stood, err)
	}
	begin(t, s, "run-2")
}

// A window of time is noted with the slice that finishes it, and not if its walk
// begins the window anew.
func spans(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	day := func(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }
	first := page(at, collection.Cursor{}, token("2"), "a")
	first.Told = collection.Told{Total: 9, By: "the total", Counted: true}
	commit(t, l, first)
	second := page(at, token("2"), token("3"))
	second.Span = &collection.Span{From: day(1), To: day(2), Records: 1}
	commit(t, l, second)
	other := page(home("issues"), collection.Cursor{}, token("2"), "b")
	other.Span = &collection.Span{From: day(5), To: day(6)}
	commit(t, l, other)
	gap := deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("9"), Reason: collection.BadPage, Behind: true})
	filled := page(at, token("9"), token("10"))
	filled.Fills, filled.Span = gap.ID, &collection.Span{From: day(8), To: day(9)}
	commit(t, l, filled)
	got, err := s.Spans(t.Context(), connector, "repos")
	if want := []collection.Span{*second.Span, *filled.Span}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Spans = %v, %v, want %v", got, err, want)
	}
	if got, err := s.Spans(t.Context(), connector, "nothing"); err != nil || len(got) != 0 {
		t.Errorf("Spans of no stream = %v, %v, want none", got, err)
	}

	anew := page(at, token("3"), collection.Cursor{Done: true})
	anew.Told = collection.Told{Total: 9, By: "the total", Counted: true, End: collection.EndEmpty}
	anew.Else, anew.Span = &collection.Cursor{Since: "again"}, &collection.Span{From: day(2), To: day(3)}
	if done := commit(t, l, anew); done[0].Next.Done {
		t.Fatal("the walk came to its end, and this test is about one that begins anew")
	}
	if got, err := s.Spans(t.Context(), connector, "repos"); err != nil || len(got) != 2 {
		t.Errorf("Spans after a window that is asked for again = %v, %v, want no more", got, err)
	}
}
