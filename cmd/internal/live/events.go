package live

import (
	"io"
	"sync"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// Events writes the events of runs as NDJSON. Its sequence numbers have no
// holes, and the last line of a run is its run.finished: what happens after it
// is not written.
//
// It is safe for concurrent use.
type Events struct {
	mu       sync.Mutex
	out      io.Writer
	seq      int64
	finished map[string]bool // by run
	err      error
}

// NewEvents returns a writer to out. Each event is one Write.
func NewEvents(out io.Writer) *Events {
	return &Events{out: out, finished: map[string]bool{}}
}

// An EventLine is the JSON form of an event. The partition is not in it: its
// values are the provider's.
type EventLine struct {
	Version   int                  `json:"v"`
	Seq       int64                `json:"seq"`
	Time      jsonout.Time         `json:"ts"`
	Event     collection.EventKind `json:"event"`
	Run       string               `json:"run_id"`
	Connector string               `json:"connector"`
	facts
	Summary any `json:"summary,omitempty"` // of run.finished a report.SummaryLine, of all.finished a report.EndsLine
}

// The facts of an event are what most of them have, and what belongs to its kind.
type facts struct {
	Provider string                   `json:"provider,omitempty"`
	Account  string                   `json:"account,omitempty"`
	Stream   string                   `json:"stream,omitempty"`
	Lane     collection.Lane          `json:"lane,omitempty"`
	Slice    *collection.SliceInfo    `json:"slice,omitempty"`
	Rate     *collection.RateInfo     `json:"rate,omitempty"`
	Throttle *collection.ThrottleInfo `json:"throttle,omitempty"`
	Wait     *waitLine                `json:"wait,omitempty"`
	Breaker  *collection.BreakerInfo  `json:"breaker,omitempty"`
	Freeze   *report.Freeze           `json:"freeze,omitempty"`
	Clamp    *collection.ClampInfo    `json:"clamp,omitempty"`
	Route    *collection.RouteInfo    `json:"route,omitempty"`
	Gap      *gapLine                 `json:"gap,omitempty"`
	Budget   *collection.BudgetInfo   `json:"budget,omitempty"`
	Ceiling  *collection.CeilingInfo  `json:"ceiling,omitempty"`
	Limit    *collection.LimitInfo    `json:"limit,omitempty"`
	Request  *collection.RequestInfo  `json:"request,omitempty"`
	Progress *progressLine            `json:"progress,omitempty"`
	Code     collection.WarningCode   `json:"code,omitempty"`
	Message  string                   `json:"message,omitempty"`
}

type waitLine struct {
	Cause   collection.WaitCause `json:"cause"`
	Seconds float64              `json:"seconds"`
	NextAt  jsonout.Time         `json:"next_at"`
}

type gapLine struct {
	ID       string            `json:"id"`
	Stream   string            `json:"stream"`
	Shape    collection.Shape  `json:"shape"`
	Reason   collection.Reason `json:"reason"`
	Kind     collection.Kind   `json:"kind"`
	Attempts int               `json:"attempts"`
	Needs    string            `json:"needs"`
}

// progressLine is the state of a run in a progress event. What is not known
// is null.
type progressLine struct {
	Slices           int64              `json:"slices"`
	Records          int64              `json:"records"`
	Quarantined      int64              `json:"quarantined"`
	Requests         int64              `json:"requests"`
	RequestCap       *int64             `json:"request_cap"`
	RetriesLeft      *float64           `json:"retries_left"`
	GapsOpened       int64              `json:"gaps_opened"`
	PartitionsDone   *int64             `json:"partitions_done"`
	Partitions       *int64             `json:"partitions"`
	RatePerSecond    float64            `json:"rate_per_second"`
	LearnedPerSecond *float64           `json:"learned_per_second"`
	CeilingPerSecond *float64           `json:"ceiling_per_second"`
	Limit            *report.Constraint `json:"limit"` // what limits the pace
	WaitingSeconds   float64            `json:"waiting_seconds"`
	SecondsLeft      *float64           `json:"seconds_left"`
	StopsFirst       *string            `json:"stops_first"`

	Metrics *report.Metrics `json:"metrics"`
}

// Observe writes e. It writes nothing for run.finished, which is the verdict's
// to say: see [Events.Finish].
func (w *Events) Observe(e collection.Event) {
	if e.Kind == collection.RunFinished {
		return
	}
	w.write(wholeLineOf(e))
}

// wholeLineOf returns all of e but what [Events] alone knows.
func wholeLineOf(e collection.Event) EventLine {
	line := lineOf(e)
	line.Gap, line.Freeze = gapLineOf(e), report.FreezeOf(e.Freeze)
	if e.Wait != nil {
		line.Wait = &waitLine{e.Wait.Cause, e.Wait.Seconds, jsonout.Time(e.Wait.Until)}
	}
	return line
}

// Progress writes a progress event with what f shows.
func (w *Events) Progress(f Frame) {
	line := lineOf(collection.Event{
		Time: f.Now, Kind: collection.Progress, Run: f.Run, Connector: f.Connector, Provider: f.Provider,
		Stream: f.Stream, Lane: f.Lane,
	})
	p := &progressLine{
		Slices: f.Slices, Records: f.Records, Quarantined: f.Rejected,
		Requests: f.Requests, RequestCap: jsonout.OrNull(f.Cap), GapsOpened: f.Opened,
		Partitions: jsonout.OrNull(f.Total.most()), RatePerSecond: f.RateNow,
		LearnedPerSecond: jsonout.OrNull(f.Learned), CeilingPerSecond: jsonout.OrNull(f.Ceiling),
		Limit: report.Limit(&f.Limit), WaitingSeconds: f.Waiting.Seconds(), SecondsLeft: jsonout.OrNull(f.Ends.In.Seconds()),
		StopsFirst: jsonout.OrNull(string(f.Ends.Reason)), Metrics: report.MetricsOf(f.Metrics),
	}
	if f.Ends.In > 0 && f.Ends.Reason == "" {
		p.StopsFirst = jsonout.OrNull(string(collection.Complete))
	}
	if f.RetryCap > 0 {
		p.RetriesLeft = &f.Retries
	}
	if f.Total.Parents > 0 {
		p.PartitionsDone = &f.Total.Done
	}
	line.Progress = p
	w.write(line)
}

// Finish writes e, which is run.finished, with the summary of the run: the last
// line of that run. It writes it once.
func (w *Events) Finish(e collection.Event, summary any) {
	line := lineOf(e)
	line.Summary = summary
	w.write(line)
}

// Err returns the first error of the output; nothing is written after it.
func (w *Events) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Events) write(line EventLine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.finished[line.Run] {
		return
	}
	line.Version, line.Seq = jsonout.Version, w.seq+1
	if w.err = jsonout.Line(w.out, line); w.err != nil {
		return
	}
	w.seq++
	w.finished[line.Run] = line.Event == collection.RunFinished
}

// lineOf returns the parts of e that are the same for every kind.
func lineOf(e collection.Event) EventLine {
	return EventLine{
		Time: jsonout.Time(e.Time), Event: e.Kind, Run: e.Run, Connector: e.Connector,
		facts: facts{
			Provider: e.Provider, Account: words.Clean(e.Account), Stream: e.Stream, Lane: e.Lane,
			Slice: e.Slice, Rate: e.Rate, Throttle: e.Throttle, Budget: e.Budget, Ceiling: e.Ceiling, Breaker: e.Breaker,
			Limit: limitLineOf(e.Limit), Request: e.Request, Clamp: e.Clamp, Route: e.Route,
			Code: e.Code, Message: words.Clean(e.Message),
		},
	}
}

// limitLineOf returns l with the provider's own words made fit to be shown.
func limitLineOf(l *collection.LimitInfo) *collection.LimitInfo {
	if l == nil {
		return nil
	}
	line := *l
	line.Name, line.Unit = words.Clean(l.Name), words.Clean(l.Unit)
	return &line
}

func gapLineOf(e collection.Event) *gapLine {
	if e.Gap == nil {
		return nil
	}
	g, needs := e.Gap, problem.NeedsOf(e.Gap.Kind)
	if g.Reason.Settled() {
		needs = problem.NeedsNothing
	}
	return &gapLine{words.GapName(g.ID), e.Stream, g.Shape, g.Reason, g.Kind, g.Attempts, needs}
}
