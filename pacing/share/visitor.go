package share

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// A visitor is a guest as the leader sees it: its turns, and its requests on
// the way.
type visitor struct {
	leader *leader
	line   *line
	waits  chan reply // those that are told when there is time

	mu     sync.Mutex
	from   collection.Holder // zero: it only asks
	who    int               // what its requests say at the gate
	gone   bool
	turns  map[uint64]context.CancelFunc
	passes map[uint64]gate.Pass
}

func newVisitor(l *leader, conn net.Conn) *visitor {
	return &visitor{
		leader: l, line: newLine(conn, l.clock), waits: make(chan reply, 64),
		turns: map[uint64]context.CancelFunc{}, passes: map[uint64]gate.Pass{},
	}
}

// serve answers the guest until it is gone, and then gives back its places.
func (v *visitor) serve() {
	defer v.leave()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case r := <-v.waits:
				_ = v.line.send(r) // whether it is gone, the reader finds out
			case <-done:
				return
			}
		}
	}()
	in := json.NewDecoder(v.line.conn)
	for {
		// A guest that lives says so. One that is stopped has its places given
		// back, and joins again when it goes on.
		var c call
		if v.line.conn.SetReadDeadline(time.Now().Add(beatLonger)) != nil || in.Decode(&c) != nil {
			return
		}
		c = c.in(v.line.clock)
		if c.Do == enter {
			go v.enter(c)
			continue
		}
		r, ok, err := v.answer(c)
		if errors.Is(err, errGone) {
			return // it looks for the one that leads
		}
		if err != nil {
			r, ok = failed(c.ID, err), true
		}
		if ok && v.line.send(r) != nil {
			return
		}
	}
}

func (v *visitor) process() collection.Holder {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.from
}

// leave sends the guest away, and gives back what it has.
func (v *visitor) leave() {
	_ = v.line.conn.Close()
	v.mu.Lock()
	v.gone = true
	turns, passes, who := v.turns, v.passes, v.who
	v.turns, v.passes, v.who = nil, nil, 0
	v.mu.Unlock()
	for _, cancel := range turns {
		cancel()
	}
	for _, p := range passes {
		v.drop(p)
	}
	if who != 0 {
		v.leader.desk.Part(who)
	}
}

// drop ends a request whose outcome the guest will not tell.
func (v *visitor) drop(p gate.Pass) {
	if s, err := v.leader.settle(p, unused, gate.Request{}); err == nil && s.Save {
		v.leader.saved()
	}
}

// enter waits for a turn of the guest.
func (v *visitor) enter(c call) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v.mu.Lock()
	if v.gone {
		v.mu.Unlock()
		return
	}
	v.turns[c.ID] = cancel
	who := v.who
	v.mu.Unlock()

	t := &turn{visitor: v, id: c.ID}
	pass, err := v.leader.enterFor(ctx, &desk.Turn{Asker: t, Request: c.Request, Stream: c.Stream}, who)
	if err == nil && pass.Save {
		v.leader.saved() // it is in the file; the guest keeps a copy of its own
	}
	v.mu.Lock()
	gone := v.gone
	if !gone {
		delete(v.turns, c.ID)
		if err == nil {
			v.passes[c.ID] = pass
		}
	}
	v.mu.Unlock()
	switch {
	case gone && err == nil:
		v.drop(pass)
	case gone:
	case errors.Is(err, errGone):
		v.leave()
	case err != nil:
		_ = v.line.send(failed(c.ID, err))
	default:
		_ = v.line.send(reply{ID: c.ID, Pass: &passed{ID: c.ID, Save: pass.Save, Closed: t.closed, Change: pass.Change, At: time.Now()}})
	}
}

// answer does what takes no time. ok says that there is a reply.
func (v *visitor) answer(c call) (r reply, ok bool, err error) {
	r.ID = c.ID
	switch c.Do {
	case hello:
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.from = (collection.Holder{Host: c.Host, PID: c.PID}); v.from.PID != 0 && v.who == 0 && !v.gone {
			v.who = v.leader.desk.Share(c.Ceilings, c.Concurrency)
		}
	case withdraw:
		v.mu.Lock()
		if cancel := v.turns[c.ID]; cancel != nil {
			cancel()
		}
		v.mu.Unlock()
		return r, false, nil
	case settle:
		v.mu.Lock()
		pass, known := v.passes[c.Pass]
		delete(v.passes, c.Pass)
		v.mu.Unlock()
		if !known || c.Outcome == nil {
			return reply{ID: c.ID, Error: "no such request"}, true, nil
		}
		s, err := v.leader.settle(pass, *c.Outcome, c.Request)
		if err != nil {
			return r, false, err
		}
		if s.Save {
			v.leader.saved()
		}
		r.Settled = settledOf(s)
	case adopt:
		v.mu.Lock()
		who := v.who
		v.mu.Unlock()
		pass, err := v.leader.adoptFor(who)
		if err != nil {
			return r, false, err
		}
		v.mu.Lock()
		if v.gone {
			v.mu.Unlock()
			v.drop(pass)
			return r, false, nil
		}
		v.passes[c.ID] = pass
		v.mu.Unlock()
		r.Pass = &passed{ID: c.ID}
	case state:
		s, err := v.leader.state(c.Last)
		if err != nil {
			return r, false, err
		}
		r.State = s
	case present:
		s, err := v.leader.state(false)
		if err != nil {
			return r, false, err
		}
		r.State, r.Present = s, v.leader.present()
	case obey:
		if err := v.leader.obey(c.State, c.Events); err != nil {
			return r, false, err
		}
	case status:
		s, _ := v.leader.status() // never fails
		r.Status = &s
	}
	return r, true, nil
}

// A turn asks for a guest, whose budgets are its own to look after: see
// [desk.Asker].
type turn struct {
	visitor *visitor
	id      uint64
	closed  bool
	told    waiting
}

// toldAgain is the change of a wait that is told.
const toldAgain = 500 * time.Millisecond

func (t *turn) Ended(time.Time) error { return nil }
func (t *turn) Spent(time.Time) error { return nil }

func (t *turn) Admit(_ *desk.Turn, closed bool, _ time.Time) error {
	t.closed = closed
	return nil
}

func (t *turn) Waits(_ *desk.Turn, p gate.Plan, _ time.Time) {
	if p.Cause == t.told.Cause && p.Until.Sub(t.told.Until).Abs() < toldAgain {
		return
	}
	t.told = waiting{p.Until, p.Cause}
	w := t.told
	select {
	case t.visitor.waits <- reply{ID: t.id, Wait: &w}:
	default: // the next change is told
	}
}

func (t *turn) Waited(*desk.Turn, time.Time) {}
