package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/report"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// A Conclusion is what there is to say of a run that is over.
type Conclusion struct {
	Summary report.Summary

	// Problems are what ended the run, what it had to leave, and what is stuck since
	// earlier runs: one for each reason.
	Problems []problem.Problem

	stops []runner.Stopped
}

// Conclude gathers what there is to say of a run that is over.
func (r *Run) Conclude(ctx context.Context, ended Ended) (Conclusion, error) {
	run := ended.Run
	runs, all, err := r.Store.Totals(ctx, run.Connector)
	if err != nil {
		return Conclusion{}, err
	}
	streams, err := r.Store.Streams(ctx, run.Connector)
	if err != nil {
		return Conclusion{}, err
	}
	r.nothing = all.Records == all.Rejected
	sum := report.SummaryOf(run, ended.Owed, runs, all)
	provider := r.Target.Connector.Provider()
	sum.Provider, sum.RequestCap = provider.ThirdParty(), r.Options.MaxRequests
	sum.Flags, sum.State = r.Flags, r.State
	sum.Held, sum.NextAt = heldBack(run, ended.Stops)
	sum.Paused = r.pausedBy()
	sum.Trouble, sum.Lost = trouble(ended.Stops), lost(ended.Err)
	if pace, _, first, works := r.Pace(); works {
		sum.RateStart, sum.RateEnd, sum.Learned, sum.Begins, sum.Limit = first, pace.PerSecond, pace.Learned, pace.Begins, pace
		if pace.Ceiling != nil {
			sum.Ceiling = *pace.Ceiling
		}
	}
	sum.Accounts = r.accounts(sum.Ended)
	for _, stream := range streams {
		sum.Views = append(sum.Views, stream.View)
	}
	collected := report.Status{Streams: streams, Selected: r.Streams()}.Collected()
	sum.Doubts, sum.AsOf = report.Doubts(streams, run.Lane), report.AsOf(collected, run.Lane)
	success := run.Outcome == collection.Complete || run.Outcome == collection.NothingNew
	if run.Lane == collection.Incremental && success {
		sum.Left = report.LeftToNext(collected, sum.Ended)
	}
	return Conclusion{sum, r.problems(ended, streams), ended.Stops}, nil
}

// Scene is what is known of the situation in which an error of the run is
// explained.
func (r *Run) Scene() problem.Scene {
	provider := r.Target.Connector.Provider()
	sc := problem.Scene{
		Connector: r.Target.Name, Provider: provider.Name, Run: r.Record(), State: r.State, Flags: r.Flags, Nothing: r.nothing,
		Credential: provider.CredentialFrom, RequestCap: r.Options.MaxRequests, MaxTime: r.Options.MaxTime, Now: time.Now(),
	}
	if len(provider.Origins) == 1 {
		sc.Address = provider.Origins[0]
	}
	if each := provider.Each(); len(each) > 1 {
		var from []string
		for _, one := range each {
			from = append(from, one.CredentialFrom)
		}
		sc.Credential = strings.Join(from, " and ")
	} else if provider.Account() != "" {
		sc.Mark = problem.Fingerprint(r.salt, provider.Account())
	}
	return sc
}

// accounts returns how things stand with the accounts that take turns; nil if there is one.
func (r *Run) accounts(now time.Time) (all []report.Account) {
	r.mu.Lock()
	work, run := r.work, r.record
	r.mu.Unlock()
	if work == nil || len(run.Accounts) == 0 {
		return nil
	}
	for i, status := range work.Accounts() {
		a := report.AccountOf(run.Accounts[i].Domain, status, now)
		a.From = run.Accounts[i].From
		all = append(all, *a)
	}
	return all
}

func (r *Run) problems(ended Ended, streams []store.StreamState) []problem.Problem {
	run, owed, stops := ended.Run, ended.Owed, ended.Stops
	inThisRun := len(stops)
	met := map[collection.Reason]bool{}
	for _, stopped := range stops {
		met[stopped.Stop.Reason] = true
	}
	for _, gap := range owed {
		if collection.OfBefore(run, gap.Gap) || report.OnePiece(gap.Gap) && report.KnownBefore(gap, run) {
			continue
		}
		if !met[gap.Reason] && gap.Reason.Kind() == collection.Stuck && !gap.Settled() {
			met[gap.Reason] = true
			stops = append(stops, runner.Stopped{At: gap.Place, Stop: &collection.Stop{Reason: gap.Reason, Detail: gap.Detail}})
		}
	}
	var problems []problem.Problem
	whole := r.Scene()
	whole.Ended = true
	if ended.Err != nil {
		problems = append(problems, problem.Of(ended.Err, whole))
	}
	for i, stopped := range stops {
		if stopped.Stop.Reason.Settled() {
			continue
		}
		if paused := r.pausedBy(); stopped.Stop.Reason == collection.Interrupted && !paused.At.IsZero() {
			problems = append(problems, problem.Of(&problem.PausedError{Connector: r.Target.Name, Pause: paused}, whole))
			continue
		}
		sc := whole
		sc.Stream, sc.Partition, sc.Stands = stopped.At.Stream, stopped.At.Partition, stopped.Stands
		sc.Passed = i < inThisRun && !stopped.Stands && !stopped.Stop.EndsRun()
		sc.Pieces, sc.Of = piecesOf(stopped, owed, streams)
		p := problem.Of(stopped.Stop, sc)
		if r.gone[sc.Stream] {
			p.Do = append(p.Do, problem.GiveUp(sc))
		}
		problems = append(problems, p)
	}
	for _, declared := range r.Target.Connector.Streams() {
		if i := slices.IndexFunc(streams, func(st store.StreamState) bool { return st.Name == declared.Name }); i >= 0 {
			streams[i].Wider = declared.Wider
		}
	}
	if p, ok := problem.Quarantined(run, streams, whole); ok {
		problems = append(problems, p)
	}
	return append(problems, r.warned.Problems(whole)...)
}

// piecesOf counts the partitions of a stream that are owed for the reason of a
// stop, and all that there are; 0 if that is not known.
func piecesOf(met runner.Stopped, owed []store.OwnedGap, streams []store.StreamState) (pieces, of int64) {
	partitions := map[collection.Partition]bool{}
	for _, gap := range owed {
		if gap.Stream == met.At.Stream && gap.Lane == met.At.Lane && gap.Reason == met.Stop.Reason && gap.Partition != "" {
			partitions[gap.Partition] = true
		}
	}
	for _, stream := range streams {
		if stream.Name == met.At.Stream {
			of = report.LaneOf(stream, met.At.Lane).Partitions
		}
	}
	return int64(len(partitions)), of
}

// heldBack returns what ended a run as planned and outlasts it, and until when. What is
// over within a second is the pace, and no news to a person.
func heldBack(run collection.Run, stops []runner.Stopped) (why string, until time.Time) {
	for _, met := range stops {
		if met.Stop.Reason == run.Reason && met.Stop.NotBefore.Sub(run.EndedAt) >= time.Second {
			return met.Stop.Detail, met.Stop.NotBefore
		}
	}
	return "", time.Time{}
}

// trouble says what stood in the way of a run that ended with stops.
func trouble(stops []runner.Stopped) string {
	for _, met := range stops {
		if met.Stop.Detail != "" {
			return met.Stop.Detail
		}
	}
	for _, met := range stops {
		if met.Stop.Status != 0 {
			return fmt.Sprintf("answered %d", met.Stop.Status)
		}
	}
	return ""
}

// lost says what is wrong with the database, if err is that.
func lost(err error) string {
	switch {
	case errors.Is(err, store.ErrMissing):
		return "its database was removed or replaced"
	case problem.Damaged(err):
		return "its database is damaged"
	}
	return ""
}

// A Hearing is what somebody must hear of one connector who wants to hear of nothing
// else: cron, say. Problems and Line are empty if that is nothing.
type Hearing struct {
	Connector string
	Run       string // "" if none began
	ExitCode  int
	Problems  []problem.Problem // that need a person
	Line      string            // what there is to say besides
	Trouble   report.Trouble    // by which one who was told knows it again
}

// Hear says what must be heard of a run that is over.
func (r *Run) Hear(c Conclusion) Hearing {
	run := r.Record()
	calm := slices.Contains([]int{problem.ExitOK, problem.ExitPaused, problem.ExitWarned}, run.ExitCode)
	h := Hearing{Connector: run.Connector, Run: run.ID, ExitCode: run.ExitCode}
	h.Problems = slices.DeleteFunc(slices.Clone(c.Problems), func(p problem.Problem) bool {
		return calm && p.Level != problem.LevelWarning || p.Level == problem.LevelPaused || p.Needs != problem.NeedsOperator
	})
	if len(h.Problems) == 0 {
		h.Line = r.gotNothing(run, c.stops)
	}
	needy := problem.NeedsOfExit(run.ExitCode) == problem.NeedsOperator && !calm
	if needy && len(h.Problems) == 0 && h.Line == "" {
		h.Line = fmt.Sprintf("%s: %s; see: %s", run.Connector, report.TroubleWords(run), problem.Command("gaps", run.Connector, r.Flags))
	}
	name := fmt.Sprintf("%d %s", run.ExitCode, run.Reason)
	switch {
	case calm && len(h.Problems) > 0:
		h.Trouble = report.Trouble{Name: codesOf(h.Problems), Words: h.Problems[0].Headline}
	case needy || h.Line != "":
		h.Trouble = report.Trouble{Name: name, Words: report.TroubleWords(run)}
	default:
		asked := run.Tally.Slices == 0 && run.Tally.Requests > 0 && run.Outcome == collection.Deferred
		h.Trouble.Passing = asked || !calm
	}
	return h
}

// HearRefusal says what must be heard of a connector, or of the whole command if
// connector is "", that a problem kept from beginning.
func HearRefusal(connector string, p problem.Problem) Hearing {
	h := Hearing{Connector: connector, ExitCode: p.ExitCode}
	if p.Needs != problem.NeedsOperator {
		h.Trouble.Passing = true
		return h
	}
	h.Problems = []problem.Problem{p}
	h.Trouble = report.Trouble{Name: fmt.Sprintf("%d %s", p.ExitCode, p.Code), Words: p.Headline}
	return h
}

// codesOf returns the codes of problems, each once, in their order.
func codesOf(problems []problem.Problem) string {
	var codes []string
	for _, p := range problems {
		if !slices.Contains(codes, p.Code) {
			codes = append(codes, p.Code)
		}
	}
	return strings.Join(codes, " ")
}

// gotNothing says in one line of a run that got not one answer, and goes on by
// itself, what stood in its way; "" if there is nothing to hear. A provider that
// asks us to wait has answered, and is heard.
func (r *Run) gotNothing(run collection.Run, stops []runner.Stopped) string {
	why := trouble(stops)
	if origins := r.Target.Connector.Provider().Origins; len(origins) == 1 {
		why = strings.TrimPrefix(why+", at "+origins[0], ", ")
	}
	asked := slices.ContainsFunc(stops, func(met runner.Stopped) bool {
		return met.Stop.Reason == collection.RetryAfter || met.Stop.Reason == collection.RateLimited
	})
	see := "see: " + problem.Command("explain", run.Connector, r.Flags)
	switch {
	case asked:
		return ""
	case report.Unanswered(run):
		return fmt.Sprintf("%s: %s: %s. The next run tries again; %s", run.Connector, report.NoneOf(run.Tally.Requests), why, see)
	case run.Reason == collection.CircuitOpen && run.Tally.Requests == 0:
		return fmt.Sprintf("%s: nothing was sent, the breaker is open: %s. A later run tries again; %s", run.Connector, why, see)
	}
	return ""
}
