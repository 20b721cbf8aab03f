// Package share lets the processes of one host use one gate for one account.
//
// The first process that asks for an account leads: it has the gate, and its
// line. The others are guests: they stand in the same line, over a socket, and
// are told of their turn. So a slot is reserved and never polled for, requests
// leave in the order in which they came, and a refusal that one process sees slows
// all of them down, once.
//
//	process ──┐
//	process ──┼── socket ──→ leader: line ──→ gate ──→ file
//	process ──┘
//
// Who leads holds a lock, which the kernel frees when it dies. Then a guest
// leads, and goes on with the file: everything that must not be forgotten is in
// it before anything relies on it. A guest that dies gives back its places. A
// leader that does not answer, because somebody stopped it, is deposed: it
// finds out before its next request leaves.
//
// What is learned between two saves is lost with a leader that is killed. What
// was asked of us (a silence, a freeze, an open breaker, the count of a long
// window) is not.
package share

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// A place is where a process stands: it leads, or is a guest. Its errors wrap
// errGone if another place must be found.
type place interface {
	enter(ctx context.Context, t *desk.Turn) (gate.Pass, error)
	adopt() (gate.Pass, error) // for a request that left under another leader
	settle(p gate.Pass, o gate.Outcome, next gate.Request) (desk.Settled, error)
	state(last bool) ([]byte, error)
	status() (gate.Status, error)
	saved()
	look()
	close() error
}

// A Desk gives the turns of an account that other processes use as well. It
// has the methods of a [desk.Desk], and is safe for concurrent use.
type Desk struct {
	config Config

	mu      sync.Mutex
	place   place // nil: it must be found
	left    bool  // and is not any more
	era     int   // counts places
	serial  uint64
	flights map[uint64]flight
	last    gate.Status
	seen    []byte // the state that was asked for last, also of the leader of then; nil: none was

	finding chan struct{} // is full while one goroutine looks for a place
	missed  time.Time     // since when the directory does not answer; of that goroutine
}

// A flight is a request on its way.
type flight struct {
	era  int
	pass gate.Pass // of the place of that era
}

// Join takes part in an account. An error says that it cannot be shared here.
func Join(ctx context.Context, c Config) (*Desk, error) {
	if err := c.ground().make(); err != nil {
		return nil, err
	}
	d := &Desk{config: c, flights: map[uint64]flight{}, finding: make(chan struct{}, 1)}
	_, _, err := d.at(ctx)
	return d, err
}

// Close ends taking part. What was learned is kept.
func (d *Desk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = true
	if d.place == nil {
		return nil
	}
	err := d.place.close()
	d.place = nil
	return err
}

// Temporary reports whether the processes of the account meet in a temporary
// folder, since there can be no socket beside their files. A process with another
// temporary folder does not find the leader there, and deposes it.
func (d *Desk) Temporary() bool {
	if d.config.Directory != nil {
		return false
	}
	name, err := os.ReadFile(lockFile(d.config.Dir, d.config.Account))
	return err == nil && filepath.IsAbs(string(name))
}

// at returns the place of this process, and finds it if it was lost. The
// requests that are on their way are known there.
func (d *Desk) at(ctx context.Context) (place, int, error) {
	for {
		d.mu.Lock()
		at, era, left := d.place, d.era, d.left
		d.mu.Unlock()
		switch {
		case left:
			return nil, 0, errLeft
		case at != nil:
			return at, era, nil
		}
		select {
		case d.finding <- struct{}{}:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
		err := d.seek(ctx)
		<-d.finding
		if err != nil {
			return nil, 0, err
		}
	}
}

// seek finds the place of this process, unless another goroutine has found it.
func (d *Desk) seek(ctx context.Context) error {
	d.mu.Lock()
	known := d.left || d.place != nil
	d.mu.Unlock()
	if known {
		return nil
	}
	found, err := d.find(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left {
		return found.close()
	}
	d.place = found
	d.era++
	for id := range d.flights {
		pass, err := found.adopt()
		if err != nil {
			d.lost()
			break
		}
		d.flights[id] = flight{d.era, pass}
	}
	return nil
}

func (d *Desk) lost() {
	_ = d.place.close() // it is gone
	d.place = nil
}

// find leads, or becomes a guest of who does.
func (d *Desk) find(ctx context.Context) (place, error) {
	c := d.config
	d.mu.Lock()
	c.Known = gate.Newest(c.Known, d.seen) // a leader that was killed may have saved less
	d.mu.Unlock()
	meet := c.ground()
	var silent time.Time // since when no leader answers
	deposed := false
	for {
		claimed, err := meet.claim(ctx)
		d.answers(err)
		if err == nil {
			return lead(c, claimed, meet.clock(), deposed)
		}
		if errors.Is(err, errAway) && time.Since(d.missed) > awayLonger || !errors.Is(err, errTaken) && !errors.Is(err, errAway) {
			return nil, err
		}
		if errors.Is(err, errTaken) {
			if silent.IsZero() {
				silent = time.Now()
			}
			g, err := visit(ctx, meet, c)
			if err == nil {
				return g, nil
			}
			if time.Since(silent) > beatLonger {
				if err := meet.depose(ctx); err != nil {
					return nil, err
				}
				silent, deposed = time.Time{}, true
				continue
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(meet.lookEvery()):
		}
	}
}

// answers notes whether the directory answered, and tells of it when that changes.
func (d *Desk) answers(err error) {
	away := errors.Is(err, errAway)
	if away != d.missed.IsZero() {
		return
	}
	if d.missed = (time.Time{}); away {
		d.missed = time.Now()
	} else {
		err = nil
	}
	if d.config.Away != nil {
		d.config.Away(err)
	}
}

// with calls do with the place of this process and its era, and again with the next
// one as long as do finds that the place is gone.
func (d *Desk) with(ctx context.Context, do func(at place, era int) error) error {
	for {
		at, era, err := d.at(ctx)
		if err != nil {
			return err
		}
		if err = do(at, era); !errors.Is(err, errGone) {
			return err
		}
		d.mu.Lock()
		if d.place != nil && d.era == era {
			d.lost()
		}
		d.mu.Unlock()
	}
}

// Enter waits for the turn of t: see [desk.Desk.Enter].
func (d *Desk) Enter(ctx context.Context, t *desk.Turn) (pass gate.Pass, err error) {
	err = d.with(ctx, func(at place, era int) (err error) {
		if pass, err = at.enter(ctx, t); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.serial++
		d.flights[d.serial] = flight{era, pass}
		pass.ID = d.serial
		return nil
	})
	return pass, err
}

// Settle records what became of an attempt: see [desk.Desk.Settle]. What was
// seen is told to the next leader if this one is gone.
func (d *Desk) Settle(p gate.Pass, o gate.Outcome, next gate.Request) (settled desk.Settled) {
	err := d.with(context.Background(), func(at place, era int) (err error) {
		d.mu.Lock()
		f, ok := d.flights[p.ID]
		d.mu.Unlock()
		if !ok {
			settled = desk.Settled{Closed: true}
			return nil
		}
		if f.era != era {
			// It left while the place was lost, so it is not known there yet.
			if f.pass, err = at.adopt(); err != nil {
				return errGone
			}
		}
		if settled, err = at.settle(f.pass, o, next); errors.Is(err, errGone) {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.flights, p.ID)
		return err
	})
	if err != nil {
		return unshared(err)
	}
	return settled
}

// unshared is the end of an attempt whose news cannot be told: nothing follows.
func unshared(err error) desk.Settled {
	stop := &collection.Stop{Reason: collection.Interrupted, Detail: "the pace is shared with other processes, and cannot be", Err: err}
	return desk.Settled{Closed: true, Refused: stop, Next: stop}
}

// State returns what must be known in a later process: see [desk.Desk.State].
func (d *Desk) State(last bool) (state []byte) {
	err := d.with(context.Background(), func(at place, _ int) (err error) {
		if state, err = at.state(last); err != nil {
			return errGone
		}
		return nil
	})
	if last {
		d.Status() // how it ended: that is asked for once the place is left
	}
	if err != nil {
		return d.config.Known
	}
	d.mu.Lock()
	d.seen = state
	d.mu.Unlock()
	return state
}

// Status returns how things stand, or stood when that was last known.
func (d *Desk) Status() gate.Status {
	var now gate.Status
	at, err := d.here(), errGone
	if at != nil {
		now, err = at.status()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.last = now
	}
	return d.last
}

// here returns the place of this process; nil while it is lost.
func (d *Desk) here() place {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.place
}

// Saved ends a save: see [desk.Desk.Saved].
func (d *Desk) Saved() {
	if at := d.here(); at != nil {
		at.saved()
	}
}

// Look asks again for everybody in line: see [desk.Desk.Look].
func (d *Desk) Look() {
	if at := d.here(); at != nil {
		at.look()
	}
}
