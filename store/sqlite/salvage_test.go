package sqlite_test

import (
	"database/sql"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// TestSalvageReadsWhatSQLiteReads compares a salvage with an export of a
// database that is whole: with records of every length at which SQLite writes
// them another way, numbers of every width, and pages of several sizes.
func TestSalvageReadsWhatSQLiteReads(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "state.db")
	at, n := pageCursor(0), 0
	// The number of a commit is as wide as the largest there is, and one.
	for run, last := range []int64{0, 126, 32_766, 8_388_606, 2_147_483_646, 140_737_488_355_326, 1 << 60} {
		if last > 0 {
			execute(fmt.Sprintf(`UPDATE slices SET id = %d WHERE id = (SELECT max(id) FROM slices);
				UPDATE records SET id = max(id, %[1]d) WHERE id = (SELECT max(id) FROM records)`, last))(t, path)
		}
		s := open(t, path, sqlite.Options{Create: true})
		l := begin(t, s, "acme", fmt.Sprint("run-", run))
		empty := collection.Slice{Place: issues, From: at, Next: pageCursor(2*run + 1)}
		full := collection.Slice{Place: issues, From: empty.Next, Next: pageCursor(2*run + 2)}
		for _, length := range lengths(run == 0) {
			full.Records = append(full.Records, record(fmt.Sprintf("%06d", n), `"`+strings.Repeat("x", length)+`"`))
			n++
		}
		last := collection.Slice{Place: issues, From: full.Next, Next: pageCursor(2*run + 3)}
		mustCommit(t, l, empty, full, last)
		at = last.Next
		if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	checkSalvage(t, path, n)
	for _, size := range pageSizes[:3] {
		other := copyStore(t, path)
		execute(fmt.Sprintf("PRAGMA journal_mode = DELETE; PRAGMA page_size = %d; VACUUM", size))(t, other)
		for i := 0; fileSize(t, other)%4096 == 0; i++ { // it passes for one with the usual pages
			execute(fmt.Sprintf("CREATE TABLE padding_%d (x)", i))(t, other)
		}
		checkSalvage(t, other, n)
	}
}

var pageSizes = [...]int{512, 1024, 2048, 4096}

// lengths are those of the records. Each that fills a cell, or the pages behind
// it, is among them, of every size of page, if all are wanted: the numbers are
// those of https://sqlite.org/fileformat2.html#b_tree_pages, and what stands
// beside the bytes of a record takes 20 to 48.
func lengths(all bool) (some []int) {
	for length := 0; length < 9000; length += 150 {
		some = append(some, length)
	}
	for _, size := range pageSizes {
		for follow := 0; all && follow < 3; follow++ {
			for beside := 20; beside <= 48; beside++ {
				some = append(some, size-35+follow*(size-4)-beside, (size-12)*32/255-23+(follow+1)*(size-4)-beside)
			}
		}
	}
	return some
}

// checkSalvage checks that a salvage finds what SQLite finds.
func checkSalvage(t *testing.T, path string, n int) {
	t.Helper()
	got, err := salvaged(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exported(t.Context(), path)
	if err != nil || len(want["issues"]) != n {
		t.Fatalf("%d records are exported, %v, want %d", len(want["issues"]), err, n)
	}
	if !slices.Equal(got["issues"], want["issues"]) {
		t.Errorf("%d records are salvaged, and %d exported, or they differ", len(got["issues"]), len(want["issues"]))
	}
}

// TestSalvageCounts: how many records there were is known from the newest copy
// of what a stream knows, or not at all.
func TestSalvageCounts(t *testing.T) {
	path := killed(t)
	check := func(connector, stream string, found, had int64) {
		t.Helper()
		s, err := salvage.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if f, h := s.Count(connector, stream); f != found || h != had {
			t.Errorf("Count of %s/%s = %d of %d, want %d of %d; streams %q", connector, stream, f, h, found, had, s.Streams())
		}
	}
	check("acme", "issues", 12*40, 12*40)
	check("acme", "comments", 12, 12)
	merged := open(t, path, sqlite.Options{})
	if err := merged.Close(); err != nil {
		t.Fatal(err)
	}
	whole := copyStore(t, path)
	eachLeaf(t, path, "streams", func(page []byte) { clear(page) })
	check("lost", "1", 12*40, -1)
	path = whole
	eachLeaf(t, path, "records", func(page []byte) { clear(page) })
	check("acme", "issues", 0, 12*40)
}

// TestSalvageLeavesOutWhatIsEmpty, and not what is lost.
func TestSalvageLeavesOutWhatIsEmpty(t *testing.T) {
	path := made(t)
	for _, where := range []string{"whole", "without its records"} {
		s, err := salvage.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.Streams(), [][2]string{{"acme", "issues"}}; !slices.Equal(got, want) {
			t.Errorf("%s, it has the streams %q, want %q", where, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if where == "whole" {
			eachLeaf(t, path, "records", func(page []byte) { clear(page) })
		}
	}
}

// TestSalvageTellsAll that an export does of a record: its partition, and which
// run committed it when. The fields are those that the records have.
func TestSalvageTellsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	at := comments
	at.Partition = `{"id":"1"}`
	var many strings.Builder
	for i := range 2100 {
		fmt.Fprintf(&many, `,"f%d":0`, i)
	}
	mustCommit(t, l, collection.Slice{Place: issues, Next: pageCursor(1), Records: []collection.Record{record("a", `{"x":1,"y":2}`), record("b", `{"z":1,"x":1}`)}},
		collection.Slice{Place: at, Next: pageCursor(1), Records: []collection.Record{record("c", `{"f":0`+many.String()+`}`)}})
	salvage, err := salvage.Open(t.Context(), copyStore(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer salvage.Close()
	told := func(all iter.Seq2[store.Stored, error]) (told []string) {
		for r, err := range all {
			told = append(told, fmt.Sprintf("%+v, %v", r, err))
		}
		return told
	}
	for _, name := range wide {
		got, want := told(salvage.Records(t.Context(), "acme", name)), told(s.Records(t.Context(), "acme", name))
		if slices.Sort(got); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s are salvaged as %.400s, exported as %.400s", name, got, want)
		}
		fields, err := salvage.Fields(t.Context(), "acme", name)
		known, errKnown := s.Fields(t.Context(), "acme", name)
		if !slices.Equal(fields, known) || err != nil || errKnown != nil {
			t.Errorf("%s have the fields %.100q, %v, want %.100q, %v", name, fields, err, known, errKnown)
		}
	}
}

// TestSalvageOfWildPages: a page may say of itself what it will.
func TestSalvageOfWildPages(t *testing.T) {
	path := killed(t)
	merged := open(t, path, sqlite.Options{})
	if err := merged.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := exported(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// As many cells as there can be: what stands behind the last is no cell.
	eachLeaf(t, path, "records", func(page []byte) { page[3], page[4] = 0xff, 0xff })
	got, err := salvaged(t.Context(), path)
	if err != nil || !slices.Equal(got["issues"], want["issues"]) {
		t.Errorf("%d records are salvaged, %v, want %d", len(got["issues"]), err, len(want["issues"]))
	}
}

// TestSalvageBelievesNoOddSize: the size of pages that the header says is the
// one thing there that a salvage needs.
func TestSalvageBelievesNoOddSize(t *testing.T) {
	path := killed(t)
	merged := open(t, path, sqlite.Options{})
	if err := merged.Close(); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"\x00\x00", "\x00\x01", "\x00\x10", "\x02\x00", "\x04\x00", "\x08\x00", "\x11\x00", "\xff\xff"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copy(data[16:], said)
		damaged := filepath.Join(t.TempDir(), "state.db")
		if err := os.WriteFile(damaged, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := salvaged(t.Context(), damaged)
		if err != nil || len(got["issues"]) != 12*40 {
			t.Errorf("of a database that says its pages are of %x bytes %d records are salvaged, %v, want %d", said, len(got["issues"]), err, 12*40)
		}
	}
}

// TestSalvageTheNewest: of records that go on in other pages, and of which the
// log has several versions, the last one is put together, also where a log that
// was begun anew has frames of an older one behind its end, or was cut.
func TestSalvageTheNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	const frame = 24 + 4096
	version := 0
	save := func(pages int) {
		sl := collection.Slice{Place: issues, From: pageCursor(version), Next: pageCursor(version + 1)}
		version++
		for i := range pages {
			sl.Records = append(sl.Records, record(fmt.Sprint(i), fmt.Sprintf(`"%d %s"`, version, strings.Repeat("x", 20_000))))
		}
		mustCommit(t, l, sl)
	}
	check := func(where, path, whole string) {
		t.Helper()
		want, err := exported(t.Context(), copyStore(t, whole))
		if err != nil || len(want["issues"]) != 10 {
			t.Fatalf("%s: %d records, %v", where, len(want["issues"]), err)
		}
		if got, err := salvaged(t.Context(), path); err != nil || !slices.Equal(got["issues"], want["issues"]) {
			t.Errorf("%s: %d records are salvaged, %v, and not the newest of %d", where, len(got["issues"]), err, len(want["issues"]))
		}
	}
	for range 3 {
		save(10)
	}
	whole := copyStore(t, path)
	check("three versions", whole, whole)
	odd := copyStore(t, whole)
	flipByte(t, odd+"-wal", 32+8)
	check("the first frame seems to be of another log", odd, whole)
	execute("PRAGMA wal_checkpoint(FULL)")(t, path)
	save(2)
	before := whole
	whole = copyStore(t, path)
	check("a log begun anew", whole, whole)
	log, err := os.ReadFile(whole + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	for at := 32; string(log[at+8:at+16]) == string(log[40:48]); at += frame {
		log[at+24] ^= 0xff
	}
	if err := os.WriteFile(odd+"-wal", log, 0o600); err != nil {
		t.Fatal(err)
	}
	copyFile(t, whole, odd)
	check("its pages are damaged", odd, before)
	for _, rest := range []int64{1, 23, 24, 4095, frame - 1} {
		cut := copyStore(t, whole)
		size := fileSize(t, cut+"-wal")
		if err := os.Truncate(cut+"-wal", size-(size-32)%frame-frame+rest); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("its last frame cut to %d bytes", rest), cut, cut)
	}
}

// eachLeaf changes the pages of a table that hold its rows.
func eachLeaf(t *testing.T, path, table string, change func(page []byte)) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	numbers := queryRows(t, db, `SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'`, table)
	db.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range numbers {
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		change(data[(n-1)*4096 : n*4096])
	}
	if err := os.WriteFile(path, data, 0o600); err != nil || len(numbers) == 0 {
		t.Fatalf("%d pages changed, %v", len(numbers), err)
	}
}
