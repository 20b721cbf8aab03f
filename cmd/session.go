package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/collection"
	"collect/engine"
	"collect/engine/har"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/report/problem"
	"collect/store"
)

// A session is one run as the command line shows it.
type session struct {
	*app
	audience *audience
	given    string // what the connector was called by
	options  runOptions
	settings config.Settings
	target   registry.Target
	store    store.Store
	requests *har.File // nil: they are not written
	record   *record
	run      *engine.Run
	show     *live.Display
	unfold   func() // ends the group of lines that the run is folded in
}

// collect does the run and tells how it ended. An error is one that kept the run
// from beginning.
func (s *session) collect(ctx context.Context) (code int, err error) {
	c := s.runConfig(s.options, s.settings, s.store)
	c.Target, c.Requests, c.Begun = s.target, s.requests, func() error { return s.begun(ctx) }
	c.Observers = []func(collection.Event){s.record.observe, func(e collection.Event) {
		if e.Request == nil || s.options.trace {
			s.show.Observe(e)
		}
	}}
	s.record.prepare(&c)
	s.run = engine.New(c)
	defer func() {
		if s.show != nil {
			s.interrupts.gentle(nil, nil)
			s.interrupts.standing(nil)
			s.show.Close()
		}
	}()
	ended, err := s.run.Do(ctx)
	if err != nil {
		return 0, err
	}
	return ended.Run.ExitCode, s.conclude(context.WithoutCancel(ctx), ended)
}

// runConfig returns what every run of this command is told.
func (a *app) runConfig(o runOptions, settings config.Settings, db store.Store) engine.Config {
	return engine.Config{
		Store: db, Meeting: meetingPlace(a.env), Signal: a.interrupts.code,
		State: settings.State, Flags: a.repeat(), Spool: storage.Spool(settings.State),
		Options: engine.Options{
			Mode: o.mode, Lane: collection.Lane(o.lane), OneLane: o.oneLane, Streams: o.streams,
			MaxRequests: o.maxRequests, MaxTime: o.maxTime, Concurrency: o.concurrency,
			Wait: o.wait, Strict: o.strict, NewParams: o.newParams, Trace: o.trace,
		},
	}
}

// begun starts the display once the run has the lease. From then on the first
// signal ends the run with the page in flight, and the second one at once.
func (s *session) begun(ctx context.Context) (err error) {
	s.unfold = s.fold("collect "+s.target.Name, s.options)
	if s.show, err = s.newDisplay(ctx); err != nil {
		return err
	}
	s.logged.goesTo(s.show)
	s.audience.began(ctx)
	s.interrupts.standing(s.show.Now)
	s.interrupts.gentle(func(sig os.Signal) {
		s.run.Interrupt()
		s.show.Stopping(sig)
	}, s.show.Close)
	if line := s.goesOn(); line != "" {
		s.show.Say(line)
	}
	return nil
}

// goesOn says in a line what this run goes on from; "" if it begins anew.
func (s *session) goesOn() string {
	before, corrected := s.run.Before()
	return goesOn(s.target, before, corrected)
}

func goesOn(target registry.Target, before *collection.Run, corrected []string) string {
	switch {
	case before == nil:
		if target.Discloses != "" {
			return fmt.Sprintf("%s: first run: %s", target.Name, target.Discloses)
		}
		return ""
	case len(corrected) > 0:
		return fmt.Sprintf("%s: the connector file has changed, and %s had stored nothing, so it starts over", target.Name, strings.Join(corrected, ", "))
	case before.Outcome == collection.Running || before.Outcome == collection.Abandoned:
		return fmt.Sprintf("%s: taking over from run %s, whose process died; what was saved is safe", target.Name, before.ID)
	case before.Reason != "":
		return fmt.Sprintf("%s: continuing run %s: %s", target.Name, before.ID, problem.Brief(before.Reason))
	}
	return ""
}
