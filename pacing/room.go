package pacing

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// mostHeld is how many bytes of answers a run holds at once, however many
// requests are in flight: 16 honest pages of 2 MiB. One answer may be larger.
const mostHeld = 32 << 20

// roomPatience is how long the oldest answer waits while no other one leaves,
// before it goes on without room: those that have it may be waiting to be stored
// behind it.
const roomPatience = 15 * time.Second

// between is the time between two looks for room.
const between = 500 * time.Millisecond

// A room is the memory for the answers of one run, from the first byte that is
// read to the moment when nothing of an answer is needed any more. A few
// kilobytes on the wire may inflate to the limit of a body, once for each
// request in flight.
type room struct {
	mu        sync.Mutex
	held      int64
	beyond    int               // answers in memory that went on without room
	reading   map[*tenant]int64 // answers that are being read, by their age
	next      int64
	collected time.Time     // when memory was last looked through for answers that are not needed
	left      time.Time     // when the last answer left
	changed   chan struct{} // closed when there is more room; nil: no answer waits for room
}

// A tenant is the part of a room that one answer has.
type tenant struct {
	room   *room
	held   int64
	beyond bool
}

// enter lets an answer in.
func (r *room) enter() *tenant {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading == nil {
		r.reading = map[*tenant]int64{}
	}
	t := &tenant{room: r}
	r.next++
	r.reading[t] = r.next
	return t
}

// grow takes n more bytes, for which it has waited since a time. It reports
// whether there was room for them, or this is the one answer that may go on
// without.
func (t *tenant) grow(n int64, since time.Time) bool {
	t.room.mu.Lock()
	defer t.room.mu.Unlock()
	if t.room.left.After(since) {
		since = t.room.left
	}
	late := time.Since(since) >= roomPatience
	if t.room.held+n > mostHeld && !t.beyond {
		if t.room.beyond > 0 && (!late || !t.oldest()) {
			if t.room.changed == nil {
				t.room.changed = make(chan struct{})
			}
			return false
		}
		t.beyond = true
		t.room.beyond++
	}
	t.room.held += n
	t.held += n
	return true
}

// oldest reports whether no answer that is being read is older. The room's mu is
// held.
func (t *tenant) oldest() bool {
	for _, age := range t.room.reading {
		if age < t.room.reading[t] {
			return false
		}
	}
	return true
}

// wait takes n more bytes when there is room for them. It ends with ctx.
func (t *tenant) wait(ctx context.Context, n int64) error {
	start := time.Now()
	for !t.grow(n, start) {
		t.room.mu.Lock()
		changed := t.room.changed
		collect := time.Since(t.room.collected) >= between
		if collect {
			t.room.collected = time.Now()
		}
		t.room.mu.Unlock()
		if collect { // room comes back when the collector has seen that an answer is not needed
			runtime.GC()
		}
		look := time.NewTimer(between)
		select {
		case <-changed:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// read notes that the answer is read. Its room comes back when nothing refers to
// body any more; at once if there is no body.
func (t *tenant) read(body []byte) {
	t.room.mu.Lock()
	delete(t.room.reading, t)
	t.room.mu.Unlock()
	if cap(body) == 0 || t.held == 0 {
		t.leave()
		return
	}
	runtime.AddCleanup(&body[:1][0], (*tenant).leave, t)
}

// leave gives the room back.
func (t *tenant) leave() {
	r := t.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.left = r.held-t.held, time.Now()
	if t.held = 0; t.beyond {
		r.beyond--
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
