package share

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// A guest stands in the line of a leader.
type guest struct {
	line   *line
	obeyed func([]collection.Event)
	done   chan struct{} // closed when the leader is gone

	mu    sync.Mutex
	id    uint64
	calls map[uint64]chan reply
	heard time.Time
	ended bool
}

// visit becomes the guest of the process that leads.
func visit(ctx context.Context, meet ground, c Config) (*guest, error) {
	conn, err := meet.dial(ctx)
	if err != nil {
		return nil, err
	}
	return greet(conn, meet.clock(), c)
}

// greet takes part at conn.
func greet(conn net.Conn, at *clock, c Config) (*guest, error) {
	g := &guest{line: newLine(conn, at), obeyed: c.Obeyed, done: make(chan struct{}), calls: map[uint64]chan reply{}, heard: time.Now()}
	go g.listen()
	go g.beat()
	us := c.holder()
	if _, err := g.ask(call{Do: hello, PID: us.PID, Host: us.Host, Ceilings: c.Ceilings, Concurrency: c.Concurrency}); err != nil {
		return nil, err
	}
	return g, nil
}

// listen hands the replies on, until the leader is gone.
func (g *guest) listen() {
	in := json.NewDecoder(g.line.conn)
	for {
		var r reply
		if err := in.Decode(&r); err != nil {
			break
		}
		r = r.in(g.line.clock)
		if len(r.Events) > 0 && g.obeyed != nil {
			go g.obeyed(r.Events) // it may ask for the state, and the reply comes here
		}
		g.mu.Lock()
		g.heard = time.Now()
		to := g.calls[r.ID]
		if r.Wait == nil {
			delete(g.calls, r.ID)
		}
		g.mu.Unlock()
		switch {
		case to != nil && r.Wait != nil:
			select {
			case to <- r:
			default: // an older wait is not looked at yet
			}
		case to != nil:
			to <- r
		case r.Pass != nil: // for a turn that was withdrawn meanwhile
			go g.drop(r.Pass.ID)
		}
	}
	_ = g.close()
}

// beat finds out that the leader does not answer any more.
func (g *guest) beat() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.done:
			return
		case <-ticker.C:
		}
		g.mu.Lock()
		silent := time.Since(g.heard)
		g.id++
		id := g.id
		g.mu.Unlock()
		if silent > beatLonger || g.line.send(call{ID: id, Do: beat}) != nil {
			_ = g.close()
			return
		}
	}
}

// start sends c, and returns where its replies come.
func (g *guest) start(c *call) (chan reply, error) {
	g.mu.Lock()
	if g.ended {
		g.mu.Unlock()
		return nil, errGone
	}
	g.id++
	c.ID = g.id
	replies := make(chan reply, 2) // the last one, and a wait
	g.calls[c.ID] = replies
	g.mu.Unlock()
	if err := g.line.send(c); err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return replies, nil
}

// ask sends c and waits for its reply.
func (g *guest) ask(c call) (reply, error) {
	replies, err := g.start(&c)
	if err != nil {
		return reply{}, err
	}
	select {
	case r := <-replies:
		return r, r.err()
	case <-g.done:
		return reply{}, errGone
	}
}

func (g *guest) enter(ctx context.Context, t *desk.Turn) (gate.Pass, error) {
	if err := ended(t.Asker); err != nil {
		return gate.Pass{}, err
	}
	c := call{Do: enter, Request: t.Request, Stream: t.Stream}
	replies, err := g.start(&c)
	if err != nil {
		return gate.Pass{}, err
	}
	defer func() { t.Asker.Waited(t, time.Now()) }()
	var late <-chan time.Time
	if !t.Request.Deadline.IsZero() {
		timer := time.NewTimer(time.Until(t.Request.Deadline))
		defer timer.Stop()
		late = timer.C
	}
	over := t.Over
	for {
		select {
		case r := <-replies:
			if r.Wait != nil {
				t.Slept = true
				t.Asker.Waits(t, gate.Plan{Until: r.Wait.Until, Cause: r.Wait.Cause}, time.Now())
				continue
			}
			if err := r.err(); err != nil {
				return gate.Pass{}, err
			}
			if r.Pass.late(g.line.clock) {
				go g.drop(r.Pass.ID)
				c.ID = 0
				if replies, err = g.start(&c); err != nil {
					return gate.Pass{}, err
				}
				continue
			}
			return g.admit(t, r.Pass)
		case <-over:
			if err := ended(t.Asker); err != nil {
				g.withdraw(c.ID)
				return gate.Pass{}, err
			}
			over = nil
		case <-late:
			if err := ended(t.Asker); err != nil {
				g.withdraw(c.ID)
				return gate.Pass{}, err
			}
		case <-ctx.Done():
			g.withdraw(c.ID)
			return gate.Pass{}, context.Cause(ctx)
		case <-g.done:
			return gate.Pass{}, errGone
		}
	}
}

// ended returns why nothing of a run may leave now; nil if it may.
func ended(a desk.Asker) error {
	now := time.Now()
	if err := a.Ended(now); err != nil {
		return err
	}
	return a.Spent(now)
}

// withdraw gives up the turn of a call.
func (g *guest) withdraw(id uint64) {
	g.mu.Lock()
	delete(g.calls, id) // a pass that comes now is dropped
	g.mu.Unlock()
	_ = g.line.send(call{ID: id, Do: withdraw})
}

// admit charges the budgets of the run for a turn that has come.
func (g *guest) admit(t *desk.Turn, p *passed) (gate.Pass, error) {
	if p == nil {
		return gate.Pass{}, errGone
	}
	if err := t.Asker.Admit(t, p.Closed, time.Now()); err != nil {
		g.drop(p.ID)
		return gate.Pass{}, err
	}
	return gate.Pass{ID: p.ID, Save: p.Save, Change: p.Change}, nil
}

// drop gives back a pass that no request uses.
func (g *guest) drop(id uint64) { _, _ = g.ask(call{Do: settle, Pass: id, Outcome: &unused}) }

func (g *guest) adopt() (gate.Pass, error) {
	r, err := g.ask(call{Do: adopt})
	if err != nil || r.Pass == nil {
		return gate.Pass{}, errGone
	}
	return gate.Pass{ID: r.Pass.ID}, nil
}

func (g *guest) settle(p gate.Pass, o gate.Outcome, next gate.Request) (desk.Settled, error) {
	r, err := g.ask(call{Do: settle, Pass: p.ID, Outcome: &o, Request: next})
	if err != nil || r.Settled == nil {
		return desk.Settled{}, err
	}
	return r.Settled.back(), nil
}

func (g *guest) state(last bool) ([]byte, error) {
	r, err := g.ask(call{Do: state, Last: last})
	return r.State, err
}

func (g *guest) status() (gate.Status, error) {
	r, err := g.ask(call{Do: status})
	if err != nil || r.Status == nil {
		return gate.Status{}, errGone
	}
	return *r.Status, nil
}

func (g *guest) saved() {} // the leader has saved before it replied
func (g *guest) look()  {}

func (g *guest) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return nil
	}
	g.ended = true
	close(g.done)
	return g.line.conn.Close()
}
