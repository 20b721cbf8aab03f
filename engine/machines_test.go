package engine_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/internal/pgtest"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/share"
	"collect/store/postgres"
)

// The provider of the test refuses what comes beyond perSecond requests within a second,
// as one does that counts exactly; the ceiling that the machines are told is a tenth
// lower, for what the network moves together.
const (
	perSecond = 40
	declared  = perSecond * 9 / 10
)

// machine sends for as long as its process lives. A run that ends, begins again.
func machine(name, address, url string) {
	ctx := context.Background()
	p := collection.Provider{Name: "acme", Origins: []string{url}, Ceilings: []collection.Ceiling{{Count: declared, Per: time.Second}}}
	known, err := learned(p)
	if err != nil {
		panic(err)
	}
	for {
		db, err := postgres.Open(ctx, address, postgres.Options{})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if desk, err := engine.Join(ctx, engine.Place{Store: db}, p, share.Config{Concurrency: 4, Known: known}, func(collection.Event) {}); err == nil {
			err = send(ctx, pacing.Config{Provider: p, Desk: desk, Concurrency: 4, Budget: pacing.NewBudget(pacing.BudgetLimits{})}, url+"/"+name)
			fmt.Fprintln(os.Stderr, name, err)
			_ = desk.Close() // the store may be gone
		} else {
			fmt.Fprintln(os.Stderr, name, err)
		}
		_ = db.Close()
	}
}

// learned is what an hour of answers after 20 ms teaches of p.
func learned(p collection.Provider) ([]byte, error) {
	now := time.Now()
	g, err := pacing.NewGate(pacing.Config{Provider: p, Concurrency: 4})
	if err != nil {
		return nil, err
	}
	for at := now.Add(-time.Hour); at.Before(now); {
		r := gate.Request{}
		for plan := g.Plan(&r, at); !plan.Ready; plan = g.Plan(&r, at) {
			at = plan.Until
		}
		pass := g.Leave(&r, at)
		at = at.Add(20 * time.Millisecond)
		g.Settle(at, pass, &gate.Outcome{Signal: law.Succeeded, Hold: -1})
	}
	g.SettleUp()
	return g.Snapshot(now), nil
}

func send(ctx context.Context, c pacing.Config, url string) error {
	g, err := pacing.New(c)
	if err != nil {
		return err
	}
	defer g.Close()
	failed := make(chan error, 4)
	for range 4 {
		go func() {
			for {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err == nil {
					var resp *http.Response
					if resp, err = g.Client().Do(req); err == nil {
						err = resp.Body.Close()
					}
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	for range 4 {
		err = <-failed
	}
	return err
}

// An exact provider counts requests as they arrive.
type exact struct {
	mu       sync.Mutex
	arrivals []time.Time
	of       map[string]int
	refused  int
}

func (e *exact) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.arrivals = append(e.arrivals, now)
	if n := len(e.arrivals); n > perSecond && now.Sub(e.arrivals[n-1-perSecond]) < time.Second {
		e.refused++
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	e.of[path.Base(r.URL.Path)]++
	fmt.Fprint(w, "{}")
}

// count returns how many requests came, and of each machine; and begins to count anew.
func (e *exact) count() (all int, of map[string]int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of, e.of = e.of, map[string]int{}
	return len(e.arrivals), of
}

// TestMachinesShareAnAccount: eight processes that have nothing in common but a Postgres
// store and a credential all have their turns; also while the one that leads is killed and
// others are stopped, and when the server is ended at once and started again. None of it
// needs anybody. How equal their parts are, and how many requests come within a second, is
// measured and told with -v, as the machine has a part in it: what they may be is held in
// virtual time, by package share.
func TestMachinesShareAnAccount(t *testing.T) {
	if flag.NArg() == 3 { // one of the eight
		machine(flag.Arg(0), flag.Arg(1), flag.Arg(2))
	}
	if testing.Short() {
		t.Skip("it runs eight processes")
	}
	server, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Remove()
	address := server.Address("collect")
	db, err := postgres.Open(t.Context(), address, postgres.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e := &exact{of: map[string]int{}}
	web := httptest.NewServer(e)
	defer web.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	defer func() {
		for _, c := range all {
			_ = c.Process.Kill() // some are dead already
			_ = c.Wait()
		}
	}()
	for i := range 8 {
		c := exec.Command(self, "-test.run=^TestMachinesShareAnAccount$", "-test.timeout=10m", fmt.Sprint("m", i), address, web.URL)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		time.Sleep(200 * time.Millisecond) // the first one leads
	}
	goOn := func(when string) {
		t.Helper()
		began, _ := e.count()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			now, _ := e.count()
			if now > began+perSecond {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d requests leave in a minute, of %d", when, now-began, now)
			}
		}
	}
	goOn("at first")
	e.count()
	time.Sleep(5 * time.Second)
	_, of := e.count()
	var sum, squares float64
	for _, n := range of {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if len(of) != 8 {
		t.Errorf("%d of 8 have turns: %v", len(of), of)
	}
	t.Logf("Jain's index %.4f, %.1f requests a second: %v", sum*sum/(8*squares), sum/5, of)
	if err := all[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	goOn("after the one that led was killed")
	for _, c := range all[1:3] {
		if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	goOn("while two are stopped")
	for _, c := range all[1:3] {
		if err := c.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	server.End(syscall.SIGQUIT)
	time.Sleep(2 * time.Second)
	if err := server.Begin(); err != nil {
		t.Fatal(err)
	}
	goOn("after the server was started again")
	e.mu.Lock()
	defer e.mu.Unlock()
	most := 0
	for i := range e.arrivals {
		j, _ := slices.BinarySearchFunc(e.arrivals, e.arrivals[i].Add(time.Second), time.Time.Compare)
		most = max(most, j-i)
	}
	t.Logf("%d requests, %d refused, at most %d within a second", len(e.arrivals), e.refused, most)
}
