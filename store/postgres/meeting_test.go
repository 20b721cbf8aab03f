package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"collect/store"
	"collect/store/postgres"
)

// TestMeetingCarriesMessages: what is written to a connection is read at its other end,
// in order and whole, also where a message is longer than a notification may be; an
// end that is closed ends the other one; and who dials a listener that is closed is told so.
func TestMeetingCarriesMessages(t *testing.T) {
	t.Parallel()
	at := address()
	here := open(t, at, postgres.Options{Create: true})
	defer here.Close()
	there := open(t, at, postgres.Options{})
	defer there.Close()
	l, err := here.Meeting().Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		all, err := io.ReadAll(c)
		if err != nil {
			t.Error(err)
		}
		got <- all
	}()
	c, err := there.Meeting().Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	out := json.NewEncoder(io.MultiWriter(c, &want))
	for _, text := range []string{"", "a b  c", strings.Repeat("é\x00€", 5000), strings.Repeat("𝄞", 20000)} {
		if err := out.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case all := <-got:
		if !bytes.Equal(all, want.Bytes()) {
			t.Errorf("%d bytes came, want the %d that were written", len(all), want.Len())
		}
	case <-time.After(30 * time.Second):
		t.Error("nothing came")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := there.Meeting().Dial(short, l.Addr().String()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that is closed: %v, want %v", err, net.ErrClosed)
	}
}

// TestMeetingDoesNotWait: a server that does not answer in time cannot be reached, so that what waits for
// the lead is tried again.
func TestMeetingDoesNotWait(t *testing.T) {
	t.Parallel()
	db := open(t, address(), postgres.Options{Create: true})
	defer db.Close()
	sessions := postgres.Sessions(db)
	defer sessions.Close()
	held, err := sessions.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback()
	if _, err := held.Exec("LOCK TABLE paces"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, _, err := db.Meeting().Take(ctx, "acme", "a", time.Hour); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("Take: %v, want %v", err, store.ErrUnreachable)
	}
}

// TestMeetingKeepsTheLead: one process leads, its state is there for the next, and one
// that lost the lead writes nothing.
func TestMeetingKeepsTheLead(t *testing.T) {
	t.Parallel()
	at := address()
	db := open(t, at, postgres.Options{Create: true})
	defer db.Close()
	m, ctx := db.Meeting(), t.Context()
	take := func(id string, lasts time.Duration, leader string, killed bool) {
		t.Helper()
		gotLeader, gotKilled, err := m.Take(ctx, "acme", id, lasts)
		if err != nil || gotLeader != leader || gotKilled != killed {
			t.Errorf("Take(%s) = %q, killed %t, %v; want %q, %t", id, gotLeader, gotKilled, err, leader, killed)
		}
	}
	save := func(id, state string, want bool) {
		t.Helper()
		if leads, err := m.Save(ctx, "acme", id, []byte(state)); err != nil || leads != want {
			t.Errorf("Save(%s) = %t, %v; want %t", id, leads, err, want)
		}
	}
	take("a", time.Hour, "a", false)
	take("b", time.Hour, "a", false)
	save("a", `{"of": "a"}`, true)
	save("b", `{"of": "b"}`, false)
	if leads, err := m.Renew(ctx, "acme", "a", time.Millisecond); err != nil || !leads {
		t.Errorf("Renew = %t, %v", leads, err)
	}
	time.Sleep(20 * time.Millisecond)
	take("b", time.Hour, "b", true) // a is silent
	save("a", `{"of": "a"}`, false)
	if leads, err := m.Renew(ctx, "acme", "a", time.Hour); err != nil || leads {
		t.Errorf("Renew of one that was deposed = %t, %v", leads, err)
	}
	if state, err := m.State(ctx, "acme"); err != nil || string(state) != `{"of": "a"}` {
		t.Errorf("State = %s, %v", state, err)
	}
	if err := m.Leave(ctx, "acme", "a"); err != nil { // it does not
		t.Error(err)
	}
	take("c", time.Hour, "b", false)
	if err := m.Leave(ctx, "acme", "b"); err != nil {
		t.Error(err)
	}
	take("c", time.Hour, "c", false)
	if state, err := m.State(ctx, "other"); err != nil || state != nil {
		t.Errorf("the state of another account = %s, %v", state, err)
	}

	// A server that may have forgotten lets nobody lead for one lease.
	if err := postgres.Exec(db, fmt.Sprintf(`UPDATE paces SET lead = (lead::jsonb || '{"life": "another", "ends": %d}')::text`, 0)); err != nil {
		t.Fatal(err)
	}
	take("d", 200*time.Millisecond, "", false)
	take("e", 200*time.Millisecond, "", false)
	time.Sleep(250 * time.Millisecond)
	take("e", time.Hour, "e", true)
}
