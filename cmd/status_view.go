package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/problem"
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

	Selected []string // the streams that collect.yaml selects; nil: all
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
	Until    time.Time            // before it no request leaves; zero: nothing is held back, or only an operator ends it
	Cause    collection.WaitCause // what holds them back until then; "" for a freeze
	Pace     gate.Status
	Shared   bool // Pace is newer than the database; see [app.paceOf]
}

// heldOpen reports whether an operator stops all calls with the breaker.
func (a *accountStatus) heldOpen() bool { return a.Forced && a.Breaker == gate.Open }

// command returns a command on the connector, to be copied.
func (s connectorStatus) command(verb string) string { return problem.Command(verb, s.Name, s.Flags) }

// savedAt returns the time of the newest commit.
func (s connectorStatus) savedAt() (newest time.Time) {
	for _, stream := range s.Streams {
		for _, lane := range stream.Lanes {
			if lane.SavedAt.After(newest) {
				newest = lane.SavedAt
			}
		}
	}
	return newest
}

// selected returns the streams that are collected: those that collect.yaml
// selects, or all.
func (s connectorStatus) selected() []store.StreamState {
	if s.Selected == nil {
		return s.Streams
	}
	return slices.DeleteFunc(slices.Clone(s.Streams), func(st store.StreamState) bool { return !s.selects(st.Name) })
}

func (s connectorStatus) selects(stream string) bool {
	return s.Selected == nil || slices.Contains(s.Selected, stream)
}

// reachedEnd reports whether a stream was walked to its end, in any lane.
func reachedEnd(stream store.StreamState) bool {
	return slices.ContainsFunc(stream.Lanes, func(l store.LaneState) bool { return l.Complete })
}

// unseen reports whether the newest run did not walk a lane from its beginning.
func (s connectorStatus) unseen(stream store.StreamState, lane store.LaneState) bool {
	return lane.Lane == collection.Incremental && s.selects(stream.Name) && unseen(stream, s.selected())
}

// complete returns how many streams were walked to their end and owe nothing.
func (s connectorStatus) complete() int {
	n := 0
	for _, stream := range s.selected() {
		if reachedEnd(stream) && s.owedIn(stream.Name, "") == 0 {
			n++
		}
	}
	return n
}

// owedIn counts the gaps that are owed in a lane of a stream; "" for all lanes.
func (s connectorStatus) owedIn(stream string, lane collection.Lane) int {
	n := 0
	for _, gap := range s.Owed {
		if gap.Stream == stream && (lane == "" || gap.Lane == lane) && gap.Reason != collection.Gone {
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

// statusTable returns all connectors as a table, what needs a person first,
// and one closing sentence if something does.
func statusTable(all []connectorStatus, now time.Time, columns int, c term.Caps) string {
	if len(all) == 0 {
		return c.Text("nothing was collected yet. To begin: collect run <name | file.yaml>\n")
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b connectorStatus) int {
		if d := a.stands(now).urgency() - b.stands(now).urgency(); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	t := term.Table{
		Head:  []string{"CONNECTOR", "STATE", "NEXT", "COMPLETE", "OWED", "SAVED"},
		Right: []int{3, 4, 5}, Give: []int{0, 2}, Drop: []int{3, 5},
		Paint: func(row, column int) string {
			if column != 1 {
				return ""
			}
			return all[row].stands(now).State.color()
		},
	}
	needy := 0
	for _, s := range all {
		st := s.stands(now)
		if st.Needs == problem.NeedsOperator {
			needy++
		}
		t.Rows = append(t.Rows, []string{
			words.Clean(s.Name), st.State.String(), st.Next, fmt.Sprintf("%d of %d", s.complete(), len(s.selected())),
			words.Count(int64(owedCount(s.Owed))), words.Ago(s.savedAt(), now),
		})
	}
	text := t.Render(columns, c)
	if needy > 0 {
		verb := "need"
		if needy == 1 {
			verb = "needs"
		}
		text += fmt.Sprintf("\n%d of %d %s you. See why: %s\n", needy, len(all), verb, all[0].command("gaps"))
	}
	left := func(s connectorStatus) bool { return len(leftToYou(s.Owed)) > 0 }
	if i := slices.IndexFunc(all, left); i >= 0 {
		text += strings.Join(term.Wrap("", "When"+settled[len("when"):], columns), "\n") + "\n  " + problem.RetryCommand(all[i].Name, all[i].Flags) + "\n"
	}
	return text
}
