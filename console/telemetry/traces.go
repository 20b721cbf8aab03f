package telemetry

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"collect/collection"
)

// A share of all traces is sent: one in ten, and each one in which something failed or
// took long.
const (
	headShare = 0.1
	slowSpan  = time.Second
)

// What is kept of a slice that has not ended yet is bounded: a walk that never commits,
// and a run with a place for each of a million parents.
const (
	mostRequests = 64   // of one slice
	mostPlaces   = 1024 // that have a slice under way
)

// Traces makes spans of the events of runs, which are told with each step of each
// request, and sends them to an OTLP endpoint. Each slice is a trace: what happened at
// its place from one commit to the next, with its requests and its commit. A run is a
// trace of its own, to which those of its slices link. It is safe for concurrent use.
//
// The ids are given when a span begins, so that a log can have them; see
// [Traces.Observe].
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	lost     *atomic.Int64 // spans that could not be sent

	mu        sync.Mutex
	runs      map[string]trace.Span // by id
	last      map[string]time.Time  // the latest event of each
	slices    map[at]*slice
	exemplars map[string]map[int]collection.DurationExemplar // by connector
}

// An at is a place in a run.
type at struct {
	run string
	collection.Place
}

// A slice is what happened at a place since its last commit.
type slice struct {
	ids      trace.SpanContext
	begun    time.Time
	sampled  bool
	requests []*request
	open     map[int64]*request
}

// A request is what a connector asked for.
type request struct {
	ids          trace.SpanContext // in the trace of the slice during which it began
	begun, ended time.Time
	attempts     []attempt
	why          string // it failed; "" if it was answered
}

type attempt struct {
	ids          trace.SpanContext
	begun, ended time.Time
	retry        string // why there was another
}

// NewIDs returns traces that are sent nowhere: they give ids to events.
func NewIDs() *Traces {
	return newTraces(sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(given{})))
}

// NewTraces returns traces that are sent to endpoint, the address of a collector of
// OpenTelemetry such as http://127.0.0.1:4318.
func NewTraces(endpoint, version string) (*Traces, error) {
	address, err := url.Parse(endpoint)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, errors.New("is no address such as http://127.0.0.1:4318")
	}
	if address.Path == "" || address.Path == "/" {
		address.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(address.String()), otlptracehttp.WithTimeout(5*time.Second),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, err
	}
	lost := &atomic.Int64{}
	t := newTraces(sdktrace.NewTracerProvider(
		sdktrace.WithIDGenerator(given{}),
		sdktrace.WithBatcher(counting{exporter, lost}),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "collect"), attribute.String("service.version", version))),
	))
	t.lost = lost
	return t, nil
}

func newTraces(provider *sdktrace.TracerProvider) *Traces {
	return &Traces{
		provider: provider, tracer: provider.Tracer("collect"), lost: &atomic.Int64{},
		runs: map[string]trace.Span{}, last: map[string]time.Time{}, slices: map[at]*slice{}, exemplars: map[string]map[int]collection.DurationExemplar{},
	}
}

// counting counts the spans that cannot be sent.
type counting struct {
	sdktrace.SpanExporter
	lost *atomic.Int64
}

func (c counting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		c.lost.Add(int64(len(spans)))
	}
	return nil // it is told at the end
}

// Close ends the runs, sends what was not sent yet, for at most 5 s, and returns how many spans could
// not be sent.
func (t *Traces) Close(ctx context.Context) (lost int64) {
	t.mu.Lock()
	for run, span := range t.runs {
		span.End(trace.WithTimestamp(t.last[run]))
	}
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = t.provider.Shutdown(ctx)
	return t.lost.Load()
}

// Exemplars returns attempts of a connector that are in a trace that was sent, the
// newest of each bucket of durations.
func (t *Traces) Exemplars(connector string) map[int]collection.DurationExemplar {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.exemplars[connector])
}

// Observe hears of an event of a run, and returns the ids of the span that it is in: that
// of an attempt or a request, else that of the slice at its place, else that of its run.
func (t *Traces) Observe(e collection.Event) IDs {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[e.Run] = e.Time
	where := at{e.Run, collection.Place{Stream: e.Stream, Partition: e.Partition, Lane: e.Lane}}
	of, s := trace.SpanContext{}, t.slices[where]
	if s != nil {
		of = s.ids
	}
	switch e.Kind {
	case collection.RunStarted:
		_, t.runs[e.Run] = t.start(context.Background(), newIDs(trace.TraceID{}), "run", trace.WithTimestamp(e.Time), trace.WithAttributes(
			attribute.String("collect.connector", e.Connector), attribute.String("collect.provider", e.Provider)))
	case collection.SliceCommitted:
		t.committed(where, e)
	case collection.RequestStarted, collection.SlotAcquired, collection.SlotReleased, collection.RequestRetrying,
		collection.RequestCompleted, collection.RequestFailed:
		of = t.step(where, e)
	}
	if run := t.runs[e.Run]; !of.IsValid() && run != nil {
		of = run.SpanContext()
	}
	return idsOf(of)
}

// step notes a step of a request, and returns the span that it is in; the zero one if
// that is not kept.
func (t *Traces) step(where at, e collection.Event) trace.SpanContext {
	s := t.slices[where]
	if s == nil {
		if len(t.slices) >= mostPlaces {
			return trace.SpanContext{}
		}
		s = newSlice(e.Time, map[int64]*request{})
		t.slices[where] = s
	}
	r := s.open[e.Request.ID]
	if e.Kind == collection.RequestStarted && len(s.requests) < mostRequests {
		r = &request{begun: e.Time, ids: newIDs(s.ids.TraceID())}
		s.requests, s.open[e.Request.ID] = append(s.requests, r), r
	}
	if r == nil {
		return s.ids
	}
	last := len(r.attempts) - 1
	of := r.ids.SpanID()
	switch e.Kind {
	case collection.SlotAcquired:
		own := newIDs(s.ids.TraceID())
		r.attempts, of = append(r.attempts, attempt{begun: e.Time, ids: own}), own.SpanID()
	case collection.SlotReleased:
		if last >= 0 {
			r.attempts[last].ended, of = e.Time, r.attempts[last].ids.SpanID()
		}
	case collection.RequestRetrying:
		if last >= 0 {
			r.attempts[last].retry, of = e.Request.Reason, r.attempts[last].ids.SpanID()
		}
	case collection.RequestCompleted, collection.RequestFailed:
		r.ended = e.Time
		delete(s.open, e.Request.ID)
		if e.Kind == collection.RequestFailed && !ours(e.Request.Reason) {
			r.why = e.Request.Reason
			t.send(where, s, e, e.Time) // no commit may follow
			delete(t.slices, where)
		}
	}
	return s.ids.WithSpanID(of)
}

func newSlice(begun time.Time, open map[int64]*request) *slice {
	return &slice{ids: newIDs(trace.TraceID{}), begun: begun, sampled: rand.Float64() < headShare, open: open}
}

// ours reports whether a budget, or a person, ended a request: that is no failure.
func ours(reason string) bool {
	switch collection.Reason(reason) {
	case collection.RequestCap, collection.Quota, collection.WallClock, collection.Interrupted:
		return true
	}
	return false
}

// committed ends the slice of a place: what is still asked for is of the next one.
func (t *Traces) committed(where at, e collection.Event) {
	s := t.slices[where]
	if s == nil {
		return
	}
	delete(t.slices, where)
	ended := e.Time
	fetched := s.begun
	next := newSlice(e.Time, s.open)
	var own []*request
	for _, r := range s.requests {
		if r.ended.IsZero() {
			next.requests = append(next.requests, r)
			continue
		}
		own = append(own, r)
		fetched = later(fetched, r.ended)
	}
	if s.requests = own; len(next.requests) > 0 {
		next.begun = next.requests[0].begun
		t.slices[where] = next
	}
	if len(own) == 0 {
		return
	}
	t.send(where, s, e, fetched, ended)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// send sends the trace of a slice, if it is one of ten, or something in it failed or
// took long. The times are when all was fetched, and when it was committed; without the
// latter it was not.
func (t *Traces) send(where at, s *slice, e collection.Event, times ...time.Time) {
	ended := times[len(times)-1]
	if !s.sampled && !s.remarkable(ended) {
		return
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithTimestamp(s.begun), trace.WithAttributes(
		attribute.String("collect.connector", e.Connector), attribute.String("collect.provider", e.Provider),
		attribute.String("collect.stream", where.Stream), attribute.String("collect.lane", string(where.Lane)))}
	if run := t.runs[where.run]; run != nil {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: run.SpanContext()}))
	}
	ctx, root := t.start(context.Background(), s.ids, "slice", options...)
	for _, r := range s.requests {
		t.request(ctx, r, e.Connector, ended)
	}
	if len(times) == 2 {
		_, commit := t.start(ctx, newIDs(s.ids.TraceID()), "commit", trace.WithTimestamp(times[0]), trace.WithAttributes(
			attribute.Int("collect.records", e.Slice.Records), attribute.Int("collect.changed", e.Slice.Changed)))
		commit.End(trace.WithTimestamp(ended))
	} else {
		root.SetStatus(codes.Error, e.Request.Reason)
	}
	root.End(trace.WithTimestamp(ended))
}

// remarkable reports whether something failed, or a span of the slice is a long one.
func (s *slice) remarkable(ended time.Time) bool {
	for _, r := range s.requests {
		if r.why != "" || r.ended.Sub(r.begun) > slowSpan {
			return true
		}
		for _, a := range r.attempts {
			if a.retry != "" {
				return true
			}
		}
	}
	return ended.Sub(s.begun) > slowSpan
}

// request makes the span of a request, with one for each attempt. What is between the
// attempts is waiting. One that began before the commit of the slice before links to the
// trace of that slice, which is what its lines in a log name until then.
func (t *Traces) request(ctx context.Context, r *request, connector string, ended time.Time) {
	if r.ended.IsZero() {
		r.ended = ended
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(r.begun), trace.WithAttributes(attribute.Int("collect.attempts", len(r.attempts)))}
	if r.ids.TraceID() != trace.SpanContextFromContext(ctx).TraceID() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: r.ids}))
	}
	ctx, span := t.start(ctx, r.ids, "request", options...)
	for i, a := range r.attempts {
		if a.ended.IsZero() {
			a.ended = r.ended
		}
		_, sent := t.start(ctx, a.ids, "attempt", trace.WithTimestamp(a.begun), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.Int("collect.attempt", i+1)))
		if a.retry != "" {
			sent.SetStatus(codes.Error, a.retry)
		}
		sent.End(trace.WithTimestamp(a.ended))
		t.keep(connector, sent.SpanContext(), a)
	}
	if r.why != "" {
		span.SetStatus(codes.Error, r.why)
	}
	span.End(trace.WithTimestamp(r.ended))
}

// keep keeps an attempt as the exemplar of its bucket.
func (t *Traces) keep(connector string, of trace.SpanContext, a attempt) {
	if t.exemplars[connector] == nil {
		t.exemplars[connector] = map[int]collection.DurationExemplar{}
	}
	took := a.ended.Sub(a.begun)
	t.exemplars[connector][collection.DurationBucket(took)] = collection.DurationExemplar{
		TraceID: of.TraceID().String(), SpanID: of.SpanID().String(), Seconds: took.Seconds(), At: a.ended,
	}
}
