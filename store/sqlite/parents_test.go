package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"collect/collection"
	"collect/store/sqlite"
)

// TestManyParentsCostNoMore: what a commit writes does not grow with the number
// of parents that have a checkpoint. A state that is written whole is rewritten
// for each of them, until it is larger than the data.
func TestManyParentsCostNoMore(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "state.db")
	l := begin(t, open(t, path, sqlite.Options{Create: true}), "acme", "run-1")
	parents := 0
	grow := func(to int) {
		t.Helper()
		var group []collection.Slice
		for ; parents < to; parents++ {
			group = append(group, collection.Slice{Place: ofParent(parents), Next: collection.Cursor{Token: "1"}})
		}
		if _, err := l.Commit(t.Context(), group...); err != nil {
			t.Fatal(err)
		}
	}
	// written returns how much one page of one parent adds to the log.
	written := func(parent int) int64 {
		t.Helper()
		emptyLog(t, path)
		page := collection.Slice{Place: ofParent(parent), From: collection.Cursor{Token: "1"}, Next: collection.Cursor{Token: "2"}}
		for i := range 10 {
			page.Records = append(page.Records, record(strconv.Itoa(100*parent+i), `{"n":1}`))
		}
		if _, err := l.Commit(t.Context(), page); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	grow(10)
	few := written(5)
	grow(5000)
	many := written(2500)
	if most := few + 12*4096; many > most {
		t.Errorf("a page writes %d bytes with 10 parents and %d with 5,000, want at most %d", few, many, most)
	}
}

func ofParent(n int) collection.Place {
	return collection.Place{Stream: "comments", Partition: collection.Partition(fmt.Sprintf(`{"n":%d}`, n)), Lane: collection.Incremental}
}

func record(key, data string) collection.Record {
	return collection.Record{Key: key, Data: []byte(data)}
}

// emptyLog moves the log into the database.
func emptyLog(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var busy, log, moved int
	if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved); err != nil || busy != 0 {
		t.Fatalf("checkpoint: busy %d, %v", busy, err)
	}
}
