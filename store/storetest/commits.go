package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"collect/collection"
	"collect/store"
)

type opener = func(*testing.T) store.Store

func dataBeforeCursor(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	checkCursor(t, l, at, collection.Cursor{})

	done := commit(t, l, page(at, collection.Cursor{}, token("2"), "a", "b"))
	if got, want := done[0].Changed, 2; got != want {
		t.Errorf("Changed = %d, want %d", got, want)
	}
	checkCursor(t, l, at, token("2"))
	checkContents(t, s, "repos", `a={"n":"a"}`, `b={"n":"b"}`)

	// What fails changes neither.
	_, err := l.Commit(t.Context(), page(at, token("1"), token("3"), "c"))
	checkError(t, "Commit from elsewhere", err, collection.ErrCursorMoved)
	checkCursor(t, l, at, token("2"))
	checkContents(t, s, "repos", `a={"n":"a"}`, `b={"n":"b"}`)
}

func allOrNothing(t *testing.T, open opener) {
	s, l := ledger(t, open)
	// The second slice of a group may start where the first ends.
	commit(t, l,
		page(home("repos"), collection.Cursor{}, token("2"), "a"),
		page(home("repos"), token("2"), token("3"), "b"))
	checkCursor(t, l, home("repos"), token("3"))

	_, err := l.Commit(t.Context(),
		page(part("issues", "x"), collection.Cursor{}, token("2"), "1"),
		page(home("repos"), token("2"), token("4"), "c"))
	checkError(t, "Commit of a good and a bad slice", err, collection.ErrCursorMoved)
	checkCursor(t, l, part("issues", "x"), collection.Cursor{})
	checkContents(t, s, "issues")
	checkContents(t, s, "repos", `a={"n":"a"}`, `b={"n":"b"}`)

	if done, err := l.Commit(t.Context()); len(done) != 0 || err != nil {
		t.Errorf("Commit of nothing = %v, %v, want nothing", done, err)
	}
}

// countedTogether: a transaction may count the records of several slices at once. Each
// stream has its own, also where the slices of two streams alternate, one changes
// nothing, and one belongs to a pass that is followed.
func countedTogether(t *testing.T, open opener) {
	s, l := ledger(t, open)
	check := func(repos, issues int64) {
		t.Helper()
		for name, want := range map[string]int64{"repos": repos, "issues": issues} {
			if got := state(t, s, name).Records; got != want {
				t.Errorf("%d records of %s are counted, want %d", got, name, want)
			}
		}
	}
	end := collection.Cursor{Done: true}
	done := commit(t, l,
		page(part("issues", "x"), collection.Cursor{}, end, "1", "2"),
		page(part("repos", "x"), collection.Cursor{}, end, "x"),
		page(part("issues", "y"), collection.Cursor{}, end, "3"),
		page(home("repos"), collection.Cursor{}, token("2"), "a", "b"),
		page(home("repos"), token("2"), token("3"), "a", "b", "c"),
		page(part("issues", "z"), collection.Cursor{}, end, "4", "5"))
	check(4, 5)
	if got, want := done[4].Evidence.Distinct(), int64(3); got != want {
		t.Errorf("the pass over repos showed %d records, want %d: a and b came twice", got, want)
	}

	commit(t, l, page(part("issues", "v"), collection.Cursor{}, end, "6"), page(part("issues", "w"), collection.Cursor{}, end))
	commit(t, l, page(part("issues", "u"), collection.Cursor{}, end))
	check(4, 6)

	_, err := l.Commit(t.Context(), page(part("issues", "t"), collection.Cursor{}, end, "7"), page(home("repos"), token("1"), token("4"), "d"))
	checkError(t, "Commit of a good and a bad slice", err, collection.ErrCursorMoved)
	commit(t, l, page(part("issues", "t"), collection.Cursor{}, end, "7"), page(home("repos"), token("3"), token("4"), "d"))
	check(5, 7)
}

// groupedAlike: slices at random, of a few places, leave the same when each has a
// transaction of its own and when several share one.
func groupedAlike(t *testing.T, open opener) {
	for seed := range uint64(4) {
		told := map[bool]string{}
		for _, grouped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d grouped %t", seed, grouped), func(t *testing.T) { told[grouped] = history(t, open, seed, grouped) })
		}
		if told[true] != told[false] {
			t.Errorf("seed %d: grouped\n%s\nis not what it is one by one\n%s", seed, told[true], told[false])
		}
	}
}

// history commits slices at random and returns what became of them.
func history(t *testing.T, open opener, seed uint64, grouped bool) string {
	s, l := ledger(t, open)
	places := []collection.Place{home("repos"), home("issues"), part("issues", "x"), part("issues", "y"), part("issues", "x")}
	places[4].Lane = collection.Backfill
	slices, groups := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	at := map[collection.Place]collection.Cursor{}
	var told strings.Builder
	var group []collection.Slice
	for i := range 60 {
		place := places[slices.IntN(len(places))]
		sl := page(place, at[place], token(strconv.Itoa(i)))
		switch slices.IntN(6) {
		case 0:
			sl.Next = collection.Cursor{Done: true}
		case 1, 2:
			sl.Leaves = &collection.Gap{Reason: collection.RequestCap, Shape: collection.SliceGap}
			if slices.IntN(2) == 0 {
				sl.Next = sl.From // the walk stands at the gap, until a slice goes on
			}
		}
		for range slices.IntN(4) {
			key := place.Stream + strconv.Itoa(slices.IntN(9))
			sl.Records = append(sl.Records, record(key, fmt.Sprintf(`{"n":%d}`, slices.IntN(3))))
		}
		at[place] = sl.Next
		if group = append(group, sl); grouped && groups.IntN(5) > 0 && i < 59 {
			continue
		}
		for _, done := range commit(t, l, group...) {
			fmt.Fprintf(&told, "%d: %d changed, at %+v, %+v, left %d, closed", done.Commit, done.Changed, done.Next, done.Evidence, done.Left.ID)
			for _, gap := range done.Closed {
				fmt.Fprintf(&told, " %d", gap.ID)
			}
			told.WriteString("\n")
		}
		group = group[:0]
	}
	for _, place := range places[:4] {
		states, err := l.Places(t.Context(), []collection.Place{place})
		if err != nil {
			t.Fatal(err)
		}
		is := states[0].Checkpoint
		fmt.Fprintf(&told, "%v: %+v by %d, %+v, left %q\n", place, is.Cursor, is.Commit, is.Evidence, states[0].Left)
	}
	for _, lane := range state(t, s, "issues").Lanes {
		fmt.Fprintf(&told, "%s: %d partitions, %d done, %s\n", lane.Lane, lane.Partitions, lane.Done, lane.Digest)
	}
	return told.String() + strings.Join(owed(t, s), "\n") + strings.Join(contents(t, s, "repos"), "\n") + strings.Join(contents(t, s, "issues"), "\n")
}

// lostAnswer plays the crash after the effect: the commit is durable, and the
// process that made it never learns.
func lostAnswer(t *testing.T, open opener) {
	s := open(t)
	l := begin(t, s, "run-1")
	sl := page(home("repos"), collection.Cursor{}, token("2"), "a")
	commit(t, l, sl) // the answer is lost
	closeStore(t, s)

	s = opened(t, open)
	l = begin(t, s, "run-2")
	_, err := l.Commit(t.Context(), sl)
	checkError(t, "Commit of what was committed", err, collection.ErrCursorMoved)
	checkCursor(t, l, home("repos"), token("2"))
	checkContents(t, s, "repos", `a={"n":"a"}`)
}

func quarantine(t *testing.T, open opener) {
	s, l := ledger(t, open)
	sl := page(home("repos"), collection.Cursor{}, token("2"), "a")
	sl.Rejected = []collection.Rejected{
		{Data: []byte(`{"no":"key"}`), Reason: "no_key"},
		{Data: []byte("\xff\x00 not JSON"), Reason: "not_an_object"},
		{Data: nil, Reason: "not_an_object"},
	}
	if got, want := commit(t, l, sl)[0].Rejected, 3; got != want {
		t.Errorf("Rejected = %d, want %d", got, want)
	}
	// A repeated page multiplies no kept reject.
	sl.From, sl.Next = token("2"), token("3")
	if got, want := commit(t, l, sl)[0].Rejected, 3; got != want {
		t.Errorf("Rejected again = %d, want %d", got, want)
	}
	if got, want := state(t, s, "repos").Quarantined, int64(3); got != want {
		t.Errorf("Quarantined = %d, want %d", got, want)
	}
}

func onceByKey(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a", "b"))

	again := page(at, token("2"), token("3"), "a", "b")
	again.Records[1].Data = []byte(`{"n":"b" }`) // other bytes, if only a space
	done := commit(t, l, again)
	if got, want := done[0].Changed, 1; got != want {
		t.Errorf("Changed = %d, want %d: only other bytes are a change", got, want)
	}
	checkContents(t, s, "repos", `a={"n":"a"}`, `b={"n":"b" }`)

	// Within a page, too, the newest wins.
	commit(t, l, collection.Slice{Place: at, From: token("3"), Next: token("4"),
		Records: []collection.Record{record("c", `{"v":1}`), record("c", `{"v":2}`)}})
	checkContents(t, s, "repos", `a={"n":"a"}`, `b={"n":"b" }`, `c={"v":2}`)
}

// laterStays delivers versions of one record one after the other: in a walk, to
// fill a gap, and in the other lane.
func laterStays(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, from := home("repos"), collection.Cursor{}
	older := 0
	for n, step := range []struct {
		data, scale, mark string
		changed, older    int
		want              string
	}{
		{`{"v":0}`, "", "", 1, 0, `{"v":0}`},
		{`{"v":0}`, "time", "0", 0, 0, `{"v":0}`}, // the same bytes, and a mark is known now
		{`{"v":9}`, "time", "/", 0, 1, `{"v":0}`},
		{`{"v":2}`, "time", "2", 1, 0, `{"v":2}`},
		{`{"v":1}`, "time", "1", 0, 1, `{"v":2}`},
		{`{"v":2}`, "time", "2", 0, 0, `{"v":2}`},
		{`{"v":"2b"}`, "time", "2", 1, 0, `{"v":"2b"}`},    // of one mark the delivered one
		{`{"v":"2c"}`, "number", "1", 1, 0, `{"v":"2c"}`},  // marks of two scales do not compare
		{`{"v":"2d"}`, "number", "0", 0, 1, `{"v":"2c"}`},  // of one scale they do
		{`{"v":"2e"}`, "", "", 1, 0, `{"v":"2e"}`},         // nothing is said of it
		{`{"v":"2f"}`, "number", "0", 1, 0, `{"v":"2f"}`},  // nothing was said of that one
		{`{"v":"2f"}`, "number", "00", 0, 0, `{"v":"2f"}`}, // the same bytes at another time
		{`{"v":"2g"}`, "number", "0/", 0, 1, `{"v":"2f"}`}, // are of that time
	} {
		next := token(strconv.Itoa(n))
		done := commit(t, l, version(at, from, next, step.data, step.scale, step.mark))[0]
		if done.Changed != step.changed || done.Older != step.older {
			t.Errorf("step %d: Changed = %d, Older = %d, want %d and %d", n, done.Changed, done.Older, step.changed, step.older)
		}
		checkContents(t, s, "repos", "a="+step.want)
		from, older = next, older+step.older
	}

	// A gap is filled and the other lane walked by the same rule.
	commit(t, l, version(at, from, token("x"), `{"v":5}`, "time", "5"))
	gap := deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("gap"), Reason: collection.BadPage})
	fill := version(at, token("gap"), token("gap"), `{"v":4}`, "time", "4")
	fill.Fills = gap.ID
	other := at
	other.Lane = backfill
	for _, sl := range []collection.Slice{fill, version(other, collection.Cursor{}, token("b"), `{"v":3}`, "time", "3")} {
		if done := commit(t, l, sl)[0]; done.Older != 1 || done.Changed != 0 {
			t.Errorf("%v: Older = %d, Changed = %d, want 1 and 0", sl.Place, done.Older, done.Changed)
		}
	}
	checkContents(t, s, "repos", `a={"v":5}`)
	if events, err := s.Events(t.Context(), connector, 1); err != nil || events[0].Slice == nil || events[0].Slice.Older != 1 {
		t.Errorf("Events = %+v, %v, want a slice with an older record", events, err)
	}
	if runs, err := s.Runs(t.Context(), connector, 1); err != nil || runs[0].Tally.Older != int64(older+2) {
		t.Errorf("Runs = %+v, %v, want %d older", runs, err, older+2)
	}

	// What another partition has is a collision, however old.
	x, y := part("issues", "x"), part("issues", "y")
	commit(t, l, version(x, collection.Cursor{}, token("2"), `{"v":2}`, "time", "2"))
	if done := commit(t, l, version(y, collection.Cursor{}, token("2"), `{"v":1}`, "time", "1"))[0]; done.Rejected != 1 || done.Older != 0 {
		t.Errorf("of another partition: Rejected = %d, Older = %d, want 1 and 0", done.Rejected, done.Older)
	}
	if done := commit(t, l, version(x, token("2"), token("3"), `{"v":1}`, "time", "1"))[0]; done.Rejected != 0 || done.Older != 1 {
		t.Errorf("of its own: Rejected = %d, Older = %d, want 0 and 1", done.Rejected, done.Older)
	}
}

// laterForgotten: a provider may have said of a record that it is of the year
// 9999. A reset takes everything as it comes.
func laterForgotten(t *testing.T, open opener) {
	s, l := ledger(t, open)
	x, y := part("repos", "x"), part("repos", "y")
	wrong := version(y, collection.Cursor{}, token("2"), `{"of":"y"}`, "time", "9999")
	wrong.Records[0].Key = "b"
	commit(t, l, version(x, collection.Cursor{}, token("2"), `{"of":"x"}`, "time", "9999"), wrong)
	finish(t, l)
	audit := store.Audit{Who: "kim", Why: "wrong years"}
	if err := s.Reset(t.Context(), connector, x, collection.Cursor{}, audit); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	again := func(run string, at collection.Place, from collection.Cursor, key, data string, want int) {
		t.Helper()
		l := begin(t, s, run)
		sl := version(at, from, token("2"), data, "time", "2026")
		sl.Records[0].Key = key
		if done := commit(t, l, sl)[0]; done.Older != want {
			t.Errorf("%v: Older = %d, want %d", at, done.Older, want)
		}
		finish(t, l)
	}
	again("run-2", x, collection.Cursor{}, "a", `{"now":"x"}`, 0)
	again("run-3", y, token("2"), "b", `{"now":"y"}`, 1) // it was not reset
	if err := s.Reset(t.Context(), connector, home("repos"), collection.Cursor{}, audit); err != nil {
		t.Fatalf("Reset: %v", err)
	}
	again("run-4", y, collection.Cursor{}, "b", `{"now":"y"}`, 0)
	checkContents(t, s, "repos", `a={"now":"x"}`, `b={"now":"y"}`)
}

func keyCollision(t *testing.T, open opener) {
	s, l := ledger(t, open)
	x, y := part("issues", "x"), part("issues", "y")
	commit(t, l, page(x, collection.Cursor{}, token("2"), "1", "2"))

	sl := page(y, collection.Cursor{}, token("2"), "1", "2", "3")
	sl.Records[0].Data = []byte(`{"of":"y"}`) // the key of another record
	done := commit(t, l, sl)[0]
	if done.Rejected != 1 || done.Changed != 1 {
		t.Errorf("Rejected = %d, Changed = %d, want 1 and 1", done.Rejected, done.Changed)
	}
	checkContents(t, s, "issues", `1={"n":"1"}`, `2={"n":"2"}`, `3={"n":"3"}`)
	if got, want := state(t, s, "issues").Quarantined, int64(1); got != want {
		t.Errorf("Quarantined = %d, want %d", got, want)
	}
	checkCursor(t, l, y, token("2"))

	// The stream itself is a place like its partitions.
	own := page(home("issues"), collection.Cursor{}, token("2"), "1", "4")
	own.Records[0].Data = []byte(`{"of":"none"}`)
	if done := commit(t, l, own)[0]; done.Rejected != 1 || done.Changed != 1 {
		t.Errorf("of the stream itself: Rejected = %d, Changed = %d, want 1 and 1", done.Rejected, done.Changed)
	}
	checkContents(t, s, "issues", `1={"n":"1"}`, `2={"n":"2"}`, `3={"n":"3"}`, `4={"n":"4"}`)

	// A stream of no parent has partitions like any other.
	other := page(part("repos", "y"), collection.Cursor{}, token("2"), "1")
	other.Records[0].Data = []byte(`{"of":"y"}`)
	commit(t, l, page(part("repos", "x"), collection.Cursor{}, token("2"), "1"))
	if done := commit(t, l, other)[0]; done.Rejected != 1 || done.Changed != 0 {
		t.Errorf("of a stream of no parent: Rejected = %d, Changed = %d, want 1 and 0", done.Rejected, done.Changed)
	}
}

func bytesUnchanged(t *testing.T, open opener) {
	s, l := ledger(t, open)
	want := []string{
		"0={\"big\":123456789012345678901234567890.10,\"e\":1E+400,\"neg\":-0}",
		"1={ \"space\" : \"\\u00e9 \\ud83d\\ude00 é\" ,\r\n\t\"dup\":1,\"dup\":2}",
		"2={\"nul\":\"\\u0000\",\"raw\":\"\x7f\"}",
		"3={}",
		"clé \x00 \"'%_=" + `{"odd":"key"}`,
	}
	sl := collection.Slice{Place: home("repos"), Next: token("2")}
	for _, r := range want {
		i := strings.Index(r, "={")
		sl.Records = append(sl.Records, record(r[:i], r[i+1:]))
	}
	commit(t, l, sl)
	checkContents(t, s, "repos", want...)
	parents, err := l.Parents(t.Context(), "repos", "", 10)
	if err != nil {
		t.Fatalf("Parents: %v", err)
	}
	for i, p := range parents {
		if got := p.Key + "=" + string(p.Data); got != want[i] {
			t.Errorf("parent %d = %q, want %q", i, got, want[i])
		}
	}

	// The run that succeeds a dead one compares each with its sum.
	closeStore(t, s)
	s = opened(t, open)
	begin(t, s, "run-2")
	checkContents(t, s, "repos", want...)
}

func monotone(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, last := home("repos"), int64(0)
	walk := []collection.Cursor{{}, token("2"), {Token: "2", Since: "s"}, {Token: "2", High: "h"},
		{Token: "2", Version: "v"}, {Since: "h", Done: true}}
	for i, next := range walk[1:] {
		// Every part of the cursor counts.
		for j, other := range walk {
			if j == i {
				continue
			}
			_, err := l.Commit(t.Context(), page(at, other, next, "a"))
			checkError(t, fmt.Sprintf("at %+v, Commit from %+v", walk[i], other), err, collection.ErrCursorMoved)
		}
		done := commit(t, l, page(at, walk[i], next, "a"))
		if done[0].Commit <= last {
			t.Errorf("commit %d came after %d", done[0].Commit, last)
		}
		last = done[0].Commit
		cp, err := l.Checkpoint(t.Context(), at)
		if err != nil || cp.Commit != last || cp.Epoch != l.Epoch() || cp.SavedAt.IsZero() {
			t.Errorf("Checkpoint = %+v, %v, want commit %d of epoch %d", cp, err, last, l.Epoch())
		}
	}
	if got := state(t, s, "repos").Lanes; len(got) != 1 || !got[0].Complete {
		t.Errorf("lanes = %+v, want one that is complete", got)
	}
}

func opaqueCursors(t *testing.T, open opener) {
	s, l := ledger(t, open)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return string(b)
	}
	at, from := home("repos"), collection.Cursor{}
	tokens := []string{"\x00", "a\x00b", "\xff\xfe", "{\"json\":1}", " ", "1e3", "007", "é", "%2B+", noise(1), noise(100), noise(16 << 10)}
	for i, tok := range tokens {
		next := collection.Cursor{Token: tok, Since: noise(i), High: noise(i), Version: noise(i)}
		commit(t, l, page(at, from, next, strconv.Itoa(i)))
		checkCursor(t, l, at, next)
		gap := deferGap(t, l, false, collection.Gap{Place: at, Cursor: next, Version: tok, Reason: collection.RequestCap})
		gaps, err := s.Gaps(t.Context(), connector)
		if err != nil || len(gaps) != 1 || gaps[0].Cursor != next || gaps[0].Version != tok || gaps[0].ID != gap.ID {
			t.Fatalf("after cursor %d: Gaps = %v, %v, want gap %d with the cursor unchanged", i, gaps, err, gap.ID)
		}
		from = next
	}
}

func twoLanes(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, back := home("repos"), collection.Place{Stream: "repos", Lane: backfill}
	commit(t, l, page(at, collection.Cursor{}, token("f2"), "a"))
	before, err := l.Checkpoint(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	digest := state(t, s, "repos").Lanes[0].Digest

	commit(t, l, page(back, collection.Cursor{}, token("b2"), "a", "b"))
	commit(t, l, page(back, token("b2"), collection.Cursor{Done: true}, "c"))

	if after, err := l.Checkpoint(t.Context(), at); err != nil || after != before {
		t.Errorf("after a backfill the checkpoint = %+v, %v, want %+v", after, err, before)
	}
	lanes := state(t, s, "repos").Lanes
	if len(lanes) != 2 || lanes[0].Lane != forward || lanes[0].Digest != digest || lanes[1].Digest == digest {
		t.Errorf("lanes = %+v, want the incremental first with digest %s, and the backfill with another", lanes, digest)
	}
}

// concurrentPlaces commits to many places side by side, in groups.
func concurrentPlaces(t *testing.T, open opener) {
	s, l := ledger(t, open)
	const places, pages = 8, 20
	var wait sync.WaitGroup
	for p := range places {
		wait.Go(func() {
			at, from := part("issues", strconv.Itoa(p)), collection.Cursor{}
			for i := range pages {
				next := collection.Cursor{Token: strconv.Itoa(i + 1), Done: i == pages-1}
				if _, err := l.Commit(t.Context(), page(at, from, next, fmt.Sprintf("%d-%02d", p, i))); err != nil {
					t.Errorf("place %d page %d: %v", p, i, err)
					return
				}
				if _, err := l.Defer(t.Context(), true, collection.Gap{Place: at, Cursor: next, Reason: collection.BadPage}); err != nil {
					t.Errorf("place %d page %d: Defer: %v", p, i, err)
				}
				from = next
			}
		})
	}
	wait.Wait()
	if got, want := len(contents(t, s, "issues")), places*pages; got != want {
		t.Errorf("%d records, want %d", got, want)
	}
	st := state(t, s, "issues")
	if len(st.Lanes) != 1 || st.Lanes[0].Partitions != places || st.Lanes[0].Done != 0 {
		t.Errorf("lanes = %+v, want %d partitions, none done: each owes a gap", st.Lanes, places)
	}
	if got, want := owed(t, s), slices.Repeat([]string{"open bad_page 1"}, places); !slices.Equal(got, want) {
		t.Errorf("gaps = %q, want one at the end of each place", got)
	}
}

// state returns the state of a stream.
func state(t *testing.T, s store.Store, stream string) store.StreamState {
	t.Helper()
	all, err := s.Streams(t.Context(), connector)
	if err != nil {
		t.Fatalf("Streams: %v", err)
	}
	i := slices.IndexFunc(all, func(st store.StreamState) bool { return st.Name == stream })
	if i < 0 {
		t.Fatalf("Streams has no %s: %+v", stream, all)
	}
	return all[i]
}
