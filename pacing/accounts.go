package pacing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// Several accounts of one provider take turns. Each is a pacing domain of its own, with
// its own gate, and what one of them is refused costs that one alone. They share the
// budgets of the run. An attempt stands in the line of each account and leaves by the one
// that lets it go first:
//
//	attempt ──┬── line of account 1 ── gate
//	          ├── line of account 2 ── gate ──→ admitted: it leaves the other lines
//	          └── line of account 3 ── gate
//
// The budgets are asked by the one line that has the attempt, at the moment of its
// admission, so that it is charged once. An account that cannot let anything go in this
// run (it is frozen, its quota is used up, it asks for a long silence) ends its part of
// the bid, and the others go on. One whose credential is rejected is left out until the
// next run. The run ends only when no account is left, with the stop that ends first.
type accounts struct {
	all   []*Governor // each with its own account; the first one sends by all of them
	keeps bool        // all requests of a walk have one account

	mu    sync.Mutex
	turns int64              // that were had,
	last  []int64            // and the latest of each account
	out   []*collection.Stop // why an account is left out of this run; nil: it is not
	told  map[string]bool    // accounts of which it was told that the run goes on without them
}

// joinAfter is how long an attempt stands in the lines it has before it joins another
// one: longer than a process nearby takes to give a turn that is free, since a turn that
// comes too late is lost.
const joinAfter = 10 * time.Millisecond

// newAccounts returns the Governor of the first of each, which sends by all of them.
func newAccounts(c Config, each []collection.Provider) (*Governor, error) {
	a := &accounts{keeps: c.Provider.KeepsAccount, last: make([]int64, len(each)), out: make([]*collection.Stop, len(each)), told: map[string]bool{}}
	own := append([]Account{{c.Restore, c.Desk, c.Save}}, c.More...)
	if c.Base == nil {
		c.Base = NewTransport(c.Provider, c.Provider.InFlight(c.Concurrency)*len(each))
	}
	if observe := c.Observe; observe != nil {
		var one sync.Mutex
		c.Observe = func(e collection.Event) {
			one.Lock()
			defer one.Unlock()
			observe(e)
		}
	}
	if c.Budget == nil {
		c.Budget = NewBudget(BudgetLimits{})
	}
	hidden := c.Provider.Hidden
	for i, p := range each {
		c.Provider, c.Restore, c.Desk, c.Save = p, own[i].Restore, own[i].Desk, own[i].Save
		g, err := newGovernor(c)
		if err != nil {
			return nil, err
		}
		g.several, g.account, g.besides = a, p.CredentialFrom, hidden
		if i > 0 {
			g.room, g.meter = a.all[0].room, a.all[0].meter
		}
		a.all = append(a.all, g)
	}
	return a.all[0], nil
}

// enter waits for the turn of t at one of the accounts, and returns which one. Only is the account
// that it must be; nil: any.
func (a *accounts) enter(ctx context.Context, t *desk.Turn, only *Governor) (*Governor, gate.Pass, error) {
	among := []*Governor{only}
	if only == nil {
		among = a.candidates(collection.PlaceOf(ctx))
	}
	if len(among) == 0 {
		return a.all[0], gate.Pass{}, a.rejected(collection.PlaceOf(ctx))
	}
	lead := a.all[0]
	lead.waiting.Add(1)
	b := &bid{lead: lead, shown: &desk.Turn{Stream: t.Stream}, plans: make([]*gate.Plan, len(among)), by: -1}
	g, p, err := b.run(ctx, t, among)
	lead.waiting.Add(-1)
	if a.keeps {
		err = a.bound(g, err)
	}
	g.entered(t, p, err)
	if err == nil {
		a.had(g)
		for i, refused := range b.stops {
			a.leave(among[i], refused)
		}
	}
	return g, p, err
}

// candidates returns the accounts that a request for a place may have, the one that had no turn
// for the longest time first.
func (a *accounts) candidates(at collection.Place) []*Governor {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keeps {
		i := a.keeper(at)
		if a.out[i] != nil {
			return nil
		}
		return a.all[i : i+1]
	}
	var order []int
	for i := range a.all {
		if a.out[i] == nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.last[i], a.last[j]) })
	among := make([]*Governor, len(order))
	for k, i := range order {
		among[k] = a.all[i]
	}
	return among
}

// keeper returns the account of the walk of a place: of all, the one whose name gives the highest
// hash together with that of the place (rendezvous hashing, Thaler and Ravishankar 1998).
// So later runs choose the same one, and another account takes over its own share only.
func (a *accounts) keeper(at collection.Place) int {
	best, most := 0, uint64(0)
	for i, g := range a.all {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s", at.Stream, at.Partition, at.Lane, g.account)
		if sum := h.Sum64(); i == 0 || sum > most {
			best, most = i, sum
		}
	}
	return best
}

func (a *accounts) had(g *Governor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns++
	a.last[slices.Index(a.all, g)] = a.turns
}

// rejected returns why no account may be asked any more for a place.
func (a *accounts) rejected(at collection.Place) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.out, func(stop *collection.Stop) bool { return stop != nil })
	if a.keeps {
		i = a.keeper(at)
	}
	again := *a.out[i]
	if a.keeps && slices.Contains(a.out, nil) {
		again.Err = errors.Join(again.Err, &collection.OneAccountError{From: a.all[i].account})
	}
	return &again
}

// bound returns err, with which a request of a walk ended that only the account g may
// have. If that account is refused, it costs the walks of this account, and not the run.
func (a *accounts) bound(g *Governor, err error) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok || !stop.Reason.RefusesAccount() || !a.without(g, stop) {
		return err
	}
	one := *stop
	one.Err = errors.Join(one.Err, &collection.OneAccountError{From: g.account})
	return &one
}

// moves reports whether a request that the account of g did not answer, in its nth attempt, goes to
// any account, and makes next the turn for that. A refusal of the account says nothing of the
// request, so that what follows is no retry; and one account that is asked to slow down
// does not keep the others waiting.
func (a *accounts) moves(g *Governor, ended answer, settled desk.Settled, n int, next *desk.Turn) bool {
	stop, ok := errors.AsType[*collection.Stop](ended.err)
	switch {
	case !ok || a.keeps:
		return false
	case ended.rejected(), stop.Reason.RefusesAccount() && stop.Reason != collection.Auth:
		if !a.without(g, stop) {
			return false
		}
		next.Request = gate.Request{Stream: next.Stream}
		return true
	case ended.again && n < g.limits.Attempts+len(a.all)-1:
		moves := ended.outcome.Signal == law.Throttled || ended.outcome.QuotaUsed || settled.Next != nil
		if moves {
			next.Request.NotBefore = time.Time{}
		}
		return moves
	}
	return false
}

// without notes that an account is refused, and reports whether there is another one.
func (a *accounts) without(g *Governor, stop *collection.Stop) bool {
	a.mu.Lock()
	if stop.Reason == collection.Auth {
		a.out[slices.Index(a.all, g)] = stop
	}
	out := slices.Clone(a.out)
	a.mu.Unlock()
	for i, other := range a.all {
		if other != g && out[i] == nil && !other.desk.Status().Frozen {
			a.leave(g, stop)
			return true
		}
	}
	return false
}

// leave tells, once, that the run goes on without an account that only a person can bring
// back.
func (a *accounts) leave(g *Governor, stop *collection.Stop) {
	if stop == nil || stop.Reason.Kind() != collection.Stuck {
		return
	}
	a.mu.Lock()
	first := !a.told[g.account]
	a.told[g.account] = true
	a.mu.Unlock()
	if !first {
		return
	}
	what := fmt.Sprintf("%s rejects the credential from %s (%d): replace it, or take it out of the list", g.name, g.account, stop.Status)
	if stop.Reason != collection.Auth {
		what = fmt.Sprintf("%s refuses the account of %s, so that no request leaves with it: `collect explain` says until when", g.name, g.account)
	}
	g.mu.Lock()
	defer g.unlock()
	g.tell(collection.Event{Kind: collection.WarningRaised, Code: collection.AccountLeftOut,
		Message: what + ". The run goes on with the other accounts"}, time.Now(), "")
}

// status returns how things stand with the account that has most to give, and with the
// rates of all that take part together.
func (a *accounts) status() gate.Status {
	var best gate.Status
	var together gate.Status
	ceiling, bounded := 0.0, true
	for i, g := range a.all {
		s := g.desk.Status()
		a.mu.Lock()
		out := a.out[i] != nil || s.Frozen
		a.mu.Unlock()
		if i == 0 || !out && (s.PerSecond > best.PerSecond || best.Frozen) {
			best = s
		}
		if out {
			continue
		}
		together.PerSecond, together.Learned, together.Begins = together.PerSecond+s.PerSecond, together.Learned+s.Learned, together.Begins+s.Begins
		if bounded = bounded && s.Ceiling != nil; bounded {
			ceiling += *s.Ceiling
		}
	}
	if together.PerSecond > 0 {
		best.PerSecond, best.Learned, best.Begins = together.PerSecond, together.Learned, together.Begins
		if best.Ceiling = nil; bounded {
			best.Ceiling = &ceiling
		}
	}
	return best
}
