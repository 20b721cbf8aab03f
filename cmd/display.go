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
	show, err := s.displayConfig(s.options, s.settings)
	if err != nil {
		return nil, err
	}
	states, err := s.store.Streams(ctx, s.target.Name)
	if err != nil {
		return nil, err
	}
	var deadline time.Time
	if s.options.maxTime > 0 {
		deadline = time.Now().Add(s.options.maxTime)
	}
	show.Streams, show.Totals = totalsOf(states, collection.Lane(s.options.lane)), func() live.Totals { return s.totals(deadline) }
	return live.Start(show), nil
}

// displayConfig returns how runs are shown, by the flags, the configuration and the
// terminal.
func (a *app) displayConfig(o runOptions, settings config.Settings) (live.Config, error) {
	mode, err := live.Mode(cmp.Or(o.progress, settings.Progress), a.env, a.terminal)
	if err != nil {
		return live.Config{}, problem.Usage("%s", err.Error())
	}
	if mode == config.ProgressPlain && a.terminal && o.progress == mode && settings.Origin["progress_every"] == config.BuiltIn {
		settings.Every = config.AccessibleEvery // a person reads along
	}
	if o.quiet > 0 {
		mode = config.ProgressNone
	}
	if a.flags.json {
		mode = config.ProgressJSON
	}
	return live.Config{
		Mode: mode, Every: settings.Every, Out: a.out, Err: a.err, Size: a.size(), Caps: a.caps(), Style: live.StyleOf(a.env, a.err),
	}, nil
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
		totals[i] = live.StreamTotal{Stream: state.Name, Parent: state.Parent, Records: state.Records, Rejected: state.Quarantined, Done: own.Done, Complete: own.Complete}
	}
	return totals
}

// totals returns what the events of the run do not carry.
func (s *session) totals(deadline time.Time) live.Totals {
	budget := s.run.Budget()
	t := live.Totals{Passed: s.run.Passed(), RequestCap: s.options.maxRequests, Requests: budget.Tally().Requests, Deadline: deadline}
	t.Retries, t.RetryCap = budget.RetryTokens()
	if pace, metrics, _, works := s.run.Pace(); works {
		t.Metrics, t.Pace = metrics, pace
	}
	return t
}
