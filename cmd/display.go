package cmd

import (
	"cmp"
	"context"
	"os"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/collection"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// newDisplay starts the display that the flags, the configuration and the
// terminal call for.
func (s *session) newDisplay(ctx context.Context) (*live.Display, error) {
	mode, err := live.Mode(cmp.Or(s.options.progress, s.settings.Progress), s.env, s.terminal)
	if err != nil {
		return nil, problem.Usage("%s", err.Error())
	}
	if s.options.quiet > 0 {
		mode = config.ProgressNone
	}
	if s.flags.json {
		mode = config.ProgressJSON
	}
	states, err := s.store.Streams(ctx, s.target.Name)
	if err != nil {
		return nil, err
	}
	var deadline time.Time
	if s.options.maxTime > 0 {
		deadline = time.Now().Add(s.options.maxTime)
	}
	return live.Start(live.Config{
		Mode: mode, Every: s.settings.Every, Out: s.out, Err: s.err, Size: s.size(), Caps: s.caps(), Style: live.StyleOf(s.env),
		Streams: totalsOf(states, collection.Lane(s.options.lane)), Totals: func() live.Totals { return s.totals(deadline) },
	}), nil
}

// size measures the terminal that stderr is.
func (a *app) size() func() (columns, rows int) {
	if file, ok := a.err.(*os.File); ok {
		return live.TerminalSize(file, a.env)
	}
	return func() (int, int) { return a.columns(), 24 }
}

// totalsOf returns what is stored of the streams of a lane.
func totalsOf(states []store.StreamState, lane collection.Lane) []live.StreamTotal {
	totals := make([]live.StreamTotal, len(states))
	for i, state := range states {
		own := report.LaneOf(state, lane)
		totals[i] = live.StreamTotal{Stream: state.Name, Parent: state.Parent, Records: state.Records, Done: own.Done, Complete: own.Complete}
	}
	return totals
}

// totals returns what the events of the run do not carry.
func (s *session) totals(deadline time.Time) live.Totals {
	budget := s.run.Budget()
	t := live.Totals{RequestCap: s.options.maxRequests, Requests: budget.Tally().Requests, Deadline: deadline}
	t.Retries, t.RetryCap = budget.RetryTokens()
	if pace, metrics, _, works := s.run.Pace(); works {
		t.Metrics, t.Pace = metrics, pace
	}
	return t
}
