package pacing_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// A lossy provider answers after some time, and says nothing to the requests that it loses.
type lossy struct {
	takes func(asked int) time.Duration
	loses func(asked int) bool
	asked int
	given []time.Duration // after which each lost one was given up
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	l.asked++
	asked, began := l.asked, time.Now()
	takes := time.Hour
	if !l.loses(asked) {
		takes = l.takes(asked)
	}
	select {
	case <-time.After(takes):
		return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	case <-r.Context().Done():
		l.given = append(l.given, time.Since(began))
		return nil, r.Context().Err()
	}
}

// asks sends n requests of one method to l, one after the other.
func (l *lossy) asks(t *testing.T, method string, n int) (last error) {
	t.Helper()
	return l.asksFor(t, 0, method, n)
}

// asksFor sends them in a run of so long; 0: of any length.
func (l *lossy) asksFor(t *testing.T, most time.Duration, method string, n int) (last error) {
	t.Helper()
	g, err := pacing.New(pacing.Config{Base: l, Concurrency: 1, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: most}), Provider: collection.Provider{
		Name: "lossy", Origins: []string{"https://lossy.test"}, Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for range n {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://lossy.test/items", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := g.Client().Do(req)
		if last = err; err == nil {
			resp.Body.Close()
		}
	}
	return last
}

func every(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// TestLostRequestIsGivenUpSoon: of who answers within a second, an answer that does not come is waited for
// for 5 s, each attempt waits twice as long as the one before, and the last has all the time there is.
func TestLostRequestIsGivenUpSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lossy{takes: every(100 * ms), loses: func(asked int) bool { return 31 <= asked && asked <= 34 }}
		if err := l.asks(t, http.MethodGet, 40); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second}; !slices.Equal(l.given, want) {
			t.Errorf("given up after %v, want %v", l.given, want)
		}
	})
}

// TestSlowAnswersAreWaitedFor: who took 4 s once may do so again, four times over, and who is new has all the time.
func TestSlowAnswersAreWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		slow, lost int
		want       time.Duration
	}{
		"a slow one before": {20, 31, 4 * 4 * time.Second},
		"long before":       {20, 1020, 5886 * ms}, // forgotten: 16 s · 0.999^1000
		"little is known":   {9, 3, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lossy{loses: func(asked int) bool { return asked == tc.lost }, takes: func(asked int) time.Duration {
					if asked == tc.slow {
						return 4 * time.Second
					}
					return 100 * ms
				}}
				if err := l.asks(t, http.MethodGet, tc.lost); err != nil {
					t.Fatal(err)
				}
				if len(l.given) != 1 || l.given[0] < tc.want*98/100 || l.given[0] > tc.want*102/100 {
					t.Errorf("given up after %v, want about %v", l.given, tc.want)
				}
			})
		})
	}
}

// TestSlowProviderIsNotAskedTwice: who became slow as a whole is soon waited for as long as the connector says.
func TestSlowProviderIsNotAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lossy{loses: func(int) bool { return false }, takes: func(asked int) time.Duration {
			if asked > 30 {
				return 8 * time.Second
			}
			return 100 * ms
		}}
		if err := l.asks(t, http.MethodGet, 130); err != nil {
			t.Fatal(err)
		}
		if len(l.given) != 1 {
			t.Errorf("%d of 100 slow answers were not waited for, want 1: the second attempt tells how long they take", len(l.given))
		}
	})
}

// TestWhatMayNotBeRepeatedIsWaitedFor: a request that is sent once has all the time there is.
func TestWhatMayNotBeRepeatedIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lossy{takes: every(100 * ms), loses: func(asked int) bool { return asked == 40 }}
		err := l.asks(t, http.MethodPost, 40)
		if !errors.Is(err, collection.ErrLate) || len(l.given) != 1 || l.given[0] != 30*time.Second {
			t.Errorf("it ends with %v, given up after %v, want 30 s", err, l.given)
		}
	})
}

// TestLastRequestIsWaitedFor: where the time of the run would be up before a second attempt, the first has all of it.
func TestLastRequestIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lossy{loses: func(int) bool { return false }, takes: func(asked int) time.Duration {
			if asked == 40 {
				return 20 * time.Second
			}
			return 100 * ms
		}}
		if err := l.asksFor(t, 12*time.Second, http.MethodGet, 40); err != nil || len(l.given) > 0 {
			t.Errorf("%v, given up after %v, want an answer", err, l.given)
		}
	})
}
