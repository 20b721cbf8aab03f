package pacing_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// TestForbiddenFreezesAcrossRestarts follows three refusals in a row, each
// seen by another process.
func TestForbiddenFreezesAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		m := serve(statuses(403))
		for i, freeze := range []time.Duration{15 * time.Minute, 30 * time.Minute, 0} {
			stop := stopOf(t, govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state}))
			if stop.Reason != collection.Frozen || stop.Status != 403 || freeze > 0 && time.Until(stop.NotBefore) != freeze {
				t.Errorf("refusal %d: %+v, want frozen for %v", i+1, stop, freeze)
			}
			if got := m.count(); got != i+1 {
				t.Fatalf("refusal %d: %d requests were sent", i+1, got)
			}
			if freeze == 0 {
				break
			}
			time.Sleep(freeze - 2*time.Second)
			early := stopOf(t, govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state}))
			if early.Reason != collection.Frozen || m.count() != i+1 {
				t.Errorf("inside freeze %d: %+v after %d requests", i+1, early, m.count())
			}
			time.Sleep(2 * time.Second)
		}
		time.Sleep(1000 * time.Hour)
		stop := stopOf(t, govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state}))
		if stop.Reason != collection.Frozen || !stop.NotBefore.IsZero() || m.count() != 3 {
			t.Errorf("after three refusals: %+v after %d requests, want an operator's freeze", stop, m.count())
		}
	})
}

// TestTestRequestThaws: one request goes out, the others wait for it, and
// then everybody works again.
func TestTestRequestThaws(t *testing.T) {
	for _, answer := range []int{200, 404} {
		synctest.Test(t, func(t *testing.T) {
			var d disk
			stopOf(t, govern(t, pacing.Config{Base: serve(statuses(403)), Save: d.save}))
			time.Sleep(15 * time.Minute)
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(20 * time.Second)
				w.WriteHeader(answer)
			})
			var j journal
			g := govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state, Concurrency: 4, Observe: j.observe})
			start := time.Now()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { fetch(t, g) })
			}
			wg.Wait()
			if gaps := m.gaps(start); len(gaps) != 3 || gaps[1] != 20*time.Second {
				t.Errorf("requests after %v, want the second after the test's 20s", gaps)
			}
			if got := j.of(collection.FreezeChanged); len(got) != 1 || got[0].Freeze.Frozen {
				t.Errorf("freeze changes %+v, want one thaw", got)
			}
			if status, err := gate.Inspect(d.state, time.Now()); err != nil || status.Frozen {
				t.Errorf("saved as %+v, %v, want thawed", status, err)
			}
		})
	}
}

// TestFailedTestKeepsTheFreeze: a fault of the network is no answer.
func TestFailedTestKeepsTheFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		stopOf(t, govern(t, pacing.Config{Base: serve(statuses(403)), Save: d.save}))
		time.Sleep(15 * time.Minute)
		m := serve(statuses(500, 403))
		stop := stopOf(t, govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state}))
		if stop.Reason != collection.Frozen || time.Until(stop.NotBefore) != 30*time.Minute || m.count() != 2 {
			t.Errorf("%+v after %d requests, want the second refusal's 30m after 2", stop, m.count())
		}
	})
}

// TestOneRefusalInFlightIsOneStrike: eight requests hear the same refusal.
func TestOneRefusalInFlightIsOneStrike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Second)
			w.WriteHeader(403)
		})
		var d disk
		g := govern(t, pacing.Config{Base: m, Save: d.save, Concurrency: 8})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if stop := stopOf(t, g); stop.Reason != collection.Frozen || stop.NotBefore.IsZero() {
					t.Errorf("%+v, want frozen until a test request", stop)
				}
			})
		}
		wg.Wait()
		if n := d.freezes(); n != 1 {
			t.Errorf("%d freezes were saved, want 1", n)
		}
	})
}

// TestForbiddenAfterManyAnswers: a 403 after many good answers of its stream may be about the pace; one after
// few, or one that says why, is not taken for that.
func TestForbiddenAfterManyAnswers(t *testing.T) {
	for _, tc := range []struct {
		answers int
		header  string
		want    bool
	}{{12, "", true}, {9, "", false}, {12, "challenge", false}} {
		synctest.Test(t, func(t *testing.T) {
			var m *memory
			m = serve(func(w http.ResponseWriter, r *http.Request) {
				if m.count() <= tc.answers {
					ok(w, r)
					return
				}
				w.Header().Set("X-Amzn-Waf-Action", tc.header)
				w.WriteHeader(403)
			})
			g := govern(t, pacing.Config{Base: m})
			for range tc.answers {
				mustFetch(t, g)
			}
			_, err := fetch(t, g)
			if stop, _ := errors.AsType[*collection.Stop](err); stop == nil || stop.Reason != collection.Frozen || errors.Is(err, collection.ErrAfterMany) != tc.want {
				t.Errorf("after %d answers, %q: %v, want it to be after many: %t", tc.answers, tc.header, err, tc.want)
			}
		})
	}
}

// TestForbiddenPolicies reads a 403 as the provider's description says.
func TestForbiddenPolicies(t *testing.T) {
	quota := map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}
	for _, tc := range []struct {
		name   string
		policy collection.ForbiddenPolicy
		header map[string]string
		want   collection.Reason // "" for a retry that succeeds
		again  bool              // the next request leaves
	}{
		{"default", "", nil, collection.Frozen, false},
		{"freeze", collection.Freeze, nil, collection.Frozen, false},
		{"hold", collection.Hold, nil, collection.Frozen, false},
		{"gap", collection.GapRecord, nil, collection.Forbidden, true},
		{"throttle by quota", collection.Freeze, quota, "", true},
		{"throttle by Retry-After", collection.Hold, map[string]string{"Retry-After": "5"}, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var once sync.Once
				m := serve(func(w http.ResponseWriter, _ *http.Request) {
					once.Do(func() {
						for k, v := range tc.header {
							w.Header().Set(k, v)
						}
						w.WriteHeader(403)
					})
				})
				g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Forbidden: tc.policy}})
				if tc.want == "" {
					mustFetch(t, g)
					return
				}
				stop := stopOf(t, g)
				if stop.Reason != tc.want || stop.Status != 403 {
					t.Errorf("%+v, want %s", stop, tc.want)
				}
				if operator := stop.NotBefore.IsZero(); tc.want == collection.Frozen && operator != (tc.policy == collection.Hold) {
					t.Errorf("released by an operator only: %t, with policy %q", operator, tc.policy)
				}
				_, err := fetch(t, g)
				if left := m.count() == 2; left != tc.again {
					t.Errorf("the next request left: %t (%v), want %t", left, err, tc.again)
				}
			})
		})
	}
}

// TestChallengeFreezes whatever the policy and the status: a firewall answered,
// and what it sends with 202 would pass for a page without records.
func TestChallengeFreezes(t *testing.T) {
	for _, policy := range []collection.ForbiddenPolicy{collection.Freeze, collection.GapRecord} {
		for _, status := range []int{202, 403, 405} {
			synctest.Test(t, func(t *testing.T) {
				m := serve(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Amzn-Waf-Action", "challenge")
					w.WriteHeader(status)
				})
				g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Forbidden: policy}})
				for range 2 {
					if stop := stopOf(t, g); stop.Reason != collection.Frozen || stop.Detail != "a firewall answered in its place" || m.count() != 1 {
						t.Errorf("%d, policy %s: stopped with %+v %q after %d requests, want a freeze after 1", status, policy, stop, stop.Detail, m.count())
					}
				}
			})
		}
	}
}

// TestAbnormalUsageFreezes whatever the policy: it is told in so many words.
func TestAbnormalUsageFreezes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			io.WriteString(w, `{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected"}`)
		})
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Forbidden: collection.GapRecord}})
		if stop := stopOf(t, g); stop.Reason != collection.Frozen || m.count() != 1 {
			t.Errorf("%+v after %d requests, want frozen after 1", stop, m.count())
		}
	})
}
