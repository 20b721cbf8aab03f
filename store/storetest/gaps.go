package storetest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"collect/collection"
)

// far is so late that no cooldown lasts till then.
var far = 24 * time.Hour

func gapRenewed(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	first := deferGap(t, l, false, collection.Gap{Place: at, Reason: collection.RequestCap})
	if first.ID == 0 || first.State != collection.GapOpen || first.Attempts != 0 || first.Run != "run-1" ||
		first.OpenedAt.IsZero() || !first.TriedAt.IsZero() || first.Shape != collection.SliceGap {
		t.Errorf("Defer = %+v, want an open SLICE_GAP of run-1 that was never tried", first)
	}
	until := time.Now().Add(far).UTC().Truncate(time.Second)
	second := deferGap(t, l, true, collection.Gap{
		Place: at, Reason: collection.Auth, Detail: "token refused", NotBefore: until, Version: "v2",
	})
	if second.ID != first.ID || second.Attempts != 1 || second.TriedAt.IsZero() || !second.OpenedAt.Equal(first.OpenedAt) {
		t.Errorf("Defer again = %+v, want gap %d renewed, with one attempt", second, first.ID)
	}
	gaps, err := s.Gaps(t.Context(), connector)
	if err != nil || len(gaps) != 1 {
		t.Fatalf("Gaps = %v, %v, want one", gaps, err)
	}
	if got := gaps[0].Gap; got.Reason != collection.Auth || got.Detail != "token refused" || !got.NotBefore.Equal(until) || got.Version != "v2" {
		t.Errorf("stored gap = %+v, want what it was renewed with", got)
	}
	// Another cursor of the place, or another place, is another gap.
	deferGap(t, l, false, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.RequestCap})
	deferGap(t, l, false, collection.Gap{Place: part("issues", "x"), Reason: collection.RequestCap})
	deferGap(t, l, false, collection.Gap{Place: collection.Place{Stream: "repos", Lane: backfill}, Reason: collection.RequestCap})
	checkOwed(t, s, "open auth 1", "open request_cap 0", "open request_cap 0", "open request_cap 0")

	// Cursors are told apart by each of their parts.
	ids := map[int64]collection.Cursor{}
	for _, c := range []collection.Cursor{{Token: "ab"}, {Token: "a", Since: "b"}, {Since: "ab"}, {Since: "a", High: "b"},
		{High: "ab"}, {High: "a", Version: "b"}, {Version: "ab"}, {Version: "ab", Done: true}, {Token: "a\x00", Since: "b"}, {Token: "a", Since: "\x00b"}} {
		gap := deferGap(t, l, false, collection.Gap{Place: at, Cursor: c, Reason: collection.RequestCap})
		if other, ok := ids[gap.ID]; ok {
			t.Errorf("cursors %+v and %+v share gap %d", c, other, gap.ID)
		}
		ids[gap.ID] = c
	}
}

func gapRecovered(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	gap := deferGap(t, l, true, collection.Gap{Place: at, Reason: collection.BadPage})

	// A commit that fails leaves the gap as it is.
	_, err := l.Commit(t.Context(), page(at, token("?"), token("2"), "a"))
	checkError(t, "Commit", err, collection.ErrCursorMoved)
	checkOwed(t, s, "open bad_page 1")

	done := commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))[0]
	if len(done.Closed) != 1 || done.Closed[0].ID != gap.ID || done.Closed[0].State != collection.GapRecovered {
		t.Errorf("Closed = %+v, want gap %d recovered", done.Closed, gap.ID)
	}
	checkOwed(t, s)

	// A gap that is owed again at the same cursor is a new one.
	commit(t, l, page(at, token("2"), collection.Cursor{}, "b"))
	if again := deferGap(t, l, true, collection.Gap{Place: at, Reason: collection.BadPage}); again.ID <= gap.ID {
		t.Errorf("gap %d came after %d", again.ID, gap.ID)
	}
	checkOwed(t, s, "open bad_page 1")
}

func gapFilled(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	left := page(at, collection.Cursor{}, token("2"))
	left.Leaves = &collection.Gap{Reason: collection.BadPage}
	commit(t, l, left, page(at, token("2"), token("3"), "b"))
	checkOwed(t, s, "open bad_page 1")
	finish(t, l)

	l = begin(t, s, "run-2")
	gaps := lease(t, l, time.Now(), 10)
	if len(gaps) != 1 || gaps[0].State != collection.GapLeased || gaps[0].Cursor != (collection.Cursor{}) {
		t.Fatalf("Lease = %+v, want the gap", gaps)
	}
	fill := page(at, gaps[0].Cursor, token("2"), "a")
	fill.Fills = gaps[0].ID
	done := commit(t, l, fill)[0]
	if len(done.Closed) != 1 || done.Closed[0].ID != gaps[0].ID {
		t.Errorf("Closed = %+v, want gap %d", done.Closed, gaps[0].ID)
	}
	checkCursor(t, l, at, token("3"))
	checkContents(t, s, "repos", `a={"n":"a"}`, `b={"n":"b"}`)
	checkOwed(t, s)

	// Repeated, as after a lost answer, it changes nothing.
	done = commit(t, l, fill)[0]
	if len(done.Closed) != 0 || done.Changed != 0 {
		t.Errorf("filling again: %+v, want no change", done)
	}
	checkCursor(t, l, at, token("3"))

	// A slice that fills a gap at the checkpoint moves it all the same.
	gap := deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("3"), Reason: collection.BadPage})
	fill = page(at, token("3"), token("4"), "c")
	fill.Fills = gap.ID
	commit(t, l, fill)
	checkCursor(t, l, at, token("4"))
	checkOwed(t, s)
}

// gapFilledElsewhere: wherever the slice starts, and with the gap that is owed
// there. A gap of another place is not filled.
func gapFilledElsewhere(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	gap := func(at collection.Place, cursor string) int64 {
		return deferGap(t, l, true, collection.Gap{Place: at, Cursor: token(cursor), Reason: collection.BadPage}).ID
	}
	other := gap(part("issues", "x"), "7")
	for _, tc := range []struct {
		from   string
		fills  int64
		closed []int64
	}{
		{from: "8", fills: gap(at, "7")},
		{from: "9", fills: gap(at, "17"), closed: []int64{gap(at, "9")}},
		{from: "10", fills: other, closed: []int64{gap(at, "10")}},
	} {
		if tc.fills != other {
			tc.closed = append(tc.closed, tc.fills)
		}
		sl := page(at, token(tc.from), token("far"), tc.from)
		sl.Fills = tc.fills
		var closed []int64
		for _, g := range commit(t, l, sl)[0].Closed {
			closed = append(closed, g.ID)
		}
		if !slices.Equal(closed, tc.closed) {
			t.Errorf("from %s it closes the gaps %v, want %v", tc.from, closed, tc.closed)
		}
	}
	checkCursor(t, l, at, collection.Cursor{})
	checkOwed(t, s, "open bad_page 1")
	if got := eventsOf(t, s)[collection.GapClosed]; got != 4 {
		t.Errorf("%d gaps are told to be closed, want 4", got)
	}
}

func gapsTogether(t *testing.T, open opener) {
	s, l := ledger(t, open)
	var gaps []collection.Gap
	for _, name := range []string{"a", "b", "c"} {
		gaps = append(gaps, collection.Gap{Place: part("issues", name), Reason: collection.BadPage})
	}
	got, err := l.Defer(t.Context(), true, gaps...)
	if err != nil || len(got) != 3 {
		t.Fatalf("Defer = %+v, %v, want three gaps", got, err)
	}
	for i, gap := range got {
		if gap.ID == 0 || gap.Place != gaps[i].Place || gap.Attempts != 1 {
			t.Errorf("gap %d = %+v, want %+v, tried once", i, gap, gaps[i])
		}
	}
	checkOwed(t, s, "open bad_page 1", "open bad_page 1", "open bad_page 1")
	if got, err := l.Defer(t.Context(), true); len(got) != 0 || err != nil {
		t.Errorf("Defer of nothing = %v, %v, want nothing", got, err)
	}
}

func gapLeft(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	sl := page(at, collection.Cursor{}, token("2"), "a")
	sl.Leaves = &collection.Gap{Reason: collection.SchemaDrift, Detail: "page 1", Shape: collection.SliceGap}
	left := commit(t, l, sl)[0].Left
	checkCursor(t, l, at, token("2"))
	checkOwed(t, s, "open schema_drift 1")
	checkContents(t, s, "repos", `a={"n":"a"}`)
	if gaps, err := s.Gaps(t.Context(), connector); err != nil || len(gaps) != 1 || left.ID != gaps[0].ID {
		t.Errorf("Left = %+v, and %+v is owed, %v", left, gaps, err)
	}
	if got := eventsOf(t, s)[collection.SliceCommitted]; got != 1 {
		t.Errorf("%d commits are told, want 1", got)
	}
	gaps, err := s.Gaps(t.Context(), connector)
	if err != nil || gaps[0].Place != at || gaps[0].Cursor != (collection.Cursor{}) || gaps[0].Detail != "page 1" {
		t.Errorf("Gaps = %+v, %v, want one at the start of the slice", gaps, err)
	}
	finish(t, l)

	// A part of it is stored: what is owed is the rest, as the same gap.
	l = begin(t, s, "run-2")
	gap := lease(t, l, time.Now(), 1)[0]
	again := page(at, gap.Cursor, token("1b"), "c")
	again.Fills, again.Leaves = gap.ID, &gap
	if done := commit(t, l, again)[0]; len(done.Closed) != 0 || done.Left.ID != 0 {
		t.Errorf("Closed = %+v, Left = %+v, want none", done.Closed, done.Left)
	}
	checkContents(t, s, "repos", `a={"n":"a"}`, `c={"n":"c"}`)
	rest, err := s.Gaps(t.Context(), connector)
	if err != nil || len(rest) != 1 || rest[0].ID != gap.ID || rest[0].Cursor != token("1b") || rest[0].Attempts != gap.Attempts {
		t.Errorf("Gaps = %+v, %v, want gap %d at 1b, tried as often", rest, err, gap.ID)
	}
	checkCursor(t, l, at, token("2"))

	// Tried in vain, it is renewed, not closed.
	gap.Cursor, gap.Reason = token("1b"), collection.BadPage
	deferGap(t, l, true, gap)
	checkOwed(t, s, "open bad_page 2")

	// The walk ends, and what it left behind stays owed, even when the reason
	// has become a planned one.
	deferGap(t, l, false, collection.Gap{Place: at, Cursor: token("1b"), Reason: collection.RequestCap})
	commit(t, l, page(at, token("2"), collection.Cursor{Done: true}, "b"))
	checkOwed(t, s, "open request_cap 2")
}

// gapAnew: the provider refused the cursor of a walk that begins anew. What is owed there
// is owed at its start, and nothing else ends.
func gapAnew(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, from, begin := home("repos"), collection.Cursor{Since: "5", Done: true}, collection.Cursor{Meaning: "m"}
	commit(t, l, page(at, collection.Cursor{}, from, "a"))
	deferGap(t, l, true, collection.Gap{Place: at, Cursor: from, Reason: collection.UpstreamPressure})
	deferGap(t, l, false, collection.Gap{Place: at, Cursor: token("elsewhere"), Reason: collection.WallClock})
	deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Cursor: from, Reason: collection.BadPage})
	was := owed(t, s)
	anew := collection.Slice{Place: at, From: from, Next: begin, Anew: true, Told: collection.Told{First: true}}
	done := commit(t, l, anew)[0]
	if len(done.Closed) != 0 || done.Next != begin {
		t.Errorf("Closed = %+v, Next = %+v, want none, and the start", done.Closed, done.Next)
	}
	checkCursor(t, l, at, begin)
	if got := owed(t, s); !slices.Equal(got, was) {
		t.Errorf("owed: %v, want %v", got, was)
	}
	gaps, err := s.Gaps(t.Context(), connector)
	if err != nil || len(gaps) != 3 || gaps[0].Cursor != begin || gaps[1].Cursor != token("elsewhere") || gaps[2].Cursor != from {
		t.Errorf("Gaps = %+v, %v, want the first one at the start", gaps, err)
	}
	_, err = l.Commit(t.Context(), anew)
	checkError(t, "Commit once more", err, collection.ErrCursorMoved)
	done = commit(t, l, page(at, begin, token("3"), "b"))[0]
	if len(done.Closed) != 1 || done.Closed[0].ID != gaps[0].ID {
		t.Errorf("Closed = %+v, want gap %d, with its data", done.Closed, gaps[0].ID)
	}
}

func gapPlanned(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))
	deferGap(t, l, false, collection.Gap{Place: at, Cursor: token("elsewhere"), Reason: collection.WallClock})
	deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("refused"), Reason: collection.NotFound})
	deferGap(t, l, false, collection.Gap{Place: part("issues", "x"), Reason: collection.WallClock})
	deferGap(t, l, false, collection.Gap{Place: collection.Place{Stream: "repos", Lane: backfill}, Reason: collection.WallClock})

	commit(t, l, page(at, token("2"), token("3"), "b"))
	if got, want := len(owed(t, s)), 4; got != want {
		t.Errorf("on the way %d gaps, want %d", got, want)
	}
	done := commit(t, l, page(at, token("3"), collection.Cursor{Done: true}))[0]
	if len(done.Closed) != 1 || done.Closed[0].Cursor != token("elsewhere") {
		t.Errorf("at the end Closed = %+v, want the planned gap of the place", done.Closed)
	}
	// A whole list that is not there is tried again: its address may be mended.
	checkOwed(t, s, "open not_found 1", "open wall_clock 0", "open wall_clock 0")
}

func gapDies(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	for i := range collection.MaxGapAttempts {
		// Planned stops in between do not count.
		deferGap(t, l, false, collection.Gap{Place: at, Reason: collection.RequestCap})
		gap := deferGap(t, l, true, collection.Gap{Place: at, Reason: collection.BadPage})
		want := collection.GapOpen
		if i+1 == collection.MaxGapAttempts {
			want = collection.GapDead
		}
		if gap.State != want || gap.Attempts != i+1 {
			t.Errorf("after attempt %d the gap is %s with %d attempts, want %s", i+1, gap.State, gap.Attempts, want)
		}
	}
	for _, reason := range []collection.Reason{collection.NotFound, collection.Gone, collection.TooLarge, collection.Forbidden} {
		gap := deferGap(t, l, true, collection.Gap{Place: part("issues", string(reason)), Reason: reason, Shape: collection.DetailGap})
		if gap.State != collection.GapDead || gap.Shape != collection.DetailGap {
			t.Errorf("a gap for %s is %s %s, want dead DETAIL_GAP", reason, gap.State, gap.Shape)
		}
	}
	if gaps := lease(t, l, time.Now().Add(far), 10); len(gaps) != 0 {
		t.Errorf("Lease = %+v, want no dead gap", gaps)
	}
	// It is owed all the same, until its data is there.
	if got, want := len(owed(t, s)), 5; got != want {
		t.Errorf("%d gaps are owed, want %d", got, want)
	}
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))
	if got, want := len(owed(t, s)), 4; got != want {
		t.Errorf("%d gaps are owed, want %d", got, want)
	}
}

func gapLeasedOnce(t *testing.T, open opener) {
	s, l := ledger(t, open)
	for _, name := range []string{"a", "b", "c"} {
		deferGap(t, l, true, collection.Gap{Place: part("issues", name), Reason: collection.RequestCap})
	}
	deferGap(t, l, true, collection.Gap{Place: part("comments", "d"), Reason: collection.RateLimited})
	deferGap(t, l, true, collection.Gap{Place: collection.Place{Stream: "repos", Lane: backfill}, Reason: collection.RequestCap})
	later := time.Now().Add(far)

	only, err := l.Lease(t.Context(), forward, []string{"comments"}, later, 10)
	if err != nil || len(only) != 1 || only[0].Stream != "comments" {
		t.Errorf("Lease of comments = %+v, %v, want its gap", only, err)
	}
	page1, page2, page3 := lease(t, l, later, 2), lease(t, l, later, 2), lease(t, l, later, 2)
	if len(page1) != 2 || len(page2) != 1 || len(page3) != 0 {
		t.Errorf("pages of 2 have %d, %d, %d gaps, want 2, 1, 0", len(page1), len(page2), len(page3))
	}
	// Failed again, it is not tried again in this run, but in the next.
	deferGap(t, l, true, page1[0])
	if again := lease(t, l, later, 10); len(again) != 0 {
		t.Errorf("Lease again = %+v, want none", again)
	}
	finish(t, l)
	for _, state := range owed(t, s) {
		if state[:4] != "open" {
			t.Errorf("after the run a gap is %q, want open", state)
		}
	}
	if got := lease(t, begin(t, s, "run-2"), later, 10); len(got) != 4 {
		t.Errorf("the next run leases %d gaps, want 4", len(got))
	}
}

func gapRank(t *testing.T, open opener) {
	_, l := ledger(t, open)
	random := rand.New(rand.NewPCG(3, 4))
	now := time.Now().UTC().Truncate(time.Microsecond)
	var want []collection.Gap
	for i := range 60 {
		gap := collection.Gap{
			Place: part("issues", strconv.Itoa(i)), Reason: collection.RequestCap,
			// Exact quarters of an hour, and a little less or more.
			OpenedAt: now.Add(-time.Duration(random.IntN(12))*15*time.Minute + time.Duration(random.IntN(3)-1)*time.Microsecond),
		}
		for range random.IntN(collection.MaxGapAttempts - 1) {
			deferGap(t, l, true, gap)
		}
		want = append(want, deferGap(t, l, false, gap))
	}
	slices.SortFunc(want, func(a, b collection.Gap) int {
		if c := a.Rank(now) - b.Rank(now); c != 0 {
			return c
		}
		if c := a.TriedAt.Compare(b.TriedAt); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	var got []collection.Gap
	for {
		page := lease(t, l, now, 7)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
	}
	if len(got) != len(want) {
		t.Fatalf("leased %d gaps, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].ID != want[i].ID {
			t.Errorf("gap %d is %d with rank %d, want %d with rank %d", i, got[i].ID, got[i].Rank(now), want[i].ID, want[i].Rank(now))
		}
	}
}

func gapCooldown(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	for attempt := 1; attempt < collection.MaxGapAttempts; attempt++ {
		gap := deferGap(t, l, true, collection.Gap{Place: at, Reason: collection.UpstreamPressure})
		want := min(time.Minute<<min(attempt, 6), 6*time.Hour)
		if got := gap.NotBefore.Sub(gap.TriedAt); got != want {
			t.Errorf("after attempt %d the cooldown is %v, want %v", attempt, got, want)
		}
	}
	// A later time that is given wins, to the last digit.
	until := time.Now().Add(far)
	gap := deferGap(t, l, false, collection.Gap{Place: at, Reason: collection.RetryAfter, NotBefore: until})
	if d := gap.NotBefore.Sub(until); d < 0 || d > time.Millisecond {
		t.Errorf("not before %v, want %v", gap.NotBefore, until)
	}
	if got := lease(t, l, until.Add(-time.Millisecond), 10); len(got) != 0 {
		t.Errorf("leased before its time: %+v", got)
	}
	if got := lease(t, l, until.Add(time.Millisecond), 10); len(got) != 1 {
		t.Errorf("leased %d gaps when it was time, want 1", len(got))
	}

	// Planned gaps never cool down; stuck ones, and lists that change, wait for the next run.
	planned := deferGap(t, l, true, collection.Gap{Place: part("issues", "p"), Reason: collection.CircuitOpen})
	stuck := deferGap(t, l, true, collection.Gap{Place: part("issues", "s"), Reason: collection.CursorExpired})
	moves := deferGap(t, l, true, collection.Gap{Place: part("issues", "m"), Reason: collection.ListChanged})
	if !planned.NotBefore.IsZero() || !stuck.NotBefore.IsZero() || !moves.NotBefore.IsZero() {
		t.Errorf("not before %v, %v and %v, want any time", planned.NotBefore, stuck.NotBefore, moves.NotBefore)
	}
	if got := lease(t, l, time.Now(), 10); len(got) != 1 || got[0].ID != planned.ID {
		t.Errorf("leased %+v, want the planned gap", got)
	}
	finish(t, l)
	l = begin(t, s, "run-2")
	got := lease(t, l, time.Now(), 10)
	slices.SortFunc(got, func(a, b collection.Gap) int { return int(a.ID - b.ID) })
	if len(got) != 3 || got[0].ID != planned.ID || got[1].ID != stuck.ID || got[2].ID != moves.ID {
		t.Errorf("the next run leased %+v, want the planned gap, the stuck one and the list that changed", got)
	}
}
