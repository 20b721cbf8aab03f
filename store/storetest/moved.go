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
			for range 4 {
				r.begin()
				_, first := r.walk(order[0], has[order[0]]...)
				_, second := r.walk(order[1], has[order[1]]...)
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
		if moved != step.moved || rejected != step.rejected {
			t.Errorf("step %d: %d moved, %d rejected, want %d and %d", n, moved, rejected, step.moved, step.rejected)
		}
		if told := r.told(); told != (moved > 0) {
			t.Errorf("step %d: it is told that a record took the place of another parent's: %t, want %t", n, told, moved > 0)
		}
	}
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
