package dst_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"collect/store/sqlite"
)

// A disk is a stage with the real store. It stays open and is swept between
// two histories: of a history that is played in milliseconds most of the time
// would go into opening its store again and again.
type disk struct {
	own  props
	path string
	eyes *sql.DB              // reads as a stranger would, with SQL
	asks map[string]*sql.Stmt // of eyes, by their text

	mu   sync.Mutex
	all  []*sqlite.Store // open; two, for two processes at a time
	idle []*sqlite.Store // those that no process has
}

// newDisk makes an empty store, on a file system in memory if there is one:
// no history here is about power cuts, and a flush to a disk is most of the
// time of a commit.
func newDisk(t testing.TB) *disk {
	t.Helper()
	parent := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "dst")
	if err != nil {
		t.Fatal(err)
	}
	s := &disk{path: filepath.Join(dir, "state.db"), asks: map[string]*sql.Stmt{}, own: newProps()}
	for range 2 {
		db, err := sqlite.Open(context.Background(), s.path, sqlite.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		s.all, s.idle = append(s.all, db), append(s.idle, db)
	}
	if s.eyes, err = sql.Open("sqlite", "file:"+s.path+"?_txlock=immediate"); err != nil {
		t.Fatal(err)
	}
	s.eyes.SetMaxOpenConns(1)
	return s
}

func (s *disk) props() props { return s.own }

// strike ends the stage.
func (s *disk) strike(t testing.TB) {
	for _, db := range s.all {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.eyes.Close(); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Dir(s.path)); err != nil {
		t.Error(err)
	}
}

// sweep removes what a history left. What is known of streams stays: their
// views are of the schema, and a change of it costs every connection a
// millisecond. A stage that was never swept has the first history of a store.
func (s *disk) sweep(t testing.TB) {
	t.Helper()
	_, err := s.eyes.Exec(`BEGIN IMMEDIATE;
		DELETE FROM checkpoints; DELETE FROM quarantine; DELETE FROM claims; DELETE FROM sightings; DELETE FROM sweeps; DELETE FROM records; DELETE FROM slices; DELETE FROM gaps;
		DELETE FROM lanes; DELETE FROM partitions; DELETE FROM runs; DELETE FROM leases; DELETE FROM provider_state; DELETE FROM events;
		DELETE FROM sqlite_sequence; UPDATE streams SET records = 0;
		COMMIT`)
	if err != nil {
		t.Fatal(err)
	}
}

// query asks the store something that is asked often.
func (s *disk) query(text string) (*sql.Rows, error) {
	ask := s.asks[text]
	if ask == nil {
		var err error
		if ask, err = s.eyes.Prepare(text); err != nil {
			return nil, err
		}
		s.asks[text] = ask
	}
	return ask.Query()
}

// enter gives a process a store that no other has, and says whether it is the
// process's own, opened and to be closed by it.
func (s *disk) enter(ctx context.Context, alone bool) (db keeper, own bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 && !alone {
		db, s.idle = s.idle[n-1], s.idle[:n-1]
		return db, false, nil
	}
	db, err = sqlite.Open(ctx, s.path, sqlite.Options{})
	return db, true, err
}

// leave takes a store back.
func (s *disk) leave(k keeper) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	db := k.(*sqlite.Store)
	if slices.Contains(s.all, db) {
		s.idle = append(s.idle, db)
		return nil
	}
	return db.Close()
}

// another returns an empty stage that was never swept.
func (s *disk) another(t testing.TB) stage { return newDisk(t) }

// unlock lets go of the lock of the connector, whoever has it: somebody has
// removed its file.
func (s *disk) unlock() { _ = os.Remove(s.path + ".sim.lock") }
