package pacing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/law"
)

// TestBudgetsUnderEveryLaw lets many ask at once for pages of a provider that
// answers, fails and asks for silence by chance, until a budget is used up.
//
//   - I10: the attempts, retries included, are at most the cap, and each of them
//     was counted; no retry left without a token.
//   - I12: nothing arrives before the end of a Retry-After that was heard.
func TestBudgetsUnderEveryLaw(t *testing.T) {
	for _, name := range law.Laws() {
		var capped, withoutTokens, retried, silences int
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("%s,seed=%d", name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newBudgeted(t, name, seed)
					h.ask()
					h.check()
					capped += h.stops[collection.RequestCap]
					withoutTokens += h.stops[collection.RetryBudget]
					retried += int(h.budget.Tally().Retries)
					silences += h.silences
				})
			})
		}
		if min(capped, withoutTokens, retried, silences) < 20 {
			t.Errorf("%s: %d ends by the cap, %d without a token, %d retries, %d silences: too few", name, capped, withoutTokens, retried, silences)
		}
	}
}

// A budgeted is a run with budgets, and the provider that it asks.
type budgeted struct {
	*testing.T
	limits   pacing.BudgetLimits
	budget   *pacing.Budget
	governor *pacing.Governor
	memory   *memory

	mu        sync.Mutex
	chance    *rand.Rand
	bad       int       // of ten answers
	silent    time.Time // until then
	silences  int
	successes int64
	stops     map[collection.Reason]int
}

func newBudgeted(t *testing.T, name string, seed uint64) *budgeted {
	h := &budgeted{T: t, chance: rand.New(rand.NewPCG(seed, 0)), stops: map[collection.Reason]int{}}
	h.limits = pacing.BudgetLimits{MaxRequests: 1 + h.chance.Int64N(60), RetryTokens: 1 + h.chance.Int64N(8)}
	h.bad = h.chance.IntN(9)
	h.memory = serve(h.answer)
	h.budget = pacing.NewBudget(h.limits)
	h.governor = govern(t, pacing.Config{Base: h.memory, Budget: h.budget, Law: name, Concurrency: 1 + h.chance.IntN(8)})
	return h
}

func (h *budgeted) answer(w http.ResponseWriter, _ *http.Request) {
	h.mu.Lock()
	if now := time.Now(); now.Before(h.silent) {
		h.Errorf("I12: a request arrives %v before the end of a silence", h.silent.Sub(now))
	}
	took := time.Duration(h.chance.IntN(400)) * ms
	what := h.chance.IntN(6)
	if h.chance.IntN(10) >= h.bad {
		what = 99
	}
	h.mu.Unlock()
	time.Sleep(took)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch what {
	case 0, 1:
		seconds := 1 + h.chance.IntN(60)
		h.silences++
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		w.WriteHeader(http.StatusTooManyRequests)
		// Those on their way may arrive at this very moment.
		if until := time.Now().Add(time.Duration(seconds) * time.Second); until.After(h.silent) {
			time.AfterFunc(1, func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.silent = until
			})
		}
	case 2:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 3, 4, 5:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		h.successes++
	}
}

// ask asks from ten sides until the run ends.
func (h *budgeted) ask() {
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 20 {
				_, err := fetch(h.T, h.governor)
				if stop, ok := errors.AsType[*collection.Stop](err); ok {
					h.mu.Lock()
					h.stops[stop.Reason]++
					h.mu.Unlock()
					if stop.Reason == collection.RequestCap {
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func (h *budgeted) check() {
	tally := h.budget.Tally()
	if sent := int64(h.memory.count()); sent > h.limits.MaxRequests || sent != tally.Requests {
		h.Errorf("I10: %d requests were sent and %d counted, the cap is %d", sent, tally.Requests, h.limits.MaxRequests)
	}
	if most := float64(h.limits.RetryTokens) + float64(h.successes)/5; float64(tally.Retries) > most {
		h.Errorf("I10: %d retries with %d tokens and %d successes", tally.Retries, h.limits.RetryTokens, h.successes)
	}
	if left, capacity := h.budget.RetryTokens(); left < 0 || left > capacity {
		h.Errorf("I10: %v retry tokens are left of %v", left, capacity)
	}
}
