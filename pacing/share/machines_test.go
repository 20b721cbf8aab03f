package share_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
)

var errDown = errors.New("connection refused")

// A town is a directory in memory.
type town struct {
	mu     sync.Mutex
	serial int
	life   string
	down   bool
	late   time.Duration // of what comes next to one that dialed
	lead   share.Lead
	state  []byte
	stalls map[string]*stall
}

func newTown() *town { return &town{life: "1", stalls: map[string]*stall{}} }

// open locks the town; it fails while the town is down.
func (n *town) open() error {
	n.mu.Lock()
	if n.down {
		n.mu.Unlock()
		return errDown
	}
	return nil
}

// fall has the town not answer, and, unless it is quiet, ends what it carries; rise ends that with another life.
func (n *town) fall(quiet bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down = true; quiet {
		return
	}
	for _, s := range n.stalls {
		s.end()
	}
}

func (n *town) rise() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serial++
	n.down, n.life = false, fmt.Sprint("life ", n.serial)
}

func (n *town) Now(context.Context) (time.Time, error) {
	if err := n.open(); err != nil {
		return time.Time{}, err
	}
	defer n.mu.Unlock()
	return time.Now(), nil
}

func (n *town) Take(_ context.Context, _, id string, lasts time.Duration) (string, bool, error) {
	if err := n.open(); err != nil {
		return "", false, err
	}
	defer n.mu.Unlock()
	var killed bool
	n.lead, _, killed = n.lead.Take(id, n.life, time.Now().UnixMicro(), lasts.Microseconds())
	return n.lead.ID, killed, nil
}

func (n *town) Renew(_ context.Context, _, id string, lasts time.Duration) (leads bool, err error) {
	if err := n.open(); err != nil {
		return false, err
	}
	defer n.mu.Unlock()
	n.lead, leads = n.lead.Renew(id, n.life, time.Now().UnixMicro(), lasts.Microseconds())
	return leads, nil
}

func (n *town) Leave(_ context.Context, _, id string) error {
	if err := n.open(); err != nil {
		return err
	}
	defer n.mu.Unlock()
	n.lead = n.lead.Leave(id)
	return nil
}

func (n *town) Save(_ context.Context, _, id string, state []byte) (bool, error) {
	if err := n.open(); err != nil {
		return false, err
	}
	defer n.mu.Unlock()
	if n.lead.ID != id {
		return false, nil
	}
	n.state = state
	return true, nil
}

func (n *town) State(context.Context, string) ([]byte, error) {
	if err := n.open(); err != nil {
		return nil, err
	}
	defer n.mu.Unlock()
	return n.state, nil
}

func (n *town) Listen(context.Context) (net.Listener, error) {
	if err := n.open(); err != nil {
		return nil, err
	}
	defer n.mu.Unlock()
	n.serial++
	s := &stall{name: fmt.Sprint("stall ", n.serial), offered: make(chan net.Conn), done: make(chan struct{})}
	n.stalls[s.name] = s
	return s, nil
}

func (n *town) Dial(ctx context.Context, id string) (net.Conn, error) {
	if err := n.open(); err != nil {
		return nil, err
	}
	s := n.stalls[id]
	n.mu.Unlock()
	ours, theirs := net.Pipe()
	s.mu.Lock()
	s.conns = append(s.conns, ours, theirs)
	s.mu.Unlock()
	select {
	case s.offered <- theirs:
		return newTardy(ours, n), nil
	case <-s.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A tardy connection may be late, and whoever writes to it does not wait for that.
type tardy struct {
	net.Conn
	of    *town
	parts chan []byte
	rest  []byte
}

func newTardy(c net.Conn, of *town) *tardy {
	t := &tardy{Conn: c, of: of, parts: make(chan []byte, 1000)}
	go func() {
		defer close(t.parts)
		for {
			part := make([]byte, 4096)
			n, err := c.Read(part)
			if err != nil {
				return
			}
			t.parts <- part[:n]
		}
	}()
	return t
}

func (t *tardy) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		part, ok := <-t.parts
		if !ok {
			return 0, io.EOF
		}
		t.of.mu.Lock()
		late := t.of.late
		t.of.late = 0
		t.of.mu.Unlock()
		time.Sleep(late)
		t.rest = part
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// A stall is a listener of a town.
type stall struct {
	name    string
	offered chan net.Conn
	done    chan struct{}
	once    sync.Once

	mu    sync.Mutex
	conns []net.Conn
}

func (s *stall) Network() string { return "town" }
func (s *stall) String() string  { return s.name }
func (s *stall) Addr() net.Addr  { return s }

func (s *stall) Accept() (net.Conn, error) {
	select {
	case c := <-s.offered:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *stall) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func (s *stall) end() {
	s.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// bubble runs do in virtual time, and then lets what it started end.
func bubble(t *testing.T, do func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(10 * time.Second) })
		do(t)
	})
}

// in returns the account of p in a town. said hears of a town that does not answer.
func in(t *testing.T, n *town, p collection.Provider, said func(error)) share.Config {
	return share.Config{At: share.At{Account: "acme", Directory: n}, Concurrency: 1, Away: said, Open: func(state []byte) (*gate.Gate, error) {
		return newGate(t, p, state), nil
	}}
}

// perSecond is a ceiling, at which the requests leave with no law.
func perSecond(n int) collection.Provider {
	p := unpaced
	p.Ceilings = []collection.Ceiling{{Count: n, Per: time.Second}}
	return p
}

// most returns how many requests arrived within a second at most, and the longest pause.
func (p *provider) most() (most int, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, a := range p.arrivals {
		j := i
		for ; j < len(p.arrivals) && p.arrivals[j].at.Sub(a.at) < time.Second; j++ {
		}
		if most = max(most, j-i); i > 0 {
			pause = max(pause, a.at.Sub(p.arrivals[i-1].at))
		}
	}
	return most, pause
}

// TestMachinesShare: eight machines of one account have equal parts of its ceiling, which
// they never pass together, also where the one that leads is killed.
func TestMachinesShare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n, p := newTown(), &provider{}
		var desks []*share.Desk
		for range 8 {
			d := join(t, in(t, n, perSecond(20), nil))
			defer d.Close()
			desks = append(desks, d)
		}
		all := govern(t, p, desks, pacing.BudgetLimits{})
		const lasts = 30 // seconds
		work(all, lasts*time.Second)
		var sum, squares float64
		for _, count := range p.count() {
			sum += float64(count)
			squares += float64(count) * float64(count)
		}
		if jain := sum * sum / (8 * squares); jain < 0.98 || sum < 0.95*20*lasts {
			t.Errorf("Jain's index of %v is %.3f, want 0.98, and 600 requests", p.count(), jain)
		}
		desks[0].Die()
		work(all[1:], 12*time.Second)
		most, pause := p.most()
		if most > 20 {
			t.Errorf("%d requests within a second, the ceiling is 20", most)
		}
		if pause > share.LeaseLasts+2*time.Second {
			t.Errorf("no request left for %v after the leader was killed", pause)
		}
	})
}

// TestTownIsAway: while the directory does not answer nothing leaves, once the lease has
// ended; that is told once, and its end. A hold outlives it.
func TestTownIsAway(t *testing.T) {
	for _, lasts := range []time.Duration{time.Second, 15 * time.Second, 2 * share.AwayLonger} {
		for _, quiet := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v,quiet=%t", lasts, quiet), func(t *testing.T) {
				bubble(t, func(t *testing.T) { away(t, lasts, quiet) })
			})
		}
	}
}

func away(t *testing.T, lasts time.Duration, quiet bool) {
	n, p := newTown(), &provider{}
	var mu sync.Mutex
	var told [3][]error
	var desks []*share.Desk
	for i := range 3 {
		d := join(t, in(t, n, perSecond(20), func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told[i] = append(told[i], err)
		}))
		defer d.Close()
		desks = append(desks, d)
	}
	all := govern(t, p, desks, pacing.BudgetLimits{})
	fell := time.Now().Add(10 * time.Second)
	rose := fell.Add(lasts)
	time.AfterFunc(time.Until(fell), func() { n.fall(quiet) })
	time.AfterFunc(time.Until(rose), n.rise)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second+lasts)
	defer cancel()
	var wg sync.WaitGroup
	for i, g := range all {
		wg.Go(func() {
			for get(ctx, g, fmt.Sprintf("%d.test", i)) == nil {
			}
		})
	}
	wg.Wait()
	<-ctx.Done()
	after := map[string]bool{}
	for _, a := range p.arrivals {
		if a.at.After(fell.Add(share.LeaseHolds)) && a.at.Before(rose) {
			t.Errorf("%s sent %v after the directory was away", a.who, a.at.Sub(fell))
			break
		}
		if a.at.After(rose) {
			after[a.who] = true
		}
	}
	if most, _ := p.most(); most > 20 {
		t.Errorf("%d requests within a second, the ceiling is 20", most)
	}
	ends := lasts > share.AwayLonger // a run ends then
	if want := map[bool]int{false: 3, true: 0}[ends]; len(after) != want {
		t.Errorf("%d processes sent after it came back, want %d", len(after), want)
	}
	mu.Lock()
	defer mu.Unlock()
	for i, all := range told {
		want := slices.Repeat([]error{errDown, nil}, min(1, len(all)))
		if ends {
			want = []error{errDown}
		}
		if lasts < share.LeaseHolds && len(all) == 0 {
			continue // it may be back before it is missed
		}
		if !slices.EqualFunc(all, want, errors.Is) {
			t.Errorf("process %d was told %v, want %v", i, all, want)
		}
	}
}

// TestForgottenLead: a directory that became another one, and has forgotten who leads,
// lets nobody lead for one lease.
func TestForgottenLead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n, p := newTown(), &provider{}
		first := join(t, in(t, n, perSecond(20), nil))
		defer first.Close()
		n.mu.Lock()
		n.lead = share.Lead{Life: "an older one"}
		n.mu.Unlock()
		began := time.Now()
		second := join(t, in(t, n, perSecond(20), nil))
		defer second.Close()
		if took := time.Since(began); took < share.LeaseLasts {
			t.Errorf("another one led after %v, want %v", took, share.LeaseLasts)
		}
		all := govern(t, p, []*share.Desk{first, second}, pacing.BudgetLimits{})
		work(all, 10*time.Second)
		if most, _ := p.most(); most > 20 || first.Leads() == second.Leads() {
			t.Errorf("%d requests within a second, the ceiling is 20; lead: %t, %t", most, first.Leads(), second.Leads())
		}
	})
}

// TestMachinesKeepAHold: what one machine was asked to wait, the next one waits, also where
// the one that led was killed.
func TestMachinesKeepAHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newTown()
		p := &provider{handler: func(int) (int, http.Header) { return 429, http.Header{"Retry-After": {"7200"}} }}
		first, second := join(t, in(t, n, unpaced, nil)), join(t, in(t, n, unpaced, nil))
		defer second.Close()
		defer first.Close()
		all := govern(t, p, []*share.Desk{first, second}, pacing.BudgetLimits{})
		if err := get(t.Context(), all[1], "second.test"); err == nil {
			t.Fatal("a silence of two hours was waited for")
		}
		first.Die()
		err := get(t.Context(), all[1], "second.test")
		if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.RetryAfter || time.Until(stop.NotBefore) < time.Hour {
			t.Errorf("the next leader: %v, want the silence of two hours", err)
		}
		if !second.Leads() || len(p.arrivals) != 1 {
			t.Errorf("%d requests, want one; the second leads: %t", len(p.arrivals), second.Leads())
		}
	})
}

// TestKilledLeaderKeepsTheCeiling: what the leader sent before it was killed counts in a
// window that it did not save.
func TestKilledLeaderKeepsTheCeiling(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ten := unpaced
		ten.Ceilings = []collection.Ceiling{{Count: 10, Per: 30 * time.Second}}
		n, p := newTown(), &provider{}
		first, second := join(t, in(t, n, ten, nil)), join(t, in(t, n, ten, nil))
		defer second.Close()
		all := govern(t, p, []*share.Desk{first, second}, pacing.BudgetLimits{})
		for range 8 {
			if err := get(t.Context(), all[0], "first.test"); err != nil {
				t.Fatal(err)
			}
		}
		first.Die()
		for range 3 {
			if err := get(t.Context(), all[1], "second.test"); err != nil {
				t.Fatal(err)
			}
		}
		if gap := p.arrivals[10].at.Sub(p.arrivals[0].at); gap < 30*time.Second {
			t.Errorf("11 requests within %v, the ceiling is 10 in 30s", gap)
		}
	})
}

// TestLatePass: a pass that comes too late is not used, as others may have left in its
// place: its slot is lost.
func TestLatePass(t *testing.T) {
	for late, want := range map[time.Duration]time.Duration{300 * ms: 0, 2 * time.Second: time.Minute} {
		bubble(t, func(t *testing.T) {
			one := unpaced
			one.Ceilings = []collection.Ceiling{{Count: 1, Per: time.Minute}}
			n, p := newTown(), &provider{}
			first, second := join(t, in(t, n, one, nil)), join(t, in(t, n, one, nil))
			defer first.Close()
			defer second.Close()
			all := govern(t, p, []*share.Desk{first, second}, pacing.BudgetLimits{})
			time.Sleep(time.Minute + 250*ms) // between two beats
			n.mu.Lock()
			n.late = late
			n.mu.Unlock()
			began := time.Now()
			if err := get(t.Context(), all[1], "second.test"); err != nil {
				t.Fatal(err)
			}
			if left := p.arrivals[0].at.Sub(began); left < want || left > want+late+5*time.Second {
				t.Errorf("a pass that comes %v late: the request left after %v, want %v", late, left, want)
			}
		})
	}
}

// TestClocksOfMachines: times keep their meaning between machines whose clocks
// differ: in messages, and in the state that one leaves for the next.
func TestClocksOfMachines(t *testing.T) {
	for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		now := time.Now()
		g := newGate(t, unpaced, nil)
		g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Hold: time.Hour})
		until, state := share.Across(0, skew, now.Add(time.Minute), g.Snapshot(now))
		if got := until.Sub(now.Add(skew)); (got - time.Minute).Abs() > time.Second {
			t.Errorf("clock %v ahead: a wait of a minute ends after %v", skew, got)
		}
		st, err := gate.Inspect(state, now.Add(skew))
		if got := st.HoldUntil.Sub(now.Add(skew)); err != nil || (got-time.Hour).Abs() > time.Minute {
			t.Errorf("clock %v ahead: a hold of an hour ends after %v, %v", skew, got, err)
		}
	}
}
