package share

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Directory is where the processes of several machines meet. It remembers of
// each account who leads and what that saved last, and connects them. An error
// says that it does not answer, whatever else it says: then it is asked again.
//
// The ID of a leader is the address of its listener, which no other one ever has.
type Directory interface {
	// Now returns the time of its clock, which all times below go by.
	Now(ctx context.Context) (time.Time, error)

	// Take, Renew and Leave are those of the [Lead] of the account, which is free if
	// there is none yet. They are durable.
	Take(ctx context.Context, account, id string, lasts time.Duration) (leader string, killed bool, err error)
	Renew(ctx context.Context, account, id string, lasts time.Duration) (leads bool, err error)
	Leave(ctx context.Context, account, id string) error

	// Save keeps the state of the account, durably, if id leads.
	Save(ctx context.Context, account, id string, state []byte) (leads bool, err error)
	State(ctx context.Context, account string) ([]byte, error) // nil: none

	Listen(ctx context.Context) (net.Listener, error)
	Dial(ctx context.Context, id string) (net.Conn, error)
}

// How long a leader leads that is not heard of. It stops by its own clock before
// another one may lead: the rest is for what it let go in the last moment, and for
// clocks that do not go alike.
const (
	leaseLasts = 5 * time.Second  // by the clock of the directory, from when it hears of it
	leaseHolds = 4 * time.Second  // by the clock of the leader, from when it began to ask
	renewEvery = time.Second      // so that three of four may be lost
	answerIn   = 2 * time.Second  // after which the directory does not answer
	awayLonger = 20 * time.Second // after which a request is given up that waits for the directory
)

// machines is the ground of the processes of several machines.
type machines struct {
	directory Directory
	account   string
	leader    string // at the last claim; "": nobody may lead yet
	time      *clock
}

func (m *machines) exists() bool                 { return true }
func (m *machines) make() error                  { return nil }
func (m *machines) lookEvery() time.Duration     { return 200 * time.Millisecond }
func (m *machines) depose(context.Context) error { return nil } // its lease ends by itself
func (m *machines) clock() *clock                { return m.time }
func away(err error) error                       { return fmt.Errorf("%w: %w", errAway, err) }
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, answerIn)
}

func (m *machines) claim(ctx context.Context) (claim, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	if m.time == nil {
		asked := time.Now()
		there, err := m.directory.Now(ctx)
		if err != nil {
			return nil, away(err)
		}
		m.time = &clock{asked.Add(time.Since(asked) / 2), there}
	}
	l, err := m.directory.Listen(ctx)
	if err != nil {
		return nil, away(err)
	}
	s := &lease{machines: m, id: l.Addr().String(), listener: l, renewed: time.Now(), done: make(chan struct{})}
	m.leader, s.forced, err = m.directory.Take(ctx, m.account, s.id, leaseLasts)
	if err == nil && m.leader == s.id {
		go s.renew() // #nosec G118 -- the lease outlives the call
		return s, nil
	}
	_ = l.Close()
	if err != nil {
		return nil, away(err)
	}
	return nil, errTaken
}

func (m *machines) dial(ctx context.Context) (net.Conn, error) {
	if m.leader == "" {
		return nil, errTaken
	}
	ctx, cancel := within(ctx)
	defer cancel()
	return m.directory.Dial(ctx, m.leader)
}

// A lease is the claim of a process that leads for a time.
type lease struct {
	*machines
	id       string
	listener net.Listener
	forced   bool

	mu      sync.Mutex
	renewed time.Time // when the last renewal that came through was sent
	ended   bool      // it is another one's, or given back
	done    chan struct{}
}

// renew keeps the lease until it ends.
func (s *lease) renew() {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return
		}
		ctx, cancel := within(context.Background())
		sent := time.Now()
		leads, err := s.directory.Renew(ctx, s.account, s.id, leaseLasts)
		cancel()
		s.mu.Lock()
		switch {
		case err == nil && leads:
			s.renewed = sent
		case err == nil:
			s.ended = true
		}
		s.mu.Unlock()
	}
}

// current looks at both clocks of the host: the monotonic one stands still while
// a machine sleeps, and the other one may be set.
func (s *lease) current() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	return !s.ended && now.Sub(s.renewed) < leaseHolds && now.Round(0).Sub(s.renewed.Round(0)) < leaseHolds
}

func (s *lease) killed() bool                  { return s.forced }
func (s *lease) listen() (net.Listener, error) { return &ears{Listener: s.listener, of: s}, nil }

// Ears are the listener of a leader, which leads no more when nobody can reach it: the
// others wait for the end of its lease.
type ears struct {
	net.Listener
	of     *lease
	closed atomic.Bool
}

func (e *ears) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err != nil && !e.closed.Load() {
		e.of.mu.Lock()
		e.of.ended = true
		e.of.mu.Unlock()
	}
	return c, err
}

func (e *ears) Close() error {
	e.closed.Store(true)
	return e.Listener.Close()
}

func (s *lease) state() ([]byte, error) {
	ctx, cancel := within(context.Background())
	defer cancel()
	state, err := s.directory.State(ctx, s.account)
	if err != nil {
		return nil, away(err)
	}
	return s.time.stateIn(state), nil
}

func (s *lease) save(state []byte) error {
	ctx, cancel := within(context.Background())
	defer cancel()
	leads, err := s.directory.Save(ctx, s.account, s.id, s.time.stateOut(state))
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, away(err))
	}
	if !leads {
		return errGone
	}
	return nil
}

func (s *lease) end() error {
	s.mu.Lock()
	ended := s.ended
	s.ended = true
	s.mu.Unlock()
	close(s.done)
	err := s.listener.Close()
	if ended {
		return err
	}
	ctx, cancel := within(context.Background())
	defer cancel()
	return errors.Join(err, s.directory.Leave(ctx, s.account, s.id))
}
