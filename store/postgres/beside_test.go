package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/postgres"
)

// beginOf begins a run of a connector.
func beginOf(t *testing.T, s *postgres.Store, connector string) store.Ledger {
	t.Helper()
	run := newRun("run of " + connector)
	run.Connector = connector
	l, err := s.Begin(t.Context(), run, declared)
	if err != nil {
		t.Fatalf("Begin %s: %v", connector, err)
	}
	return l
}

// standing lets the next commit of a ledger stand still before it takes effect; it goes on
// when release is called, and ended then tells its error.
func standing(t *testing.T, s *postgres.Store, l store.Ledger, sl collection.Slice) (release func(), ended chan error) {
	t.Helper()
	stands, free := make(chan struct{}), make(chan struct{})
	ended = make(chan error, 1)
	postgres.At(s, postgres.BeforeCommit, func() error {
		close(stands)
		<-free
		return nil
	})
	go func() {
		_, err := l.Commit(context.Background(), sl)
		ended <- err
	}()
	<-stands
	return func() { close(free) }, ended
}

// soon fails the test if do takes long.
func soon(t *testing.T, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%s waits for a commit of another connector", what)
	}
}

// TestConnectorsWriteBesideEachOther: while one connector's commit stands still, another
// connector's run begins, commits, beats and ends; records are counted for each of them, and each
// sees its own numbers ascend.
func TestConnectorsWriteBesideEachOther(t *testing.T) {
	where := address()
	one, two := open(t, where, postgres.Options{Create: true}), open(t, where, postgres.Options{})
	defer one.Close()
	defer two.Close()
	ants := beginOf(t, one, "ants")
	release, ended := standing(t, one, ants, slice(0))
	var bees store.Ledger
	soon(t, "Begin", func() error {
		run := newRun("run of bees")
		run.Connector = "bees"
		var err error
		bees, err = two.Begin(t.Context(), run, declared)
		return err
	})
	var last int64
	commit := func(l store.Ledger, n int) func() error {
		return func() error {
			done, err := l.Commit(t.Context(), slice(n), slice(n+1))
			for _, c := range done {
				if c.Commit <= last {
					t.Errorf("commit %d comes after %d", c.Commit, last)
				}
				last = c.Commit
			}
			return err
		}
	}
	if bees != nil {
		soon(t, "Commit", commit(bees, 0))
		soon(t, "Beat", func() error {
			return bees.Beat(t.Context(), time.Now(), collection.Tally{}, collection.Metrics{})
		})
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("the commit that stood still: %v", err)
	}
	if t.Failed() {
		return
	}
	soon(t, "Commit", commit(bees, 2))
	last = 0
	soon(t, "Commit", commit(ants, 1))
	var both sync.WaitGroup
	for l, n := range map[store.Ledger]int{ants: 3, bees: 4} {
		both.Go(func() {
			for ; n < 40; n++ {
				if _, err := l.Commit(t.Context(), slice(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	for connector, want := range map[string]int64{"ants": 40, "bees": 40} {
		streams, err := two.Streams(t.Context(), connector)
		if err != nil || len(streams) != 1 || streams[0].Records != want {
			t.Errorf("%s has %+v, want %d records, %v", connector, streams, want, err)
		}
	}
}

// TestOrdersAreAlone: what a person orders of one connector waits for the commits of all, and is done
// before those that come later.
func TestOrdersAreAlone(t *testing.T) {
	where := address()
	one, two := open(t, where, postgres.Options{Create: true}), open(t, where, postgres.Options{})
	defer one.Close()
	defer two.Close()
	release, ended := standing(t, one, beginOf(t, one, "ants"), slice(0))
	ordered := make(chan error, 1)
	go func() {
		_, err := two.Pause(context.Background(), "ants", true, store.Audit{Who: "ann", Why: "a test"})
		ordered <- err
	}()
	select {
	case err := <-ordered:
		t.Errorf("an order did not wait: %v", err)
	case <-time.After(200 * time.Millisecond): // it would have been done in a few
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("the commit: %v", err)
	}
	if err := <-ordered; err != nil {
		t.Errorf("the order: %v", err)
	}
}

// TestHeirWaits: a run that takes the lease over waits for a commit of the one before that is in the middle
// of its transaction, and sees what it stored; then the one before is fenced.
func TestHeirWaits(t *testing.T) {
	where := address()
	one, two := open(t, where, postgres.Options{Create: true}), open(t, where, postgres.Options{})
	defer one.Close()
	defer two.Close()
	zombie := beginOf(t, one, "ants")
	if err := postgres.Exec(two, `UPDATE leases SET expires_at = clock_timestamp()`); err != nil {
		t.Fatal(err)
	}
	release, ended := standing(t, one, zombie, slice(0)) // its renewal is not to be seen yet
	heir := make(chan store.Ledger, 1)
	go func() {
		run := newRun("heir")
		run.Connector = "ants"
		l, err := two.Begin(context.Background(), run, declared)
		if err != nil {
			t.Errorf("the heir: %v", err)
		}
		heir <- l
	}()
	select {
	case <-heir:
		t.Fatal("the heir did not wait")
	case <-time.After(200 * time.Millisecond):
	}
	release()
	if err := <-ended; err != nil {
		t.Errorf("the commit: %v", err)
	}
	l := <-heir
	if l == nil {
		return
	}
	if cp, err := l.Checkpoint(t.Context(), notes); err != nil || cp.Cursor != at(1) {
		t.Errorf("the heir finds %+v, %v", cp, err)
	}
	if _, err := zombie.Commit(t.Context(), slice(1)); err == nil {
		t.Error("the one before still writes")
	}
}
