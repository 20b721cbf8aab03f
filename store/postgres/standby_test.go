package postgres_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/pgtest"
	"collect/store/postgres"
)

// TestStandbyWithoutTheNewest: a standby takes the place of the server and lacks the newest
// commits. The run that made them writes nothing more, as what it knows is not stored; the one
// after it goes on from what is there.
func TestStandbyWithoutTheNewest(t *testing.T) {
	first, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Remove)
	second, err := pgtest.Standby(first)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Remove)
	// The standby comes first, so that each connection has to find the server behind it.
	both := strings.Replace(first.Address("collect"), "?", "?target_session_attrs=read-write&host="+second.Folder()+","+first.Folder()+"&", 1)
	both = strings.Replace(both, "host="+strings.ReplaceAll(first.Folder(), "/", "%2F")+"&", "", 1)
	s := open(t, both, postgres.Options{Create: true})
	ctx, l := t.Context(), begin(t, s, "forgotten")
	commit := func(n int) error {
		_, err := l.Commit(ctx, slice(n))
		return err
	}
	for n := range 3 {
		if err := commit(n); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); records(t, second.Address("collect")) < 3; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Fatal("the standby does not follow")
		}
	}
	if err := second.Unplug(); err != nil {
		t.Fatal(err)
	}
	for n := 3; n < 5; n++ {
		if err := commit(n); err != nil {
			t.Fatal(err)
		}
	}
	first.End(syscall.SIGKILL)
	if err := second.Promote(); err != nil {
		t.Fatal(err)
	}
	if err := commit(5); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("a commit behind those that were lost: %v, want %v", err, collection.ErrFenced)
	}
	if _, err := l.Defer(ctx, false, collection.Gap{Place: notes, Cursor: at(5)}); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("a gap behind them: %v, want %v", err, collection.ErrFenced)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	heir := open(t, both, postgres.Options{})
	defer heir.Close()
	if walked, records := stored(t, heir, begin(t, heir, "heir")); walked != 3 || records != 3 {
		t.Errorf("the heir finds %d slices by the checkpoint and %d by the records, want 3", walked, records)
	}
}

// records returns how many records a store has, which may not be there yet.
func records(t *testing.T, address string) (n int) {
	s, err := postgres.Open(t.Context(), address, postgres.Options{ReadOnly: true})
	if err != nil {
		return 0
	}
	defer s.Close()
	for _, err := range s.Records(t.Context(), "acme", "notes") {
		if err != nil {
			return 0
		}
		n++
	}
	return n
}
