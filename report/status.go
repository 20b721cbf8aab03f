package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/problem"
	"collect/store"
)

// A Status is what the store knows of one connector.
type Status struct {
	Name    string
	Flags   string // what commands to copy must repeat
	Streams []store.StreamState
	Owed    []store.OwnedGap
	Runs    []collection.Run // newest first; the newest is enough
	Count   int              // of all runs
	All     collection.Tally // of all runs
	Account *Account         // nil: nothing is known of it; of several, see [Together]
	Pause   store.Pause      // who keeps its runs from beginning; zero: nobody does

	Accounts []Account // where several took turns in the newest run: all of them

	Sharing *store.Sharing // who shares the pace of the account now, the first that is shared; nil: nobody, or that is not known

	Turn   time.Time // when the fleet goes on after the newest run; zero: it does not, or that was not asked, as nothing depends on it
	Unsaid bool      // a worker has ended the newest run, and could not store how; see AddFleet

	Selected []string // the streams that collect.yaml selects; nil: all
}

// An Account is what is known of the pace with a provider.
type Account struct {
	Provider string
	From     string       // where its credential came from, if it is one of several
	Learned  float64      // requests a second; 0: not known
	Ceiling  float64      // 0: none
	Breaker  string       // its state; "" for closed
	Failure  gate.Failure // what opened it
	Forced   bool         // an operator holds it there
	Frozen   bool
	Rejected time.Time            // when the provider rejected the credential, and answered nothing since; zero: it did not
	Until    time.Time            // before it no request leaves; zero: nothing is held back, or only an operator ends it
	Cause    collection.WaitCause // what holds them back until then; "" for a freeze
	Pace     gate.Status
	Shared   bool // Pace is newer than the database; the runs that share the account saved it
}

// heldOpen reports whether an operator stops all calls with the breaker until an
// operator ends it.
func (a *Account) heldOpen() bool {
	return a.Forced && a.Breaker == gate.Open && a.Pace.OpenUntil.IsZero()
}

// Command returns a command on the connector, to be copied.
func (s Status) Command(verb string) string { return problem.Command(verb, s.Name, s.Flags) }

// SavedAt returns the time of the newest commit.
func (s Status) SavedAt() (newest time.Time) {
	for _, stream := range s.Streams {
		for _, lane := range stream.Lanes {
			if lane.SavedAt.After(newest) {
				newest = lane.SavedAt
			}
		}
	}
	return newest
}

// Collected returns the streams that are collected: those that collect.yaml
// selects, or all.
func (s Status) Collected() []store.StreamState {
	if s.Selected == nil {
		return s.Streams
	}
	return slices.DeleteFunc(slices.Clone(s.Streams), func(st store.StreamState) bool { return !s.selects(st.Name) })
}

func (s Status) selects(stream string) bool {
	return s.Selected == nil || slices.Contains(s.Selected, stream)
}

// reachedEnd reports whether a stream was walked to its end, in any lane.
func reachedEnd(stream store.StreamState) bool {
	return slices.ContainsFunc(stream.Lanes, func(l store.LaneState) bool { return l.Complete })
}

// unseen reports whether the newest run did not walk a lane from its beginning.
func (s Status) unseen(stream store.StreamState, lane store.LaneState) bool {
	return lane.Lane == collection.Incremental && s.selects(stream.Name) && unseen(stream, s.Collected())
}

// Complete returns how many streams were walked to their end and owe nothing.
func (s Status) Complete() int {
	n := 0
	for _, stream := range s.Collected() {
		if reachedEnd(stream) && s.owedIn(stream.Name, "") == 0 {
			n++
		}
	}
	return n
}

// owedIn counts the gaps that are owed in a lane of a stream; "" for all lanes.
func (s Status) owedIn(stream string, lane collection.Lane) int {
	n := 0
	for _, gap := range s.Owed {
		if gap.Stream == stream && (lane == "" || gap.Lane == lane) && !gap.Settled() {
			n++
		}
	}
	return n
}

// Waived returns the gaps that a person gave up.
func Waived(gaps []store.OwnedGap) (waived []store.OwnedGap) {
	for _, gap := range gaps {
		if gap.Waived() {
			waived = append(waived, gap)
		}
	}
	return waived
}

// GoneCount counts the pieces that are gone for good, and were not waived before.
func GoneCount(gaps []store.OwnedGap) int {
	return len(gaps) - OwedCount(gaps) - len(Waived(gaps))
}

// OwedCount counts the gaps that are really owed: what is gone for good, or was
// waived, is not.
func OwedCount(gaps []store.OwnedGap) int {
	n := 0
	for _, gap := range gaps {
		if !gap.Settled() {
			n++
		}
	}
	return n
}

// OwedKinds counts the same by kind, with a zero for each kind that is not owed.
func OwedKinds(gaps []store.OwnedGap) map[collection.Kind]int {
	n := map[collection.Kind]int{collection.Planned: 0, collection.Pressure: 0, collection.Stuck: 0}
	for _, gap := range gaps {
		if !gap.Settled() {
			n[gap.Kind()]++
		}
	}
	return n
}

// FirstWait returns when the first gap may be tried that must wait; zero if
// none must.
func FirstWait(gaps []store.OwnedGap, now time.Time) (first time.Time) {
	for _, gap := range gaps {
		if gap.State != collection.GapDead && gap.NotBefore.After(now) && (first.IsZero() || gap.NotBefore.Before(first)) {
			first = gap.NotBefore
		}
	}
	return first
}

// StatusOf reads what the store knows of a connector.
func StatusOf(ctx context.Context, db store.Reader, name string, now time.Time) (Status, error) {
	states, err := db.States(ctx, name)
	if err != nil || len(states) != 1 {
		return Status{Name: name}, err
	}
	return StatusFrom(states[0], now), nil
}

// StatusFrom says how a connector stands by what the store knows.
func StatusFrom(state store.ConnectorState, now time.Time) Status {
	s := Status{Name: state.Connector, Streams: state.Streams, Owed: state.Gaps, Pause: state.Pause, Count: state.Runs, All: state.All}
	s.Streams = withoutBare(s.Streams)
	if state.Newest != nil {
		s.Runs = found(*state.Newest)
		s.addAccounts(state.Accounts, now)
	}
	return s
}

// withoutBare returns streams, in which no pass is complete that found no partition while the
// walk of the parents is not at its end: it asked for nothing.
func withoutBare(streams []store.StreamState) []store.StreamState {
	streams = slices.Clone(streams)
	for i, s := range streams {
		parent := slices.IndexFunc(streams, func(p store.StreamState) bool { return p.Name == s.Parent })
		if s.Parent == "" || parent >= 0 && reachedEnd(streams[parent]) {
			continue
		}
		streams[i].Lanes = slices.Clone(s.Lanes)
		for j := range s.Lanes {
			if l := &streams[i].Lanes[j]; l.Partitions == 0 {
				l.Complete = false
			}
		}
	}
	return streams
}

// addAccounts adds what is known of the accounts of the newest run. A state that cannot be
// read is a cold start for a run, and nothing known for a reader.
func (s *Status) addAccounts(states [][]byte, now time.Time) {
	for i, domain := range s.Runs[0].Domains() {
		several := len(s.Runs[0].Accounts) > 0
		pace, unread := gate.Inspect(states[i], now)
		if unread != nil && !several {
			return
		}
		if !s.Running(now) { // what was found is what the next run goes on from
			for k := range pace.Constraints {
				pace.Constraints[k].InForce = 0
			}
		}
		a := *AccountOf(domain, pace, now)
		if several {
			a.From = s.Runs[0].Accounts[i].From
		}
		s.Accounts = append(s.Accounts, a)
	}
	s.Account = Together(s.Accounts, now)
	if len(s.Runs[0].Accounts) == 0 {
		s.Accounts = nil
	}
}

// AccountOf describes what is known of the pace with an account, for people.
func AccountOf(domain string, pace gate.Status, now time.Time) *Account {
	provider, _, _ := strings.Cut(domain, "/")
	a := &Account{Provider: provider, Learned: pace.Learned, Forced: pace.Forced, Frozen: pace.Frozen, Rejected: pace.RejectedAt, Pace: pace}
	if pace.Ceiling != nil {
		a.Ceiling = *pace.Ceiling
	}
	if pace.Breaker != "closed" {
		a.Breaker, a.Failure = pace.Breaker, pace.Failure
	}
	for _, k := range pace.Constraints {
		soon := k.Until.Sub(now) <= shortWait && slices.Contains(often, k.Name)
		if k.Route == "" && k.Until.After(a.Until) && !soon {
			a.Until, a.Cause = k.Until, k.Cause()
		}
	}
	return a
}

// often are the bounds whose waits are mostly over before anybody has read of them.
var often = []gate.Bound{gate.CeilingOf, gate.ReserveOf, gate.Learned, gate.Slow, gate.Places}

// Refuses reports whether no request of the account succeeds now.
func (s Status) Refuses() bool {
	if s.Account == nil {
		return false
	}
	k := s.Account.Pace.Limit()
	return k != nil && k.Blocks && (k.Name == gate.Learned || k.Name == gate.Slow || k.Name == gate.Places)
}

// Newest returns the newest run; the zero run if there is none.
func (s Status) Newest() collection.Run {
	if len(s.Runs) == 0 {
		return collection.Run{}
	}
	return s.Runs[0]
}

func (s Status) LaneWords(stream store.StreamState, lane store.LaneState, now time.Time) string {
	owed := s.owedIn(stream.Name, lane.Lane)
	text := "under way"
	switch {
	case lane.SavedAt.IsZero() && owed == 0 && !s.selects(stream.Name):
		return "not selected"
	case lane.SavedAt.IsZero() && owed == 0, stream.Parent != "" && lane.Partitions == 0 && !lane.Complete && owed == 0:
		return "not begun"
	case lane.Complete && owed == 0 && s.unseen(stream, lane):
		return "complete as of " + words.At(lane.Began, now)
	case lane.Complete && owed == 0:
		return "complete"
	case lane.Complete:
		return words.Count(int64(owed)) + " owed"
	case owed > 0:
		text += ", " + words.Count(int64(owed)) + " owed"
	}
	return text
}

// PartitionWords counts the partitions that are done. As long as a walk over
// them goes on, their number is not known.
func PartitionWords(stream store.StreamState, lane store.LaneState) string {
	if stream.Parent == "" || lane.Partitions == 0 && !lane.Complete {
		return ""
	}
	text := fmt.Sprintf("%s of %s", words.Count(lane.Done), words.Count(lane.Partitions))
	if !lane.Complete {
		text += " so far"
	}
	return text
}

// RunWords says what the newest run did, or does.
func (s Status) RunWords(now time.Time) string {
	run := s.Runs[0]
	if s.Unsaid {
		return fmt.Sprintf(" (run %s: over since about %s; how it ended could not be stored)", words.Clean(run.ID), words.At(run.SeenAt(), now))
	}
	if run.Outcome == collection.Running {
		text := fmt.Sprintf(" (run %s since %s, %s", words.Clean(run.ID), words.At(run.StartedAt, now), holderWords(run.Holder))
		seen := run.SeenAt()
		if s.Running(now) {
			return text + ", alive " + words.Ago(seen, now) + ")"
		}
		return text + ", no sign of life for " + words.Span(now.Sub(seen).Truncate(time.Second)) + ")"
	}
	if run.Outcome == collection.Abandoned {
		return fmt.Sprintf(" (run %s: its process died after %s)", words.Clean(run.ID), words.At(run.SeenAt(), now))
	}
	did := OutcomeWords(run.Outcome)
	if run.Outcome == collection.NothingNew {
		did = "found " + did
	}
	text := fmt.Sprintf(" (run %s %s %s", words.Clean(run.ID), did, words.Ago(run.EndedAt, now))
	if run.Reason != "" {
		text += ": " + problem.Brief(run.Reason)
	} else if run.Outcome == collection.Failed && run.Metrics.Broke != "" {
		text += ": " + run.Metrics.Broke
	}
	return text + ")"
}

// HolderWords says which process collects now; "" if none does.
func (s Status) HolderWords(now time.Time) string {
	if !s.Running(now) {
		return ""
	}
	return holderWords(s.Newest().Holder)
}

func holderWords(h collection.Holder) string {
	return fmt.Sprintf("pid %d on %s", h.PID, words.Clean(h.Host))
}

// PaceWords is the pace that was learned, and the ceiling: "3.5/s of 10/s".
func (a Account) PaceWords() string { return paceOf(a.Learned, a.Ceiling) }

// paceOf says a pace, and the ceiling if there is one; "" for no pace.
func paceOf(rate, ceiling float64) string {
	rates := words.Rates(rate, ceiling)
	switch {
	case rate == 0:
		return ""
	case ceiling > 0:
		return rates[0] + " of " + rates[1]
	}
	return rates[0]
}

// BreakerWords is the state of the breaker, or that the account is frozen.
func (a Account) BreakerWords() string {
	state := cmp.Or(a.Breaker, gate.Closed)
	if a.Forced {
		state += " (held by an operator)"
	}
	if a.Frozen {
		state += " · frozen"
	}
	return state
}

// paceNow returns the pace at which requests leave now, and words for the requests that it is the pace of. It returns 0 if
// no request leaves, or the pace is not known. It is what explain and status say while a run works; between runs they say what the next one goes on from.
func (s Status) paceNow(p *gate.Status, shared bool, now time.Time) (rate float64, of string) {
	b := p.Limit()
	switch {
	case !shared && !s.Running(now), holdsAll(b), s.waitWords(p, now) != "":
		return 0, ""
	}
	if route, ofRoute, _ := p.OfRoute(); route != "" {
		return ofRoute, " by route " + words.Clean(route)
	}
	if rate = p.PerSecond; b != nil && b.Lowered != nil && b.PerSecond > 0 {
		rate = min(rate, b.PerSecond)
	}
	return rate, together(p)
}

// paceSaid returns the pace of the account, the word for how it is known, and words for the requests that it is the pace
// of. It returns 0 if the pace is not known. The pace of several accounts together is only known as learned.
func (s Status) paceSaid(now time.Time) (rate float64, how, of string) {
	a := s.Account
	if len(s.Accounts) < 2 {
		if rate, of = s.paceNow(&a.Pace, a.Shared, now); rate > 0 {
			return rate, "now", of
		}
	}
	if route, _, found := a.Pace.OfRoute(); route != "" {
		return found, "learned", " by route " + words.Clean(route)
	}
	return a.Learned, "learned", together(&a.Pace)
}

// PaceWords is the pace of the account, its ceiling, and how it came about: "3.5/s of 10/s now"; "" if it is not known.
func (s Status) PaceWords(now time.Time) string {
	if s.Account == nil {
		return ""
	}
	rate, how, _ := s.paceSaid(now)
	if rate == 0 {
		return ""
	}
	return paceOf(rate, s.Account.Ceiling) + " " + how
}

// AccountWords says how it stands with the account.
func (s Status) AccountWords(now time.Time) string {
	a := s.Account
	text := words.Clean(a.Provider)
	rate, how, of := s.paceSaid(now)
	if rate > 0 {
		text += " · " + how + " " + words.Rates(rate, a.Ceiling)[0] + of
	} else {
		text += " · learned rate: not known, no signal yet"
	}
	if a.Ceiling > 0 {
		text += " · ceiling " + words.Rates(rate, a.Ceiling)[1]
	}
	text += " · breaker " + a.BreakerWords()
	if a.Until.After(now) {
		text += " · no request before " + words.At(a.Until, now)
	}
	return text
}

// together says of the pace of all requests that it is of several routes; "" if there is one.
func together(s *gate.Status) string {
	if s.Routes > 1 {
		return ", all routes together"
	}
	return ""
}

// untilTold says of the pace at which the next run begins that its first answers change it, because they announce what is
// left; "" if no announced limit is followed.
func untilTold(s *gate.Status) string {
	if s.PacedBy() == gate.Announced {
		return ", until an answer says what is left"
	}
	return ""
}

func QuarantinedIn(streams []store.StreamState) (n int64) {
	for _, stream := range streams {
		n += stream.Quarantined
	}
	return n
}

// DeletedIn counts the records of streams that the provider deleted.
func DeletedIn(streams []store.StreamState) (n int64) {
	for _, stream := range streams {
		n += stream.Deleted
	}
	return n
}

// LaneOf returns how a lane of a stream stands; all but its name is zero if nothing was walked there.
func LaneOf(s store.StreamState, lane collection.Lane) store.LaneState {
	for _, l := range s.Lanes {
		if l.Lane == lane {
			return l
		}
	}
	return store.LaneState{Lane: lane}
}

// QuarantineWords says how many records are in quarantine.
func QuarantineWords(n int64) string {
	if n == 1 {
		return "1 record is in quarantine"
	}
	return words.Count(n) + " records are in quarantine"
}
