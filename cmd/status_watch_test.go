package cmd

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"collect/cmd/internal/live"
	"collect/store"
)

// A status that is watched stays on the screen while the server does not answer, with the time of its last answer.
// A server that never answered, and any other error, ends it.
func TestWatchedOutlivesAnOutage(t *testing.T) {
	away := fmt.Errorf("store x %w", store.ErrUnreachable)
	other := errors.New("no connector tickets")
	var w watched
	if _, err := w.picture(away); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("the first look at a server that is away returned %v, want %v", err, store.ErrUnreachable)
	}
	w.saw("tickets ok\n", time.Date(2026, 1, 2, 14, 3, 5, 0, time.UTC))
	for _, step := range []struct {
		err  error
		want live.Picture
	}{
		{nil, live.Picture{Text: "tickets ok\n"}},
		{away, live.Picture{Text: "tickets ok\n", Note: "the server has not answered since 14:03:05 UTC"}},
		{away, live.Picture{Text: "tickets ok\n", Note: "the server has not answered since 14:03:05 UTC"}},
	} {
		if got, err := w.picture(step.err); got != step.want || err != nil {
			t.Errorf("after %v the picture is %+v, %v, want %+v", step.err, got, err, step.want)
		}
	}
	if _, err := w.picture(other); !errors.Is(err, other) {
		t.Errorf("after another error it goes on: %v", err)
	}
	w.saw("tickets ok\n", time.Date(2026, 1, 2, 14, 9, 0, 0, time.UTC))
	if got, err := w.picture(nil); got.Note != "" || w.away || err != nil {
		t.Errorf("after the server is back the picture is %+v, %v", got, err)
	}
}
