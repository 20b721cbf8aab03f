package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/coordinator"
	"collect/pacing/inflight"
)

// backend is a memory coordinator behind a line that a test may cut.
type backend struct {
	*coordinator.Memory
	started time.Time

	mu        sync.Mutex
	hangs     bool // a report does not arrive, and no answer comes
	down      bool // a report does not arrive, and that is an error
	swallowed bool // a report arrives, and its grant is lost
	beats     []beat
}

type beat struct {
	at     time.Duration
	report coordinator.Report
}

// newBackend returns a coordinator with the clock of the test plus skew.
func newBackend(t *testing.T, rules coordinator.Rules, clock func() int64) *backend {
	t.Helper()
	m, err := coordinator.NewMemory(rules, clock)
	if err != nil {
		t.Fatal(err)
	}
	return &backend{Memory: m, started: time.Now()}
}

func (b *backend) Beat(ctx context.Context, key string, r coordinator.Report) (coordinator.Grant, error) {
	b.mu.Lock()
	b.beats = append(b.beats, beat{time.Since(b.started), r})
	hangs, down, swallowed := b.hangs, b.down, b.swallowed
	b.mu.Unlock()
	switch {
	case hangs:
		<-ctx.Done()
		return coordinator.Grant{}, ctx.Err()
	case down:
		return coordinator.Grant{}, errors.New("no route to the coordinator")
	case swallowed:
		_, err := b.Memory.Beat(ctx, key, r)
		return coordinator.Grant{}, errors.Join(err, errors.New("connection lost"))
	}
	return b.Memory.Beat(ctx, key, r)
}

// line does something to the line and its log.
func (b *backend) line(do func(*backend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do(b)
}

// log returns the reports so far.
func (b *backend) log() (beats []beat) {
	b.line(func(b *backend) { beats = slices.Clone(b.beats) })
	return beats
}

// last returns when the last report was sent.
func (b *backend) last() time.Duration {
	beats := b.log()
	return beats[len(beats)-1].at
}

// start runs a node with the defaults of cfg until the test ends.
func start(t *testing.T, c coordinator.Coordinator, limit int, cfg coordinator.Config) *coordinator.Node {
	t.Helper()
	n, _ := startUntil(t, c, limit, cfg)
	return n
}

func startUntil(t *testing.T, c coordinator.Coordinator, limit int, cfg coordinator.Config) (*coordinator.Node, func()) {
	t.Helper()
	local, err := inflight.New(inflight.Fixed, limit)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Key, cfg.Local = "provider", local
	n, err := coordinator.NewNode(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		n.Run(ctx)
		close(ended)
	}()
	stop := func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return n, stop
}

// take takes all slots that there are.
func take(n *coordinator.Node) (slots []inflight.Slot) {
	for {
		s, ok := n.Acquire()
		if !ok {
			return slots
		}
		slots = append(slots, s)
	}
}

// pass lets time pass, and what is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNodeUsesItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, coordinator.Rules{}, nil)
		a := start(t, b, 4, coordinator.Config{ID: "a"})
		if got := len(take(a)); got != 0 {
			t.Errorf("before its first grant it may send %d requests", got)
		}
		pass(1900 * time.Millisecond)
		if got := len(take(a)); got != 0 {
			t.Errorf("within a lease of a coordinator that remembers nothing it may send %d requests", got)
		}
		pass(time.Second)
		slots := take(a)
		if len(slots) != 4 {
			t.Fatalf("alone it may send %d requests, want 4", len(slots))
		}
		a.Release(slots[0], inflight.Answered, time.Millisecond)
		a.Release(slots[0], inflight.Answered, time.Millisecond)
		if got := a.Stats().InFlight; got != 3 {
			t.Errorf("a slot that is given back twice leaves %d in flight, want 3", got)
		}
		for i, beats := 1, b.log(); i < len(beats); i++ {
			if beats[i].report.Seq <= beats[i-1].report.Seq {
				t.Errorf("report %d has sequence %d after %d", i, beats[i].report.Seq, beats[i-1].report.Seq)
			}
		}
	})
}

// TestFence: without an answer a node stops a margin before its lease ends, and
// tells it once; what holds from then on is what was chosen.
func TestFence(t *testing.T) {
	for outage, want := range map[coordinator.Outage]int{"": 0, coordinator.Closed: 0, coordinator.Local: 4, coordinator.LastShare: 2} {
		for _, cut := range []func(*backend){
			func(b *backend) { b.hangs = true },
			func(b *backend) { b.down = true },
			func(b *backend) { b.swallowed = true },
		} {
			synctest.Test(t, func(t *testing.T) {
				b := newBackend(t, coordinator.Rules{}, nil)
				start(t, b.Memory, 4, coordinator.Config{ID: "b"})
				var fencedAt []time.Duration
				restored := 0
				n := start(t, b, 4, coordinator.Config{ID: "a", Outage: outage, Margin: 300 * time.Millisecond,
					OnFenced:   func() { fencedAt = append(fencedAt, time.Since(b.started)) },
					OnRestored: func() { restored++ },
				})
				pass(10 * time.Second)
				if s := n.Stats(); s.Ceiling != 2 || s.Fenced {
					t.Fatalf("%q: %+v, want 2 of 4", outage, s)
				}
				last := b.last()
				b.line(cut)
				time.Sleep(last + 1700*time.Millisecond - time.Since(b.started) - 1)
				if s := n.Stats(); s.Ceiling != 2 {
					t.Errorf("%q: just before the fence %+v, want 2", outage, s)
				}
				pass(1)
				if s := n.Stats(); s.Ceiling != want || !s.Fenced {
					t.Errorf("%q: at the fence %+v, want %d", outage, s, want)
				}
				pass(time.Minute)
				if got := []time.Duration{last + 1700*time.Millisecond}; !slices.Equal(fencedAt, got) {
					t.Errorf("%q: OnFenced was called at %v, want %v", outage, fencedAt, got)
				}
				if s := n.Stats(); s.Err == nil || s.Ceiling != want {
					t.Errorf("%q: a minute later %+v, want an error and %d", outage, s, want)
				}
				b.line(func(b *backend) { b.hangs, b.down, b.swallowed = false, false, false })
				pass(10 * time.Second)
				if s := n.Stats(); s.Ceiling != 2 || s.Fenced || s.Err != nil || restored != 1 {
					t.Errorf("%q: after the outage %+v, restored %d times, want 2 and once", outage, s, restored)
				}
			})
		}
	}
}

// TestLeaseRunsFromTheReport, not from its grant, which may be late.
func TestLeaseRunsFromTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, coordinator.Rules{}, nil)
		n := start(t, late{b, 900 * time.Millisecond}, 4, coordinator.Config{ID: "a", Margin: 500 * time.Millisecond})
		pass(10 * time.Second)
		granted := b.last() // this report has been computed, whatever becomes of the line
		b.line(func(b *backend) { b.down = true })
		fence := granted + 1500*time.Millisecond
		pass(fence - time.Since(b.started) - 1)
		if s := n.Stats(); s.Ceiling != 4 {
			t.Errorf("just before the fence: %+v, want 4", s)
		}
		pass(1)
		if s := n.Stats(); s.Ceiling != 0 {
			t.Errorf("at the fence: %+v, want 0", s)
		}
	})
}

// late is a line on which each grant takes a while.
type late struct {
	*backend
	by time.Duration
}

func (l late) Beat(ctx context.Context, key string, r coordinator.Report) (coordinator.Grant, error) {
	g, err := l.backend.Beat(ctx, key, r)
	time.Sleep(l.by)
	return g, err
}

// TestOwnLimitHolds: a node has no more in flight than it infers, whatever its
// share.
func TestOwnLimitHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, coordinator.Rules{}, nil)
		start(t, b, 8, coordinator.Config{ID: "a"})
		start(t, b, 8, coordinator.Config{ID: "b"})
		n := start(t, b, 1, coordinator.Config{ID: "c"})
		pass(time.Minute)
		if s := n.Stats(); s.Grant.Share != 2 || len(take(n)) != 1 {
			t.Errorf("%+v, want one request at a time with a share of 2", s)
		}
	})
}

// TestFirstReportFails: what holds in an outage holds for a node that never had
// a grant.
func TestFirstReportFails(t *testing.T) {
	for outage, want := range map[coordinator.Outage]int{coordinator.Closed: 0, coordinator.Local: 4, coordinator.LastShare: 0} {
		synctest.Test(t, func(t *testing.T) {
			b := newBackend(t, coordinator.Rules{}, nil)
			b.line(func(b *backend) { b.down = true })
			calls := 0
			n := start(t, b, 4, coordinator.Config{ID: "a", Outage: outage, OnFenced: func() { calls++ }})
			pass(time.Minute)
			if got := n.Stats().Ceiling; got != want || calls != 1 {
				t.Errorf("%s: it may send %d requests, told %d times; want %d, once", outage, got, calls, want)
			}
		})
	}
}

// TestEndedNodeSendsNothing: a node that has left has no slot, and its share is
// free at once.
func TestEndedNodeSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, coordinator.Rules{}, nil)
		a, stop := startUntil(t, b, 4, coordinator.Config{ID: "a"})
		pass(5 * time.Second)
		stop()
		if got := len(take(a)); got != 0 {
			t.Errorf("after its end it may send %d requests", got)
		}
		other := start(t, b, 4, coordinator.Config{ID: "b"})
		pass(time.Millisecond)
		if s := other.Stats(); s.Ceiling != 4 || s.Grant.Nodes != 1 {
			t.Errorf("the node after it: %+v, want all 4", s)
		}
	})
}

// TestEarlyReports: a report is sent early for each of the three reasons, and
// no two within the debounce.
func TestEarlyReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, coordinator.Rules{}, nil)
		cfg := coordinator.Config{Beat: 10 * time.Second, Debounce: 100 * time.Millisecond}
		cfg.ID = "a"
		a := start(t, b, 4, cfg)
		pass(time.Minute)
		held := take(a)
		for i, beats := 1, b.log(); ; i++ {
			if beats[i].report.Share == 4 {
				if gap := beats[i].at - beats[i-1].at; gap != cfg.Debounce {
					t.Errorf("the first share is acknowledged after %v, want %v", gap, cfg.Debounce)
				}
				break
			}
		}
		cfg.ID = "b"
		joined := time.Since(b.started)
		other := start(t, b, 4, cfg)
		pass(15 * time.Second) // a hears of it by its next report at the latest
		if got := a.Stats(); got.Grant.Share != 2 || got.InFlight != 4 {
			t.Fatalf("%+v, want 4 in flight with a share of 2", got)
		}
		if got := other.Stats().Ceiling; got != 0 {
			t.Fatalf("the other may send %d requests while 4 are in flight", got)
		}
		a.Release(held[0], inflight.Answered, time.Second)
		before := len(b.log())
		pass(cfg.Debounce)
		if slices.ContainsFunc(b.log()[before:], func(x beat) bool { return x.report.ID == "a" }) {
			t.Error("a report is sent early with 3 in flight and a share of 2")
		}
		drained := time.Since(b.started)
		a.Release(held[1], inflight.Answered, time.Second)
		pass(0)
		i := slices.IndexFunc(b.log()[before:], func(x beat) bool { return x.report.ID == "a" })
		if i < 0 || b.log()[before+i].at != drained {
			t.Errorf("no report when the requests beyond the share had drained: %v", b.log()[before:])
		}
		pass(cfg.Beat)
		if got := other.Stats().Ceiling; got != 2 {
			t.Errorf("within a beat of that the other may send %d requests, want 2", got)
		}
		var own []time.Duration
		for _, x := range b.log() {
			if x.report.ID == "b" {
				own = append(own, x.at-joined)
			}
		}
		if len(own) < 6 || own[1] != 2*cfg.Debounce || own[2]-own[1] != 4*cfg.Debounce || own[3]-own[2] != 8*cfg.Debounce {
			t.Errorf("a node that waits for its share reports at %v, want after 0.2 s, 0.4 s, 0.8 s …", own)
		}
		for i := 1; i < len(own); i++ {
			if own[i]-own[i-1] < cfg.Debounce {
				t.Errorf("two reports within %v: %v", own[i]-own[i-1], own)
			}
		}
	})
}

// TestMargin: the margin that is derived keeps the budget in the worst case,
// and one that is 5 µs shorter does not. The worst case: the report is computed
// at once; then the clock of the coordinator jumps ahead and runs fast; the node
// hears nothing more and sends its longest request at the last moment; another
// node reports at the first moment after the lease.
func TestMargin(t *testing.T) {
	const (
		lease = 100 * time.Second
		step  = 10 * time.Second
		drift = 0.01
	)
	for _, longest := range []time.Duration{0, 20 * time.Second} { // 0: OnFenced cancels
		margin := coordinator.Margin(step, drift, lease, longest)
		for _, tc := range []struct {
			margin time.Duration
			over   bool
		}{{margin, false}, {margin - 5*time.Microsecond, true}, {margin - step, true}} {
			synctest.Test(t, func(t *testing.T) {
				var jump atomic.Int64 // when, µs; 0: not yet
				clock := func() int64 {
					now := time.Now().UnixMicro()
					if jump.Load() == 0 {
						return now
					}
					return now + step.Microseconds() + int64(drift*float64(now-jump.Load()))
				}
				b := newBackend(t, coordinator.Rules{}, clock)
				n := start(t, b, 1, coordinator.Config{ID: "a", Beat: 10 * time.Second, Lease: lease, Margin: tc.margin})
				pass(155 * time.Second)
				jumped := b.started.Add(b.last())
				jump.Store(jumped.UnixMicro())
				b.line(func(b *backend) { b.hangs = true })
				reclaim := jumped.Add((lease-step)*100/101 + 2*time.Microsecond) // later than the lease by the clock's grain
				r := coordinator.Report{ID: "b", Limit: 1, Lease: lease}
				granted := func() int {
					r.Seq++
					g, err := b.Memory.Beat(t.Context(), "provider", r)
					if err != nil {
						t.Fatal(err)
					}
					return g.Share
				}
				time.Sleep(time.Until(reclaim) - longest - 5*time.Microsecond)
				early := granted()
				time.Sleep(5 * time.Microsecond)
				_, sent := n.Acquire() // and is in flight until the share is granted again
				time.Sleep(time.Until(reclaim))
				if late := granted(); early != 0 || late != 1 {
					t.Fatalf("before the end of the lease another node is granted %d, after it %d; want 0 and 1", early, late)
				}
				if sent != tc.over {
					t.Errorf("margin %v of %v, requests of %v: over the budget: %v, want %v", tc.margin, margin, longest, sent, tc.over)
				}
			})
		}
	}
}

// TestOneID: of two processes with one ID the older is fenced, so that both
// together stay within the share.
func TestOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, coordinator.Rules{}, nil)
		first := start(t, b, 4, coordinator.Config{ID: "a"})
		pass(5 * time.Second)
		second := start(t, b, 4, coordinator.Config{ID: "a"})
		pass(5 * time.Second)
		if s := first.Stats(); !errors.Is(s.Err, coordinator.ErrStale) || s.Ceiling != 0 {
			t.Errorf("the older: %+v, want %v", s, coordinator.ErrStale)
		}
		if s := second.Stats(); s.Err != nil || s.Ceiling != 4 {
			t.Errorf("the younger: %+v, want all 4", s)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	local, err := inflight.New("", 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []coordinator.Config{
		{ID: "a"},
		{Local: local},
		{Local: local, ID: "a", Lease: time.Second},
		{Local: local, ID: "a", Beat: time.Microsecond},
		{Local: local, ID: "a", Margin: -1},
		{Local: local, ID: "a", Margin: 1001 * time.Millisecond},
		{Local: local, ID: "a", Debounce: 2 * time.Second},
		{Local: local, ID: "a", Outage: "open"},
	} {
		if _, err := coordinator.NewNode(nil, cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	if _, err := coordinator.NewMemory(coordinator.Rules{Aggregate: "sum"}, nil); err == nil {
		t.Error("the sum of the limits is accepted")
	}
	if _, err := coordinator.NewMemory(coordinator.Rules{Split: "all"}, nil); err == nil {
		t.Error("an unknown split is accepted")
	}
}

// BenchmarkAcquireRelease is what a request costs beside being sent.
func BenchmarkAcquireRelease(b *testing.B) {
	m, err := coordinator.NewMemory(coordinator.Rules{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	local, err := inflight.New(inflight.Gradient, 64)
	if err != nil {
		b.Fatal(err)
	}
	n, err := coordinator.NewNode(m, coordinator.Config{ID: "a", Key: "k", Local: local, Beat: 10 * time.Millisecond, Lease: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	go n.Run(ctx)
	b.ReportAllocs()
	for b.Loop() {
		s, _ := n.Acquire()
		n.Release(s, inflight.Answered, time.Millisecond)
	}
}
