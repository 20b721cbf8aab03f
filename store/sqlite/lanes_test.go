package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// TestLanesCountTheirPartitions: whatever is committed, refused or reset, and
// whichever step of a transaction fails, before or after its effect, the counts
// of a lane are those of its checkpoints.
func TestLanesCountTheirPartitions(t *testing.T) {
	slow(t)
	steps := [][]sqlite.Step{{sqlite.BeforeBegin}, {sqlite.BeforeCommit}, {sqlite.AfterCommit}, {sqlite.AfterCommit, sqlite.ReadBack}}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 7))
			path := filepath.Join(t.TempDir(), "state.db")
			s := open(t, path, sqlite.Options{Create: true})
			l := begin(t, s, "acme", "run-1")
			db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			failed, reset := 0, 0
			for n := range 150 {
				byHand := random.IntN(12) == 0
				if byHand {
					if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
						t.Fatal(err)
					}
				}
				if random.IntN(3) == 0 {
					sqlite.FailAt(s, errInjected, steps[random.IntN(len(steps))]...)
				}
				switch {
				case !byHand:
					var group []collection.Slice
					for range 1 + random.IntN(3) {
						group = append(group, moveOne(t, l, random, n))
					}
					if _, err := l.Commit(t.Context(), group...); err != nil {
						failed++
					}
				default:
					at := placeOf(random)
					if random.IntN(2) == 0 {
						at.Partition = ""
					}
					err := s.Reset(t.Context(), "acme", at, collection.Cursor{Done: random.IntN(4) == 0}, store.Audit{Who: "kim", Why: "again"})
					if err == nil {
						reset++
					} else if !errors.Is(err, errInjected) && !errors.Is(err, collection.ErrUnknown) {
						t.Fatal(err)
					}
					sqlite.FailAt(s, nil)
					l = begin(t, s, "acme", fmt.Sprint("run-", n+2))
				}
				sqlite.FailAt(s, nil)
				checkLanes(t, s, db, n)
			}
			if failed < 5 || reset < 3 {
				t.Errorf("%d commits failed, and %d times something was reset: this proves little", failed, reset)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if report, err := salvage.Examine(t.Context(), path); err != nil || len(report.Problems) > 0 {
				t.Errorf("Examine = %q, %v, want nothing", report.Problems, err)
			}
		})
	}
}

// placeOf returns a place of comments: of a partition, of a parent that there is
// none for, or the pass over them.
func placeOf(random *rand.Rand) collection.Place {
	at := collection.Place{Stream: "comments", Lane: []collection.Lane{collection.Incremental, collection.Backfill}[random.IntN(2)]}
	switch random.IntN(8) {
	case 0:
	case 1:
		at.Partition = collection.Unmade("k")
	default:
		at.Partition = collection.Partition(fmt.Sprintf(`{"id":%d}`, random.IntN(6)))
	}
	return at
}

// moveOne returns a slice that moves the checkpoint of some place, or that tries
// to from where it is not.
func moveOne(t *testing.T, l store.Ledger, random *rand.Rand, n int) collection.Slice {
	at := placeOf(random)
	cp, err := l.Checkpoint(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	sl := collection.Slice{Place: at, From: cp.Cursor, Next: collection.Cursor{Token: fmt.Sprint(n)}}
	if random.IntN(3) > 0 {
		sl.Next = collection.Cursor{Version: fmt.Sprint(n), Done: true}
	}
	if random.IntN(20) == 0 {
		sl.From.Token += "x"
	}
	return sl
}

// checkLanes compares the lanes of comments with their checkpoints.
func checkLanes(t *testing.T, s *sqlite.Store, db *sql.DB, n int) {
	t.Helper()
	streams, err := s.Streams(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range streams {
		for _, lane := range stream.Lanes {
			var partitions, done int64
			err := db.QueryRow(`SELECT count(*), coalesce(sum(c.done), 0) FROM checkpoints c JOIN partitions p ON p.id = c.partition_id
				JOIN streams s ON s.id = p.stream_id
				WHERE s.name = ? AND c.lane = ? AND p.partition <> '' AND p.partition NOT LIKE '{"\_parent":%' ESCAPE '\'`,
				stream.Name, string(lane.Lane)).Scan(&partitions, &done)
			if err != nil || lane.Partitions != partitions || lane.Done != done {
				t.Fatalf("after step %d %s has %d of %d partitions done in %s, want %d of %d, %v",
					n, stream.Name, lane.Done, lane.Partitions, lane.Lane, done, partitions, err)
			}
		}
	}
}
