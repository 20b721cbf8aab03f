package pacing_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing"
)

// TestAnswersShareRoom: the answers of a run have a room between them. One may
// be larger than it; the others wait until that one is not needed any more.
func TestAnswersShareRoom(t *testing.T) {
	var r pacing.Room
	first, large, third := r.Enter(), r.Enter(), r.Enter()
	if !first.Grow(pacing.MostHeld) || !large.Grow(1) || !large.Grow(2*pacing.MostHeld) {
		t.Error("one answer that fits and one that does not had no room")
	}
	if third.Grow(1) {
		t.Error("a second one went beyond the room")
	}
	first.Read(nil)
	if third.Grow(1) {
		t.Error("there was room beside a large answer")
	}
	body := make([]byte, 1<<20)
	large.Read(body)
	if third.Grow(1) {
		t.Error("there was room while the large answer was in use")
	}
	body[0] = 1
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	body = nil
	if err := third.Wait(ctx, 1); err != nil {
		t.Errorf("the room of an answer that is not needed did not come back: %v", err)
	}
}

// TestOldestAnswerGoesOn: where all that have the room wait for an answer that
// has none, the oldest one goes on, and no other; a run never stands still.
func TestOldestAnswerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r pacing.Room
		oldest, younger, large, full := r.Enter(), r.Enter(), r.Enter(), r.Enter()
		if !full.Grow(pacing.MostHeld) || !large.Grow(1) {
			t.Fatal("no room")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*pacing.RoomPatience)
		defer cancel()
		stuck := make(chan error)
		go func() { stuck <- younger.Wait(ctx, 1) }()
		start := time.Now()
		if err := oldest.Wait(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < pacing.RoomPatience || waited > pacing.RoomPatience+time.Second {
			t.Errorf("it waited %v, want about %v", waited, pacing.RoomPatience)
		}
		if err := <-stuck; err == nil {
			t.Error("one that is not the oldest went on")
		}
	})
}
