package telemetry_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"collect/collection"
	"collect/console/telemetry"
)

// An endpoint takes spans.
type endpoint struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var got collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, of := range got.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				e.spans = append(e.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// named returns the spans of a name, in the order of their start.
func (e *endpoint) named(name string) (spans []*otlp.Span) {
	for _, s := range e.spans {
		if s.Name == name {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b *otlp.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return spans
}

// A told tells events of one run to traces.
type told struct {
	*telemetry.Traces
	now time.Time
	id  int64
	run telemetry.IDs
}

func (d *told) tell(after time.Duration, e collection.Event) telemetry.IDs {
	d.now = d.now.Add(after)
	e.Time, e.Run, e.Connector, e.Provider = d.now, "run-1", "tickets", "acme"
	if e.Kind != collection.RunStarted {
		e.Stream, e.Lane = "issues", collection.Incremental
	}
	return d.Observe(e)
}

// slice tells of one that takes a few ms and one answer.
func (d *told) slice(took time.Duration, retried bool) {
	d.id++
	r := func(reason string) *collection.RequestInfo {
		return &collection.RequestInfo{ID: d.id, Reason: reason}
	}
	d.tell(0, collection.Event{Kind: collection.RequestStarted, Request: r("")})
	d.tell(time.Millisecond, collection.Event{Kind: collection.SlotAcquired, Request: r("")})
	if retried {
		d.tell(time.Millisecond, collection.Event{Kind: collection.SlotReleased, Request: r("")})
		d.tell(0, collection.Event{Kind: collection.RequestRetrying, Request: r("ratelimit")})
		d.tell(20*time.Millisecond, collection.Event{Kind: collection.SlotAcquired, Request: r("")})
	}
	d.tell(took, collection.Event{Kind: collection.SlotReleased, Request: r("")})
	d.tell(0, collection.Event{Kind: collection.RequestCompleted, Request: r("")})
	d.tell(2*time.Millisecond, collection.Event{Kind: collection.SliceCommitted, Slice: &collection.SliceInfo{Records: 100, Changed: 7}})
}

func begin(t *testing.T, e *endpoint) *told {
	t.Helper()
	traces, err := telemetry.NewTraces(e.URL, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	d := &told{Traces: traces, now: time.Now().Add(-time.Hour)}
	d.run = d.tell(0, collection.Event{Kind: collection.RunStarted})
	return d
}

func (d *told) end(t *testing.T) {
	t.Helper()
	if lost := d.Close(t.Context()); lost != 0 {
		t.Errorf("%d spans were lost", lost)
	}
}

// A slice in which an attempt was refused is always sent, with its run, requests,
// attempts and commit in their places, and its attempts are exemplars.
func TestTrace(t *testing.T) {
	e := newEndpoint(t)
	d := begin(t, e)
	d.slice(4*time.Millisecond, true)
	exemplars := d.Exemplars("tickets")
	d.end(t)
	run, slice, request, attempts, commit := e.named("run"), e.named("slice"), e.named("request"), e.named("attempt"), e.named("commit")
	if len(run) != 1 || len(slice) != 1 || len(request) != 1 || len(attempts) != 2 || len(commit) != 1 {
		t.Fatalf("spans: %d runs, %d slices, %d requests, %d attempts, %d commits", len(run), len(slice), len(request), len(attempts), len(commit))
	}
	if link := slice[0].Links; len(link) != 1 || string(link[0].TraceId) != string(run[0].TraceId) || string(slice[0].TraceId) == string(run[0].TraceId) {
		t.Error("the slice does not link to its run, or is in the trace of it")
	}
	for child, parent := range map[*otlp.Span]*otlp.Span{request[0]: slice[0], commit[0]: slice[0], attempts[0]: request[0], attempts[1]: request[0]} {
		if string(child.ParentSpanId) != string(parent.SpanId) || string(child.TraceId) != string(parent.TraceId) {
			t.Errorf("%s is not in its %s", child.Name, parent.Name)
		}
	}
	took := func(s *otlp.Span) time.Duration { return time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano) }
	if got, want := took(slice[0]), 28*time.Millisecond; got != want {
		t.Errorf("the slice took %v, want %v", got, want)
	}
	if got := took(commit[0]); got != 2*time.Millisecond {
		t.Errorf("the commit took %v, want 2ms", got)
	}
	if attempts[0].Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || attempts[1].Status.GetCode() == otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("attempts have the status %v and %v, want an error and none", attempts[0].Status, attempts[1].Status)
	}
	for bucket, got := range exemplars {
		if got.TraceID != hex.EncodeToString(slice[0].TraceId) || bucket != collection.DurationBucket(time.Duration(got.Seconds*1e9)) {
			t.Errorf("exemplar %d: %+v", bucket, got)
		}
	}
	if len(exemplars) != 2 {
		t.Errorf("exemplars %v, want two", slices.Collect(maps.Keys(exemplars)))
	}
}

// Each event has the ids of the span that it is in, from the beginning of that span. A
// request that begins before the commit of the slice before is in the next slice, and
// links to the trace that its lines name until then.
func TestTraceIDs(t *testing.T) {
	e := newEndpoint(t)
	d := begin(t, e)
	r := func(id int64) *collection.RequestInfo {
		return &collection.RequestInfo{ID: id, Reason: "ratelimit"}
	}
	var begun, acquired, ahead, retried, warned telemetry.IDs
	for _, step := range []struct {
		e   collection.Event
		ids *telemetry.IDs
	}{
		{collection.Event{Kind: collection.RequestStarted, Request: r(1)}, &begun},
		{collection.Event{Kind: collection.SlotAcquired, Request: r(1)}, &acquired},
		{collection.Event{Kind: collection.WarningRaised}, &warned},
		{collection.Event{Kind: collection.SlotReleased, Request: r(1)}, nil},
		{collection.Event{Kind: collection.RequestRetrying, Request: r(1)}, &retried},
		{collection.Event{Kind: collection.RequestCompleted, Request: r(1)}, nil},
		{collection.Event{Kind: collection.RequestStarted, Request: r(2)}, &ahead},
		{collection.Event{Kind: collection.SliceCommitted, Slice: &collection.SliceInfo{}}, nil},
		{collection.Event{Kind: collection.RequestCompleted, Request: r(2)}, nil},
		{collection.Event{Kind: collection.SliceCommitted, Slice: &collection.SliceInfo{}}, nil},
	} {
		if got := d.tell(time.Second, step.e); step.ids != nil {
			*step.ids = got
		}
	}
	d.end(t)
	request, attempt, slice := e.named("request"), e.named("attempt"), e.named("slice")
	if len(request) != 2 || len(attempt) != 1 || len(slice) != 2 {
		t.Fatalf("%d requests, %d attempts, %d slices were sent, want 2, 1, 2", len(request), len(attempt), len(slice))
	}
	of := func(s *otlp.Span) telemetry.IDs {
		return telemetry.IDs{Trace: hex.EncodeToString(s.TraceId), Span: hex.EncodeToString(s.SpanId)}
	}
	for _, c := range []struct {
		what      string
		got, want telemetry.IDs
	}{
		{"the run", d.run, of(e.named("run")[0])}, {"a request", begun, of(request[0])}, {"an attempt", acquired, of(attempt[0])},
		{"a retry", retried, of(attempt[0])}, {"a warning", warned, of(slice[0])},
		{"a request ahead", ahead, telemetry.IDs{Trace: of(slice[0]).Trace, Span: of(request[1]).Span}},
	} {
		if c.got != c.want {
			t.Errorf("the ids of %s are %+v, want %+v", c.what, c.got, c.want)
		}
	}
	if links := request[1].Links; len(links) != 1 || hex.EncodeToString(links[0].TraceId) != ahead.Trace || of(request[1]).Trace == ahead.Trace {
		t.Errorf("the request ahead has the links %v, want one to the trace %s", links, ahead.Trace)
	}
}

// Without an endpoint there are ids, and nothing is sent.
func TestIDsAlone(t *testing.T) {
	d := &told{Traces: telemetry.NewIDs(), now: time.Now()}
	run := d.tell(0, collection.Event{Kind: collection.RunStarted})
	request := d.tell(0, collection.Event{Kind: collection.RequestStarted, Request: &collection.RequestInfo{ID: 1}})
	if len(run.Trace) != 32 || len(run.Span) != 16 || len(request.Trace) != 32 || request.Trace == run.Trace {
		t.Errorf("ids of a run %+v and of a request %+v", run, request)
	}
	d.end(t)
}

// One in ten of what is fast and well is sent, and all that took over 1 s.
func TestTraceShare(t *testing.T) {
	e := newEndpoint(t)
	d := begin(t, e)
	for range 2000 {
		d.slice(time.Millisecond, false)
	}
	for range 20 {
		d.slice(1100*time.Millisecond, false)
	}
	d.end(t)
	slow := 0
	for _, s := range e.named("slice") {
		if s.EndTimeUnixNano-s.StartTimeUnixNano > 1e9 {
			slow++
		}
	}
	fast := len(e.named("slice")) - slow
	if slow != 20 || fast < 120 || fast > 280 { // 200 ± 6 standard deviations
		t.Errorf("sent: %d of 20 slow slices, %d of 2000 others, want all and about 200", slow, fast)
	}
}

// What is kept is bounded: requests without a commit, and places without end.
func TestTraceBounded(t *testing.T) {
	e := newEndpoint(t)
	d := begin(t, e)
	for i := range 5000 {
		d.id++
		for _, at := range []collection.Partition{"", collection.Partition(fmt.Sprint(i))} {
			d.tell(0, collection.Event{Kind: collection.RequestStarted, Partition: at, Request: &collection.RequestInfo{ID: d.id}})
			d.tell(0, collection.Event{Kind: collection.RequestCompleted, Partition: at, Request: &collection.RequestInfo{ID: d.id}})
		}
	}
	d.tell(2*time.Second, collection.Event{Kind: collection.SliceCommitted, Slice: &collection.SliceInfo{}})
	d.end(t)
	if n := len(e.named("request")); n != 64 {
		t.Errorf("%d requests of one slice were sent, want 64", n)
	}
}

// An endpoint that is not there costs a warning, and what is no address is refused.
func TestTraceEndpoints(t *testing.T) {
	for _, bad := range []string{"127.0.0.1:4318", "grpc://x", "http://", "\x00"} {
		if _, err := telemetry.NewTraces(bad, ""); err == nil {
			t.Errorf("%q was taken for an address", bad)
		}
	}
}
