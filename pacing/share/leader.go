package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// A leader has the gate of an account, and lets guests use it.
type leader struct {
	desk     *desk.Desk
	host     string
	own      int // what its requests say at the gate
	obeyed   func([]collection.Event)
	claim    claim
	clock    *clock
	listener net.Listener

	mu     sync.Mutex
	guests map[*visitor]bool
	broken error // the state could not be saved: nothing leaves any more
	closed bool
	looked time.Time // when a request last saw that nobody else leads

	saveOrder sync.Mutex
}

// lead begins to lead by its claim, after one that was deposed if that is so.
func lead(c Config, by claim, at *clock, deposed bool) (*leader, error) {
	l := &leader{host: c.Host, claim: by, clock: at, obeyed: c.Obeyed, guests: map[*visitor]bool{}}
	if err := l.begin(c, deposed); err != nil {
		return nil, errors.Join(err, l.close())
	}
	go l.receive()
	go l.watch()
	return l, nil
}

// watch ends the leading of a process that was deposed, for itself and for its
// guests, whatever they wait for. A guest that has left for the new leader may have
// requests in flight, and this gate does not hear how they end.
func (l *leader) watch() {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for range ticker.C {
		l.mu.Lock()
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return
		}
		if l.deposed() {
			l.desk.End(errGone)
			_ = l.close() // another one leads
			return
		}
	}
}

func (l *leader) begin(c Config, deposed bool) error {
	kept, err := l.claim.state()
	if err != nil {
		return err
	}
	g, err := c.Open(gate.Newest(kept, c.Known))
	if err != nil {
		return err
	}
	l.own = g.Share(c.Ceilings, c.Concurrency)
	if l.claim.killed() || deposed {
		g.TakeOver(time.Now())
	}
	l.desk = desk.New(g)
	l.listener, err = l.claim.listen()
	return err
}

// receive lets guests in until the leader closes.
func (l *leader) receive() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.serve(conn)
	}
}

// serve lets the guest at conn in.
func (l *leader) serve(conn net.Conn) {
	v := newVisitor(l, conn)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		conn.Close()
		return
	}
	l.guests[v] = true
	l.mu.Unlock()
	go func() {
		v.serve()
		l.mu.Lock()
		delete(l.guests, v)
		l.mu.Unlock()
	}()
}

// deposed reports whether somebody else leads: it took a silence of this
// process for its end.
func (l *leader) deposed() bool { return !l.claim.current() }

// lookLasts is how long a request's look at the claim counts for the others. It is far
// less than the silence after which a leader is deposed, so that one that was
// stopped that long looks anew.
const lookLasts = 5 * time.Millisecond

// gone is deposed for each request, whose looks cost as much as a part of its work.
func (l *leader) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.looked) < lookLasts {
		return false
	}
	if l.deposed() {
		return true
	}
	l.looked = now
	return false
}

func (l *leader) enter(ctx context.Context, t *desk.Turn) (gate.Pass, error) {
	return l.enterFor(ctx, t, l.own)
}

// enterFor asks before the wait, and again when it is over, whether another leads.
func (l *leader) enterFor(ctx context.Context, t *desk.Turn, who int) (gate.Pass, error) {
	if l.gone() {
		return gate.Pass{}, errGone
	}
	t.Request.Party = who
	pass, err := l.desk.Enter(ctx, t)
	if err != nil {
		return gate.Pass{}, err
	}
	if l.gone() {
		err = errGone
	} else if pass.Save {
		err = l.save(false)
	} else {
		err = l.failed()
	}
	if err == nil {
		return pass, nil
	}
	if pass.Save {
		l.desk.Saved()
	}
	if l.desk.Settle(pass, unused, gate.Request{}).Save {
		l.desk.Saved()
	}
	return gate.Pass{}, err
}

func (l *leader) adopt() (gate.Pass, error) { return l.adoptFor(l.own) }

func (l *leader) adoptFor(who int) (gate.Pass, error) {
	if l.deposed() {
		return gate.Pass{}, errGone
	}
	pass := l.desk.Adopt(who)
	if pass.Save {
		l.desk.Saved()
	}
	return pass, nil
}

func (l *leader) settle(p gate.Pass, o gate.Outcome, next gate.Request) (desk.Settled, error) {
	if l.gone() {
		return desk.Settled{}, errGone
	}
	s := l.desk.Settle(p, o, next)
	if s.Save {
		if err := l.save(false); err != nil {
			l.desk.Saved()
			return desk.Settled{}, err
		}
	}
	return s, nil
}

func (l *leader) state(last bool) ([]byte, error) {
	if l.deposed() {
		return nil, errGone
	}
	if last {
		// What the file does not take, the caller's store may. To go elsewhere
		// with it would be to lead again, and to fail again, without an end.
		_ = l.save(true)
	}
	return l.desk.State(last), nil
}

// obey takes an operator's order, durably, and tells everybody of it.
func (l *leader) obey(state []byte, events []collection.Event) error {
	if l.deposed() {
		return errGone
	}
	if err := l.desk.Obey(state); err != nil {
		return err
	}
	if err := l.save(false); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	if l.obeyed != nil {
		l.obeyed(events)
	}
	for _, v := range l.visitors() {
		_ = v.line.send(reply{Events: events}) // one that is gone records nothing
	}
	return nil
}

// present returns the processes that take part.
func (l *leader) present() []collection.Holder {
	all := []collection.Holder{{Host: l.host, PID: os.Getpid()}}
	for _, v := range l.visitors() {
		if h := v.process(); h.PID != 0 {
			all = append(all, h)
		}
	}
	return all
}

func (l *leader) visitors() []*visitor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.guests))
}

func (l *leader) status() (gate.Status, error) { return l.desk.Status(), nil }
func (l *leader) saved()                       { l.desk.Saved() }
func (l *leader) look()                        { l.desk.Look() }

// failed returns why nothing leaves any more.
func (l *leader) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// save keeps the state, durably. After an error nothing leaves.
func (l *leader) save(last bool) error {
	l.saveOrder.Lock()
	defer l.saveOrder.Unlock()
	err := l.failed()
	if err == nil {
		if err = l.claim.save(l.desk.State(last)); err != nil && !errors.Is(err, errGone) {
			err = fmt.Errorf("saving the shared pace: %w", err)
			l.mu.Lock()
			l.broken = err
			l.mu.Unlock()
		}
	}
	return err
}

// close ends leading: the guests are sent away, what was learned is saved, and
// another may lead.
func (l *leader) close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	guests := l.guests
	l.guests = nil
	l.mu.Unlock()
	var err error
	if l.listener != nil {
		err = l.listener.Close()
	}
	for v := range guests {
		v.leave()
	}
	if l.desk != nil {
		l.desk.End(errGone)
	}
	if l.desk != nil && !l.deposed() {
		err = errors.Join(err, l.save(true))
	}
	return errors.Join(err, l.claim.end())
}
