package report

import (
	"fmt"
	"time"

	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/pacing/gate"
)

// best returns the account of several that has most to give: the run goes on with it when
// others are held back, so that it says when the connector goes on. nil: there is none.
func best(accounts []Account, now time.Time) (first *Account) {
	for i := range accounts {
		a := &accounts[i]
		if first == nil || a.held(now) < first.held(now) || a.held(now) == first.held(now) && a.held(now) > 0 && a.Until.Before(first.Until) {
			first = a
		}
	}
	return first
}

// held ranks what holds an account back: 0 for nothing, 1 for a wait that ends by itself, 2 for a person.
func (a *Account) held(now time.Time) int {
	switch {
	case !a.Rejected.IsZero(), a.Frozen, a.heldOpen():
		return 2
	case a.Until.After(now), a.Breaker == gate.Open:
		return 1
	}
	return 0
}

// Together describes accounts that take turns as one: as the one that has most to give, with
// the paces and ceilings of those that no person has to bring back.
func Together(accounts []Account, now time.Time) *Account {
	lead := best(accounts, now)
	if lead == nil || len(accounts) == 1 {
		return lead
	}
	all := *lead
	all.Learned, all.Ceiling = 0, 0
	bounded := true
	for _, a := range accounts {
		if a.held(now) == 2 && lead.held(now) < 2 {
			continue
		}
		all.Learned += a.Learned
		all.Ceiling += a.Ceiling
		bounded = bounded && a.Ceiling > 0
	}
	if !bounded {
		all.Ceiling = 0
	}
	return &all
}

// TurnWords says how one of several accounts stands, and who acts if it gives nothing.
func (a *Account) TurnWords(now time.Time) string {
	switch {
	case !a.Rejected.IsZero():
		return fmt.Sprintf("rejected at %s; you: replace it, or take it out of the list", words.At(a.Rejected, now))
	case a.Frozen && a.Until.After(now):
		return "frozen; you: release it, or wait for a test request after " + words.At(a.Until, now)
	case a.Frozen:
		return "frozen; you: release it"
	case a.heldOpen():
		return "held by an operator; you: release it"
	case a.Until.After(now):
		return "goes on at " + words.At(a.Until, now)
	case a.Breaker == gate.Open:
		return "breaker open"
	case a.Learned > 0:
		return a.PaceWords()
	}
	return "not used yet"
}

// A TurnLine is one of several accounts in JSON.
type TurnLine struct {
	From     string       `json:"credential"` // where it came from
	Learned  *float64     `json:"learned_per_second"`
	Frozen   bool         `json:"frozen"`
	Rejected jsonout.Time `json:"rejected_at"`
	Until    jsonout.Time `json:"held_until"`
	Needs    string       `json:"needs"`
}

// TurnLines returns accounts that take turns for JSON; nil if there is one.
func TurnLines(accounts []Account, now time.Time) (lines []TurnLine) {
	if len(accounts) < 2 {
		return nil
	}
	for i := range accounts {
		a := &accounts[i]
		needs := []string{"nothing", "time", "operator"}[a.held(now)]
		lines = append(lines, TurnLine{words.Clean(a.From), jsonout.OrNull(a.Learned), a.Frozen, jsonout.Time(a.Rejected), jsonout.Time(a.Until), needs})
	}
	return lines
}
