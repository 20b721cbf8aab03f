package coordinatortest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collect/pacing/coordinator"
	"collect/pacing/inflight"
)

// A Server is what a test may do to the server of a coordinator.
type Server interface {
	Kill()
	Start()
	Halt()
	Continue()
}

const (
	outageBudget = 6
	outageNodes  = 3
)

// outage runs nodes that send as much as they may, while their server is
// killed, started again and halted. Never is more in flight than the budget;
// each node fences itself in an outage and comes back after it.
func outage(t *testing.T, c coordinator.Coordinator, server Server) {
	b := &busy{t: t, c: c}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	join := func(id string) *coordinator.Node {
		n := b.node(id)
		wg.Go(func() { n.Run(ctx) })
		wg.Go(func() { b.send(ctx, n) })
		return n
	}
	nodes := []*coordinator.Node{}
	for _, id := range []string{"a", "b", "c"}[:outageNodes] {
		nodes = append(nodes, join(id))
	}
	b.until("the budget is shared", func() bool { return shares(nodes) == outageBudget })

	server.Kill()
	b.until("all are fenced", func() bool { return fenced(nodes) == outageNodes && b.told() == outageNodes })
	server.Start()
	b.until("all are back", func() bool { return fenced(nodes) == 0 && shares(nodes) == outageBudget })

	server.Halt()
	b.until("all are fenced", func() bool { return fenced(nodes) == outageNodes && b.told() == outageNodes })
	server.Continue()
	b.until("all are back", func() bool { return fenced(nodes) == 0 && shares(nodes) == outageBudget })

	// Started again between two beats, with a node that it never knew before.
	server.Kill()
	server.Start()
	nodes = append(nodes, join("new"))
	b.until("the new one has its part", func() bool {
		return nodes[outageNodes].Stats().Grant.Share > 0 && fenced(nodes) == 0 && shares(nodes) == outageBudget
	})
	if b.told() != 0 {
		t.Errorf("fenced %d times, restored %d times", b.fenced.Load(), b.restored.Load())
	}
	if b.sent.Load() < 100 {
		t.Errorf("only %d requests were sent", b.sent.Load())
	}
}

func fenced(nodes []*coordinator.Node) (count int) {
	for _, n := range nodes {
		if s := n.Stats(); s.Fenced && s.Ceiling == 0 {
			count++
		}
	}
	return count
}

func shares(nodes []*coordinator.Node) (sum int) {
	for _, n := range nodes {
		sum += n.Stats().Grant.Share
	}
	return sum
}

// busy counts what all nodes have in flight.
type busy struct {
	t *testing.T
	c coordinator.Coordinator

	inFlight, sent, fenced, restored atomic.Int64
}

// told is how many nodes are fenced, by what was told. Under load a node may be
// fenced without an outage.
func (b *busy) told() int { return int(b.fenced.Load() - b.restored.Load()) }

func (b *busy) node(id string) *coordinator.Node {
	local, err := inflight.New(inflight.Fixed, outageBudget)
	if err != nil {
		b.t.Fatal(err)
	}
	n, err := coordinator.NewNode(b.c, coordinator.Config{
		Key: "outage", ID: id, Local: local,
		// A machine under load may take long for a request of no length.
		Beat: 300 * time.Millisecond, Lease: 2500 * time.Millisecond, Margin: 1500 * time.Millisecond,
		OnFenced:   func() { b.fenced.Add(1) },
		OnRestored: func() { b.restored.Add(1) },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// send keeps as many requests in flight as a node may have, each for a moment.
func (b *busy) send(ctx context.Context, n *coordinator.Node) {
	var held []inflight.Slot
	for ctx.Err() == nil {
		for {
			s, ok := n.Acquire()
			if !ok {
				break
			}
			held = append(held, s)
			b.sent.Add(1)
			if now := b.inFlight.Add(1); now > outageBudget {
				b.t.Errorf("%d requests in flight, of a budget of %d", now, outageBudget)
			}
		}
		time.Sleep(5 * time.Millisecond)
		for _, s := range held {
			b.inFlight.Add(-1)
			n.Release(s, inflight.Answered, 5*time.Millisecond)
		}
		held = held[:0]
	}
}

// until waits for something that comes of itself.
func (b *busy) until(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not within a minute: %s (%d fenced, %d restored)", what, b.fenced.Load(), b.restored.Load())
		}
	}
}
