package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// killStep says at which step childRevives is killed.
const killStep = "COLLECT_TEST_KILL_STEP"

// childRevives revives all gaps of the store, and is killed on the way.
func childRevives(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	gaps, err := s.Gaps(ctx, "acme")
	if err != nil {
		return err
	}
	ids := make([]int64, len(gaps))
	for i, gap := range gaps {
		ids[i] = gap.ID
	}
	sqlite.KillAt(s, sqlite.Step(os.Getenv(killStep)))
	_, err = s.Revive(ctx, "acme", ids, store.Audit{Who: "kim", Why: "repaired"})
	return fmt.Errorf("it lives: %w", err)
}

// TestKilledWhileItRevives kills the process of an operator with SIGKILL before
// its order takes effect, and after. All gaps are revived, with their events, or
// none is; the next order has the lease at once; and what the order was for is
// there when it is given again. (I7, I14, I21.)
func TestKilledWhileItRevives(t *testing.T) {
	const dead = 3
	for _, c := range []struct {
		step sqlite.Step
		open int // gaps, after the kill
	}{
		{sqlite.BeforeBegin, 0}, {sqlite.BeforeCommit, 0}, {sqlite.AfterCommit, dead},
	} {
		t.Run(string(c.step), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			ids := leaveDead(t, path, dead)
			cmd := child(t, "revive", path)
			cmd.Env = append(cmd.Env, killStep+"="+string(c.step))
			if out, err := cmd.Output(); err == nil || len(out) > 0 {
				t.Fatalf("the child says %q, %v, want it killed", out, err)
			}

			s := open(t, path, sqlite.Options{})
			defer s.Close()
			checkRevived(t, s, dead, c.open)
			revived, err := s.Revive(t.Context(), "acme", ids, store.Audit{Who: "kim", Why: "repaired"})
			if err != nil || len(revived) != dead-c.open {
				t.Errorf("Revive again = %+v, %v, want the other %d", revived, err, dead-c.open)
			}
			checkRevived(t, s, dead, dead)
			l := begin(t, s, "acme", "run-2")
			gaps, err := l.Lease(t.Context(), collection.Incremental, []string{"issues"}, time.Now(), dead+1)
			if err != nil || len(gaps) != dead {
				t.Errorf("Lease = %+v, %v, want %d gaps", gaps, err, dead)
			}
		})
	}
}

// leaveDead makes a store with so many dead gaps, and returns their ids.
func leaveDead(t *testing.T, path string, n int) (ids []int64) {
	t.Helper()
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	for i := range n {
		at := collection.Place{Stream: "issues", Lane: collection.Incremental}
		gaps, err := l.Defer(t.Context(), true, collection.Gap{Place: at, Cursor: collection.Cursor{Token: fmt.Sprint(i)}, Reason: collection.Forbidden})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, gaps[0].ID)
	}
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Blocked}); err != nil {
		t.Fatal(err)
	}
	return ids
}

// checkRevived checks how many of the gaps that are owed are open, the others
// being dead, and that as many are told to have been revived.
func checkRevived(t *testing.T, s *sqlite.Store, owed, want int) {
	t.Helper()
	gaps, err := s.Gaps(t.Context(), "acme")
	if err != nil || len(gaps) != owed {
		t.Fatalf("Gaps = %+v, %v, want %d", gaps, err, owed)
	}
	alive, told := 0, 0
	for _, gap := range gaps {
		if gap.State == collection.GapOpen && gap.Revived() {
			alive++
		} else if gap.State != collection.GapDead || gap.Attempts != 1 {
			t.Errorf("%+v is neither dead nor revived", gap)
		}
	}
	events, err := s.Events(t.Context(), "acme", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == collection.GapRevived {
			told++
		}
	}
	if alive != want || told != want {
		t.Errorf("%d gaps are open and %d told to be revived, want %d", alive, told, want)
	}
}
