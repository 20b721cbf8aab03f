package storetest

import (
	"testing"

	"collect/collection"
)

// passes counts what a pass delivers, over runs, and forgets it with the next.
func passes(t *testing.T, open opener) {
	s := open(t)
	l := begin(t, s, "run-1")
	at, done := home("repos"), collection.Cursor{Done: true}
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a", "b"))
	second := page(at, token("2"), token("3"), "b", "c")
	second.Records[0].Data = []byte(`{"n":"b","v":2}`)
	checkPass(t, commit(t, l, second)[0].Evidence, 2, 3, 1)
	closeStore(t, s) // as by a kill

	s = opened(t, open)
	l = begin(t, s, "run-2")
	third := page(at, token("3"), token("4"), "a", "d")
	checkPass(t, commit(t, l, third)[0].Evidence, 3, 4, 1)
	states, err := l.Places(t.Context(), []collection.Place{at})
	if err != nil {
		t.Fatal(err)
	}
	checkPass(t, states[0].Checkpoint.Evidence, 3, 4, 1)
	checkPass(t, commit(t, l, page(at, token("4"), done, "e"))[0].Evidence, 4, 5, 1)

	// The next walk has none of them again, and then each once.
	checkPass(t, commit(t, l, page(at, done, token("2"), "a", "b", "c"))[0].Evidence, 1, 3, 0)
	last := commit(t, l, page(at, token("2"), done, "c", "d"))[0].Evidence
	checkPass(t, last, 2, 4, 0)
	if got, want := last.Before, int64(5); got != want {
		t.Errorf("the walk before had %d records, want %d", got, want)
	}

	// A place has a pass of its own, and a key of another partition is none of it.
	checkPass(t, commit(t, l, page(part("issues", "x"), collection.Cursor{}, token("2"), "1"))[0].Evidence, 1, 1, 0)
	checkPass(t, commit(t, l, page(part("issues", "y"), collection.Cursor{}, token("2"), "1", "2"))[0].Evidence, 1, 2, 0)
	checkPass(t, commit(t, l, page(part("issues", "y"), token("2"), token("3"), "1", "2"))[0].Evidence, 2, 3, 0)
}

// later counts the records that come again with a later mark than any on the pages before, also over runs.
func later(t *testing.T, open opener) {
	s := open(t)
	l := begin(t, s, "run-1")
	at := home("repos")
	versions := func(from, next collection.Cursor, marks ...string) collection.Slice {
		sl := collection.Slice{Place: at, From: from, Next: next}
		for _, m := range marks { // a key and a mark
			r := record(m[:1], `{"n":"`+m+`"}`)
			r.Mark = collection.Mark{Scale: "time", Value: m[1:]}
			sl.Records = append(sl.Records, r)
		}
		return sl
	}
	commit(t, l, versions(collection.Cursor{}, token("2"), "a1", "b2", "c3"))
	closeStore(t, s)

	s = opened(t, open)
	l = begin(t, s, "run-2")
	commit(t, l, versions(token("2"), token("3"), "c3", "b3", "d4")) // moved by one that was made in front, and updated
	e := commit(t, l, versions(token("3"), collection.Cursor{Done: true}, "e5", "a6"))[0].Evidence
	if e.Again != 3 || e.Replaced != 2 || e.Later != 1 {
		t.Errorf("%d came again, %d with other bytes, %d with a later mark, want 3, 2, 1", e.Again, e.Replaced, e.Later)
	}
	e = commit(t, l, versions(collection.Cursor{Done: true}, token("2"), "a7"))[0].Evidence
	if e.Again != 0 || e.Later != 0 {
		t.Errorf("of the next pass, %d came again, %d with a later mark, want none", e.Again, e.Later)
	}
}

func checkPass(t *testing.T, e collection.Evidence, pages, distinct, replaced int64) {
	t.Helper()
	if e.Pages != pages || e.Distinct() != distinct || e.Replaced != replaced {
		t.Errorf("the pass has %d pages, %d distinct records, %d replaced, want %d, %d, %d: %+v", e.Pages, e.Distinct(), e.Replaced, pages, distinct, replaced, e)
	}
}

// refuted moves the checkpoint to where a slice says if the evidence speaks
// against it, and no gap is closed as if the walk had come to its end.
func refuted(t *testing.T, open opener) {
	_, l := ledger(t, open)
	at, again := home("repos"), collection.Cursor{Since: "again"}
	first := page(at, collection.Cursor{}, token("2"), "a", "b")
	first.Told = collection.Told{Total: 4, By: "the total", Counted: true}
	commit(t, l, first)
	end := page(at, token("2"), collection.Cursor{Done: true}, "c")
	end.Told = collection.Told{Total: 4, By: "the total", Counted: true, End: collection.EndEmpty}
	end.Else = &again
	done := commit(t, l, end)[0]
	if done.Next != again || done.Evidence.Refuted != 1 || done.Evidence.Contradiction() == "" {
		t.Errorf("3 of 4 records: went on at %+v with %+v", done.Next, done.Evidence)
	}
	checkCursor(t, l, at, again)

	// The second pass has all of them.
	first.From, first.Records = again, page(at, again, again, "a", "b", "d").Records
	commit(t, l, first)
	done = commit(t, l, end)[0]
	if done.Next != end.Next || done.Evidence.Refuted != 0 {
		t.Errorf("4 of 4 records: went on at %+v with %+v", done.Next, done.Evidence)
	}
	checkCursor(t, l, at, end.Next)
}
