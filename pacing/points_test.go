package pacing_test

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// points is a limit of an hour that counts points: it is granted bit by bit, or all of it at the end of each hour.
type points struct {
	limit   float64
	costs   []float64 // of the requests, in turn
	lists   int       // that have a limit of their own, and tell it by the same name
	bit     bool
	tells   bool    // what a request cost
	begins  float64 // points that are left at first; 0: all
	others  float64 // points that somebody else uses, a second
	workers int
	plain   bool    // its fields do not say that they count points
	unsized bool    // its limit is not told
	weight  float64 // that is declared

	mu        sync.Mutex
	lefts     []float64
	granted   float64
	asked, no int
	at, ends  time.Time
}

func (p *points) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(200 * ms)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	left, cost := &p.lefts[p.asked%p.lists], p.costs[p.asked%len(p.costs)]
	for i := range p.lefts {
		used := now.Sub(p.at).Seconds() * p.others
		if p.bit {
			used -= p.limit / 3600 * now.Sub(p.at).Seconds()
		}
		if !now.Before(p.ends) {
			used = -p.limit
		}
		p.lefts[i] = max(0, min(p.limit, p.lefts[i]-used))
	}
	if p.at = now; !now.Before(p.ends) {
		p.ends = now.Add(time.Hour)
	}
	p.asked++
	if *left < cost {
		p.no++
		defer w.WriteHeader(429)
	} else {
		*left -= cost
		if p.tells {
			w.Header().Set("X-Complexity", strconv.Itoa(int(cost)))
		}
		p.granted += cost
	}
	reset := p.ends
	if p.bit {
		reset = now.Add(time.Duration((p.limit - *left) / p.limit * float64(time.Hour)))
		p.ends = now.Add(time.Hour)
	}
	fields := "X-RateLimit-Complexity-"
	if p.plain {
		fields = "X-RateLimit-"
	}
	if !p.unsized {
		w.Header().Set(fields+"Limit", strconv.Itoa(int(p.limit)))
	}
	w.Header().Set(fields+"Remaining", strconv.Itoa(int(*left)))
	w.Header().Set(fields+"Reset", strconv.Itoa(int(math.Ceil(reset.Sub(now).Seconds()))))
}

// TestPoints: an announced limit counts points, and one request takes many of them. The limit is used up when fewer are
// left than a request takes, so that the provider refuses few requests.
func TestPoints(t *testing.T) {
	for name, tc := range map[string]struct {
		*points
		granted float64 // of what it grants in the time
		no      int     // refusals, at most
	}{
		"bit by bit":            {&points{limit: 250000, costs: []float64{2800}, bit: true}, 0.97, 1},
		"at the end":            {&points{limit: 5000, costs: []float64{60}}, 0.97, 1},
		"few":                   {&points{limit: 250000, costs: []float64{9000}, bit: true}, 0.97, 1},
		"at once":               {&points{limit: 250000, costs: []float64{2800}, bit: true, workers: 4}, 0.97, 3},
		"at once, at the end":   {&points{limit: 5000, costs: []float64{60}, workers: 4}, 0.97, 3},
		"told, and little left": {&points{limit: 250000, costs: []float64{420}, bit: true, tells: true, begins: 2447}, 0.97, 1},
		"mixed":                 {&points{limit: 250000, costs: []float64{2800, 30, 2800, 500}, bit: true}, 0.97, 5},
		"others":                {&points{limit: 250000, costs: []float64{2800}, bit: true, others: 30}, 0.97, 6},
		"others, at the end":    {&points{limit: 5000, costs: []float64{1}, others: 0.5}, 0.97, 3},
		"three lists":           {&points{limit: 900, costs: []float64{1}, lists: 3}, 0.97, 3},
		"a declared weight":     {&points{limit: 250000, costs: []float64{2800}, bit: true, weight: 5}, 0.97, 1},
		"of no told size":       {&points{limit: 250000, costs: []float64{2800}, bit: true, unsized: true}, 0.5, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := tc.points
				p.lists, p.workers = max(1, p.lists), max(1, p.workers)
				p.at, p.ends = time.Now(), time.Now().Add(time.Hour)
				for range p.lists {
					p.lefts = append(p.lefts, cmp.Or(p.begins, p.limit))
				}
				provider := collection.Provider{Routes: map[string]collection.Route{"": {Weight: max(1, p.weight)}}}
				g, begun := govern(t, pacing.Config{Base: serve(p.ServeHTTP), Concurrency: p.workers, Provider: provider}), time.Now()
				var all sync.WaitGroup
				for range p.workers {
					all.Go(func() {
						for time.Since(begun) < 3*time.Hour {
							if _, err := fetch(t, g); err != nil {
								stop, ok := errors.AsType[*collection.Stop](err)
								if !ok {
									t.Error(err)
									return
								}
								time.Sleep(time.Until(stop.NotBefore))
							}
						}
					})
				}
				all.Wait()
				might := 3 * p.limit * float64(p.lists)
				if p.bit {
					might += cmp.Or(p.begins, p.limit)
				}
				might -= 3 * 3600 * p.others
				t.Logf("%.0f granted of %.0f, %d asked, %d refused", p.granted, might, p.asked, p.no)
				if p.granted < tc.granted*might || p.no > tc.no {
					t.Errorf("%.0f granted of %.0f, %d refused", p.granted, might, p.no)
				}
			})
		})
	}
}

// TestPointsInShortRuns: short runs use a bucket that is nearly empty. A run sends each request as soon as the bucket has enough
// points for it, or ends as planned, and the next run waits until that time.
func TestPointsInShortRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &points{limit: 250000, costs: []float64{2100}, bit: true, tells: true, lists: 1, lefts: []float64{6000}}
		p.at, p.ends = time.Now(), time.Now().Add(time.Hour)
		d, m, begun := &disk{}, serve(p.ServeHTTP), time.Now()
		for range 20 {
			g := govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: 20 * time.Second})})
			for range 3 {
				_, _ = fetch(t, g)
			}
			if err := g.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			g.Close()
			time.Sleep(15 * time.Second)
		}
		might := 6000 + p.limit/3600*time.Since(begun).Seconds()
		t.Logf("%.0f granted of %.0f in %v, %d refused", p.granted, might, time.Since(begun), p.no)
		if p.granted < 0.8*might || p.no > 0 {
			t.Errorf("%.0f granted of %.0f, %d refused, want 80 %% and none", p.granted, might, p.no)
		}
	})
}

// TestAJobKnowsWhatARequestTakes: runs of a few requests know from those before what one of them takes of a limit, say so, and are
// rarely refused at the end of it. A run whose requests take less is not kept from using what is left.
func TestAJobKnowsWhatARequestTakes(t *testing.T) {
	for name, tc := range map[string]struct {
		plain bool
		unit  string
	}{"a limit of no named unit": {true, ""}, "complexity": {false, "complexity"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &points{limit: 5000, costs: []float64{60}, lists: 1, lefts: []float64{5000}, plain: tc.plain}
				p.at, p.ends = time.Now(), time.Now().Add(time.Hour)
				d, m, begun := &disk{}, serve(p.ServeHTTP), time.Now()
				run := func(requests int) gate.Status { return job(t, d, m, requests) }
				for time.Since(begun) < 12*time.Hour {
					run(6)
					time.Sleep(3 * time.Minute)
				}
				t.Logf("%.0f granted, %d asked, %d refused", p.granted, p.asked, p.no)
				if p.granted < 0.95*12*5000 || p.no > 3 {
					t.Errorf("%.0f granted of %d, %d refused", p.granted, 12*5000, p.no)
				}
				time.Sleep(time.Hour) // until all of it is there
				s := run(1)
				if len(s.Announced) != 1 || s.Announced[0].Each != 60 || s.Announced[0].Unit != tc.unit {
					t.Errorf("announced %+v", s.Announced)
				}
				p.costs, p.lefts[0], p.no, p.asked = []float64{2}, 50, 0, 0
				if run(8); p.no > 0 || p.asked < 8 {
					t.Errorf("%d asked, %d refused, with enough left for 25", p.asked, p.no)
				}
			})
		})
	}
}

// job is one run of some requests, which waits for a minute at most. It returns how things stand at its end.
func job(t *testing.T, d *disk, m http.RoundTripper, requests int) gate.Status {
	t.Helper()
	g := govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: time.Minute})})
	defer g.Close()
	for range requests {
		if _, err := fetch(t, g); err != nil {
			break
		}
	}
	status := g.Status()
	if err := g.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return status
}

// TestWhatSeemsToBeTaken: what short runs see of several limits by one name, of windows whose answers tell a cost, or of a bucket
// that is one no more, is not taken for what a request takes of a limit, or for a bucket.
func TestWhatSeemsToBeTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		*points
		requests, runs int // of a job
		all            bool
		no             int // refusals, at most
	}{
		"two limits, two a run": {&points{limit: 900, costs: []float64{1}, lefts: []float64{900, 400}, plain: true}, 2, 200, true, 0},
		"two limits, six a run": {&points{limit: 900, costs: []float64{1}, lefts: []float64{900, 400}, plain: true}, 6, 60, true, 0},
		"a window that tells":   {&points{limit: 5000, costs: []float64{60}, lefts: []float64{5000}, tells: true}, 6, 240, false, 20},
		"no bucket any more":    {&points{limit: 5000, costs: []float64{60}, lefts: []float64{5000}, bit: true, plain: true}, 12, 480, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := tc.points
				p.lists, p.at, p.ends = len(p.lefts), time.Now(), time.Now().Add(time.Hour)
				d, m := &disk{}, serve(p.ServeHTTP)
				for n := range tc.runs {
					if p.bit && n == tc.runs/2 {
						p.bit, p.no = false, 0
					}
					job(t, d, m, tc.requests)
					time.Sleep(3 * time.Minute)
				}
				if p.no > tc.no || tc.all && p.asked < tc.requests*tc.runs {
					t.Errorf("%d of %d asked, %d refused", p.asked, tc.requests*tc.runs, p.no)
				}
			})
		})
	}
}
