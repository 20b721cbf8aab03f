package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"collect/collection"
	"collect/store/sqlite"
)

// TestRecordsComeInPages of so many bytes, however long each record is: what
// changes behind the page that is handed out comes as it is then.
func TestRecordsComeInPages(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	full := `"` + strings.Repeat("x", 1<<20-2) + `"`
	mustCommit(t, l, collection.Slice{Place: issues, Next: pageCursor(1), Records: []collection.Record{record("a", full), record("b", `"old"`)}})
	var got []string
	for r, err := range s.Records(t.Context(), "acme", "issues") {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, string(r.Data)); len(got) == 1 {
			mustCommit(t, l, collection.Slice{Place: issues, From: pageCursor(1), Next: pageCursor(2), Records: []collection.Record{record("b", `"new"`)}})
		}
	}
	if len(got) != 2 || got[1] != `"new"` {
		t.Errorf("after a page of 1 MiB comes %.100s, want the new version", got[1:])
	}
}
