package postgres_test

import (
	"errors"
	"testing"

	"collect/store"
	"collect/store/postgres"
)

// TestEachReasonOnce: a server is tried at each address, with TLS and without; the error tells the reason of
// each address once.
func TestEachReasonOnce(t *testing.T) {
	const at = "postgres://ana@127.0.0.1:1,127.0.0.2:1/db"
	_, err := postgres.Open(t.Context(), at, postgres.Options{})
	if !errors.Is(err, store.ErrUnreachable) {
		t.Fatalf("Open(%s) = %v, want %v", at, err, store.ErrUnreachable)
	}
	want := "store postgres://ana@127.0.0.1:1/db cannot be reached: 127.0.0.1:1: connect: connection refused; 127.0.0.2:1: connect: connection refused"
	if err.Error() != want {
		t.Errorf("Open(%s):\n%v, want\n%s", at, err, want)
	}
}
