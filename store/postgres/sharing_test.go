package postgres_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/internal/process"
	"collect/store"
	"collect/store/postgres"
)

// TestSharing: who looks is told how many machines and runs share an account while a process leads
// it; a run of another account, and one that ended, is none of them.
func TestSharing(t *testing.T) {
	t.Parallel()
	s := open(t, address(), postgres.Options{Create: true})
	defer s.Close()
	sharing := func() *store.Sharing {
		t.Helper()
		got, err := s.Sharing(t.Context(), "acme-here", "acme/1")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, one := range []struct {
		name, host string
		domain     string
		accounts   []collection.RunAccount
	}{
		{"ants", "one", "acme/1", nil},
		{"bees", "two", "acme/1", nil},
		{"cats", "two", "acme/0", []collection.RunAccount{{Domain: "acme/0"}, {Domain: "acme/1"}}},
		{"dogs", "three", "acme/2", nil},
	} {
		run := newRun("run-" + one.name)
		run.Connector, run.Domain, run.Accounts, run.Holder.Host = one.name, one.domain, one.accounts, one.host
		if _, err := s.Begin(t.Context(), run, declared); err != nil {
			t.Fatal(err)
		}
	}
	if got := sharing(); got != nil {
		t.Errorf("before anybody leads: %+v, want nothing", *got)
	}
	lead := func(lasts time.Duration) {
		t.Helper()
		if leader, _, err := s.Meeting().Take(t.Context(), "acme-here", "id", lasts); leader != "id" || err != nil {
			t.Fatalf("Take: %q, %v", leader, err)
		}
	}
	want := store.Sharing{Machines: 2, Runs: 3, Leader: process.This()}
	lead(time.Minute)
	if got := sharing(); got == nil || *got != want {
		t.Errorf("shared: %+v, want %+v", got, want)
	}
	if leads, err := s.Meeting().Renew(t.Context(), "acme-here", "id", time.Minute); !leads || err != nil {
		t.Fatalf("Renew: %t, %v", leads, err)
	}
	if got := sharing(); got == nil || *got != want {
		t.Errorf("shared, after a renewal: %+v, want %+v", got, want)
	}
	if err := postgres.Exec(s, `UPDATE leases SET expires_at = clock_timestamp() WHERE connector = 'ants'`); err != nil {
		t.Fatal(err)
	}
	want.Machines, want.Runs = 1, 2
	if got := sharing(); got == nil || *got != want {
		t.Errorf("shared, after a machine went: %+v, want %+v", got, want)
	}
	if err := s.Meeting().Leave(t.Context(), "acme-here", "id"); err != nil {
		t.Fatal(err)
	}
	if got := sharing(); got != nil {
		t.Errorf("after the leader left: %+v, want nothing", *got)
	}
	lead(time.Microsecond)
	if got := sharing(); got != nil {
		t.Errorf("after the lead ended: %+v, want nothing", *got)
	}
}
