package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// conclude says how the run ended: the last event, the problems that need
// somebody, and the summary.
func (s *session) conclude(ctx context.Context, ended engine.Ended) error {
	run, owed, stops := ended.Run, ended.Owed, ended.Stops
	s.show.Close()
	sum, err := s.summary(ctx, run, owed)
	if err != nil {
		return err
	}
	s.nothing = sum.All.Records == sum.All.Rejected
	sum.Held, sum.NextAt = heldBack(run, stops)
	sum.Trouble, sum.Lost = troubleOf(stops), lostWords(ended.Err)
	problems := s.problems(ended)
	if events := s.show.Events(); events != nil {
		for _, p := range problems {
			s.say(p)
		}
		events.Finish(collection.Event{
			Time: sum.Ended, Kind: collection.RunFinished, Run: sum.Run, Connector: sum.Connector, Provider: sum.Provider,
		}, sum)
		if err := events.Err(); err != nil {
			return &problem.OutputError{Err: err}
		}
		return nil
	}
	if s.options.quiet > 0 {
		return s.concludeQuietly(ctx, run, problems, stops)
	}
	for _, p := range problems {
		if p.Level == problem.LevelPaused { // a pause is what the summary says first
			continue
		}
		fmt.Fprint(s.err, renderProblem(p, s.width(), s.caps()))
		fmt.Fprintln(s.err)
	}
	fmt.Fprint(s.err, sum.render(s.width(), s.caps()))
	return s.stepSummary(sum, problems)
}

// heldBack returns what ended a run as planned and outlasts it, and until when.
func heldBack(run collection.Run, stops []runner.Stopped) (why string, until time.Time) {
	for _, met := range stops {
		if met.Stop.Reason == run.Reason {
			return met.Stop.Detail, met.Stop.NotBefore
		}
	}
	return "", time.Time{}
}

// lostWords says what is wrong with the database, if err is that.
func lostWords(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrMissing):
		return "its database was removed or replaced"
	case damaged(err):
		return "its database is damaged"
	}
	return ""
}

// summary gathers what there is to say when the run is over.
func (s *session) summary(ctx context.Context, run collection.Run, owed []store.OwnedGap) (summary, error) {
	runs, all, err := s.store.Totals(ctx, run.Connector)
	if err != nil {
		return summary{}, err
	}
	sum := summaryOf(run, owed, runs, all)
	sum.Provider, sum.Flags = s.target.Connector.Provider().Name, s.repeat()
	sum.RequestCap, sum.State = s.options.maxRequests, words.Home(s.settings.State, s.env)
	if pace, _, first, works := s.run.Pace(); works {
		sum.RateStart, sum.RateEnd, sum.Learned, sum.Limit = first, pace.PerSecond, pace.Learned, pace
		if pace.Ceiling != nil {
			sum.Ceiling = *pace.Ceiling
		}
	}
	streams, err := s.store.Streams(ctx, run.Connector)
	if err != nil {
		return summary{}, err
	}
	s.states = streams
	for _, stream := range streams {
		sum.Views = append(sum.Views, stream.View)
	}
	sum.Doubts = report.Doubts(streams, run.Lane)
	success := run.Outcome == collection.Complete || run.Outcome == collection.NothingNew
	if run.Lane == collection.Incremental && success {
		sum.Left = report.LeftToNext(report.Status{Streams: streams, Selected: s.run.Streams()}.Collected(), sum.Ended)
	}
	return sum, nil
}

// problems explains what ended the run, what it had to leave, and what is
// stuck since earlier runs: one problem for each reason.
func (s *session) problems(ended engine.Ended) []problem.Problem {
	run, owed, stops := ended.Run, ended.Owed, ended.Stops
	var problems []problem.Problem
	inThisRun := len(stops)
	met := map[collection.Reason]bool{}
	for _, stopped := range stops {
		met[stopped.Stop.Reason] = true
	}
	for _, gap := range owed {
		if collection.OfBefore(run, gap.Gap) || (s.options.quiet > 0 || onePiece(gap.Gap)) && knownBefore(gap, run) {
			continue
		}
		if !met[gap.Reason] && gap.Reason.Kind() == collection.Stuck && !gap.Reason.Settled() {
			met[gap.Reason] = true
			stops = append(stops, runner.Stopped{At: gap.Place, Stop: &collection.Stop{Reason: gap.Reason, Detail: gap.Detail}})
		}
	}
	sc := s.scene()
	sc.Ended = true
	whole := sc
	if ended.Err != nil {
		problems = append(problems, problem.Of(ended.Err, sc))
	}
	for i, stopped := range stops {
		if stopped.Stop.Reason.Settled() {
			continue
		}
		sc.Stream, sc.Partition, sc.Stands = stopped.At.Stream, stopped.At.Partition, stopped.Stands
		sc.Passed = i < inThisRun && !stopped.Stands && !stopped.Stop.Reason.EndsRun()
		sc.Pieces, sc.Of = s.piecesOf(stopped, owed)
		problems = append(problems, problem.Of(stopped.Stop, sc))
	}
	if p, ok := problem.Quarantined(run, s.states, whole); ok {
		problems = append(problems, p)
	}
	return append(problems, s.run.Warnings().Problems(whole)...)
}

// piecesOf counts the partitions of a stream that are owed for the reason of a
// stop, and all that there are; 0 if that is not known.
func (s *session) piecesOf(met runner.Stopped, owed []store.OwnedGap) (pieces, of int64) {
	partitions := map[collection.Partition]bool{}
	for _, gap := range owed {
		if gap.Stream == met.At.Stream && gap.Lane == met.At.Lane && gap.Reason == met.Stop.Reason && gap.Partition != "" {
			partitions[gap.Partition] = true
		}
	}
	states, err := s.store.Streams(context.Background(), s.target.Name)
	if err != nil {
		return 0, 0
	}
	for _, state := range states {
		if state.Name == met.At.Stream {
			of = report.LaneOf(state, met.At.Lane).Partitions
		}
	}
	return int64(len(partitions)), of
}

// stepSummary appends the summary to the page of a GitHub workflow step, and
// puts its problems beside the lines of files.
func (s *session) stepSummary(sum summary, problems []problem.Problem) error {
	if !underGitHub(s.env) {
		return nil
	}
	fmt.Fprint(s.err, githubAnnotations(problems))
	path := s.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, sum.markdown())
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
