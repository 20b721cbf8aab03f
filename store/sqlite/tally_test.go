package sqlite_test

import (
	"path/filepath"
	"testing"

	"collect/collection"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// TestTallyOfARunThatDied: what was committed is in the tally of its run, which
// nobody finished, the rejected records with the others; a slice that delivers
// nothing is none. Who examines the store finds as many records.
func TestTallyOfARunThatDied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	l := begin(t, s, "acme", "run-1")
	at := collection.Place{Stream: "issues", Lane: collection.Incremental}
	rejected := []collection.Rejected{{Data: []byte("x"), Reason: "no_key"}, {Data: []byte("y"), Reason: "no_key"}}
	token := func(name string) collection.Cursor { return collection.Cursor{Token: name} }
	for _, sl := range []collection.Slice{
		{Next: token("2"), Records: []collection.Record{record("a", `{"v":1}`), record("b", `{"v":1}`)}, Rejected: rejected[:1]},
		{From: token("2"), Next: token("3")},
		{From: token("3"), Next: token("4"), Records: []collection.Record{record("a", `{"v":1}`), record("b", `{"v":2}`), record("c", `{"v":1}`)}},
		{From: token("4"), Next: token("5"), Rejected: rejected[1:]},
	} {
		sl.Place = at
		if _, err := l.Commit(t.Context(), sl); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := s.Runs(t.Context(), "acme", 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("Runs = %+v, %v", runs, err)
	}
	want := collection.Tally{Slices: 3, Records: 7, Changed: 4, Rejected: 2}
	if got := runs[0].Tally; got != want {
		t.Errorf("the tally is %+v, want %+v", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := salvage.Examine(t.Context(), path)
	if err != nil || len(report.Problems) > 0 || report.Records != 3 {
		t.Errorf("Examine = %+v, %v, want 3 records and no problem", report, err)
	}
}
