package share_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/share"
)

// soon bounds what must happen, on a machine that is busy.
const soon = 30 * time.Second

// one is an account with one request in flight at once.
func one(t *testing.T) share.Config {
	return share.Config{At: share.At{Dir: t.TempDir(), Account: "acme"}, Concurrency: 1, Open: func(state []byte) (*gate.Gate, error) {
		return pacing.NewGate(pacing.Config{Restore: state, Concurrency: 1,
			Provider: collection.Provider{Name: "acme", Unpaced: true, Concurrency: collection.Concurrency{Max: 1}}})
	}}
}

// enter asks d for a turn; what comes of it is sent.
func enter(d *share.Desk) <-chan error {
	turn := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeoutCause(context.Background(), soon, errors.New("it waits for ever"))
		defer cancel()
		p, err := d.Enter(ctx, &desk.Turn{Asker: willing{}})
		if err == nil {
			d.Settle(p, gate.Outcome{Signal: law.Succeeded, Hold: -1}, gate.Request{})
		}
		turn <- err
	}()
	return turn
}

// TestDeposedLeaderGoesOn: it stands in its own line behind a request of a guest
// when it is stopped. When it goes on, another one leads, and it joins that one;
// so does another guest, that was stopped as well.
func TestDeposedLeaderGoesOn(t *testing.T) {
	t.Parallel()
	c := one(t)
	first, second, third := join(t, c), join(t, c), join(t, c)
	defer first.Close()
	defer second.Close()
	defer third.Close()
	pass, err := second.Enter(t.Context(), &desk.Turn{Asker: willing{}})
	if err != nil {
		t.Fatal(err)
	}
	own, guests := enter(first), enter(third)
	time.Sleep(100 * time.Millisecond) // they stand in line
	// The process was stopped, the others deposed it, and it goes on: the lock
	// that it had is another one's before it hears anything.
	if err := os.Remove(filepath.Join(c.Dir, c.Account+".lock")); err != nil {
		t.Fatal(err)
	}
	second.Settle(pass, gate.Outcome{Signal: law.Succeeded, Hold: -1}, gate.Request{}) // with whoever leads now
	if err := <-own; err != nil {
		t.Errorf("the one that led: %v", err)
	}
	if err := <-guests; err != nil {
		t.Errorf("its guest: %v", err)
	}
	if first.Leads() && second.Leads() {
		t.Error("two lead")
	}
}

// TestStoppedGuestFreesItsPlaces: a guest that is stopped with a request in
// flight does not keep the others waiting, and joins again when it goes on.
func TestStoppedGuestFreesItsPlaces(t *testing.T) {
	t.Parallel()
	c := one(t)
	first, second := join(t, c), join(t, c)
	defer first.Close()
	defer second.Close()
	pass, err := second.Enter(t.Context(), &desk.Turn{Asker: willing{}})
	if err != nil {
		t.Fatal(err)
	}
	wake := second.Stop()
	if err := <-enter(first); err != nil {
		t.Errorf("the leader, beside a guest that is stopped: %v", err)
	}
	wake()
	second.Settle(pass, gate.Outcome{Signal: law.Succeeded, Hold: -1}, gate.Request{})
	if err := <-enter(second); err != nil {
		t.Errorf("the guest: %v", err)
	}
}
