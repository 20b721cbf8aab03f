package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// TestCheckLog damages the log of a run that was killed, and the shared memory
// beside it, and checks what can be known of the newest commits then.
func TestCheckLog(t *testing.T) {
	whole := killed(t)
	const header, frame = 32, 24 + 4096
	end := fileSize(t, whole+"-wal")
	flip := func(suffix string, at int64) func(*testing.T, string) {
		return func(t *testing.T, path string) { flipByte(t, path+suffix, at) }
	}
	cut := func(length int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path+"-wal", length); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := func(suffix string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Remove(path + suffix); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage []func(*testing.T, string)
		want   error
		says   string
	}{
		{"nothing", nil, nil, ""},
		{"after a restart", []func(*testing.T, string){gone("-shm")}, nil, ""},
		{"the last page", []func(*testing.T, string){flip("-wal", end-100)}, store.ErrDamaged, "and %d can be read"},
		{"the last page, after a restart", []func(*testing.T, string){flip("-wal", end-100), gone("-shm")}, store.ErrDoubtful, "ends with 1 pages"},
		{"the first page", []func(*testing.T, string){flip("-wal", header+100)}, store.ErrDamaged, "and 0 can be read"},
		{"the first page, after a restart", []func(*testing.T, string){flip("-wal", header+100), gone("-shm")}, store.ErrDoubtful, "commits behind a place"},
		{"the salt of the last page, after a restart", []func(*testing.T, string){flip("-wal", end-frame+8), gone("-shm")}, store.ErrDoubtful, "ends with 1 pages"},
		{"both salts of the last page, after a restart", []func(*testing.T, string){flip("-wal", end-frame+8), flip("-wal", end-frame+12), gone("-shm")}, nil, ""},
		{"the header", []func(*testing.T, string){flip("-wal", 16)}, store.ErrDoubtful, "is gone or cannot be read"},
		{"the kind", []func(*testing.T, string){flip("-wal", 0)}, store.ErrDoubtful, "is gone or cannot be read"},
		{"the header, after a restart", []func(*testing.T, string){flip("-wal", 16), gone("-shm")}, store.ErrDoubtful, "its log cannot be read"},
		{"a header alone", []func(*testing.T, string){cut(header), flip("-wal", 16), gone("-shm")}, nil, ""},
		{"the log", []func(*testing.T, string){gone("-wal")}, store.ErrDoubtful, "is gone or cannot be read"},
		{"both", []func(*testing.T, string){gone("-wal"), gone("-shm")}, nil, ""},
		{"its end", []func(*testing.T, string){cut(end - 1)}, store.ErrDamaged, "can be read"},
		{"its end, after a restart", []func(*testing.T, string){cut(end - 1), gone("-shm")}, nil, ""},
		{"its end, and a copy in the shared memory", []func(*testing.T, string){cut(end - 1), flip("-shm", 16)}, nil, ""},
		{"its end, and the other copy", []func(*testing.T, string){cut(end - 1), flip("-shm", 48+16)}, nil, ""},
		{"its end, and the sum of the shared memory", []func(*testing.T, string){cut(end - 1), flip("-shm", 40), flip("-shm", 88)}, nil, ""},
	} {
		path := copyStore(t, whole)
		for _, damage := range c.damage {
			damage(t, path)
		}
		err := salvage.CheckLog(path)
		says, _, _ := strings.Cut(c.says, "%d")
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("without %s: %v, want %v with %q", c.name, err, c.want, c.says)
		}
	}
}

// TestCheckMergedLog: a log that was merged holds nothing that could be lost.
func TestCheckMergedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	mustCommit(t, begin(t, s, "acme", "run-1"), collection.Slice{Place: issues, Next: pageCursor(1), Records: childPage(0)})
	execute("PRAGMA wal_checkpoint(FULL)")(t, path)
	merged := copyStore(t, path)
	if fileSize(t, merged+"-wal") == 0 {
		t.Fatal("there is no log: this proves nothing")
	}
	flipByte(t, merged+"-wal", 16)
	if err := salvage.CheckLog(merged); err != nil {
		t.Errorf("a merged log whose header cannot be read: %v", err)
	}
}

// TestCheckNewerLog: a log that was begun anew since the shared memory was
// written is another one, which may be shorter.
func TestCheckNewerLog(t *testing.T) {
	older := killed(t)
	path := copyStore(t, older)
	merged := open(t, path, sqlite.Options{})
	if err := merged.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	begin(t, s, "other", "run-9") // commits
	newer := copyStore(t, path)
	if got, was := fileSize(t, newer+"-wal"), fileSize(t, older+"-wal"); got == 0 || got >= was {
		t.Fatalf("the newer log has %d bytes, the older %d: this proves nothing", got, was)
	}
	copyFile(t, older+"-shm", newer+"-shm")
	if err := salvage.CheckLog(newer); err != nil {
		t.Errorf("a log that is newer than the shared memory: %v", err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// flipByte changes a byte of a file.
func flipByte(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// TestTheLogOfALongRunIsMergedLate: the log of a run is merged at 1,000 pages, and
// after 256 transactions at 4,000, and so never grows much beyond that.
func TestTheLogOfALongRunIsMergedLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	const frame = 24 + 4096
	at, data := collection.Place{Stream: "issues", Lane: collection.Incremental}, `{"text":"`+strings.Repeat("a", 16*4096)+`"}`
	from := collection.Cursor{}
	for _, stage := range []struct{ commits, least, most int64 }{{240, 1000, 1100}, {300, 4000, 4100}} {
		for range stage.commits {
			next := collection.Cursor{Token: from.Token + "1"}
			mustCommit(t, l, collection.Slice{Place: at, From: from, Next: next, Records: []collection.Record{{Key: next.Token, Data: []byte(data)}}})
			from = next
		}
		if pages := fileSize(t, path+"-wal") / frame; pages < stage.least || pages > stage.most {
			t.Errorf("after %d transactions more the log has had %d pages at most, want %d to %d", stage.commits, pages, stage.least, stage.most)
		}
	}
}
