package storetest

import (
	"fmt"
	"slices"
	"testing"

	"collect/collection"
	"collect/store"
)

// A round is one pass over the partitions of the stream issues after another.
type round struct {
	t    *testing.T
	s    store.Store
	l    store.Ledger
	pass int
	at   map[collection.Place]collection.Cursor
	from string // the high-water mark that partitions are asked from; "": they are asked for everything

	newest collection.Committed // the newest walk
}

func newRound(t *testing.T, open opener) *round {
	s, l := ledger(t, open)
	return &round{t: t, s: s, l: l, at: map[collection.Place]collection.Cursor{}}
}

// begin begins the next pass.
func (r *round) begin() {
	r.t.Helper()
	r.pass++
	own := home("issues")
	next := collection.Cursor{Version: fmt.Sprint(r.pass)}
	commit(r.t, r.l, collection.Slice{Place: own, From: r.at[own], Next: next})
	r.at[own] = next
}

// walk walks the partition of a repo to its end, which has records: "1=x" is one with
// key 1 and {"is":"x"}. It returns how many moved there and how many were rejected.
func (r *round) walk(repo string, records ...string) (moved, rejected int) {
	r.t.Helper()
	at := part("issues", repo)
	sl := collection.Slice{Place: at, From: r.at[at], Next: collection.Cursor{Since: r.from, Version: fmt.Sprint(r.pass), Done: true}}
	sl.Told.First, sl.Told.End = true, collection.EndMark
	for _, text := range records {
		sl.Records = append(sl.Records, record(text[:1], `{"is":"`+text[2:]+`"}`))
	}
	r.newest = commit(r.t, r.l, sl)[0]
	r.at[at] = r.newest.Next
	return r.newest.Moved, r.newest.Rejected
}

// check walks a repo and compares what moved and was rejected.
func (r *round) check(moved, rejected int, repo string, records ...string) {
	r.t.Helper()
	gotMoved, gotRejected := r.walk(repo, records...)
	if gotMoved != moved || gotRejected != rejected {
		r.t.Errorf("pass %d, %s with %q: %d moved, %d rejected, want %d and %d", r.pass, repo, records, gotMoved, gotRejected, moved, rejected)
	}
}

// contest checks that the newest walk of a repo left a gap, since another repo has records
// with its keys.
func (r *round) contest(repo, other string, keys ...string) {
	r.t.Helper()
	at := part("issues", repo)
	if left := r.newest.Left; left.Place != at || left.Reason != collection.Contested || !left.Behind || r.newest.Rejected != 0 {
		r.t.Fatalf("the walk of %s left %+v and rejected %d, want a gap for contested and 0", repo, left, r.newest.Rejected)
	}
	contests, err := r.l.Contested(r.t.Context(), at)
	if err != nil || len(contests) != 1 || contests[0].Partition.String() != "repo="+other || !slices.Equal(contests[0].Keys, keys) {
		r.t.Fatalf("Contested = %+v, %v, want %q of %s", contests, err, keys, other)
	}
}

// decide fills the gap that the walk of a repo left, with the contested records that it has
// still. It returns how many were rejected.
func (r *round) decide(left collection.Gap, moved []string, records ...string) (rejected int) {
	r.t.Helper()
	sl := collection.Slice{Place: left.Place, From: left.Cursor, Next: left.Cursor, Fills: left.ID, Decides: &collection.Decision{Moved: moved}}
	for _, text := range records {
		sl.Records = append(sl.Records, record(text[:1], `{"is":"`+text[2:]+`"}`))
	}
	done := commit(r.t, r.l, sl)[0]
	if len(done.Closed) != 1 || done.Closed[0].ID != left.ID || done.Left.ID != 0 || done.Next != r.at[left.Place] {
		r.t.Errorf("a decision closed %+v, left %+v and stands at %+v, want the gap, none and %+v", done.Closed, done.Left, done.Next, r.at[left.Place])
	}
	return done.Rejected
}

// told reports whether the newest walk warned of keys that parents may share.
func (r *round) told() bool {
	return slices.ContainsFunc(r.newest.Evidence.Warnings(), func(w collection.Warning) bool { return w.Code == collection.Overwritten })
}

// owner returns the partition that has the record of a key.
func (r *round) owner(key string) string {
	r.t.Helper()
	for record, err := range r.s.Records(r.t.Context(), connector, "issues") {
		if err != nil {
			r.t.Fatal(err)
		}
		if record.Key == key {
			return record.Partition.String()
		}
	}
	return "none"
}

// moves: a record that one parent has no more and another has is stored in the
// version that came last, in the partition that it came from.
func moves(t *testing.T, open opener) {
	for _, from := range []string{"", "2026"} {
		for name, order := range map[string][2]string{"the old parent first": {"x", "y"}, "the new parent first": {"y", "x"}} {
			t.Run(name+" "+from, func(t *testing.T) {
				r := newRound(t, open)
				r.begin()
				r.check(0, 0, "x", "1=a", "2=b")
				r.check(0, 0, "y", "3=c")
				r.from = from
				has := map[string][]string{"x": {"1=a"}, "y": {"2=moved", "3=c"}}
				for n := range 3 {
					r.begin()
					for _, repo := range order {
						moved := 0
						if n == 0 && repo == "y" {
							moved = 1
						}
						r.check(moved, 0, repo, has[repo]...)
						asked := from != "" && order[0] == "x" // the old parent was asked from the mark before
						if told := r.told(); told != (moved > 0 && asked) {
							t.Errorf("pass %d of %s, asked from %q: it is told that the record may be another one: %t", n, repo, from, told)
						}
					}
				}
				checkContents(t, r.s, "issues", `1={"is":"a"}`, `2={"is":"moved"}`, `3={"is":"c"}`)
				if got, want := r.owner("2"), "repo=y"; got != want {
					t.Errorf("the record is of %s, want %s", got, want)
				}
				if got := state(t, r.s, "issues").Quarantined; got != 0 {
					t.Errorf("%d records are in quarantine", got)
				}
				// The old parent says that it is gone from there.
				r.begin()
				gone := collection.Slice{Place: part("issues", "x"), From: r.at[part("issues", "x")], Next: token("t")}
				gone.Records = []collection.Record{{Key: "2", Data: []byte(`{"gone":true}`), Deleted: true}}
				if done := commit(t, r.l, gone)[0]; done.Rejected != 0 || done.Deleted != 0 {
					t.Errorf("a tombstone where it was: %d rejected, %d deleted", done.Rejected, done.Deleted)
				}
			})
		}
	}
}

// shared: two records that have one key are told of in each pass that shows both, and
// the end of that ends the quarantine.
func shared(t *testing.T, open opener) {
	for name, order := range map[string][2]string{"in one order": {"x", "y"}, "in the other": {"y", "x"}} {
		t.Run(name, func(t *testing.T) {
			r := newRound(t, open)
			has := map[string][]string{"x": {"1=a"}, "y": {"1=b"}}
			for n := range 4 {
				r.begin()
				_, first := r.walk(order[0], has[order[0]]...)
				_, second := r.walk(order[1], has[order[1]]...)
				if n == 0 {
					r.contest(order[1], order[0], "1")
					second = r.decide(r.newest.Left, nil, has[order[1]]...)
				}
				if first+second != 1 {
					t.Errorf("pass %d: %d and %d were rejected, want one", r.pass, first, second)
				}
			}
			if got := state(t, r.s, "issues").Collided; got == 0 {
				t.Error("no collision is known of")
			}
			r.begin()
			r.check(0, 0, "x")
			_, _ = r.walk("y", "1=b")
			r.begin()
			_, rejected := r.walk("y", "1=c")
			r.begin()
			r.check(0, 0, "y", "1=c")
			if got := state(t, r.s, "issues").Quarantined; got != 0 || rejected != 0 || r.owner("1") != "repo=y" {
				t.Errorf("where one alone has it: %d rejected, %d in quarantine, of %s", rejected, got, r.owner("1"))
			}
		})
	}
}

// sharedSilently: asked from a mark, each of two parents shows its own only when it
// changed.
func sharedSilently(t *testing.T, open opener) {
	r := newRound(t, open)
	r.begin()
	r.check(0, 0, "x", "1=a")
	r.from = "2026"
	r.check(0, 0, "x")
	for n, step := range []struct {
		repo, record    string
		moved, rejected int
	}{{"y", "1=b", 1, 0}, {"x", "1=a2", 0, 1}, {"y", "1=b", 0, 0}, {"x", "1=a3", 0, 1}} {
		r.begin()
		if step.rejected == 0 {
			r.check(0, 0, "x") // what is silent says nothing
		}
		moved, rejected := r.walk(step.repo, step.record)
		if n == 1 {
			r.contest("x", "y", "1")
			rejected = r.decide(r.newest.Left, nil, step.record)
		}
		if moved != step.moved || rejected != step.rejected {
			t.Errorf("step %d: %d moved, %d rejected, want %d and %d", n, moved, rejected, step.moved, step.rejected)
		}
		if told := r.told(); told != (moved > 0) {
			t.Errorf("step %d: it is told that a record took the place of another parent's: %t, want %t", n, told, moved > 0)
		}
	}
}

// decided: a record that moves from a parent that the pass has walked to one that it has
// not is shown by both, and is where both say that it is when they are read again.
func decided(t *testing.T, open opener) {
	for name, test := range map[string]struct {
		moved    []string // since the first one does not show it any more
		records  []string // that the second one shows again
		rejected int
		owner    string
		want     string
	}{
		"it moved":                     {[]string{"1"}, []string{"1=c"}, 0, "repo=y", `1={"is":"c"}`},
		"it moved, and is hidden":      {[]string{"1"}, nil, 0, "repo=y", `1={"is":"b"}`},
		"it is not known":              {},
		"it was deleted":               {[]string{"1"}, nil, 0, "repo=x", `1={"is":"a"}`},
		"it moved back":                {nil, nil, 0, "repo=x", `1={"is":"a"}`},
		"it moved back as it is there": {nil, []string{"1=a"}, 0, "repo=x", `1={"is":"a"}`},
		"two have its key":             {nil, []string{"1=b"}, 1, "repo=x", `1={"is":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRound(t, open)
			r.begin()
			r.check(0, 0, "x", "1=a", "2=d")
			r.check(0, 0, "y", "1=b", "3=e")
			r.contest("y", "x", "1")
			left := r.newest.Left
			r.check(0, 0, "y", "1=b", "3=e") // it comes once more, as in a walk that goes on
			if r.newest.Left.ID != 0 {
				t.Errorf("a contested record that comes again leaves %+v, want nothing more", r.newest.Left)
			}
			if name == "it was deleted" {
				gone := collection.Slice{Place: part("issues", "x"), From: r.at[part("issues", "x")], Next: token("t")}
				gone.Records = []collection.Record{{Key: "1", Data: []byte(`{"gone":true}`), Deleted: true}}
				commit(t, r.l, gone)
			}
			if name == "it is not known" {
				all := collection.Slice{Place: left.Place, From: left.Cursor, Next: left.Cursor, Fills: left.ID, Decides: &collection.Decision{Unknown: []string{"1"}}}
				if done := commit(t, r.l, all)[0]; done.Rejected != 0 || state(t, r.s, "issues").Collided != 1 {
					t.Errorf("%d were rejected, want none, and the record in quarantine", done.Rejected)
				}
				return
			}
			if got := r.decide(left, test.moved, test.records...); got != test.rejected {
				t.Errorf("%d records were rejected, want %d", got, test.rejected)
			}
			checkContents(t, r.s, "issues", test.want, `2={"is":"d"}`, `3={"is":"e"}`)
			if got := r.owner("1"); got != test.owner {
				t.Errorf("the record is of %s, want %s", got, test.owner)
			}
			if got := state(t, r.s, "issues"); int(got.Quarantined) != test.rejected || int(got.Collided) != test.rejected {
				t.Errorf("%d in quarantine, %d of them collided, want %d", got.Quarantined, got.Collided, test.rejected)
			}
		})
	}
}

// decidedLater: a decision is the next run's as well, and a key that was found to be shared is not
// contested again.
func decidedLater(t *testing.T, open opener) {
	r := newRound(t, open)
	r.begin()
	r.check(0, 0, "x", "1=a", "2=a", "3=a")
	r.check(0, 0, "y", "1=b")
	first := r.newest.Left
	r.check(0, 0, "z", "2=c", "3=d")
	second := r.newest.Left
	finish(t, r.l)
	r.l = begin(t, r.s, "run-2")
	if rejected := r.decide(first, nil, "1=b"); rejected != 1 {
		t.Errorf("%d records were rejected, want 1", rejected)
	}
	all := collection.Slice{Place: second.Place, From: second.Cursor, Next: second.Cursor, Fills: second.ID, Decides: &collection.Decision{Shared: true}}
	if done := commit(t, r.l, all)[0]; done.Rejected != 2 || len(done.Closed) != 1 {
		t.Errorf("%d records were rejected and %+v closed, want 2 and the gap", done.Rejected, done.Closed)
	}
	if got := state(t, r.s, "issues").Collided; got != 3 {
		t.Errorf("%d records collided, want 3", got)
	}
	r.begin()
	r.check(0, 0, "x", "1=a", "2=a", "3=a", "4=a")
	r.check(0, 1, "y", "1=b")
	if r.newest.Left.ID != 0 {
		t.Errorf("a key that is known to be shared left %+v, want nothing", r.newest.Left)
	}
	r.check(0, 0, "y", "4=e")
	r.contest("y", "x", "4")
}

// decidedOfThree: a record moves twice while three parents are read. What is decided about the second
// one leaves the version of the third.
func decidedOfThree(t *testing.T, open opener) {
	r := newRound(t, open)
	r.begin()
	r.check(0, 0, "x", "1=a")
	r.check(0, 0, "y", "1=b")
	second := r.newest.Left
	r.check(0, 0, "z", "1=c")
	third := r.newest.Left
	r.decide(second, []string{"1"})
	r.contest("z", "y", "1")
	r.decide(third, []string{"1"}, "1=c")
	checkContents(t, r.s, "issues", `1={"is":"c"}`)
	if got := state(t, r.s, "issues").Quarantined; got != 0 || r.owner("1") != "repo=z" {
		t.Errorf("%d are in quarantine, and the record is of %s, want none and repo=z", got, r.owner("1"))
	}
}

// decidedByMarks: a contested record that its list does not show any more takes the place of none with a mark, since its
// own is not known. One with an earlier mark may have been read before the other one moved away.
func decidedByMarks(t *testing.T, open opener) {
	r := newRound(t, open)
	r.begin()
	walk := func(repo string, marks ...string) collection.Committed {
		at := part("issues", repo)
		sl := collection.Slice{Place: at, Next: collection.Cursor{Since: "m", Version: "1", Done: true}}
		for i, mark := range marks {
			one := record(fmt.Sprint(i), fmt.Sprintf(`{"is":"%s %d"}`, repo, i))
			one.Mark = collection.Mark{Scale: "t", Value: mark}
			sl.Records = append(sl.Records, one)
		}
		r.newest = commit(t, r.l, sl)[0]
		r.at[at] = r.newest.Next
		return r.newest
	}
	walk("x", "9", "1")
	walk("y", "3", "2")
	r.contest("y", "x", "0", "1")
	r.decide(r.newest.Left, []string{"1"})
	checkContents(t, r.s, "issues", `0={"is":"x 0"}`, `1={"is":"x 1"}`)
	if got := state(t, r.s, "issues").Collided; got != 1 {
		t.Errorf("%d records collided, want the one that moved", got)
	}
}

// contestedBeside: a slice that leaves a part of what it fills leaves a gap for its contested records as well. Where a
// person gave that up, they are rejected.
func contestedBeside(t *testing.T, open opener) {
	r := newRound(t, open)
	r.begin()
	r.check(0, 0, "x", "1=a", "2=d")
	r.check(0, 0, "y", "9=b")
	at := part("issues", "y")
	gap := deferGap(t, r.l, true, collection.Gap{Place: at, Cursor: token("piece"), Reason: collection.UpstreamPressure, Behind: true})
	sl := collection.Slice{Place: at, From: gap.Cursor, Next: token("rest"), Fills: gap.ID, Leaves: &gap, Records: []collection.Record{record("1", `{"is":"c"}`)}}
	r.newest = commit(t, r.l, sl)[0]
	r.contest("y", "x", "1")
	finish(t, r.l)
	if _, err := r.s.Waive(t.Context(), connector, []int64{r.newest.Left.ID}, repaired); err != nil {
		t.Fatal(err)
	}
	r.l = begin(t, r.s, "run-2")
	r.begin()
	r.check(0, 0, "x", "1=a", "2=f")
	r.check(0, 1, "y", "2=e")
}

// ofTwoLists: a list of two parents has one record, in whichever version came last.
func ofTwoLists(t *testing.T, open opener) {
	r := newRound(t, open)
	r.begin()
	r.check(0, 0, "x", "1=a")
	r.check(0, 0, "y", "1=a")
	r.from = "2026"
	r.check(0, 0, "x")
	r.check(0, 0, "y")
	for n := range 4 {
		r.begin()
		newest := fmt.Sprintf("1=%d", n)
		order := [][2]string{{"x", "y"}, {"y", "x"}}[n/2%2]
		for _, repo := range order {
			if _, rejected := r.walk(repo, newest); rejected != 0 {
				t.Errorf("a record of two lists was rejected in pass %d from %s", r.pass, repo)
			}
		}
	}
}

// admitted: what was rejected ends its quarantine when it comes again and is stored.
func admitted(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	sl := page(at, collection.Cursor{}, token("2"), "a")
	sl.Rejected = []collection.Rejected{
		{Data: []byte(`{"no":"key"}`), Reason: "no_key"}, {Data: []byte(`{"raw":1}`), Reason: "map: failed"},
		{Data: []byte(`{"of":"b"}`), Reason: string(collection.SchemaDrift), Key: "b"}, {Data: []byte(`{"stays":1}`), Reason: "no_key"},
	}
	if got, want := commit(t, l, sl)[0].Rejected, 4; got != want {
		t.Errorf("Rejected = %d, want %d", got, want)
	}
	held := collection.Gap{Place: at, Cursor: token("2"), Reason: collection.SchemaDrift}
	held.Held = collection.Drifted([]collection.Record{record("c", `{"drifted":1}`), record("d", `{"drifted":2}`)})
	deferGap(t, l, true, held)
	if got, want := state(t, s, "repos").Quarantined, int64(6); got != want {
		t.Errorf("with what a gap holds: Quarantined = %d, want %d", got, want)
	}
	finish(t, l)
	l = begin(t, s, "run-2") // it is remembered
	sl = collection.Slice{Place: at, From: token("2"), Next: token("3"), Records: []collection.Record{
		record("k", `{"no":"key"}`), {Key: "m", Data: []byte(`{"mapped":1}`), Sent: []byte(`{"raw":1}`)}, record("b", `{"of":"b now"}`),
		record("c", `{"drifted":1}`), record("d", `{"drifted":"not any more"}`),
	}}
	commit(t, l, sl)
	if got, want := state(t, s, "repos").Quarantined, int64(1); got != want {
		t.Errorf("Quarantined = %d, want %d", got, want)
	}
	other := page(part("issues", "x"), collection.Cursor{}, token("2"), "a")
	other.Rejected = []collection.Rejected{{Data: []byte(`{"n":"b"}`), Reason: "no_key"}}
	commit(t, l, other)
	commit(t, l, page(part("issues", "y"), collection.Cursor{}, token("2"), "b"))
	if got, want := state(t, s, "issues").Quarantined, int64(1); got != want {
		t.Errorf("the same bytes in another partition: Quarantined = %d, want %d", got, want)
	}
}
