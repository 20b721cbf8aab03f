package sim

import (
	"fmt"
	"time"
)

// Log returns what p saw, a line for each request.
func (p *Provider) Log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := make([]string, len(p.log))
	for i, a := range p.log {
		lines[i] = fmt.Sprintf("%.9f s, from %d: %d after %.9f s, cost %v, refused %t, early %t",
			a.at, a.from-first, a.status, a.latency, a.cost, a.refused, a.early)
	}
	return lines
}

// Turn returns at the next turn of a worker.
func Turn(worker int) { (first + place(worker)).turn() }

// FirstTurn is when in each microsecond it is the first worker's.
const FirstTurn = time.Duration(first)
