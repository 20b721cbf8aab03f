package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/store"
)

// A connectorStatus is what the store knows of one connector.
type connectorStatus struct {
	Name    string
	Flags   string // what commands to copy must repeat
	Streams []store.StreamState
	Owed    []store.OwnedGap
	Runs    []collection.Run // newest first; the newest is enough
	Count   int              // of all runs
	All     collection.Tally // of all runs
	Account *accountStatus   // nil: nothing is known of it
}

// An accountStatus is what is known of the pace with a provider.
type accountStatus struct {
	Provider string
	Learned  float64      // requests a second; 0: not known
	Ceiling  float64      // 0: none
	Breaker  string       // its state; "" for closed
	Failure  gate.Failure // what opened it
	Forced   bool         // an operator holds it there
	Frozen   bool
	Until    time.Time // before it no request leaves; zero: nothing is held back, or only an operator ends it
}

// heldOpen reports whether an operator stops all calls with the breaker.
func (a *accountStatus) heldOpen() bool { return a.Forced && a.Breaker == gate.Open }

// command returns a command on the connector, to be copied.
func (s connectorStatus) command(verb string) string { return commandOn(verb, s.Name, s.Flags) }

// A health is the state of a connector in one word.
type health string

// The states of a connector, what needs a person first.
const (
	isFrozen     health = "frozen"
	isBlocked    health = "blocked"
	isStuck      health = "stuck"
	isWaiting    health = "waiting"
	isBehind     health = "behind"
	isCollecting health = "collecting"
	isUnmeasured health = "not measured"
	isUpToDate   health = "up to date"
)

// aliveWithin is how long a run may be silent before it is taken for dead; it
// beats every few seconds.
const aliveWithin = time.Minute

// healths holds the order, the glyph and the color of each state. The glyph
// never stands without its word.
var healths = []struct {
	health
	glyph, color, needs string
}{
	{isFrozen, "×", red, needsOperator},
	{isBlocked, "×", red, needsOperator},
	{isStuck, "×", red, needsOperator},
	{isWaiting, "‖", yellow, needsTime},
	{isBehind, "…", "", needsNothing},
	{isCollecting, "▸", green, needsNothing},
	{isUnmeasured, "?", "", needsNothing},
	{isUpToDate, "✓", green, needsNothing},
}

// rank returns the place of h in the order of states.
func (h health) rank() int {
	for i, row := range healths {
		if row.health == h {
			return i
		}
	}
	return len(healths)
}

func (h health) String() string { return healths[h.rank()].glyph + " " + string(h) }
func (h health) color() string  { return healths[h.rank()].color }
func (h health) needs() string  { return healths[h.rank()].needs }

// health says how a connector is at now. What needs a person outranks what it
// does at the moment.
func (s connectorStatus) health(now time.Time) health {
	if len(s.Runs) == 0 {
		return isUnmeasured
	}
	last := s.Runs[0]
	var kinds []collection.Kind
	for _, gap := range s.Owed {
		if gap.Revived() {
			kinds = append(kinds, collection.Planned) // the next run tries it
			continue
		}
		switch gap.Reason {
		case collection.Gone:
			continue
		case collection.Frozen:
			if s.Account == nil || s.Account.Frozen {
				return isFrozen
			}
			kinds = append(kinds, collection.Planned) // released: the next run fills it
			continue
		case collection.Auth, collection.Suspended:
			return isBlocked
		}
		kinds = append(kinds, gap.Kind())
	}
	switch {
	case s.Account != nil && s.Account.Frozen:
		return isFrozen
	case s.Account != nil && s.Account.heldOpen():
		return isBlocked
	case slices.Contains(kinds, collection.Stuck), last.Outcome == collection.Failed,
		last.Outcome == collection.Blocked && len(kinds) == 0:
		return isStuck
	case s.running(now):
		return isCollecting
	case slices.Contains(kinds, collection.Pressure), s.held(now):
		return isWaiting
	case len(kinds) > 0, last.Outcome == collection.Running, last.Outcome == collection.Abandoned,
		last.Outcome == collection.RunInterrupted, s.unfinished():
		return isBehind
	}
	return isUpToDate
}

// unfinished reports whether a stream was not walked to its end, as after a
// reset.
func (s connectorStatus) unfinished() bool {
	return s.complete() < len(s.Streams)
}

// running reports whether a run is alive.
func (s connectorStatus) running(now time.Time) bool {
	last := s.Runs[0]
	return last.Outcome == collection.Running && now.Sub(latest(last.BeatAt, last.StartedAt)) < aliveWithin
}

// held reports whether no request may leave at now.
func (s connectorStatus) held(now time.Time) bool {
	return s.Account != nil && (s.Account.Until.After(now) || s.Account.Breaker == "open")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// next says who acts, and when.
func (s connectorStatus) next(now time.Time) string {
	switch s.health(now) {
	case isFrozen:
		if s.Account != nil && s.Account.Until.After(now) {
			return "you; one test request after " + at(s.Account.Until, now)
		}
		return "you: check the account"
	case isBlocked, isStuck:
		if s.Account != nil && s.Account.heldOpen() {
			return "you: breaker is held open"
		}
		if reason := s.worst(); reason != "" {
			return "you: " + reasonWords(reason)
		}
		if s.Runs[0].Outcome == collection.Blocked && quarantinedIn(s.Streams) > 0 {
			return "you: records are in quarantine"
		}
		return "you: the last run failed"
	case isCollecting:
		return "alive " + ago(latest(s.Runs[0].BeatAt, s.Runs[0].StartedAt), now)
	case isWaiting:
		what := "after"
		if s.Account != nil && s.Account.Breaker == "open" {
			what = "breaker, tries again"
		}
		if until := s.until(now); !until.IsZero() {
			return what + " " + at(until, now)
		}
		return "the next run tries again"
	case isBehind:
		return "the next run continues"
	case isUnmeasured:
		return "never collected"
	}
	return "nothing"
}

// worst returns the stuck reason with the worst exit code.
func (s connectorStatus) worst() (reason collection.Reason) {
	code := exitOK
	for _, gap := range s.Owed {
		if c := worst(code, gapCode(gap.Gap)); c != code && gap.Kind() == collection.Stuck && !gap.Revived() {
			code, reason = c, gap.Reason
		}
	}
	return reason
}

// until returns when a request may leave again; zero if that is now.
func (s connectorStatus) until(now time.Time) time.Time {
	if s.Account != nil && s.Account.Until.After(now) {
		return s.Account.Until
	}
	return firstWait(s.Owed, now)
}

// savedAt returns the time of the newest commit.
func (s connectorStatus) savedAt() (newest time.Time) {
	for _, stream := range s.Streams {
		for _, lane := range stream.Lanes {
			newest = latest(newest, lane.SavedAt)
		}
	}
	return newest
}

// complete returns how many streams were walked to their end.
func (s connectorStatus) complete() int {
	n := 0
	for _, stream := range s.Streams {
		if slices.ContainsFunc(stream.Lanes, func(l store.LaneState) bool { return l.Complete }) {
			n++
		}
	}
	return n
}

// owedCount counts the gaps that are really owed: what is gone for good is not.
func owedCount(gaps []store.OwnedGap) int {
	n := 0
	for _, gap := range gaps {
		if gap.Reason != collection.Gone {
			n++
		}
	}
	return n
}

// owedKinds counts the same by kind, with those of which there is none.
func owedKinds(gaps []store.OwnedGap) map[collection.Kind]int {
	n := map[collection.Kind]int{collection.Planned: 0, collection.Pressure: 0, collection.Stuck: 0}
	for _, gap := range gaps {
		if gap.Reason != collection.Gone {
			n[gap.Kind()]++
		}
	}
	return n
}

// firstWait returns when the first gap may be tried that must wait; zero if
// none must.
func firstWait(gaps []store.OwnedGap, now time.Time) (first time.Time) {
	for _, gap := range gaps {
		if gap.State != collection.GapDead && gap.NotBefore.After(now) && (first.IsZero() || gap.NotBefore.Before(first)) {
			first = gap.NotBefore
		}
	}
	return first
}

// checkCode is what "collect status --check" exits with: the worst of what is
// owed, frozen, held back or failed. Planned work is no problem.
func checkCode(all []connectorStatus, now time.Time) int {
	codes := []int{exitOK}
	for _, s := range all {
		for _, gap := range s.Owed {
			codes = append(codes, gapCode(gap.Gap))
		}
		switch {
		case s.Account != nil && s.Account.Frozen:
			codes = append(codes, exitRefused)
		case s.held(now):
			codes = append(codes, exitLater)
		}
		if len(s.Runs) > 0 && s.Runs[0].Outcome == collection.Failed {
			codes = append(codes, s.Runs[0].ExitCode)
		}
	}
	if code := worst(codes...); code != exitPaused {
		return code
	}
	return exitOK
}

// statusTable returns all connectors as a table, what needs a person first,
// and one closing sentence if something does.
func statusTable(all []connectorStatus, now time.Time, columns int, c caps) string {
	if len(all) == 0 {
		return c.text("nothing was collected yet. To begin: collect run <name | file.yaml>\n")
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b connectorStatus) int {
		if d := a.health(now).rank() - b.health(now).rank(); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	t := table{
		Head:  []string{"CONNECTOR", "STATE", "NEXT", "COMPLETE", "OWED", "SAVED"},
		Right: []int{3, 4, 5}, Give: []int{0, 2}, Drop: []int{3, 5},
		Paint: func(row, column int) string {
			if column != 1 {
				return ""
			}
			return all[row].health(now).color()
		},
	}
	needy := 0
	for _, s := range all {
		h := s.health(now)
		if h.needs() == needsOperator {
			needy++
		}
		t.Rows = append(t.Rows, []string{
			clean(s.Name), h.String(), s.next(now), fmt.Sprintf("%d of %d", s.complete(), len(s.Streams)),
			count(int64(owedCount(s.Owed))), ago(s.savedAt(), now),
		})
	}
	text := t.render(columns, c)
	if needy > 0 {
		verb := "need"
		if needy == 1 {
			verb = "needs"
		}
		text += fmt.Sprintf("\n%d of %d %s you. See why: %s\n", needy, len(all), verb, all[0].command("gaps"))
	}
	left := func(s connectorStatus) bool { return len(leftToYou(s.Owed)) > 0 }
	if i := slices.IndexFunc(all, left); i >= 0 {
		text += strings.Join(wrap("", "When"+settled[len("when"):], columns), "\n") + "\n  " + retryCommand(all[i].Name, all[i].Flags) + "\n"
	}
	return text
}
