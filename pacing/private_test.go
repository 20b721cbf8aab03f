package pacing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// record gets one record, and returns the stop that prevents it; nil if it came.
func record(t *testing.T, g *pacing.Governor, id int) *collection.Stop {
	t.Helper()
	ctx := collection.WithPlace(t.Context(), collection.Place{Stream: "records", Partition: collection.Partition(fmt.Sprintf(`{"id":%d}`, id))})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/records/%d", acme, id), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Client().Do(req)
	if err == nil {
		resp.Body.Close()
		return nil
	}
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok {
		t.Fatalf("record %d: %v", id, err)
	}
	return stop
}

// TestOnePrivateRecordIsAGap: a 403 to one record, while another one that was
// readable still is, is about the record. It costs one request more, and neither
// the account nor the pace of the others.
func TestOnePrivateRecordIsAGap(t *testing.T) {
	for _, workers := range []int{1, 8} {
		var took [2]time.Duration
		for private := range 2 {
			synctest.Test(t, func(t *testing.T) {
				m := serve(func(w http.ResponseWriter, r *http.Request) {
					time.Sleep(50 * time.Millisecond)
					if private == 1 && r.URL.Path == "/records/50" {
						w.WriteHeader(403)
						return
					}
					ok(w, r)
				})
				var d disk
				g := govern(t, pacing.Config{Base: m, Save: d.save, Concurrency: workers,
					Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}})
				start, ids := time.Now(), make(chan int)
				var mu sync.Mutex
				var stops []*collection.Stop
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for id := range ids {
							if stop := record(t, g, id); stop != nil {
								mu.Lock()
								stops = append(stops, stop)
								mu.Unlock()
							}
						}
					})
				}
				for id := range 100 {
					ids <- id + 1
				}
				close(ids)
				wg.Wait()
				took[private] = time.Since(start)
				if len(stops) != private || m.count() != 100+private {
					t.Fatalf("%d workers, %d private: %d stops after %d requests", workers, private, len(stops), m.count())
				}
				if private == 1 && (stops[0].Reason != collection.Forbidden || stops[0].Status != 403 || stops[0].Detail == "") {
					t.Errorf("stopped with %+v, want a gap that says why", stops[0])
				}
				if err := g.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, at := range []time.Duration{0, 25 * time.Hour} {
					st, err := gate.Inspect(d.state, time.Now().Add(at))
					if err != nil || st.Frozen {
						t.Errorf("saved as %+v, %v, want not frozen", st, err)
					}
					for _, c := range st.Constraints {
						if c.Name == gate.Forbidden {
							t.Errorf("a private record bounds the pace: %+v", c)
						}
					}
				}
			})
		}
		if more := took[1] - took[0]; more > 500*time.Millisecond {
			t.Errorf("%d workers: one private record of 100 takes %v more than none, which take %v", workers, more, took[0])
		}
	}
}

// TestABanIsStillABan: when what was readable is refused as well, the account is,
// and that is found out with one request, however many were in flight.
func TestABanIsStillABan(t *testing.T) {
	for _, workers := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			banned := false
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				if banned {
					w.WriteHeader(403)
					return
				}
				ok(w, r)
			})
			var d disk
			g := govern(t, pacing.Config{Base: m, Save: d.save, Concurrency: workers,
				Provider: collection.Provider{StartPerSecond: 20, Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}})
			for id := range 5 {
				if stop := record(t, g, id); stop != nil {
					t.Fatal(stop)
				}
			}
			banned = true
			before := m.count()
			var wg sync.WaitGroup
			for i := range workers {
				wg.Go(func() {
					stop := record(t, g, 100+i)
					if stop == nil || stop.Reason != collection.Frozen || stop.NotBefore.IsZero() {
						t.Errorf("%d workers: %+v, want frozen until a test request", workers, stop)
					}
				})
			}
			wg.Wait()
			if got := m.count() - before; got != workers+1 {
				t.Errorf("%d workers: %d requests met the ban, want one more than were in flight", workers, got)
			}
			if status, err := gate.Inspect(d.state, time.Now()); err != nil || !status.Frozen {
				t.Errorf("saved as %+v, %v, want frozen", status, err)
			}
			if n := d.freezes(); n != 1 {
				t.Errorf("%d freezes were saved, want 1", n)
			}
		})
	}
}

// TestAWitnessThatSaysNothing: what cannot be found out freezes, as before; and
// what a run has no request left for is asked by the next one.
func TestAWitnessThatSaysNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []int
		budget  int64
		want    collection.Reason
	}{
		"it fails":            {[]int{200, 403, 500}, 0, collection.Frozen},
		"it is throttled":     {[]int{200, 403, 429}, 0, collection.Frozen},
		"nothing was read":    {[]int{404, 403, 200}, 0, collection.Frozen},
		"the run has no more": {[]int{200, 403, 200}, 2, collection.RequestCap},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(statuses(tc.answers...))
			g := govern(t, pacing.Config{Base: m, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxRequests: tc.budget})})
			record(t, g, 1)
			if stop := record(t, g, 2); stop == nil || stop.Reason != tc.want {
				t.Errorf("%s: stopped with %+v, want %s", name, stop, tc.want)
			}
			if stop := record(t, g, 1); stop == nil {
				t.Errorf("%s: the next request left", name)
			}
		})
	}
}

// A run that is stopped while the witness is asked has heard nothing: the account
// is not frozen for that, and the next run asks for the record again.
func TestAWitnessThatIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/records/2" {
				w.WriteHeader(403)
				return
			}
			if asked.Add(1) > 1 {
				<-r.Context().Done() // it answers after the end of the run
			}
			ok(w, r)
		})
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}})
		if stop := record(t, g, 1); stop != nil {
			t.Fatal(stop)
		}
		over := errors.New("the run is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(over) })
		ctx = collection.WithPlace(ctx, collection.Place{Stream: "records", Partition: `{"id":2}`})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, acme+"/records/2", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Client().Do(req); !errors.Is(err, over) || asked.Load() != 2 {
			t.Errorf("ended with %v after the witness was asked %d times, want the end of the run", err, asked.Load()-1)
		}
		if st := g.Status(); st.Frozen {
			t.Errorf("the account is frozen: %s", st.FreezeReason)
		}
	})
}

// TestAListIsNoPrivateRecord: who may not read it any more is refused as a whole.
func TestAListIsNoPrivateRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(statuses(200, 403, 200))
		g := govern(t, pacing.Config{Base: m})
		record(t, g, 1)
		if stop := stopOf(t, g); stop.Reason != collection.Frozen || m.count() != 2 {
			t.Errorf("stopped with %+v after %d requests, want frozen after 2", stop, m.count())
		}
	})
}

// TestAPolicyOutranksTheWitness: who says that a person decides is not asked
// twice, and neither is who told why.
func TestAPolicyOutranksTheWitness(t *testing.T) {
	for _, policy := range []collection.ForbiddenPolicy{collection.Hold, collection.GapRecord} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(statuses(200, 403, 200))
			g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Forbidden: policy}})
			record(t, g, 1)
			if stop := record(t, g, 2); stop == nil || m.count() != 2 {
				t.Errorf("%s: stopped with %+v after %d requests, want 2", policy, stop, m.count())
			}
		})
	}
}

// TestDeniedManyAtOnce: an account or a credential that is refused from some moment on has many requests in flight
// and in line then. Hardly one more leaves before it is known: the third refusal in a row, and what finds out.
func TestDeniedManyAtOnce(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const latency = 400 * time.Millisecond
				start := time.Now()
				var next, late atomic.Int64
				denied := start.Add(10 * time.Second)
				m := serve(func(w http.ResponseWriter, r *http.Request) {
					if time.Since(denied) > latency { // by then, one was refused
						late.Add(1)
					}
					refuse := !time.Now().Before(denied)
					time.Sleep(latency)
					if refuse {
						w.WriteHeader(status)
						return
					}
					ok(w, r)
				})
				g := govern(t, pacing.Config{Base: m, Concurrency: 16,
					Provider: collection.Provider{StartPerSecond: 20, Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}})
				var wg sync.WaitGroup
				for range 16 {
					wg.Go(func() {
						for time.Since(start) < time.Minute {
							if stop := record(t, g, int(next.Add(1))); stop != nil {
								return
							}
						}
					})
				}
				wg.Wait()
				if n := late.Load(); n == 0 || n > 4 {
					t.Errorf("%d requests left after the first was refused, want 1 to 4", n)
				}
				if took := time.Since(denied); took > 10*time.Second {
					t.Errorf("the run goes on for %v", took)
				}
			})
		})
	}
}
