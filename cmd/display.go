package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/collection"
	"collect/internal/words"
	"collect/runner"
	"collect/store"
)

// sampleEvery is how often a display takes in the totals. Rates come from it.
const sampleEvery = time.Second

// A display shows one run to whoever watches: a block or lines on stderr,
// events on stdout, or nothing.
type display struct {
	session *session
	view    live.View
	shown   live.Progress // nil: nothing while it runs
	events  *live.Events  // nil without --json
	every   time.Duration
	started time.Time
	warned  warnings

	mu      sync.Mutex
	streams []live.StreamTotal
	runner  *runner.Runner // nil until it works
	first   float64        // the pace at the start
	stop    chan struct{}
	stopped chan struct{}
}

// newDisplay starts the display that the flags, the configuration and the
// terminal call for.
func (s *session) newDisplay(ctx context.Context) (*display, error) {
	d := &display{
		session: s, every: s.settings.Every, started: time.Now(),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	want := s.settings.Progress
	if s.options.progress != "" {
		want = s.options.progress
	}
	mode, err := live.Mode(want, s.env, s.terminal)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	if s.options.quiet > 0 {
		mode = config.ProgressNone
	}
	if s.flags.json || mode == config.ProgressJSON {
		d.events = live.NewEvents(s.out, needsOf)
		mode = config.ProgressNone // events say it all
	}
	states, err := s.store.Streams(ctx, s.target.name)
	if err != nil {
		return nil, err
	}
	d.streams = totalsOf(states, collection.Lane(s.options.lane))
	switch mode {
	case config.ProgressLive:
		d.shown = live.StartBlock(s.err, s.size(), s.caps(), &d.view)
	case config.ProgressPlain:
		d.shown = live.StartPlain(s.err, live.StyleOf(s.env), d.every, &d.view)
	}
	go d.sample()
	return d, nil
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
		own := laneOf(state, lane)
		totals[i] = live.StreamTotal{Stream: state.Name, Parent: state.Parent, Records: state.Records, Done: own.Done, Complete: own.Complete}
	}
	return totals
}

// watch lets the display read the tally and pace of the runner.
func (d *display) watch(r *runner.Runner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runner, d.first = r, r.Pace().PerSecond
}

// observe takes in an event of the run.
func (d *display) observe(e collection.Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if e.Run == "" {
		e.Run, e.Connector = d.session.record.ID, d.session.target.name
		e.Provider = d.session.target.connector.Provider().Name
	}
	d.warned.add(e)
	if e.Slice != nil {
		d.count(e)
	}
	if d.shown != nil {
		d.shown.Observe(e)
	} else {
		d.view.Observe(e)
	}
	if d.events != nil {
		d.events.Observe(e)
	}
}

// count adds a committed slice to the totals of its stream, and to those of
// the streams that its records are parents of.
func (d *display) count(e collection.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.streams {
		s := &d.streams[i]
		if s.Stream != e.Stream {
			continue
		}
		s.Records += int64(e.Slice.Changed)
		if e.Slice.Done && e.Partition != "" {
			s.Done++
		}
		if e.Slice.Done && e.Partition == "" {
			s.Complete = true
		}
	}
}

// sample takes in the totals until the display is closed, and writes a
// progress event as often as there would be a line.
func (d *display) sample() {
	defer close(d.stopped)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	every := d.every
	if every <= 0 {
		every = config.PlainEvery
	}
	next := d.started.Add(every)
	for {
		select {
		case <-d.stop:
			return
		case now := <-tick.C:
			d.view.Sample(now, d.totals())
			if d.events != nil && now.After(next) {
				next = now.Add(every)
				d.events.Progress(d.view.Frame(now), d.session.record.ID, d.session.record.Lane)
			}
		}
	}
}

func (d *display) totals() live.Totals {
	s := d.session
	t := live.Totals{RequestCap: s.options.maxRequests, Requests: s.budget.Tally().Requests}
	t.Retries, t.RetryCap = s.budget.RetryTokens()
	if s.options.maxTime > 0 {
		t.Deadline = d.started.Add(s.options.maxTime)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runner != nil {
		t.Metrics, t.Pace = d.runner.Metrics(), d.runner.Pace()
		t.LimitedBy = limitName(&t.Pace)
	}
	t.Streams = slices.Clone(d.streams)
	for i := range t.Streams {
		child := &t.Streams[i]
		for _, parent := range t.Streams {
			if parent.Stream == child.Parent {
				child.Parents, child.Final = parent.Records, parent.Complete
			}
		}
	}
	return t
}

// stopping says that an interruption was asked for, and what another does.
func (d *display) stopping(sig os.Signal) {
	d.view.Stopping()
	again := "ctrl-c again"
	if sig != os.Interrupt {
		again = "another signal"
	}
	d.say("stopping after the current page; " + again + " stops at once")
}

// say says a line to a person who watches.
func (d *display) say(line string) {
	if d.shown != nil {
		d.shown.Say(line)
	}
}

// close ends the display; it may be called again.
func (d *display) close() {
	select {
	case <-d.stop:
		return
	default:
	}
	close(d.stop)
	<-d.stopped
	if d.shown != nil {
		d.shown.Close()
	}
}

// conclude says how the run ended: the last event, the problems that need
// somebody, and the summary.
func (s *session) conclude(ctx context.Context, owed []store.OwnedGap, stops []runner.Stopped, runErr error) error {
	s.show.close()
	sum, err := s.summary(ctx, owed)
	if err != nil {
		return err
	}
	s.nothing = sum.All.Records == sum.All.Rejected
	sum.Held, sum.NextAt = s.heldBack(stops)
	sum.Trouble, sum.Lost = troubleOf(stops), lostWords(runErr)
	problems := s.problems(stops, owed, runErr)
	if s.show.events != nil {
		for _, p := range problems {
			s.say(p)
		}
		s.show.events.Finish(collection.Event{
			Time: sum.Ended, Kind: collection.RunFinished, Run: sum.Run, Connector: sum.Connector, Provider: sum.Provider,
		}, sum)
		if err := s.show.events.Err(); err != nil {
			return &outputError{err}
		}
		return nil
	}
	if s.options.quiet > 0 {
		return s.concludeQuietly(ctx, problems, stops)
	}
	for _, p := range problems {
		if p.Level == levelPaused { // a pause is what the summary says first
			continue
		}
		fmt.Fprint(s.err, p.render(s.width(), s.caps()))
		fmt.Fprintln(s.err)
	}
	fmt.Fprint(s.err, sum.render(s.width(), s.caps()))
	return s.stepSummary(sum, problems)
}

// heldBack returns what ended a run as planned and outlasts it, and until when.
func (s *session) heldBack(stops []runner.Stopped) (why string, until time.Time) {
	for _, met := range stops {
		if met.Stop.Reason == s.record.Reason {
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
	case is(store.ErrMissing)(err):
		return "its database was removed or replaced"
	case damaged(err):
		return "its database is damaged"
	}
	return ""
}

// summary gathers what there is to say when the run is over.
func (s *session) summary(ctx context.Context, owed []store.OwnedGap) (summary, error) {
	runs, all, err := s.store.Totals(ctx, s.record.Connector)
	if err != nil {
		return summary{}, err
	}
	sum := summaryOf(s.record, owed, runs, all)
	sum.Provider, sum.Flags = s.target.connector.Provider().Name, s.repeat()
	sum.RequestCap, sum.State = s.options.maxRequests, words.Home(s.settings.State, s.env)
	if s.show.runner != nil {
		pace := s.show.runner.Pace()
		sum.RateStart, sum.RateEnd, sum.Learned, sum.Limit = s.show.first, pace.PerSecond, pace.Learned, pace
		if pace.Ceiling != nil {
			sum.Ceiling = *pace.Ceiling
		}
	}
	streams, err := s.store.Streams(ctx, s.record.Connector)
	if err != nil {
		return summary{}, err
	}
	s.states = streams
	for _, stream := range streams {
		sum.Views = append(sum.Views, stream.View)
	}
	sum.Doubts = doubtsOf(streams, s.record.Lane)
	success := s.record.Outcome == collection.Complete || s.record.Outcome == collection.NothingNew
	if s.record.Lane == collection.Incremental && success {
		sum.Left = leftFor(connectorStatus{Streams: streams, Selected: s.streams()}.selected(), sum.Ended)
	}
	return sum, nil
}

// problems explains what ended the run, what it had to leave, and what is
// stuck since earlier runs: one problem for each reason.
func (s *session) problems(stops []runner.Stopped, owed []store.OwnedGap, runErr error) []problem {
	var problems []problem
	inThisRun := len(stops)
	met := map[collection.Reason]bool{collection.Gone: true} // declared, shown by gaps, and nobody's to mend
	for _, stopped := range stops {
		met[stopped.Stop.Reason] = true
	}
	for _, gap := range owed {
		if runner.OfBefore(s.record, gap.Gap) || s.options.quiet > 0 && knownBefore(gap, s.record) {
			continue
		}
		if !met[gap.Reason] && gap.Reason.Kind() == collection.Stuck {
			met[gap.Reason] = true
			stops = append(stops, runner.Stopped{At: gap.Place, Stop: &collection.Stop{Reason: gap.Reason, Detail: gap.Detail}})
		}
	}
	sc := s.scene()
	if runErr != nil {
		p := problemOf(runErr, sc)
		p.ExitCode = s.record.ExitCode
		problems = append(problems, p)
	}
	for i, stopped := range stops {
		if stopped.Stop.Reason == collection.Gone {
			continue
		}
		sc.Stream, sc.Partition, sc.Stands = stopped.At.Stream, stopped.At.Partition, stopped.Stands
		sc.Passed = i < inThisRun && !stopped.Stands && !stopped.Stop.Reason.EndsRun()
		sc.Pieces, sc.Of = s.piecesOf(stopped, owed)
		p := problemOf(stopped.Stop, sc)
		p.ExitCode = s.record.ExitCode
		problems = append(problems, p)
	}
	if p, ok := quarantined(s.record, s.states, s.scene()); ok {
		p.ExitCode = s.record.ExitCode
		problems = append(problems, p)
	}
	for _, p := range s.show.warned.problems(s.scene()) {
		p.ExitCode = s.record.ExitCode
		problems = append(problems, p)
	}
	return problems
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
	states, err := s.store.Streams(context.Background(), s.record.Connector)
	if err != nil {
		return 0, 0
	}
	for _, state := range states {
		if state.Name == met.At.Stream {
			of = laneOf(state, met.At.Lane).Partitions
		}
	}
	return int64(len(partitions)), of
}

// stepSummary appends the summary to the page of a GitHub workflow step, and
// puts its problems beside the lines of files.
func (s *session) stepSummary(sum summary, problems []problem) error {
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
