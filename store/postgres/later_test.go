package postgres_test

import (
	"errors"
	"testing"

	"collect/collection"
	"collect/store/postgres"
)

// TestStatementToldLaterFails: a statement for whose answer nobody waits fails the commit that it is part of, as one
// whose outcome is known, and nothing else: the session goes on.
func TestStatementToldLaterFails(t *testing.T) {
	s := open(t, address(), postgres.Options{Create: true})
	defer s.Close()
	l := beginOf(t, s, "ants")
	session, err := postgres.Session(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(t.Context(), slice(0)); err != nil { // from here on all statements are prepared
		t.Fatal(err)
	}
	for _, table := range []string{"streams", "checkpoints", "slices"} { // each is written, and none is asked
		if err := postgres.Exec(s, `CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$no$$; END'`); err != nil {
			t.Fatal(err)
		}
		if err := postgres.Exec(s, `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON `+table+` FOR EACH ROW EXECUTE FUNCTION refuse()`); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Commit(t.Context(), slice(1)); err == nil || errors.Is(err, collection.ErrUnknown) {
			t.Errorf("%s: Commit: %v, want an error of the server", table, err)
		}
		if _, err := l.Commit(t.Context(), slice(1), slice(5)); !errors.Is(err, collection.ErrCursorMoved) {
			t.Errorf("%s: a commit that is given up before it is told: %v", table, err)
		}
		if err := postgres.Exec(s, `DROP FUNCTION refuse() CASCADE`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Commit(t.Context(), slice(1)); err != nil {
		t.Errorf("Commit: %v", err)
	}
	if got, err := postgres.Session(s); got != session {
		t.Errorf("the session is %d, want %d, %v", got, session, err)
	}
	if states, err := s.Streams(t.Context(), "ants"); err != nil || len(states) != 1 || states[0].Records != 2 {
		t.Errorf("the streams are %+v, %v", states, err)
	}
}
