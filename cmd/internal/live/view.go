package live

import (
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/internal/picture"
	"collect/pacing/gate"
	"collect/report"
)

// Totals is what the events of a run do not carry and its view needs. Zero
// means not known, or no limit.
type Totals struct {
	Streams    []StreamTotal
	Passed     map[string]int64 // by stream, parents that this run looked at and asks for nothing of
	Requests   int64            // attempts of this run so far
	RequestCap int64
	Retries    float64 // retry tokens left
	RetryCap   float64
	Deadline   time.Time // when the time limit ends the run
	Metrics    collection.Metrics
	Pace       gate.Status // how things stand with the provider
}

// A StreamTotal counts one stream, over all runs.
type StreamTotal struct {
	Stream   string
	Parent   string // the stream whose records are the partitions; "" for none
	Records  int64
	Rejected int64 // in quarantine when the run began
	Done     int64 // partitions walked to their end
	Parents  int64 // of the partitions; of some of them none may be wanted
	Passed   int64 // of these, those that this run looked at and that have no wanted partition
	Final    bool  // Parents does not grow any more in this run
	Complete bool  // the whole walk reached its end
}

// settled returns the parents that need nothing more.
func (s StreamTotal) settled() int64 { return s.Done + s.Passed }

// most returns how many partitions are wanted at most.
func (s StreamTotal) most() int64 { return max(s.Done, s.Parents-s.Passed) }

const (
	// sparkCell is the time of one column of the sparkline: short enough for a
	// run of a minute to have a shape, long enough for one request a second to
	// make a bar.
	sparkCell = 5 * time.Second
	// sparkCells bounds the columns that are kept.
	sparkCells = 60
	// rateOver is the time over which "now" is measured.
	rateOver = 30 * time.Second
	// longWait is the shortest wait that is worth a word: shorter ones only
	// make the word flicker.
	longWait = 2 * time.Second
)

// A View keeps what a person watching a run is shown. It is safe for
// concurrent use.
type View struct {
	mu    sync.Mutex
	shown Frame

	wait     collection.WaitInfo
	throttle collection.ThrottleInfo // the last one

	cells    []picture.Moment
	cellAt   int64 // number of the newest cell, counted from the epoch
	samples  []sample
	requests int64 // of the last sample
}

// A sample is how many requests had left at a time.
type sample struct {
	at       time.Time
	requests int64
}

// A Frame is what a view shows at one moment: all that drawing depends on.
type Frame struct {
	Now       time.Time
	Run       string
	Lane      collection.Lane
	Connector string
	Provider  string
	Stream    string // the one last worked on
	Started   time.Time
	Stopping  bool // an interruption was asked for

	Waiting  time.Duration // left of a wait worth a word; 0 for none
	Cause    collection.WaitCause
	Throttle collection.ThrottleInfo // what the last throttle said
	Frozen   bool

	Slices, Records, Rejected   int64 // of this run; Records are those that came
	Changed                     int64 // of Records, new or different from what was stored
	Throttled, Opened, GapsShut int64
	Total                       StreamTotal // of Stream
	Saved                       int64       // records of all streams, all runs; 0 for not known
	Before                      int64       // records that were in quarantine when the run began

	Spark    picture.Spark
	RateNow  float64
	Pace     float64     // in force; 0: not paced, or not known
	Learned  float64     // what a later run goes on from; 0: not known
	Ceiling  float64     // 0: none
	Limit    gate.Status // of the pace
	Breaker  string
	Failure  string // what opened it; "" if that is not known
	Requests int64
	Cap      int64
	Retries  float64
	RetryCap float64
	Metrics  collection.Metrics

	Ends ends
}

// ends says what will end the run first.
type ends struct {
	Reason collection.Reason // request_cap, wall_clock, quota; "" for the end of the work
	In     time.Duration     // 0: not known yet
	Near   int64             // where Done of the stream will be then; 0: not known
}

// Observe takes in what happened.
func (v *View) Observe(e collection.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := &v.shown
	if e.Stream != "" {
		m.Stream = e.Stream
	}
	if e.Run != "" {
		m.Run = e.Run
	}
	if e.Connector != "" {
		m.Connector = e.Connector
	}
	if e.Provider != "" {
		m.Provider = e.Provider
	}
	switch e.Kind {
	case collection.RunStarted:
		m.Started, m.Lane = e.Time, e.Lane
	case collection.GapOpened:
		m.Opened++
		if e.Gap != nil && e.Gap.Attempts <= 1 { // else they went there before
			m.Rejected += int64(e.Gap.Held)
		}
	case collection.GapClosed:
		m.GapsShut++
	}
	if s := e.Slice; s != nil {
		m.Slices++
		m.Records += int64(s.Records)
		m.Changed += int64(s.Changed)
		m.Rejected += int64(s.Rejected)
	}
	if t := e.Throttle; t != nil {
		m.Throttled++
		v.throttle = *t
		v.cell(e.Time).Throttled = true
	}
	if b := e.Breaker; b != nil {
		m.Breaker, m.Failure = b.State, b.Detail
	}
	if f := e.Freeze; f != nil {
		m.Frozen = f.Frozen
	}
	v.observeWait(e)
}

func (v *View) observeWait(e collection.Event) {
	switch {
	case e.Kind == collection.WaitStarted && e.Wait != nil && e.Wait.Until.After(v.wait.Until):
		v.wait = *e.Wait
	case e.Kind == collection.WaitEnded && (e.Wait == nil || !e.Wait.Until.Before(v.wait.Until)):
		v.wait = collection.WaitInfo{}
	}
}

// Stopping says that the first interruption was heard.
func (v *View) Stopping() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shown.Stopping = true
}

// Sample takes in the totals at now. It is to be called about once a second:
// rates come from it.
func (v *View) Sample(now time.Time, t Totals) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := &v.shown
	v.cell(now).Requests += max(0, t.Requests-v.requests)
	v.requests = t.Requests

	m.Requests, m.Cap = t.Requests, t.RequestCap
	m.Retries, m.RetryCap, m.Metrics = t.Retries, t.RetryCap, t.Metrics
	m.Pace, m.Learned, m.Ceiling, m.Limit = t.Pace.PerSecond, t.Pace.Learned, 0, t.Pace
	if t.Pace.Ceiling != nil {
		m.Ceiling = *t.Pace.Ceiling
	}
	m.Saved, m.Before, m.Total = 0, 0, StreamTotal{}
	for _, s := range t.Streams {
		m.Saved, m.Before = m.Saved+s.Records, m.Before+s.Rejected
		if s.Stream == m.Stream {
			m.Total = s
		}
	}
	v.samples = append(v.samples, sample{now, t.Requests})
	for len(v.samples) > 2 && now.Sub(v.samples[1].at) >= rateOver {
		v.samples = v.samples[1:]
	}
	if n := len(v.samples); n > 2 && v.samples[n-2].at.Sub(v.samples[n-3].at) < time.Second {
		v.samples = append(v.samples[:n-2], v.samples[n-1]) // at most one a second is kept
	}
	m.RateNow = v.rateNow(now)
	m.Ends = v.ends(now, t)
}

// Frame returns the frame of now.
func (v *View) Frame(now time.Time) Frame {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := v.shown
	m.Now = now
	m.Throttle = v.throttle
	if left := v.wait.Until.Sub(now); left > 0 && v.wait.Seconds >= longWait.Seconds() {
		m.Waiting, m.Cause, m.Limit = left, v.wait.Cause, m.Limit.Waiting(v.wait.Cause)
	}
	if m.Started.IsZero() {
		m.Started = now
	}
	v.cell(now)
	m.Spark = picture.Spark{Moments: slices.Clone(v.cells), Unit: "5 s"}
	return m
}

// cell returns the column of the sparkline for now, after making it and the
// empty ones before it. A clock that steps back writes into the newest.
func (v *View) cell(now time.Time) *picture.Moment {
	number := now.UnixNano() / int64(sparkCell)
	if len(v.cells) == 0 || number > v.cellAt+sparkCells {
		v.cells, v.cellAt = append(v.cells[:0], picture.Moment{}), number
	}
	for ; v.cellAt < number; v.cellAt++ {
		v.cells = append(v.cells, picture.Moment{})
	}
	if over := len(v.cells) - sparkCells; over > 0 {
		v.cells = append(v.cells[:0], v.cells[over:]...)
	}
	return &v.cells[len(v.cells)-1]
}

// rateNow returns the requests a second over the last [rateOver].
func (v *View) rateNow(now time.Time) float64 {
	last := v.samples[len(v.samples)-1]
	for _, s := range v.samples {
		if since := now.Sub(s.at); since <= rateOver && since > 0 {
			return float64(last.requests-s.requests) / since.Seconds()
		}
	}
	return 0
}

// ends says what ends the run first, at the pace that binds now: as explain does.
func (v *View) ends(now time.Time, t Totals) (e ends) {
	left, known := remaining(t.Streams)
	e.Reason, e.In = report.Outlook{Now: now, Pace: &t.Pace, Work: left, Cap: max(0, t.RequestCap-t.Requests), Until: t.Deadline}.First()
	work, total := report.Takes(&t.Pace, left, now), v.shown.Total
	if known && e.Reason != "" && work > 0 && left == total.Parents-total.settled() {
		e.Near = min(total.Parents, total.settled()+int64(float64(left)*float64(e.In)/float64(work)))
	}
	return e
}

// remaining counts the partitions that are not walked yet; known is false while a
// list is under way, which does not say how long it is.
func remaining(streams []StreamTotal) (left int64, known bool) {
	for _, s := range streams {
		switch {
		case s.Parent != "" && s.Final:
			left += max(0, s.Parents-s.settled())
		case !s.Complete:
			return 0, false
		}
	}
	return left, true
}
