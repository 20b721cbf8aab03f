package storetest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// prunedSlices: of the slices those go that a person orders and that stored nothing. What
// a record, a checkpoint or a pass names stays, and so does what finished a window of
// time; all else that a reader or the next run finds is what it was.
func prunedSlices(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, from := home("repos"), collection.Cursor{}
	var kept, gone []int64 // commits
	step := func(stays bool, sl collection.Slice) {
		t.Helper()
		done := commit(t, l, sl)[0]
		from = done.Next
		if stays {
			kept = append(kept, done.Commit)
		} else {
			gone = append(gone, done.Commit)
		}
	}
	step(true, page(at, from, token("1"), "a", "b"))
	step(false, page(at, from, token("2")))
	step(false, page(at, from, token("3"), "a", "b")) // the same bytes again
	window := page(at, from, token("4"))
	window.Span = &collection.Span{From: time.Unix(0, 0).UTC(), To: time.Unix(60, 0).UTC()}
	step(true, window)
	bad := page(at, from, token("5"))
	bad.Rejected = []collection.Rejected{{Reason: "no_key", Data: []byte(`{"bad":1}`)}}
	step(true, bad)
	step(true, tombstone(at, from, token("6"), "", ""))
	step(false, page(at, from, token("7")))
	step(true, page(at, from, token("8"))) // its checkpoint is here

	// A pass began with a page of which nothing is new.
	at, from = home("issues"), collection.Cursor{}
	keys := []string{"c", "d"}
	for range 2 {
		step(true, pageOf(at, from, 0, 1, keys))
		step(true, pageOf(at, from, 1, 1, keys))
	}
	finish(t, l)

	// A walk that did not show a record marks it as deleted, and stores nothing.
	l = sweeper(t, s, "run-2")
	for _, keys := range [][]string{{"f", "g"}, {"g"}, {"g"}} {
		kept = append(kept, list(t, l, part("issues", "z"), 9, 0, keys...).Commit)
	}
	finish(t, l)
	l, from = begin(t, s, "run-3"), collection.Cursor{}
	for _, name := range []string{"1", "2"} { // of the newest run
		step(true, page(home("comments"), from, token(name)))
	}
	finish(t, l)

	type facts struct {
		states  []store.ConnectorState
		spans   []collection.Span
		records []store.Stored
	}
	look := func() (f facts) {
		t.Helper()
		var err error
		if f.states, err = s.States(t.Context(), connector); err != nil {
			t.Fatal(err)
		}
		if f.spans, err = s.Spans(t.Context(), connector, "repos"); err != nil {
			t.Fatal(err)
		}
		for _, stream := range []string{"repos", "issues"} {
			for r, err := range s.Records(t.Context(), connector, stream) {
				if err != nil {
					t.Fatalf("Records of %s: %v", stream, err)
				}
				f.records = append(f.records, r)
			}
		}
		return f
	}
	before := look()
	if n, err := s.Prunable(t.Context(), connector, store.Prune{Slices: time.Now().Add(-time.Hour)}); err != nil || n.Rows() != 0 {
		t.Errorf("of the last hour, %+v, %v may be pruned, want nothing", n, err)
	}
	order := store.Prune{Slices: time.Now().Add(time.Hour)}
	may, err := s.Prunable(t.Context(), connector, order)
	if err != nil || may.Slices != int64(len(gone)) || may.Rows() != may.Slices || may.Bytes <= 0 {
		t.Errorf("Prunable = %+v, %v, want %d slices", may, err, len(gone))
	}
	if some, err := s.Prunable(t.Context(), connector, store.Prune{SlicesRoom: 1}); err != nil || some != may {
		t.Errorf("Prunable by size = %+v, %v, want %+v", some, err, may)
	}
	if did, err := s.Prune(t.Context(), connector, order, repaired); err != nil || did != may {
		t.Errorf("Prune = %+v, %v, want %+v", did, err, may)
	}

	events, err := s.Events(t.Context(), connector, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var left []int64
	for _, e := range events {
		if e.Kind == collection.SliceCommitted {
			left = append(left, e.Slice.Commit)
		}
	}
	if slices.Sort(left); !slices.Equal(left, kept) {
		t.Errorf("the commits %v are left, want %v", left, kept)
	}
	if after := look(); !reflect.DeepEqual(after, before) {
		t.Errorf("afterwards there is %+v, want %+v", after, before)
	}
	l = begin(t, s, "run-4")
	if done := commit(t, l, page(home("repos"), token("8"), token("9"), "e")); done[0].Commit <= kept[len(kept)-1] {
		t.Errorf("the next commit has the number %d, want a new one", done[0].Commit)
	}
	finish(t, l)
}

// prunedNewest: the newest slice of the store stays, whatever it was, since the number of
// the next one is counted from it.
func prunedNewest(t *testing.T, open opener) {
	s, l := ledger(t, open)
	commit(t, l, page(home("repos"), collection.Cursor{}, token("1"), "a"))
	commit(t, l, page(home("repos"), token("1"), token("2")))
	commit(t, l, page(home("repos"), token("2"), token("3")))
	gap := deferGap(t, l, true, collection.Gap{Place: home("repos"), Cursor: token("1"), Reason: collection.BadPage, Behind: true})
	filled := page(home("repos"), token("1"), token("2"))
	filled.Fills = gap.ID
	newest := commit(t, l, filled)[0].Commit
	finish(t, l)
	finish(t, begin(t, s, "run-2"))
	gone, err := s.Prune(t.Context(), connector, store.Prune{Slices: time.Now().Add(time.Hour)}, repaired)
	if err != nil || gone.Slices != 1 {
		t.Errorf("Prune = %+v, %v, want one slice", gone, err)
	}
	l = begin(t, s, "run-3")
	if next := commit(t, l, page(home("repos"), token("3"), token("4"), "b"))[0].Commit; next <= newest {
		t.Errorf("the number of the next commit is %d, want one after %d", next, newest)
	}
	finish(t, l)
}
