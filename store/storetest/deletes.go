package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/store"
)

// tombstone is a slice that says of the record "a" that it was deleted, with a mark
// if scale is given.
func tombstone(at collection.Place, from, next collection.Cursor, scale, mark string) collection.Slice {
	sl := version(at, from, next, `{"gone":true}`, scale, mark)
	sl.Records[0].Deleted = true
	return sl
}

// checkStored compares the records of a stream, those that are deleted with a minus
// in front, and how many the stream has with what is counted.
func checkStored(t *testing.T, s store.Store, stream string, want ...string) {
	t.Helper()
	var got []string
	var deleted int64
	for r, err := range s.Records(t.Context(), connector, stream) {
		if err != nil {
			t.Fatalf("Records of %s: %v", stream, err)
		}
		text := r.Key + "=" + string(r.Data)
		if r.Deleted {
			deleted++
			text = "-" + text
		}
		if r.Deleted == r.DeletedAt.IsZero() || r.Deleted == (r.DeletedBy == "") {
			t.Errorf("%s: deleted at %v by %q", text, r.DeletedAt, r.DeletedBy)
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("records of %s = %q, want %q", stream, got, want)
	}
	streams, err := s.Streams(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(streams, func(st store.StreamState) bool { return st.Name == stream })
	if st := streams[i]; st.Records != int64(len(got)) || st.Deleted != deleted {
		t.Errorf("%s has %d records, %d of them deleted, want %d and %d", stream, st.Records, st.Deleted, len(got), deleted)
	}
}

// buried delivers versions of one record and tombstones, one after the other. What
// is later stays: the mark of a tombstone counts like that of a version.
func buried(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, from := home("repos"), collection.Cursor{}
	deleted, parents := 0, 0
	for n, step := range []struct {
		data, scale, mark               string // data "": a tombstone
		changed, older, rejected, marks int
		want                            string
	}{
		{"", "", "", 1, 0, 0, 1, "-a={}"}, // never seen: it has no data
		{"", "", "", 0, 0, 0, 0, "-a={}"},
		{`{"v":0}`, "", "", 1, 0, 0, 0, `a={"v":0}`},
		{"", "", "", 1, 0, 0, 1, `-a={"v":0}`},
		{`{"v":0}`, "", "", 1, 0, 0, 0, `a={"v":0}`}, // the same bytes, and there again
		{`{"v":2}`, "time", "2", 1, 0, 0, 0, `a={"v":2}`},
		{"", "time", "1", 0, 1, 0, 0, `a={"v":2}`},
		{"", "time", "4", 1, 0, 0, 1, `-a={"v":2}`},
		{`{"v":3}`, "time", "3", 0, 1, 0, 0, `-a={"v":2}`},
		{"", "time", "6", 0, 0, 0, 0, `-a={"v":2}`}, // deleted already, and a later mark is known
		{`{"v":5}`, "time", "5", 0, 1, 0, 0, `-a={"v":2}`},
		{`{"v":6}`, "time", "6", 1, 0, 0, 0, `a={"v":6}`}, // of one mark the delivered one
		{"", "", "", 1, 0, 0, 1, `-a={"v":6}`},            // nothing is said of when
		{`{"v":5}`, "time", "5", 0, 1, 0, 0, `-a={"v":6}`},
		{`{"v":6}`, "time", "6", 1, 0, 0, 0, `a={"v":6}`},
	} {
		next := token(fmt.Sprint(n))
		sl := version(at, from, next, step.data, step.scale, step.mark)
		if step.data == "" {
			sl = tombstone(at, from, next, step.scale, step.mark)
		}
		done := commit(t, l, sl)[0]
		got := [...]int{done.Changed, done.Older, done.Rejected, done.Deleted}
		if want := [...]int{step.changed, step.older, step.rejected, step.marks}; got != want {
			t.Errorf("step %d: changed, older, rejected, deleted = %v, want %v", n, got, want)
		}
		checkStored(t, s, "repos", step.want)
		found, err := l.Parents(t.Context(), "repos", "", 10)
		if alive := !strings.HasPrefix(step.want, "-"); err != nil || (len(found) == 1) != alive {
			t.Errorf("step %d: Parents = %v, %v, of a record that is %s", n, found, err, step.want)
		}
		from, deleted, parents = next, deleted+step.marks, parents+len(found)
	}
	if parents == 0 {
		t.Error("no record was ever a parent")
	}
	events, err := s.Events(t.Context(), connector, 3)
	if err != nil || events[0].Slice == nil || events[0].Slice.Deleted != 1 {
		t.Errorf("Events = %+v, %v, want a slice that marked one", events, err)
	}
	runs, err := s.Runs(t.Context(), connector, 1)
	if err != nil || runs[0].Tally.Deleted != int64(deleted) {
		t.Errorf("Runs = %+v, %v, want %d deleted", runs, err, deleted)
	}

	// A tombstone concerns its own partition: a record of another one may have moved
	// there from here, also before it was ever seen here.
	x, y := part("issues", "x"), part("issues", "y")
	commit(t, l, version(x, collection.Cursor{}, token("2"), `{"v":2}`, "", ""))
	if done := commit(t, l, tombstone(y, collection.Cursor{}, token("2"), "", ""))[0]; done.Rejected != 0 || done.Deleted != 0 {
		t.Errorf("of another partition: Rejected = %d, Deleted = %d, want 0 and 0", done.Rejected, done.Deleted)
	}
	checkStored(t, s, "issues", `a={"v":2}`)

	// A record that is deleted belongs to whichever partition has it next.
	commit(t, l, tombstone(x, token("2"), token("3"), "", ""))
	if done := commit(t, l, version(y, token("2"), token("3"), `{"v":2}`, "", ""))[0]; done.Changed != 1 || done.Rejected != 0 {
		t.Errorf("moved: Changed = %d, Rejected = %d, want 1 and 0", done.Changed, done.Rejected)
	}
	checkStored(t, s, "issues", `a={"v":2}`)
	if done := commit(t, l, version(x, token("3"), token("4"), `{"v":3}`, "", ""))[0]; done.Rejected != 1 {
		t.Errorf("in the partition that had it: Rejected = %d, want 1", done.Rejected)
	}

	// Two tombstones say the same, whichever partition the later one is of, and the
	// earlier one says since when.
	commit(t, l, tombstone(y, token("3"), token("4"), "time", "1"))
	if done := commit(t, l, tombstone(x, token("4"), token("5"), "", ""))[0]; done.Rejected != 0 || done.Deleted != 0 {
		t.Errorf("deleted twice: Rejected = %d, Deleted = %d, want 0 and 0", done.Rejected, done.Deleted)
	}
	finish(t, l)
	l = begin(t, s, "run-2")
	if done := commit(t, l, tombstone(y, token("4"), token("5"), "time", "2"))[0]; done.Deleted != 0 {
		t.Errorf("deleted later, too: Deleted = %d, want 0", done.Deleted)
	}
	for r, err := range s.Records(t.Context(), connector, "issues") {
		if err != nil || r.DeletedBy != "run-1" {
			t.Errorf("%s was deleted by %q, %v, want run-1", r.Key, r.DeletedBy, err)
		}
	}
	finish(t, l)

	// Where the stream begins to sweep, a partition has not shown what is deleted: no
	// other hands it over.
	l = sweeper(t, s, "run-3")
	list(t, l, part("issues", "z"), 9, 0, "a", "b", "c")
	if done := list(t, l, part("issues", "z"), 9, 0, "b", "c"); done.Deleted != 1 {
		t.Errorf("gone from where it was there again: %d were marked, want 1", done.Deleted)
	}
	finish(t, l)
}

// sweeper begins a run whose streams sweep.
func sweeper(t *testing.T, s store.Store, id string) store.Ledger {
	t.Helper()
	declared := slices.Clone(streams)
	for i := range declared {
		declared[i].Sweeps = true
	}
	l, err := s.Begin(t.Context(), newRun(id), declared)
	if err != nil {
		t.Fatalf("Begin %s: %v", id, err)
	}
	return l
}

// list is a walk of a list that has the keys, n on a page, told by the provider's
// own cursor, up to a number of pages (0: all). A refuted walk begins anew.
func list(t *testing.T, l store.Ledger, at collection.Place, n, pages int, keys ...string) (last collection.Committed) {
	t.Helper()
	for range max(pages, len(keys)+1) {
		from := cursorOf(t, l, at)
		begin := 0
		if from.Token != "" {
			_, err := fmt.Sscanf(from.Token, "t%d", &begin)
			if err != nil {
				t.Fatal(err)
			}
		}
		sl := pageOf(at, from, begin, n, keys)
		last = commit(t, l, sl)[0]
		if pages--; pages == 0 || sl.Next.Done {
			break
		}
	}
	return last
}

// pageOf is the page of a list that begins with the key number begin.
func pageOf(at collection.Place, from collection.Cursor, begin, n int, keys []string) collection.Slice {
	end := min(begin+n, len(keys))
	next := token(fmt.Sprintf("t%d", end))
	told := collection.Told{First: begin == 0}
	if end == len(keys) {
		next, told.End = collection.Cursor{Done: true}, collection.EndMark
	}
	sl := page(at, from, next, keys[min(begin, end):end]...)
	sl.Told, sl.Else = told, &collection.Cursor{}
	return sl
}

// swept marks what a complete walk did not show, over kills and runs.
func swept(t *testing.T, open opener) {
	s := open(t)
	t.Cleanup(func() { closeStore(t, s) })
	l := sweeper(t, s, "run-1")
	at := home("repos")
	all := []string{"a", "b", "c", "d", "e"}
	stored := func(deleted string) (want []string) {
		for _, key := range all {
			line := key + `={"n":"` + key + `"}`
			if strings.Contains(deleted, key) {
				line = "-" + line
			}
			want = append(want, line)
		}
		return want
	}
	check := func(what string, done collection.Committed, marked int, deleted string) {
		t.Helper()
		if done.Deleted != marked {
			t.Errorf("%s: %d were marked, want %d", what, done.Deleted, marked)
		}
		checkStored(t, s, "repos", stored(deleted)...)
	}
	check("the first walk", list(t, l, at, 2, 0, all...), 0, "")
	check("the next walk, not at its end", list(t, l, at, 2, 1, "a", "b", "c", "d"), 0, "")
	check("at its end", list(t, l, at, 2, 0, "a", "b", "c", "d"), 0, "")
	check("the second one without it", list(t, l, at, 2, 0, "a", "c", "d"), 1, "e")
	check("a walk that is killed", list(t, l, at, 2, 1, "a", "c", "d"), 0, "e")
	closeStore(t, s)
	s = open(t)
	l = sweeper(t, s, "run-2")
	check("and gone on with", list(t, l, at, 2, 0, "a", "c", "d"), 1, "be")
	check("one is there again", list(t, l, at, 2, 0, "a", "b", "c", "d"), 0, "e")
	check("on one page, after several", list(t, l, at, 9, 0, "a", "b", "c"), 0, "e")
	check("one page", list(t, l, at, 9, 0, "a", "b", "c"), 1, "de")

	// The provider refused the cursor of a walk, which begins anew.
	list(t, l, at, 2, 0, "a", "b", "c")
	list(t, l, at, 2, 1, "a", "b", "c")
	commit(t, l, collection.Slice{Place: at, From: cursorOf(t, l, at), Anew: true, Told: collection.Told{First: true}})
	check("anew", list(t, l, at, 2, 0, "a", "b"), 0, "de")
	check("and once more", list(t, l, at, 2, 0, "a", "b"), 1, "cde")
	check("as before", list(t, l, at, 2, 0, "a", "b", "c"), 0, "de")

	// The other lane shows a record in a pass that is older.
	back := at
	back.Lane = backfill
	list(t, l, back, 1, 1, "a", "b", "c")
	list(t, l, at, 1, 2, "a", "b", "c")
	list(t, l, back, 1, 0, "a", "b", "c")
	check("two lanes", list(t, l, at, 1, 0, "a", "b", "c"), 0, "de")

	// A stream that does not sweep marks nothing, nor does the walk that it began.
	finish(t, l)
	l = begin(t, s, "run-3")
	check("it does not sweep", list(t, l, at, 1, 1, "b", "a", "c"), 0, "de")
	finish(t, l)
	l = sweeper(t, s, "run-4")
	check("it does from now on", list(t, l, at, 1, 0, "b", "a", "c"), 0, "de")
	check("it did at the start", list(t, l, at, 1, 1, "b", "a", "c"), 0, "de")
	finish(t, l)
	finish(t, begin(t, s, "run-5")) // it does not, and no slice is stored
	l = sweeper(t, s, "run-6")
	check("and from the second page on", list(t, l, at, 1, 0, "b", "a", "c"), 0, "de")
	check("with the next walk", list(t, l, at, 1, 0, "b", "a"), 0, "de")
	check("and the one after it", list(t, l, at, 1, 0, "b", "a"), 1, "cde")
}

// notSwept: two walks that may have left something out mark nothing.
func notSwept(t *testing.T, open opener) {
	at, all := home("repos"), []string{"a", "b", "c", "d", "e"}
	rejected := []collection.Rejected{{Data: []byte(`{}`), Reason: "no_key"}}
	again := page(at, collection.Cursor{}, collection.Cursor{}, "a").Records
	for name, test := range map[string]struct {
		spoil  func(n int, sl *collection.Slice)
		marked int
	}{
		"whole":          {func(int, *collection.Slice) {}, 1},
		"from a mark":    {func(_ int, sl *collection.Slice) { sl.Told.Partial = true }, 0},
		"one window":     {func(_ int, sl *collection.Slice) { sl.Told.Window = true }, 0},
		"no end":         {func(_ int, sl *collection.Slice) { sl.Told.End = "" }, 0},
		"a page is left": {func(n int, sl *collection.Slice) { sl.Leaves = leaveOne(n); sl.Records = sl.Records[min(1, n):] }, 0},
		"in quarantine":  {func(n int, sl *collection.Slice) { sl.Rejected = rejected[n:] }, 0},
		"a key came twice": {func(_ int, sl *collection.Slice) {
			sl.Rejected = []collection.Rejected{{Data: []byte(`{}`), Reason: collection.KeyCollision}}
		}, 1},
		"a total of more":     {func(_ int, sl *collection.Slice) { sl.Told.By, sl.Told.Total = "the total", 9 }, 0},
		"a total":             {func(_ int, sl *collection.Slice) { sl.Told.By, sl.Told.Total = "the total", 4 }, 1},
		"came twice in front": {func(n int, sl *collection.Slice) { sl.Records = slices.Concat(again[:n], sl.Records) }, 1},
		"came twice behind":   {func(n int, sl *collection.Slice) { sl.Records = slices.Concat(sl.Records, again[:n]) }, 0},
		"it began elsewhere":  {func(_ int, sl *collection.Slice) { sl.Told.First = false }, 0},
		"more than half gone": {func(n int, sl *collection.Slice) { sl.Records = sl.Records[min(len(sl.Records), n+1):] }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, open)
			l := sweeper(t, s, "run-1")
			list(t, l, at, 2, 0, all...)
			from, last := cursorOf(t, l, at), collection.Committed{}
			if name == "it began elsewhere" {
				resetTo(t, s, l, at, token("t0"))
				l, from = sweeper(t, s, "run-2"), token("t0")
			}
			for n := range 4 {
				sl := pageOf(at, from, 2*(n%2), 2, all[:4])
				test.spoil(n%2, &sl)
				sl.From = from
				last = commit(t, l, sl)[0]
				from = last.Next
			}
			if last.Deleted != test.marked {
				t.Errorf("%d were marked, want %d", last.Deleted, test.marked)
			}
		})
	}

	// Two walks in a row over more than one page lack it.
	for name, counted := range map[string]bool{"by cursor": false, "numbered": true} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, open)
			l := sweeper(t, s, "run-1")
			marked := []int{}
			for _, keys := range [][]string{all, all[:4], all[:4], all, all[:4], all, all[1:], all[1:]} {
				from := cursorOf(t, l, at)
				for n := 0; ; n++ {
					sl := pageOf(at, from, 2*n, 2, keys)
					sl.Told.Counted = counted
					last := commit(t, l, sl)[0]
					if from = last.Next; from.Done {
						marked = append(marked, last.Deleted)
						break
					}
				}
			}
			if want := []int{0, 0, 1, 0, 0, 0, 0, 1}; !slices.Equal(marked, want) {
				t.Errorf("%v were marked, want %v", marked, want)
			}
		})
	}
}

func leaveOne(n int) *collection.Gap {
	if n > 0 {
		return nil
	}
	return &collection.Gap{Shape: collection.SliceGap, Reason: collection.BadPage}
}

func resetTo(t *testing.T, s store.Store, l store.Ledger, at collection.Place, to collection.Cursor) {
	t.Helper()
	finish(t, l)
	if err := s.Reset(t.Context(), connector, at, to, store.Audit{Who: "who", Why: "why"}); err != nil {
		t.Fatal(err)
	}
}

// sweptApart: the walk of a partition marks what it had, and a record that another
// one shows goes there.
func sweptApart(t *testing.T, open opener) {
	s := opened(t, open)
	l := sweeper(t, s, "run-1")
	x, y := part("issues", "x"), part("issues", "y")
	line := func(key string) string { return key + `={"n":"` + key + `"}` }
	list(t, l, x, 9, 0, "a", "b", "c", "d")
	list(t, l, y, 9, 0, "e", "f", "g", "h")
	for n := range 2 {
		done := list(t, l, x, 2, 0, "a", "b", "c")
		if lacks := int(done.Evidence.Lacks); done.Deleted != n || lacks != 1-n {
			t.Errorf("walk %d: %d were marked, and it lacks %d, want %d and %d", n, done.Deleted, lacks, n, 1-n)
		}
	}
	checkStored(t, s, "issues", line("a"), line("b"), line("c"), "-"+line("d"), line("e"), line("f"), line("g"), line("h"))

	// c moves to y, d is there again, and a list may be empty.
	list(t, l, y, 9, 0, "c", "d", "e", "f", "g", "h")
	if done := list(t, l, x, 9, 0, "a", "b"); done.Deleted != 0 {
		t.Errorf("moved: %d were marked, want 0", done.Deleted)
	}
	checkStored(t, s, "issues", line("a"), line("b"), line("c"), line("d"), line("e"), line("f"), line("g"), line("h"))
	for n := range 2 {
		done := list(t, l, x, 9, 0)
		if lacks := int(done.Evidence.Lacks); done.Deleted != 2*n || lacks != 2-2*n {
			t.Errorf("an empty list, walk %d: %d were marked, and it lacks %d, want %d and %d", n, done.Deleted, lacks, 2*n, 2-2*n)
		}
	}
	if done := list(t, l, y, 9, 0, "d", "e", "f", "g", "h"); done.Deleted != 1 {
		t.Errorf("gone from where it moved to: %d were marked, want 1", done.Deleted)
	}
	checkStored(t, s, "issues", "-"+line("a"), "-"+line("b"), "-"+line("c"), line("d"), line("e"), line("f"), line("g"), line("h"))

	// All walks of a pass together mark no more than half of the stream.
	var marked []int
	var last collection.Committed
	commit(t, l, collection.Slice{Place: home("issues"), Next: collection.Cursor{Version: "2"}})
	for _, keys := range [][]string{{"d", "e", "f", "g"}, {"d", "e", "f"}, {"d", "e"}} {
		last = list(t, l, y, 9, 0, keys...)
		marked = append(marked, last.Deleted)
	}
	if want := []int{1, 1, 0}; !slices.Equal(marked, want) || last.Evidence.Lost != 3 || last.Evidence.Living != 5 {
		t.Errorf("in one pass %v were marked, and %d of %d are too many, want %v and 3 of 5", marked, last.Evidence.Lost, last.Evidence.Living, want)
	}

	// However many move, the provider is not doubted for them.
	x, y = part("repos", "x"), part("repos", "y")
	list(t, l, x, 9, 0, "a", "b", "c", "d")
	list(t, l, y, 9, 0, "a", "b", "c", "d", "e")
	if done := list(t, l, x, 9, 0); done.Deleted != 0 || !done.Next.Done {
		t.Errorf("most of the stream moved: %d were marked, and the walk stands at %+v", done.Deleted, done.Next)
	}
}

// sweepAccepted: more than half is marked when a person accepts it, once.
func sweepAccepted(t *testing.T, open opener) {
	s := opened(t, open)
	l := sweeper(t, s, "run-1")
	at := home("repos")
	list(t, l, at, 2, 0, "a", "b", "c", "d", "e")
	done := list(t, l, at, 2, 0, "a", "b")
	if done.Deleted != 0 || done.Next.Done || done.Evidence.Lost != 3 || done.Evidence.Living != 5 {
		t.Fatalf("3 of 5 are gone: %+v", done)
	}
	drift := deferGap(t, l, true, collection.Gap{Place: at, Cursor: done.Next, Reason: collection.SchemaDrift})
	finish(t, l)
	if _, err := s.AcceptSchema(t.Context(), connector, "repos", nil, repaired); err != nil {
		t.Fatal(err)
	}
	l = sweeper(t, s, "run-2")
	if done = list(t, l, at, 2, 0, "a", "b"); done.Deleted != 3 || !done.Next.Done || len(done.Closed) != 1 || done.Closed[0].ID != drift.ID {
		t.Errorf("accepted: %+v", done)
	}
	if done = list(t, l, at, 2, 0); done.Deleted != 0 || done.Next.Done {
		t.Errorf("accepted once: %+v", done)
	}
}

// numbered returns n keys in order.
func numbered(prefix string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("%s%03d", prefix, i))
	}
	return keys
}

// doubted: a walk that may not have all marks nothing, also where it has one page.
func doubted(t *testing.T, open opener) {
	type walk struct {
		n       int // of the keys
		on      int // a page
		deleted int
		lacks   int64
	}
	as := func(*collection.Slice) {} // as it is
	for name, test := range map[string]struct {
		in    collection.Partition
		spoil func(sl *collection.Slice)
		walks []walk
	}{
		"a page does not lead on once": {"", as, []walk{{90, 60, 0, 0}, {60, 60, 0, 30}, {90, 60, 0, 0}, {60, 60, 0, 30}, {60, 60, 30, 0}, {59, 60, 1, 0}}},
		"of a parent":                  {"x", as, []walk{{9, 5, 0, 0}, {5, 9, 0, 4}, {9, 5, 0, 0}, {5, 9, 0, 4}, {5, 9, 4, 0}, {4, 9, 1, 0}}},
		"always one page":              {"", as, []walk{{9, 9, 0, 0}, {9, 9, 0, 0}, {7, 9, 2, 0}}},
		"as many as a provider gives":  {"", as, []walk{{190, 100, 0, 0}, {100, 100, 0, 90}, {100, 100, 0, 90}, {100, 100, 0, 90}, {99, 100, 0, 91}, {99, 100, 91, 0}}},
		"which a person expects": {"", func(sl *collection.Slice) { sl.Told.Expect.AnyDrop = true },
			[]walk{{190, 190, 0, 0}, {100, 190, 90, 0}}},
		"far fewer": {"x", as, []walk{{40, 50, 0, 0}, {10, 50, 0, 30}, {10, 50, 30, 0}}},
		"a page with a warning": {"x", func(sl *collection.Slice) {
			sl.Warnings = []collection.Warning{{Code: collection.MaybeOnePage}}
		}, []walk{{9, 9, 0, 0}, {8, 9, 0, 1}, {8, 9, 0, 1}}},
		"a page with another one": {"x", func(sl *collection.Slice) {
			sl.Warnings = []collection.Warning{{Code: collection.MarkIgnored}}
		}, []walk{{9, 9, 0, 0}, {8, 9, 1, 0}}},
		"empty":             {"x", as, []walk{{9, 9, 0, 0}, {0, 9, 0, 9}, {9, 9, 0, 0}, {0, 9, 0, 9}, {0, 9, 9, 0}}},
		"the total says so": {"x", func(sl *collection.Slice) { sl.Told.By, sl.Told.Total = "the total", int64(len(sl.Records)) }, []walk{{9, 9, 0, 0}, {0, 9, 9, 0}}},
		"of pages": {"x", func(sl *collection.Slice) { sl.Told.By, sl.Told.Total, sl.Told.Pages = "pages", 1, true },
			[]walk{{9, 9, 0, 0}, {0, 9, 0, 9}, {0, 9, 9, 0}}},
		"which is expected": {"x", func(sl *collection.Slice) { sl.Told.Expect.Zero = collection.ZeroIsFine }, []walk{{9, 9, 0, 0}, {0, 9, 9, 0}}},
		"from a delta":      {"", func(sl *collection.Slice) { sl.Told.Feed = true }, []walk{{9, 5, 0, 0}, {8, 5, 1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, open)
			l := sweeper(t, s, "run-1")
			at, keys := home("issues"), numbered("k", 190)
			if test.in != "" {
				at = part("issues", string(test.in))
				list(t, l, part("issues", "y"), 1000, 0, numbered("o", 200)...)
			}
			for i, want := range test.walks {
				var done collection.Committed
				for from, begin := cursorOf(t, l, at), 0; begin == 0 || !from.Done; begin += want.on {
					sl := pageOf(at, from, begin, want.on, keys[:want.n])
					test.spoil(&sl)
					done = commit(t, l, sl)[0]
					from = done.Next
				}
				if done.Deleted != want.deleted || done.Evidence.Lacks != want.lacks {
					t.Errorf("walk %d of %d on pages of %d: %d were marked, and it lacks %d, want %d and %d", i, want.n, want.on, done.Deleted, done.Evidence.Lacks, want.deleted, want.lacks)
				}
			}
		})
	}

	// What is known of the pages of a list is of walks that were believed, and of its own lane.
	warned := func(sl *collection.Slice) { sl.Warnings = []collection.Warning{{Code: collection.RefusedBeside}} }
	spoiled := func(t *testing.T, l store.Ledger, at collection.Place, spoil func(sl *collection.Slice), n int) collection.Committed {
		sl := pageOf(at, cursorOf(t, l, at), 0, n, numbered("k", n))
		spoil(&sl)
		return commit(t, l, sl)[0]
	}
	for name, spoil := range map[string]func(sl *collection.Slice){
		"a walk with a warning": warned,
		"a walk with a gap":     func(sl *collection.Slice) { sl.Records, sl.Leaves = nil, leaveOne(0) },
		"a record without a key": func(sl *collection.Slice) {
			sl.Rejected = []collection.Rejected{{Data: []byte(`{}`), Reason: "no_key"}}
		},
		"a reset":                     nil,
		"only the other lane read it": nil,
	} {
		for _, in := range []collection.Partition{"", "x"} {
			t.Run(name+" "+string(in), func(t *testing.T) {
				s := opened(t, open)
				l := sweeper(t, s, "run-1")
				at := home("issues")
				if in != "" {
					at = part("issues", string(in))
				}
				before := at
				if name == "only the other lane read it" {
					before.Lane = backfill
				}
				list(t, l, before, 5, 0, numbered("k", 9)...)
				if name == "a reset" {
					resetTo(t, s, l, at, collection.Cursor{})
					l = sweeper(t, s, "run-2")
				} else if spoil != nil {
					spoiled(t, l, at, spoil, 5)
				}
				for n := range 2 {
					if done := list(t, l, at, 5, 0, numbered("k", 5)...); done.Deleted != 4*n {
						t.Errorf("a page that does not lead on, walk %d: %d were marked, want %d", n, done.Deleted, 4*n)
					}
				}
			})
		}
	}

	// It is not stored how many records a short list had.
	s := opened(t, open)
	l := sweeper(t, s, "run-1")
	at := part("issues", "x")
	list(t, l, at, 9, 0, numbered("k", 9)...)
	for n, spoil := range []func(sl *collection.Slice){as, warned, warned, as} {
		if done := spoiled(t, l, at, spoil, []int{9, 8, 8, 8}[n]); done.Deleted != n/3 {
			t.Errorf("walk %d of a short list: %d were marked, want %d", n, done.Deleted, n/3)
		}
	}

	// One that has as many records as before, and always a warning, loses one and gets another one.
	at = part("issues", "z")
	for n := range 2 {
		sl := pageOf(at, cursorOf(t, l, at), 0, 9, numbered("z", 10)[n:9+n])
		warned(&sl)
		if done := commit(t, l, sl)[0]; done.Deleted != n {
			t.Errorf("walk %d of a list that always has a warning: %d were marked, want %d", n, done.Deleted, n)
		}
	}

	// A person knows better.
	at = home("repos")
	list(t, l, at, 100, 0, numbered("k", 90)...)
	done := list(t, l, at, 100, 1, numbered("k", 20)...)
	if done.Evidence.Lost != 70 || done.Next.Done {
		t.Fatalf("70 of 90 are gone: %+v", done)
	}
	finish(t, l)
	if _, err := s.AcceptSchema(t.Context(), connector, "repos", nil, repaired); err != nil {
		t.Fatal(err)
	}
	l = sweeper(t, s, "run-2")
	if done = list(t, l, at, 100, 0, numbered("k", 20)...); done.Deleted != 70 {
		t.Errorf("accepted: %+v", done)
	}
}
