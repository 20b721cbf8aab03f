package pacing_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// TestAnnouncedBudgetIsUsedUp: where a day's budget is all that a refusal can come from, the run
// ends after it, and one request asks again after the wait of a quota.
func TestAnnouncedBudgetIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const granted = 40
		served, refused, anew := 0, 0, time.Now().Add(2*time.Hour)
		g := govern(t, pacing.Config{Base: serve(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(50 * ms)
			left := 10 * (granted - 1 - served)
			switch {
			case time.Now().After(anew):
				left = 390
			case served == granted:
				left = 0
				refused++
				defer w.WriteHeader(429)
			default:
				served++
			}
			tellTokens(w, left)
		})})
		for range granted {
			mustFetch(t, g)
		}
		was, begun := g.Status().PerSecond, time.Now()
		for try := 1; try <= 2; try++ {
			_, err := fetch(t, g)
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok || stop.Reason != collection.RetryAfter || !strings.Contains(stop.Detail, "the quota x-daily-ratelimit-token is used up") || refused != try || stop.NotBefore.Before(time.Now().Add(59*time.Minute)) {
				t.Fatalf("%d refusals in %v, then %v, want %d, and a stop for an hour", refused, time.Since(begun), err, try)
			}
			s := g.Status()
			if k := s.Limit(); k == nil || k.Basis.Quota != "x-daily-ratelimit-token" {
				t.Errorf("it waits for %+v, want the day's tokens", k)
			}
			time.Sleep(time.Until(stop.NotBefore) + time.Second)
		}
		for range 3 {
			mustFetch(t, g)
		}
		if is := g.Status().PerSecond; refused != 2 || is < 0.99*was {
			t.Errorf("%d refusals, and a pace of %.1f a second after %.1f, want 2 and no slower", refused, is, was)
		}
	})
}

// TestBudgetThatBindsNothing: answers are granted though they tell that nothing is left of a
// budget. A refusal is one of the pace then, as it was before.
func TestBudgetThatBindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, refused := 0, 0
		var j journal
		g := govern(t, pacing.Config{Observe: j.observe, Base: serve(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(50 * ms)
			if n++; n%20 == 0 {
				refused++
				defer w.WriteHeader(429)
			}
			tellTokens(w, 0)
		})})
		begun := time.Now()
		for range 60 {
			mustFetch(t, g)
		}
		slower := 0
		for _, e := range j.of(collection.RateChanged) {
			if e.Rate.Reason == "throttled" {
				slower++
			}
		}
		if refused != 3 || slower == 0 || time.Since(begun) > 2*time.Minute {
			t.Errorf("%d refusals slowed down %d times, in %v", refused, slower, time.Since(begun))
		}
	})
}

// tellTokens announces what is left of the day's tokens, and a short window that is hardly used.
func tellTokens(w http.ResponseWriter, left int) {
	h := w.Header()
	h.Set("X-RateLimit-Limit", "20")
	h.Set("X-RateLimit-Remaining", "19")
	h.Set("X-RateLimit-Reset", "2")
	h.Set("X-Daily-RateLimit-Token-Limit", "400")
	h.Set("X-Daily-RateLimit-Token-Remaining", strconv.Itoa(left))
}
