package share_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/share"
)

const ms = time.Millisecond

// A provider answers with its handler, and remembers who asked, and when.
type provider struct {
	handler func(n int) (status int, header http.Header)
	takes   time.Duration // 0: 30 ms

	mu       sync.Mutex
	arrivals []arrival
}

type arrival struct {
	at  time.Time
	who string
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.arrivals = append(p.arrivals, arrival{time.Now(), path.Base(r.URL.Path)})
	n := len(p.arrivals)
	p.mu.Unlock()
	time.Sleep(cmp.Or(p.takes, 30*ms))
	status, header := 200, http.Header{}
	if p.handler != nil {
		status, header = p.handler(n)
	}
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2, Request: r}, nil
}

func (p *provider) count() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]int{}
	for _, a := range p.arrivals {
		n[a.who]++
	}
	return n
}

func newGate(t *testing.T, p collection.Provider, state []byte) *gate.Gate {
	t.Helper()
	g, err := pacing.NewGate(pacing.Config{Provider: p, Concurrency: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Restore(state, time.Now()); err != nil {
		t.Fatal(err)
	}
	return g
}

var unpaced = collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Unpaced: true}

// account returns the account of p, which processes can join.
func account(t *testing.T, p collection.Provider) share.Config {
	return share.Config{At: share.At{Dir: t.TempDir(), Account: "acme"}, Concurrency: 1, Open: func(state []byte) (*gate.Gate, error) {
		return newGate(t, p, state), nil
	}}
}

func join(t *testing.T, c share.Config) *share.Desk {
	t.Helper()
	d, err := share.Join(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// govern returns a governor for each desk, all at p.
func govern(t *testing.T, base http.RoundTripper, desks []*share.Desk, b pacing.BudgetLimits) []*pacing.Governor {
	t.Helper()
	var all []*pacing.Governor
	for _, d := range desks {
		g, err := pacing.New(pacing.Config{Provider: collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}}, Base: base, Desk: d, Concurrency: 4, Budget: pacing.NewBudget(b)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		all = append(all, g)
	}
	return all
}

func get(ctx context.Context, g *pacing.Governor, who string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://acme.test/"+who, nil)
	if err != nil {
		return err
	}
	resp, err := g.Client().Transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// work lets every governor send with four workers for d.
func work(all []*pacing.Governor, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var wg sync.WaitGroup
	for i, g := range all {
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_ = get(ctx, g, fmt.Sprintf("process%d.test", i))
				}
			})
		}
	}
	wg.Wait()
}

// TestEightShareOneBudget: eight processes together are as fast as the account
// allows, and each gets the same.
func TestEightShareOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}}
		desks, end, err := share.Meet(newGate(t, acme, nil), filepath.Join(t.TempDir(), "state.json"), make([]share.Config, 7))
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		start := time.Now()
		work(govern(t, p, desks, pacing.BudgetLimits{}), 10*time.Minute)
		if got := len(p.arrivals); got < 5400 || got > 6000 {
			t.Errorf("%d requests in 10 minutes at 10 a second", got)
		}
		for i := range p.arrivals[10:] {
			if gap := p.arrivals[i+10].at.Sub(p.arrivals[i].at); gap < time.Second {
				t.Fatalf("11 requests within %v, %v after the start", gap, p.arrivals[i].at.Sub(start))
			}
		}
		var sum, squares float64
		for _, n := range p.count() {
			sum += float64(n)
			squares += float64(n) * float64(n)
		}
		if jain := sum * sum / (8 * squares); jain < 0.98 {
			t.Errorf("Jain's index of %v is %.3f, want 0.98", p.count(), jain)
		}
	})
}

// takesPart is what a process would lead with.
func takesPart([]byte) (*gate.Gate, error) { return nil, errors.ErrUnsupported }

// TestOneInFlightEach: what a process asks for is its own. Eight of them with one
// request in flight each reach the ceiling, and none has two.
func TestOneInFlightEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{takes: 100 * ms}
		acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}
		g, err := pacing.NewGate(pacing.Config{Provider: acme, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		each := share.Config{Concurrency: 1, Open: takesPart}
		desks, end, err := share.MeetAll(g, filepath.Join(t.TempDir(), "state.json"), slices.Repeat([]share.Config{each}, 8))
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		work(govern(t, p, desks, pacing.BudgetLimits{}), 5*time.Minute)
		if got := len(p.arrivals); got < 5400 || got > 6000 {
			t.Errorf("%d requests in 5 minutes at 20 a second", got)
		}
		last := map[string]time.Time{}
		for _, a := range p.arrivals {
			if gap := a.at.Sub(last[a.who]); gap < p.takes {
				t.Fatalf("%s had two requests in flight", a.who)
			}
			last[a.who] = a.at
		}
	})
}

// TestOneRefusalSlowsAllOnce: what one of them is told holds for all, and many
// refusals at once are one.
func TestOneRefusalSlowsAllOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // several requests may be answered at once
		var refusals []time.Time
		p := &provider{}
		p.handler = func(n int) (int, http.Header) {
			if n > 200 && n <= 204 {
				mu.Lock()
				defer mu.Unlock()
				refusals = append(refusals, time.Now())
				return 429, http.Header{"Retry-After": {"30"}}
			}
			return 200, nil
		}
		acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Ceilings: []collection.Ceiling{{Count: 100, Per: time.Second}}}
		desks, end, err := share.Meet(newGate(t, acme, nil), filepath.Join(t.TempDir(), "state.json"), make([]share.Config, 3))
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		all := govern(t, p, desks, pacing.BudgetLimits{})
		work(all, 5*time.Minute)
		if len(refusals) == 0 {
			t.Fatal("nothing was refused")
		}
		until := refusals[0].Add(30 * time.Second)
		late := 0
		for _, a := range p.arrivals {
			if a.at.After(refusals[0]) && a.at.Before(until) {
				late++
			}
		}
		if late != 0 {
			t.Errorf("%d requests left while it had asked all of them to wait", late)
		}
		for i, g := range all {
			if got, want := g.Status().PerSecond, all[0].Status().PerSecond; got != want || got == 0 {
				t.Errorf("process %d sees a pace of %v, the leader %v", i, got, want)
			}
		}
	})
}

// TestGuestsKeepTheirBudgets: a cap is that of one run, and the strictest
// ceiling holds for all.
func TestGuestsKeepTheirBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Ceilings: []collection.Ceiling{{Count: 50, Per: time.Second}}}
		guest := share.Config{Ceilings: []collection.Ceiling{{Count: 30, Per: time.Minute}}, Concurrency: 4, Open: takesPart}
		desks, end, err := share.Meet(newGate(t, acme, nil), filepath.Join(t.TempDir(), "state.json"), []share.Config{guest})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		all := govern(t, p, desks, pacing.BudgetLimits{MaxRequests: 25})
		start := time.Now()
		var stops [2]*collection.Stop
		var wg sync.WaitGroup
		for i, g := range all {
			wg.Go(func() {
				for stops[i] == nil {
					if err := get(context.Background(), g, fmt.Sprintf("process%d.test", i)); err != nil {
						stops[i], _ = errors.AsType[*collection.Stop](err)
					}
				}
			})
		}
		wg.Wait()
		for i, stop := range stops {
			if stop.Reason != collection.RequestCap {
				t.Errorf("process %d ended with %s", i, stop.Reason)
			}
		}
		if got := p.count(); got["process0.test"] != 25 || got["process1.test"] != 25 {
			t.Errorf("requests %v, want 25 of each", got)
		}
		if took := time.Since(start); took < time.Minute {
			t.Errorf("50 requests took %v, though one of them allows 30 a minute", took)
		}
	})
}

// TestDeadGuestFreesItsPlaces: what it had in flight does not count for ever.
func TestDeadGuestFreesItsPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Unpaced: true}
		desks, end, err := share.Meet(newGate(t, acme, nil), filepath.Join(t.TempDir(), "state.json"), make([]share.Config, 1))
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		hang := &hanging{}
		all := govern(t, hang, desks, pacing.BudgetLimits{})
		ctx, cancel := context.WithCancel(t.Context())
		for range 4 { // as many as may be in flight
			go get(ctx, all[1], "guest.test")
		}
		synctest.Wait()
		answered := make(chan error)
		go func() {
			answered <- get(t.Context(), govern(t, &provider{}, desks[:1], pacing.BudgetLimits{})[0], "leader.test")
		}()
		synctest.Wait()
		select {
		case <-answered:
			t.Fatal("a fifth request left while four were in flight")
		default:
		}
		desks[1].Die()
		if err := <-answered; err != nil {
			t.Errorf("after the guest died: %v", err)
		}
		cancel()
	})
}

// A hanging provider never answers.
type hanging struct{}

func (*hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// TestNextLeaderGoesOn joins over real sockets: when the leader ends, or is
// stopped, a guest leads, and knows of the silence that was asked for.
func TestNextLeaderGoesOn(t *testing.T) {
	for _, ending := range []string{"closed", "killed", "stopped"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			c := account(t, unpaced)
			first := join(t, c)
			second := join(t, c)
			defer second.Close()
			if !first.Leads() || second.Leads() {
				t.Fatalf("leads: %t, %t", first.Leads(), second.Leads())
			}
			p := &provider{handler: func(int) (int, http.Header) { return 429, http.Header{"Retry-After": {"7200"}} }}
			all := govern(t, p, []*share.Desk{first, second}, pacing.BudgetLimits{})
			if err := get(t.Context(), all[0], "first.test"); err == nil {
				t.Fatal("a silence of two hours was waited for")
			}
			wake := func() {}
			switch ending {
			case "closed":
				first.Close()
			case "killed":
				first.Die()
			case "stopped":
				wake = first.Stop()
			}
			err := get(t.Context(), all[1], "second.test")
			if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.RetryAfter || time.Until(stop.NotBefore) < time.Hour {
				t.Errorf("the next leader: %v, want the silence of two hours", err)
			}
			if !second.Leads() {
				t.Error("nobody leads")
			}
			if n := p.count()["second.test"]; n != 0 {
				t.Errorf("%d requests left within the silence", n)
			}
			if ending == "stopped" {
				// The one that was stopped wakes up, and finds out.
				wake()
				_ = get(t.Context(), all[0], "first.test")
				if first.Leads() {
					t.Error("two lead")
				}
			}
		})
	}
}

// TestTakingOverKeepsTheCeiling: what the process before sent within a second
// counts when another one leads.
func TestTakingOverKeepsTheCeiling(t *testing.T) {
	const perSecond = 5
	acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, Unpaced: true, Ceilings: []collection.Ceiling{{Count: perSecond, Per: time.Second}}}
	c := account(t, acme)
	var desks []*share.Desk
	for range 2 {
		desks = append(desks, join(t, c))
	}
	defer desks[1].Close()
	p := &provider{}
	all := govern(t, p, desks, pacing.BudgetLimits{})
	for range perSecond {
		if err := get(t.Context(), all[0], "first.test"); err != nil {
			t.Fatal(err)
		}
	}
	desks[0].Die()
	for range 2 {
		if err := get(t.Context(), all[1], "second.test"); err != nil {
			t.Fatal(err)
		}
	}
	// The sixth leaves a second after somebody took over, which is after the
	// fifth; nothing here can make it earlier.
	if gap := p.arrivals[perSecond].at.Sub(p.arrivals[perSecond-1].at); gap < time.Second {
		t.Errorf("%d requests, and another %v later, by the process that took over", perSecond, gap)
	}
}

// TestPaceOutlivesTheLeader: what a guest saved last with its work is what it goes on with if the leader is killed, which had
// nothing to save: no request was refused.
func TestPaceOutlivesTheLeader(t *testing.T) {
	acme := collection.Provider{Name: "acme", Origins: []string{"https://acme.test"}, StartPerSecond: 20, Ceilings: []collection.Ceiling{{Count: 200, Per: time.Second}}}
	c := account(t, acme)
	first, second := join(t, c), join(t, c)
	defer second.Close()
	all := govern(t, &provider{}, []*share.Desk{first, second}, pacing.BudgetLimits{})
	for range 40 {
		if err := get(t.Context(), all[0], "first.test"); err != nil {
			t.Fatal(err)
		}
	}
	second.State(false)
	was := second.Status().PerSecond
	first.Die()
	if err := get(t.Context(), all[1], "second.test"); err != nil {
		t.Fatal(err)
	}
	if is := second.Status().PerSecond; !second.Leads() || was < 25 || is < 0.9*was {
		t.Errorf("%.1f/s before the leader was killed, and %.1f/s after it; it leads: %t", was, is, second.Leads())
	}
}

// TestSettleOutlivesTheLeader: a refusal that comes back when the leader has
// gone slows down under the next one.
func TestSettleOutlivesTheLeader(t *testing.T) {
	c := account(t, unpaced)
	first := join(t, c)
	second := join(t, c)
	defer second.Close()
	p := &provider{handler: func(int) (int, http.Header) {
		first.Die() // while the request of the guest is on its way
		return 429, http.Header{"Retry-After": {"7200"}}
	}}
	g := govern(t, p, []*share.Desk{second}, pacing.BudgetLimits{})[0]
	err := get(t.Context(), g, "second.test")
	if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.RetryAfter {
		t.Errorf("error %v, want the silence that was asked for", err)
	}
	if until := second.Status().HoldUntil; time.Until(until) < time.Hour || !second.Leads() {
		t.Errorf("leads %t, silent until %v", second.Leads(), until)
	}
}

// TestStatusIsThatOfTheEnd: who asks once the place is left is told how it ended, and not
// what was last asked for before.
func TestStatusIsThatOfTheEnd(t *testing.T) {
	d := join(t, account(t, unpaced))
	before := d.Status()
	p := &provider{handler: func(int) (int, http.Header) { return 429, http.Header{"Retry-After": {"7200"}} }}
	if err := get(t.Context(), govern(t, p, []*share.Desk{d}, pacing.BudgetLimits{})[0], "end.test"); err == nil {
		t.Fatal("it was not refused")
	}
	d.State(true)
	d.Close()
	if got := d.Status().HoldUntil; !before.HoldUntil.IsZero() || time.Until(got) < 50*time.Minute {
		t.Errorf("it ended with a silence until %v, before: %v", got, before.HoldUntil)
	}
}
