package cmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/engine"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// Several are the runs of several connectors as the command line shows them.
type several struct {
	*app
	audience *audience
	options  runOptions
	settings config.Settings
	store    store.Store
	group    *engine.Group
	show     *live.Together
	deadline time.Time
	displays []*live.Display // of each member, set before the first event of its run
}

// collectSeveral runs several connectors side by side.
func (a *app) collectSeveral(ctx context.Context, h *audience, o runOptions, settings config.Settings) error {
	show, err := a.displayConfig(o, settings)
	if err != nil {
		return err
	}
	sc := problem.Scene{State: settings.State}
	db, err := a.openToCollect(ctx, o, settings)
	if err != nil {
		return h.refuse("", err, sc)
	}
	defer db.Close()
	requests, end, err := a.traceHTTP(o.traceHTTP, o.quiet > 0 || a.flags.json)
	if err != nil {
		return h.refuse("", err, sc)
	}
	defer end()
	metricsEnd, err := a.metricsFile(ctx, o.metrics, db, settings)
	if err != nil {
		return a.exit(err, problem.Scene{State: settings.State})
	}
	defer metricsEnd()
	record, recordEnd, err := a.record(ctx, h, o.traces)
	if err != nil {
		return err
	}
	defer recordEnd()

	settings.Remembered = engine.Remembered(db)
	each := a.runConfig(o, settings, db)
	each.Requests = requests
	record.prepare(&each)
	s := &several{app: a, audience: h, options: o, settings: settings, store: db}
	s.group, err = engine.NewGroup(ctx, engine.GroupConfig{
		Names: o.names, Registry: &s.settings.Registry, Each: each,
		Observe: func(m *engine.Member, e collection.Event) {
			if e.Request == nil || o.trace {
				s.displays[s.place(m)].Observe(e)
			}
			record.observe(e)
		},
		Moved: func(m *engine.Member) error { return s.moved(context.WithoutCancel(ctx), m) },
	})
	if err != nil {
		return err
	}
	if o.maxTime > 0 {
		s.deadline = time.Now().Add(o.maxTime)
	}
	var names []string
	for _, m := range s.group.Members() {
		names = append(names, m.Name)
	}
	s.displays = make([]*live.Display, len(names))
	unfold := a.fold("collect "+strings.Join(names, " "), o)
	s.show = live.StartTogether(show, names)
	s.logged.goesTo(s.show)
	defer s.show.Close()
	s.interrupts.standing(s.show.Now)
	defer s.interrupts.standing(nil)
	s.interrupts.gentle(func(sig os.Signal) {
		s.group.Interrupt()
		s.show.Stopping(sig)
	}, s.show.Close)
	err = s.group.Do(ctx)
	s.interrupts.gentle(nil, nil)
	s.show.Close()
	unfold()
	if err != nil {
		return h.refuse("", err, sc)
	}
	return s.conclude()
}

// moved shows that a run has come to another state.
func (s *several) moved(ctx context.Context, m *engine.Member) error {
	i := s.place(m)
	switch m.State {
	case engine.Queued:
		s.show.Moved(i, live.Queued)
	case engine.Starting:
		s.show.Moved(i, live.Starting)
	case engine.Working:
		states, err := s.store.Streams(ctx, m.Name)
		if err != nil {
			return err
		}
		s.audience.began(ctx)
		one := &session{app: s.app, options: s.options, settings: s.settings, target: m.Target, store: s.store, run: m.Run}
		s.displays[i] = s.show.Begin(i, totalsOf(states, collection.Lane(s.options.lane)), func() live.Totals { return one.totals(s.deadline) })
		if line := one.goesOn(); line != "" {
			s.show.Say(line)
		}
	case engine.Over:
		end := s.group.End(m)
		why := ""
		if !end.Began {
			why = end.Problems[0].Headline
		}
		s.show.End(i, end.Words(), why, end.NeedsYou(), end.Next())
		s.finished(end)
	}
	return nil
}

// place returns the place of a member in the group.
func (s *several) place(m *engine.Member) int { return slices.Index(s.group.Members(), m) }

// finished writes the last lines of a run for --json and for the log.
func (s *several) finished(end report.End) {
	s.audience.log.Finish(end)
	events := s.show.Events()
	if events == nil {
		return
	}
	for _, p := range end.Problems {
		s.say(p)
	}
	if sum := end.Summary; end.Began {
		events.Finish(collection.Event{
			Time: sum.Ended, Kind: collection.RunFinished, Run: sum.Run, Connector: sum.Connector, Provider: sum.Provider,
		}, sum.Line())
	}
}

// conclude says how all of them ended, and returns the *exitError of the worst.
func (s *several) conclude() error {
	s.tellAudience()
	var ends []report.End
	var codes []int
	for _, m := range s.group.Members() {
		end := s.group.End(m)
		ends, codes = append(ends, end), append(codes, end.Summary.ExitCode)
	}
	code := problem.Worst(codes...)
	if events := s.show.Events(); events != nil {
		events.Finish(collection.Event{Time: time.Now(), Kind: collection.AllFinished}, report.EndsLineOf(ends, code))
		if err := events.Err(); err != nil {
			return &problem.OutputError{Err: err}
		}
		return exitWith(code)
	}
	if s.options.quiet > 0 {
		return exitWith(code)
	}
	fmt.Fprint(s.err, renderEnds(ends, words.Home(s.settings.State, s.env), s.width(), s.caps()))
	var problems []problem.Problem
	for _, end := range ends {
		problems = append(problems, end.Problems...)
	}
	s.printNeeded(problems)
	if err := s.stepSummary(githubEnds(ends), problems); err != nil {
		return err
	}
	return exitWith(code)
}

// tellAudience tells who hears of trouble how each run ended.
func (s *several) tellAudience() {
	for i, m := range s.group.Members() {
		heard := s.group.Hear(m)
		if m.Err != nil {
			heard.Connector = s.options.names[i]
			s.audience.hear(heard)
		} else {
			s.audience.ran(s.options.names[i], heard)
		}
	}
}

// printNeeded prints the problems that a person must know of. What passes by itself the
// table says.
func (s *several) printNeeded(problems []problem.Problem) {
	for _, p := range problems {
		if p.Needs == problem.NeedsOperator || p.Level == problem.LevelWarning {
			fmt.Fprintln(s.err, "\n"+strings.TrimSuffix(s.rendered(p), "\n"))
		}
	}
}

// renderEnds returns the summary of several runs for people: how many need them, and
// a line for each.
func renderEnds(ends []report.End, state string, columns int, c term.Caps) string {
	columns = min(columns, 80)
	t := term.Table{
		Head:  []string{"CONNECTOR", "VERDICT", "RECORDS", "REQUESTS", "GAPS", "NEXT"},
		Right: []int{2, 3, 4}, Give: []int{0, 5}, Drop: []int{3, 2},
		Paint: func(row, column int) string {
			switch {
			case column != 1:
				return ""
			case ends[row].NeedsYou():
				return term.Red
			}
			return outcomeColor(ends[row].Summary.Outcome)
		},
	}
	needy := 0
	for _, end := range ends {
		if end.NeedsYou() {
			needy++
		}
		t.Rows = append(t.Rows, endCells(end))
	}
	text := "\n"
	switch {
	case needy == 1:
		text += fmt.Sprintf("1 of %d connectors needs you. ", len(ends))
	case needy > 1:
		text += fmt.Sprintf("%d of %d connectors need you. ", needy, len(ends))
	default:
		text += fmt.Sprintf("none of %d connectors needs you. ", len(ends))
	}
	text += "Saved to " + words.Clean(state) + "\n\n"
	return c.Text(text) + t.Render(columns, c)
}

// endCells returns the cells of the line of one connector.
func endCells(end report.End) []string {
	s := end.Summary
	if !end.Began {
		return []string{words.Clean(s.Connector), end.Words(), "-", "-", "-", end.Next()}
	}
	return []string{
		words.Clean(s.Connector), end.Words(), words.Count(s.This.Records), words.Count(s.This.Requests),
		words.Count(int64(report.OwedCount(s.Owed))), end.Next(),
	}
}
