package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/pgtest"
	"collect/store"
	"collect/store/postgres"
)

var (
	declared = []collection.Stream{{Name: "notes", Role: collection.List, Refresh: collection.EachRun}}
	notes    = collection.Place{Stream: "notes", Lane: collection.Incremental}
)

func begin(t *testing.T, s *postgres.Store, run string) store.Ledger {
	t.Helper()
	l, err := s.Begin(t.Context(), newRun(run), declared)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	return l
}

func newRun(id string) collection.Run {
	return collection.Run{ID: id, Connector: "acme", Lane: collection.Incremental, StartedAt: time.Now(), Holder: collection.Holder{Host: "h", PID: 1}}
}

// at is the cursor after n slices.
func at(n int) collection.Cursor {
	if n == 0 {
		return collection.Cursor{}
	}
	return collection.Cursor{Token: fmt.Sprint(n)}
}

func slice(n int) collection.Slice {
	key := fmt.Sprintf("k%04d", n)
	return collection.Slice{Place: notes, From: at(n), Next: at(n + 1), Records: []collection.Record{{Key: key, Data: []byte(`{"id":"` + key + `"}`)}}}
}

// stored returns how many slices are in s, by its checkpoint and by its records.
func stored(t *testing.T, s *postgres.Store, l store.Ledger) (walked, records int) {
	t.Helper()
	cp, err := l.Checkpoint(t.Context(), notes)
	if err != nil {
		t.Fatal(err)
	}
	if cp.Cursor != (collection.Cursor{}) {
		if _, err := fmt.Sscan(cp.Cursor.Token, &walked); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range s.Records(t.Context(), "acme", "notes") {
		if err != nil {
			t.Fatal(err)
		}
		records++
	}
	return walked, records
}

// TestServerKilled: however the server is ended in the middle of commits, all that was
// acknowledged is there, nothing is there by half, and the run goes on when it is back.
func TestServerKilled(t *testing.T) {
	server, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Remove()
	address := server.Address("killed")
	s := open(t, address, postgres.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "run-1")
	n := 0 // acknowledged
	for round, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		_, failed := l.Commit(t.Context(), slice(n))
		if failed != nil {
			t.Fatal(failed)
		}
		n++
		time.AfterFunc(time.Duration(30+40*round)*time.Millisecond, func() { _ = server.Signal(how) })
		for failed == nil {
			if _, failed = l.Commit(t.Context(), slice(n)); failed == nil {
				n++
			}
		}
		if !errors.Is(failed, store.ErrUnreachable) && !errors.Is(failed, collection.ErrUnknown) {
			t.Errorf("round %d: Commit without a server: %v", round, failed)
		}
		server.End(how)
		if err := server.Begin(); err != nil {
			t.Fatal(err)
		}
		walked, records := stored(t, s, l)
		if walked != records || walked < n || walked > n+1 || walked == n+1 && !errors.Is(failed, collection.ErrUnknown) {
			t.Errorf("round %d: %d slices were acknowledged, then %v; the checkpoint is at %d, and there are %d records", round, n, failed, walked, records)
		}
		n = walked
	}
	if err := l.Finish(t.Context(), newRun("run-1")); err != nil {
		t.Errorf("Finish: %v", err)
	}
}

// TestLostAnswer: the session is ended before and after the commit took effect, and the
// ledger finds out which it was.
func TestLostAnswer(t *testing.T) {
	gone := errors.New("the answer was lost")
	s := open(t, address(), postgres.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "run-1")
	end := func() error {
		pid, err := postgres.Session(s)
		if err == nil {
			err = postgres.Exec(s, "SELECT pg_terminate_backend(?::int, 5000)", pid)
		}
		return err
	}

	postgres.At(s, postgres.BeforeCommit, end) // and the commit finds no session
	if _, err := l.Commit(t.Context(), slice(0)); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("Commit in a session that was ended: %v", err)
	}
	if walked, records := stored(t, s, l); walked != 0 || records != 0 {
		t.Errorf("after a commit that failed: checkpoint %d, records %d", walked, records)
	}

	postgres.At(s, postgres.AfterCommit, func() error { return errors.Join(end(), gone) })
	if _, err := l.Commit(t.Context(), slice(0)); err != nil {
		t.Errorf("Commit whose answer was lost: %v", err)
	}
	if walked, records := stored(t, s, l); walked != 1 || records != 1 {
		t.Errorf("after a commit whose answer was lost: checkpoint %d, records %d", walked, records)
	}
	if _, err := l.Commit(t.Context(), slice(1)); err != nil {
		t.Errorf("the next Commit: %v", err)
	}
}

// TestLease: a run whose session ended, or whose lease did, is succeeded, and writes
// nothing any more.
func TestLease(t *testing.T) {
	where := address()
	first, second := open(t, where, postgres.Options{Create: true}), open(t, where, postgres.Options{})
	defer first.Close()
	defer second.Close()

	one := begin(t, first, "run-1")
	_, err := second.Begin(t.Context(), newRun("run-2"), declared)
	if !held(err, "run-1") {
		t.Fatalf("Begin beside a run: %v", err)
	}
	if e, _ := errors.AsType[*store.HeldError](err); e.Left < 20*time.Second || e.Left > 30*time.Second {
		t.Errorf("a lease just taken lasts %v, want 30 s less what Begin took", e.Left)
	}
	if err := postgres.Exec(first, "UPDATE leases SET expires_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	two := begin(t, second, "run-2")
	if _, err := one.Commit(t.Context(), slice(0)); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("Commit after the lease ended: %v", err)
	}
	if err := one.Finish(t.Context(), newRun("run-1")); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("Finish after the lease ended: %v", err)
	}
	if _, err := two.Commit(t.Context(), slice(0)); err != nil {
		t.Error(err)
	}

	pid, err := postgres.Session(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := postgres.Exec(first, "SELECT pg_terminate_backend(?::int, 5000)", pid); err != nil {
		t.Fatal(err)
	}
	three := begin(t, first, "run-3")
	if _, err := two.Commit(t.Context(), slice(1)); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("Commit after the session ended: %v", err)
	}
	if _, err := three.Commit(t.Context(), slice(1)); err != nil {
		t.Error(err)
	}
}

func held(err error, by string) bool {
	e, ok := errors.AsType[*store.HeldError](err)
	return ok && e.Run.ID == by
}

// TestRefused: what keeps a store from being opened is told in words of package store,
// and never with the password.
func TestRefused(t *testing.T) {
	old, newer, foreign := address(), address(), address()
	for _, at := range []string{old, newer} {
		s := open(t, at, postgres.Options{Create: true})
		version := "UPDATE goose_db_version SET version_id = 999 WHERE version_id > 0"
		if at == old {
			version = "DELETE FROM goose_db_version WHERE version_id > 0"
		}
		if err := errors.Join(postgres.Exec(s, version), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, address(), postgres.Options{Create: true})
	defer s.Close()
	theirs, _ := url.Parse(foreign)
	for _, statement := range []string{
		"CREATE SCHEMA " + theirs.Query().Get("search_path"),
		"CREATE TABLE " + theirs.Query().Get("search_path") + ".records (id int)",
		"DROP ROLE IF EXISTS stranger",
		"CREATE ROLE stranger LOGIN",
	} {
		if err := postgres.Exec(s, statement); err != nil {
			t.Fatal(err)
		}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, test := range []struct {
		name, address string
		create        bool
		want          error
	}{
		{"silent server", "postgres://u:hunter2@" + silent.Addr().String() + "/db?sslmode=disable&connect_timeout=1", false, store.ErrUnreachable},
		{"no server", "postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable", false, store.ErrUnreachable},
		{"no database", with(address(), "dbname", "nowhere", "password", "hunter2"), false, store.ErrMissing},
		{"no schema", with(address(), "password", "hunter2"), false, store.ErrMissing},
		{"no rights", with(address(), "user", "stranger", "password", "hunter2"), true, store.ErrNoAccess},
		{"nobody", with(address(), "user", "nobody-there", "password", "hunter2"), false, store.ErrNoAccess},
		{"no such parameter", with(address(), "unheard_of_here", "1", "password", "hunter2"), false, store.ErrNoAccess},
		{"newer", with(newer, "password", "hunter2"), true, store.ErrNewer},
		{"foreign", with(foreign, "password", "hunter2"), true, store.ErrNotDatabase},
		{"mistyped", "postgres://u:hunter2@[::1/db", false, nil},
		{"mistyped port", "postgres://u:hunter2@host:hunter2/db", false, nil},
	} {
		_, err := postgres.Open(t.Context(), test.address, postgres.Options{Create: test.create})
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: Open: %v, want %v", test.name, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "tls error")) {
			t.Errorf("%s: the error has the password, or what was tried before: %v", test.name, err)
		}
	}
}

// TestMistypedParameters: a parameter that is like a known one is named before anything
// connects, and so is the known one.
func TestMistypedParameters(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://db/collect?searchpath=a":          "search_path",
		"postgres://db/collect?ssl_mode=require":      "sslmode",
		"postgres://db/collect?search_path=a":         "",
		"postgres://db/collect?sslcrl=a&sslsni=0":     "",
		"postgres://db/collect?myapp.tenant=7":        "",
		"postgres://db/collect?keepalives_idle=5":     "",
		"postgres://db/collect?aplication_name=cron1": "application_name",
	} {
		err := postgres.Check(address)
		if (err != nil) != (want != "") || err != nil && !strings.HasSuffix(err.Error(), "is it meant to be "+want+"?") {
			t.Errorf("Check(%s) = %v, want %q", address, err, want)
		}
	}
}

// with returns an address with other parameters.
func with(address string, parameters ...string) string {
	u, _ := url.Parse(address)
	q := u.Query()
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// TestTexts: what no text of Postgres may have comes back byte for byte, in the order of
// the bytes, and the view of the stream can be read.
func TestTexts(t *testing.T) {
	s := open(t, address(), postgres.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "run-1")
	keys := []string{"a", "a\x00", "a\x00b", "a\x01", "a\x01\x01", "a\x02", "b'\\\"", "é"}
	sl := collection.Slice{Place: notes, Next: at(1)}
	for _, key := range keys {
		sl.Records = append(sl.Records, collection.Record{Key: key, Data: []byte(`{"n":1.10,"t":"\u0000","\u0000f?":"'\\","ü":"\ud83d"}`)})
	}
	if _, err := l.Commit(t.Context(), sl); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range s.Records(t.Context(), "acme", "notes") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Key)
		if string(r.Data) != string(sl.Records[0].Data) {
			t.Errorf("%q has %q", r.Key, r.Data)
		}
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", keys) {
		t.Errorf("keys %q, want %q", got, keys)
	}
	if err := postgres.Exec(s, `SELECT n, t FROM acme_notes`); err != nil {
		t.Errorf("the view: %v", err)
	}
	// A person's view of ours keeps no run from finding a new field.
	if err := postgres.Exec(s, `CREATE VIEW mine AS SELECT n FROM acme_notes`); err != nil {
		t.Fatal(err)
	}
	more := collection.Slice{Place: notes, From: at(1), Next: at(2), Records: []collection.Record{{Key: "c", Data: []byte(`{"later":1}`)}}}
	if _, err := l.Commit(t.Context(), more); err != nil {
		t.Errorf("a new field: %v", err)
	}
	if err := postgres.Exec(s, `SELECT n, later FROM acme_notes`); err != nil {
		t.Errorf("the view with a new field: %v", err)
	}
}

// TestCanceled: looking ends with its context, and tells no lie of the server.
func TestCanceled(t *testing.T) {
	s := open(t, address(), postgres.Options{Create: true})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Connectors(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Connectors with a context that ended: %v", err)
	}
}
