package dst_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/store"
)

var (
	errKilled = errors.New("killed")
	errDisk   = errors.New("the disk failed")
)

// A ledger is the real one behind the faults of a session. Nothing has an
// effect after the process was killed.
type ledger struct {
	store.Ledger
	p *process

	unread map[collection.Place]collection.Cursor // where commits have an unknown outcome; I23
	beaten int64                                  // how many requests had been sent at the last beat
	beatAt time.Time
	idled  bool // ticks were left out since
}

// wait returns when it is the turn of a step.
func (l *ledger) wait(step string, at ...collection.Place) { l.p.wait(l.step(step, at...)...) }

// step returns the pieces of the name of a step at places.
func (l *ledger) step(name string, at ...collection.Place) []string {
	pieces := append(make([]string, 0, 1+2*len(at)), name)
	for _, at := range at {
		pieces = append(pieces, " ", l.p.h.order.name(at))
	}
	return pieces
}

// note adds a step to the story, unless it is one that a dead process wanted
// to take.
func (l *ledger) note(err error, format string, args ...any) {
	if !errors.Is(err, errKilled) {
		l.p.h.note(format, args...)
	}
}

// write makes one durable step, which has a name, unless the session has something else in mind.
func (l *ledger) write(effect func() error, step ...string) error {
	l.p.awake(append([]string{"writes "}, step...)...)
	return l.put(effect)
}

// put is write without a wait.
func (l *ledger) put(effect func() error) error {
	p := l.p
	n := p.nextWrite()
	if p.isDead() {
		return errKilled
	}
	if n == p.session.killWrite && !p.session.killAfter {
		p.h.count("killed before a write")
		p.kill("before write")
		return errKilled
	}
	if full := p.session.full; full[0] <= n && n < full[1] {
		p.h.count("disk full")
		p.beside("disk full")
		return collection.ErrFull
	}
	err := effect()
	if n == p.session.killWrite {
		p.h.count("killed after a write")
		p.kill("after write")
		return errKilled
	}
	if errors.Is(err, collection.ErrFenced) {
		p.setFenced()
	}
	return err
}

func (l *ledger) Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error) {
	l.wait("reads", at)
	if l.p.isDead() {
		return collection.Checkpoint{}, errKilled
	}
	l.p.h.mu.Lock()
	delete(l.unread, at)
	l.p.h.mu.Unlock()
	return l.Ledger.Checkpoint(ctx, at)
}

func (l *ledger) Commit(ctx context.Context, group ...collection.Slice) (done []collection.Committed, err error) {
	l.wait("commits", group[0].Place)
	n := l.p.nextCommit()
	if !l.p.isDead() {
		time.Sleep(l.p.session.flush)
	}
	l.checkRead(group)
	err = l.write(func() error {
		took, isUnknown := l.p.session.unknown[n]
		if lost := l.Epoch() < l.p.h.newestEpoch(); lost && l.p.session.doubt {
			l.p.h.count("unknown commit of a run that lost its lease")
			return l.unknown(group)
		}
		if n == l.p.session.fail {
			l.p.h.count("commit failed")
			return errDisk
		}
		if isUnknown && !took {
			l.p.h.count("unknown commit, without effect")
			return l.unknown(group)
		}
		newest := l.p.h.newestEpoch()
		done, err = l.Ledger.Commit(ctx, group...)
		if err == nil && l.Epoch() < newest {
			l.p.h.violate("I6: %s committed under epoch %d after %d was taken", l.p.name, l.Epoch(), newest)
		}
		if err == nil {
			l.p.h.took(group, done)
		}
		if err == nil && isUnknown {
			l.p.h.count("unknown commit, with effect")
			return l.unknown(group)
		}
		return err
	}, l.step("commit of", group[0].Place)...)
	l.note(err, "%s commit #%d of %s: %v", l.p.name, n, places(group), err)
	if err != nil {
		return nil, err
	}
	return done, nil
}

func (l *ledger) unknown(group []collection.Slice) error {
	l.p.h.mu.Lock()
	defer l.p.h.mu.Unlock()
	for _, s := range group {
		if s.Fills == 0 {
			l.unread[s.Place] = s.Next
		}
	}
	return collection.ErrUnknown
}

// checkRead is I23: after an unknown commit nothing that follows it is
// committed before the checkpoint was read back.
func (l *ledger) checkRead(group []collection.Slice) {
	l.p.h.mu.Lock()
	defer l.p.h.mu.Unlock()
	for _, s := range group {
		if next, ok := l.unread[s.Place]; ok && s.Fills == 0 && s.From == next {
			l.p.h.violateLocked("I23: %s went on at %s after an unknown commit without reading back", l.p.name, place(s.Place))
		}
	}
}

func (l *ledger) Defer(ctx context.Context, worked bool, gaps ...collection.Gap) (opened []collection.Gap, err error) {
	step := []string{"gaps"}
	for _, gap := range gaps {
		l.wait("defers", gap.Place)
		step = append(step, " ", l.p.h.order.name(gap.Place))
	}
	err = l.write(func() error {
		opened, err = l.Ledger.Defer(ctx, worked, gaps...)
		l.p.h.waits.renewed(opened)
		return err
	}, step...)
	for _, gap := range gaps {
		if worked && gap.Reason.Kind() == collection.Planned {
			l.p.h.violate("I9: %s counts the planned stop %s at %s as an attempt", l.p.name, gap.Reason, place(gap.Place))
		}
		l.note(err, "%s gap %s at %s, tried %t: %v", l.p.name, gap.Reason, place(gap.Place), worked, err)
	}
	return opened, err
}

func (l *ledger) Lease(ctx context.Context, lane collection.Lane, streams []string, now time.Time, n int) (gaps []collection.Gap, err error) {
	l.wait("leases")
	err = l.write(func() error {
		gaps, err = l.Ledger.Lease(ctx, lane, streams, now, n)
		return err
	}, "leases")
	for _, g := range gaps {
		if early := l.p.h.waits.tooEarly(g, now); early > 0 {
			l.p.h.violate("I16: gap %d (%s) at %s is tried %v too early", g.ID, g.Reason, place(g.Place), early)
		}
	}
	if len(gaps) > 0 {
		l.p.h.count("gap leased")
		l.p.h.count("gap leased, " + string(lane))
	}
	return gaps, err
}

func (l *ledger) Parents(ctx context.Context, parent, after string, n int) ([]collection.Parent, error) {
	l.p.wait(l.step("reads the parents "+parent+" behind "+after, collection.PlaceOf(ctx))...)
	if l.p.isDead() {
		return nil, errKilled
	}
	return l.Ledger.Parents(ctx, parent, after, n)
}

func (l *ledger) Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	l.wait("reads", at...)
	if l.p.isDead() {
		return nil, errKilled
	}
	return l.Ledger.Places(ctx, at)
}

// SaveProvider does not wait for its turn: the governor lets nothing else be saved
// meanwhile, and who waits for a mutex keeps virtual time from going on.
func (l *ledger) SaveProvider(ctx context.Context, domain string, state []byte, events ...collection.Event) error {
	return l.put(func() error {
		if err := l.Ledger.SaveProvider(ctx, domain, state, events...); err != nil {
			return err
		}
		status, err := gate.Inspect(state, time.Now())
		if err != nil {
			l.p.h.violate("%s saved a state that cannot be read: %v", l.p.name, err)
		}
		l.p.h.wire.savedUntil(l.p, status.HoldUntil, status.Frozen)
		return nil
	})
}

// rareBeat is how long a run that sends nothing is not heard of.
const rareBeat = 10 * time.Minute

// Beat passes on a beat that follows a request, and one of many others: days of
// simulated time would be spent in them.
func (l *ledger) Beat(ctx context.Context, now time.Time, tally collection.Tally, metrics collection.Metrics) error {
	p := l.p
	late := l.idled && !now.Equal(time.Now()) // a tick that fell due meanwhile
	if l.idled = false; late {
		return nil
	}
	select {
	case <-p.asked:
	default:
	}
	p.awake("beats")
	sent := p.sent()
	l.p.h.mu.Lock()
	idle := sent == l.beaten && time.Since(l.beatAt) < rareBeat
	if !idle {
		l.beaten, l.beatAt = sent, now
	}
	l.p.h.mu.Unlock()
	switch {
	case p.isDead():
		return errKilled
	case idle:
		l.idle(ctx)
		return nil
	case p.h.plan.chance(int(sent), "beat of ", p.name) < 0.05:
		p.h.count("beat lost")
		return errDisk
	}
	err := l.Ledger.Beat(ctx, now, tally, metrics)
	if err == nil {
		p.h.count("beat")
		p.h.waits.beat(now)
	}
	return err
}

// idle returns before the next tick that is not idle: while a ledger is told of
// one, nobody waits for those that follow, and virtual time does not stop at
// them.
func (l *ledger) idle(ctx context.Context) {
	l.idled = true
	select {
	case <-l.p.asked:
	case <-time.After(time.Until(l.beatAt.Add(rareBeat - 1))):
	case <-ctx.Done():
	}
}

func (l *ledger) Finish(ctx context.Context, run collection.Run) error {
	return l.write(func() error {
		err := l.Ledger.Finish(ctx, run)
		if err == nil {
			l.p.h.waits.end(run.EndedAt)
		}
		return err
	}, "finish")
}

// places is the places of slices, for people.
type places []collection.Slice

func (p places) String() string {
	var names []string
	for _, s := range p {
		name := place(s.Place)
		switch {
		case s.Leaves != nil:
			name += " leaves " + string(s.Leaves.Reason)
		case s.Fills != 0:
			name += " fills"
		case s.Next.Done:
			name += " done"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func place(at collection.Place) string {
	name := at.Stream
	if at.Partition != "" {
		name += "[" + at.Partition.String() + "]"
	}
	if at.Lane == collection.Backfill {
		name += " (backfill)"
	}
	return name
}
