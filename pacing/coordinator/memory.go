package coordinator

import (
	"context"
	"sync"
	"time"
)

// Memory is a coordinator for the nodes of one process: of tests, and of
// programs that hold several budgets.
type Memory struct {
	rules Rules
	clock func() int64

	mu     sync.Mutex
	states map[string]State
}

// NewMemory returns a coordinator that remembers nothing. The clock tells
// microseconds since 1970; nil is the clock of the machine.
func NewMemory(rules Rules, clock func() int64) (*Memory, error) {
	if err := rules.Check(); err != nil {
		return nil, err
	}
	if clock == nil {
		clock = func() int64 { return time.Now().UnixMicro() }
	}
	return &Memory{rules: rules, clock: clock, states: map[string]State{}}, nil
}

// Beat implements [Coordinator].
func (m *Memory) Beat(ctx context.Context, key string, r Report) (Grant, error) {
	if err := r.Check(); err != nil {
		return Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return Grant{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, g, err := Compute(m.states[key], r, m.rules, "memory", m.clock())
	m.states[key] = s
	return g, err
}
