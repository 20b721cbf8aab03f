package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// IDs name a span, as OpenTelemetry writes them: 32 and 16 hexadecimal digits. Both are
// "" where an event is in no span.
type IDs struct{ Trace, Span string }

func idsOf(of trace.SpanContext) IDs {
	if !of.IsValid() {
		return IDs{}
	}
	return IDs{of.TraceID().String(), of.SpanID().String()}
}

// newIDs returns ids for a span of a trace; the zero one is for a trace of its own.
func newIDs(of trace.TraceID) trace.SpanContext {
	var span trace.SpanID
	for !span.IsValid() {
		binary.NativeEndian.PutUint64(span[:], rand.Uint64())
	}
	for !of.IsValid() {
		binary.NativeEndian.PutUint64(of[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(of[8:], rand.Uint64())
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: span, TraceFlags: trace.FlagsSampled})
}

// start starts a span that has its ids already.
func (t *Traces) start(ctx context.Context, ids trace.SpanContext, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.tracer.Start(context.WithValue(ctx, idsKey{}, ids), name, options...)
}

type idsKey struct{}

// given is the generator of ids for spans that have them already.
type given struct{}

// NewIDs returns the ids of a span that begins a trace.
func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids := ctx.Value(idsKey{}).(trace.SpanContext)
	return ids.TraceID(), ids.SpanID()
}

// NewSpanID returns the id of a span of a trace that has begun.
func (given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(idsKey{}).(trace.SpanContext).SpanID()
}
