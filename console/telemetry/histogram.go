package telemetry

import (
	"maps"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"collect/collection"
)

// schema is that of native histograms with 8 buckets for each doubling, which is how
// [collection.Durations] counts.
const schema = 3

// The bounds of the classic buckets are powers of two, from 1/64 s to 64 s, so that
// each is a bound of the native ones as well.
const (
	leastPower = -6
	mostPower  = 6
)

// A histogram is one of durations, both in classic buckets and as a native one: text
// has only the former.
type histogram struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	durations collection.Durations
	exemplars map[int]collection.DurationExemplar
}

func (h histogram) Desc() *prometheus.Desc { return h.desc }

func (h histogram) Write(m *dto.Metric) error {
	m.Label = h.labels
	out := &dto.Histogram{
		SampleCount: new(uint64(h.durations.Count)), SampleSum: new(h.durations.Sum),
		Schema: new(int32(schema)), ZeroThreshold: new(prometheus.DefNativeHistogramZeroThreshold), ZeroCount: new(uint64(0)),
	}
	for power := leastPower; power <= mostPower; power++ {
		out.Bucket = append(out.Bucket, h.classic(power))
	}
	out.PositiveSpan, out.PositiveDelta = spans(h.durations.Buckets)
	for _, bucket := range slices.Sorted(maps.Keys(h.exemplars)) {
		out.Exemplars = append(out.Exemplars, exemplarOf(h.exemplars[bucket]))
	}
	m.Histogram = out
	return nil
}

// classic returns the bucket of all attempts that took up to 2^power s, with the newest
// exemplar of those that took longer than half of it; of the first, of all.
func (h histogram) classic(power int) *dto.Bucket {
	most := power * collection.BucketsPerDoubling
	count := uint64(0)
	for bucket, n := range h.durations.Buckets {
		if bucket <= most {
			count += uint64(n)
		}
	}
	b := &dto.Bucket{CumulativeCount: &count, UpperBound: new(math.Pow(2, float64(power)))}
	var newest collection.DurationExemplar
	for bucket, e := range h.exemplars {
		if bucket <= most && (bucket > most-collection.BucketsPerDoubling || power == leastPower) && e.At.After(newest.At) {
			newest = e
		}
	}
	if newest.TraceID != "" {
		b.Exemplar = exemplarOf(newest)
	}
	return b
}

func exemplarOf(e collection.DurationExemplar) *dto.Exemplar {
	return &dto.Exemplar{
		Label: []*dto.LabelPair{{Name: new("trace_id"), Value: new(e.TraceID)}, {Name: new("span_id"), Value: new(e.SpanID)}},
		Value: new(e.Seconds), Timestamp: timestamppb.New(e.At),
	}
}

// spans returns buckets as native histograms have them: runs of neighbours, each with
// its distance from the run before, and each count as its difference from the one
// before.
func spans(buckets map[int]int64) (spans []*dto.BucketSpan, deltas []int64) {
	next, before := 0, int64(0)
	for i, bucket := range slices.Sorted(maps.Keys(buckets)) {
		if i == 0 || bucket != next {
			spans = append(spans, &dto.BucketSpan{Offset: new(int32(bucket - next)), Length: new(uint32(0))})
		}
		*spans[len(spans)-1].Length++
		deltas = append(deltas, buckets[bucket]-before)
		next, before = bucket+1, buckets[bucket]
	}
	return spans, deltas
}
