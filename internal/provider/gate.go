package provider

import (
	"context"
	"sync"
)

// A gate holds requests until it is opened, which is for good.
type gate struct {
	mu      sync.Mutex
	waiting int
	changed chan struct{} // closed, and made anew, when waiting changes
	open    chan struct{} // closed when the gate opens
	once    *sync.Once
}

func newGate() gate {
	return gate{changed: make(chan struct{}), open: make(chan struct{}), once: new(sync.Once)}
}

// pass returns when the gate is open or ctx is done.
func (g *gate) pass(ctx context.Context) error {
	g.add(1)
	defer g.add(-1)
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += n
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// AwaitStuck returns when a request hangs in the fault "stuck", or with the
// cause when ctx is done.
func (s *Server) AwaitStuck(ctx context.Context) error {
	for {
		s.stuck.mu.Lock()
		waiting, changed := s.stuck.waiting, s.stuck.changed
		s.stuck.mu.Unlock()
		if waiting > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Release lets stuck requests go on. From now on none gets stuck.
func (s *Server) Release() {
	s.stuck.once.Do(func() { close(s.stuck.open) })
}
