package telemetry

import (
	"cmp"
	"maps"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"collect/collection"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/problem"
)

// A collector turns facts into metrics.
type collector struct {
	facts    Facts
	readable bool   // the facts could be read
	live     bool   // ages are told: the metrics are of the moment of the scrape
	version  string // of this program
}

// Describe tells nothing beforehand: what is not known is absent.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect tells the metrics.
func (c collector) Collect(out chan<- prometheus.Metric) {
	t := teller{out}
	t.gauge(buildInfo, 1, c.version, runtime.Version())
	t.gauge(storeReadable, one(c.readable))
	if c.facts.StoreBytes > 0 {
		t.gauge(storeSize, float64(c.facts.StoreBytes))
	}
	if !c.facts.At.IsZero() && c.facts.FreeBytes >= 0 {
		t.gauge(diskFree, float64(c.facts.FreeBytes))
	}
	if !c.readable {
		return
	}
	t.gauge(connectors, float64(c.facts.All))
	t.gauge(connectorsOmitted, float64(c.facts.All-len(c.facts.Connectors)))
	for i := range c.facts.Connectors {
		m := &c.facts.Connectors[i]
		t.standing(m, c.facts.At)
		t.work(m)
		t.owed(m, c.facts.At)
		t.requests(m)
		t.pace(m, c.facts.At)
		if saved := m.SavedAt(); c.live && !saved.IsZero() {
			t.gauge(checkpointAge, max(0, c.facts.At.Sub(saved).Seconds()), label(m.Name))
		}
	}
}

// mostLabel bounds a label, in bytes.
const mostLabel = 128

// label returns a name fit to be one: bounded, and without what steers a terminal.
func label(name string) string {
	name = words.Clean(name)
	if len(name) > mostLabel {
		name = strings.ToValidUTF8(name[:mostLabel-len("…")], "") + "…"
	}
	return name
}

// A teller tells metrics of facts.
type teller struct{ out chan<- prometheus.Metric }

func (t teller) gauge(d *prometheus.Desc, value float64, labels ...string) {
	t.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (t teller) counter(d *prometheus.Desc, value float64, labels ...string) {
	t.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, max(0, value), labels...)
}

// timestamp tells when something was; nothing if that is not known.
func (t teller) timestamp(d *prometheus.Desc, at time.Time, labels ...string) {
	if !at.IsZero() {
		t.gauge(d, float64(at.UnixMilli())/1000, labels...)
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// standing tells how a connector stands, and how its newest run fares.
func (t teller) standing(m *report.Measured, now time.Time) {
	name, stands := label(m.Name), m.Stands(now)
	for _, state := range report.Healths {
		t.gauge(connectorState, one(state == stands.State), name, string(state))
	}
	t.gauge(needsOperator, one(stands.Needs == problem.NeedsOperator), name)
	t.counter(runsTotal, float64(m.Count), name)
	t.gauge(runActive, one(m.Running(now)), name)
	t.timestamp(successAt, m.SuccessAt, name)
	t.timestamp(checkpointAt, m.SavedAt(), name)
	newest := m.Newest()
	t.timestamp(runEndedAt, newest.EndedAt, name)
	if !newest.EndedAt.IsZero() && newest.ExitCode >= 0 {
		t.gauge(runExitCode, float64(newest.ExitCode), name)
	}
}

// work tells what was saved, and how much of what is planned.
func (t teller) work(m *report.Measured) {
	name, all := label(m.Name), m.All
	if m.Count > 0 {
		t.counter(recordsSaved, float64(all.Records-all.Rejected-all.Older), name)
		t.counter(recordsChanged, float64(all.Changed), name)
		t.counter(recordsQuarantined, float64(all.Rejected), name)
		t.counter(slicesCommitted, float64(all.Slices), name)
	}
	t.coverage(m)
}

// coverage tells how much of what is planned is stored. Each stream is counted in a
// unit of its own.
func (t teller) coverage(m *report.Measured) {
	done, planned, unknown := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for _, stream := range m.Collected() {
		for _, lane := range stream.Lanes {
			c := m.CoverageOf(stream, lane)
			if c == nil {
				continue
			}
			done[c.Unit] += c.Committed
			if c.Planned == nil {
				unknown[c.Unit] = true
				continue
			}
			planned[c.Unit] += *c.Planned
		}
	}
	for unit, n := range done {
		t.gauge(slicesDone, float64(n), label(m.Name), unit)
		if !unknown[unit] {
			t.gauge(slicesPlanned, float64(planned[unit]), label(m.Name), unit)
		}
	}
}

// owed tells what is owed.
func (t teller) owed(m *report.Measured, now time.Time) {
	name := label(m.Name)
	oldest := map[collection.Kind]time.Time{}
	for _, gap := range m.Owed {
		if at, kind := gap.OpenedAt, gap.Kind(); !gap.Settled() && (oldest[kind].IsZero() || at.Before(oldest[kind])) {
			oldest[kind] = at
		}
	}
	for kind, n := range report.OwedKinds(m.Owed) {
		t.gauge(gapsOpen, float64(n), name, string(kind))
		t.timestamp(gapOldest, oldest[kind], name, string(kind))
	}
	t.gauge(gapsWaived, float64(len(report.Waived(m.Owed))), name)
	if m.Count > 0 {
		t.counter(gapsOpened, float64(m.All.GapsOpen), name)
		t.counter(gapsClosed, float64(m.All.GapsShut), name)
	}
}

// requests tells what became of all requests.
func (t teller) requests(m *report.Measured) {
	traffic := m.Traffic
	if len(traffic.Attempts) == 0 {
		return
	}
	name, provider := label(m.Name), providerOf(m)
	for _, fate := range []collection.Fate{collection.FateOK, collection.FateThrottled, collection.FateFailed, collection.FateRefused, collection.FateCancelled} {
		t.counter(requests, float64(traffic.Attempts[fate]), name, provider, string(fate))
	}
	for _, end := range []collection.CallEnd{collection.CallAnswered, collection.CallFailed, collection.CallStopped} {
		t.counter(calls, float64(traffic.Calls[end]), name, provider, string(end))
	}
	for _, signal := range []string{"429", "503", "403", "200", "other"} {
		t.counter(throttles, float64(traffic.Throttles[signal]), name, provider, signal)
	}
	for _, cause := range []collection.WaitCause{
		collection.WaitPacing, collection.WaitWindow, collection.WaitRetryAfter, collection.WaitBackoff, collection.WaitBreaker, collection.WaitReserve,
	} {
		t.counter(waits, traffic.Waited[cause], name, provider, string(cause))
	}
	t.counter(retries, float64(m.All.Retries), name, provider)
	t.out <- histogram{
		desc: durations, durations: traffic.Durations, exemplars: traffic.Exemplars,
		labels: []*dto.LabelPair{{Name: new("connector"), Value: &name}, {Name: new("provider"), Value: &provider}},
	}
}

// providerOf returns the name of the provider of the newest run.
func providerOf(m *report.Measured) string {
	provider, _, _ := strings.Cut(m.Newest().Domain, "/")
	return label(provider)
}

// pace tells how fast the provider is asked, and what holds back.
func (t teller) pace(m *report.Measured, now time.Time) {
	name, provider := label(m.Name), providerOf(m)
	running := m.Running(now)
	used := map[string]float64{}
	if running {
		for reason, axis := range runAxes {
			if ratio, limited := m.Traffic.Used[reason]; limited {
				used[axis] = ratio
			}
		}
	}
	if a := m.Account; a != nil {
		if running && a.Pace.PerSecond > 0 {
			t.gauge(rateNow, a.Pace.PerSecond, name, provider)
		}
		if a.Learned > 0 {
			t.gauge(rateLearned, a.Learned, name, provider)
		}
		if a.Ceiling > 0 {
			t.gauge(rateCeiling, a.Ceiling, name, provider)
			t.gauge(clampRatio, clampOf(a), name, provider)
		}
		for _, state := range []string{gate.Closed, gate.HalfOpen, gate.Open} {
			t.gauge(breakerState, one(state == cmp.Or(a.Breaker, gate.Closed)), name, provider, state)
		}
		t.gauge(frozen, one(a.Frozen), name, provider)
		maps.Copy(used, windowsOf(a))
	}
	for axis, ratio := range used {
		t.gauge(budgetUsed, ratio, name, provider, axis)
	}
}

// runAxes names the budgets of a run.
var runAxes = map[collection.Reason]string{
	collection.RequestCap: "run_requests", collection.WallClock: "run_time", collection.RetryBudget: "run_retries",
}

// clampOf returns the share of the ceiling that is in force.
func clampOf(a *report.Account) float64 {
	for i := range a.Pace.Constraints {
		if k := &a.Pace.Constraints[i]; k.Name == gate.ClampOf && k.Route == "" && k.PerSecond > 0 {
			return min(1, k.PerSecond/a.Ceiling)
		}
	}
	return 1
}

// windowsOf returns the share that is used up of each declared ceiling, by the length
// of its window; of several in one length, the largest.
func windowsOf(a *report.Account) map[string]float64 {
	used := map[string]float64{}
	for i := range a.Pace.Constraints {
		if k := &a.Pace.Constraints[i]; k.Name == gate.CeilingOf && k.Count > 0 {
			axis := axisOf(k.Window)
			used[axis] = max(used[axis], float64(k.Used)/float64(k.Count))
		}
	}
	return used
}

func axisOf(window time.Duration) string {
	switch {
	case window <= time.Second:
		return "second"
	case window <= time.Minute:
		return "minute"
	case window <= time.Hour:
		return "hour"
	case window <= 24*time.Hour:
		return "day"
	}
	return "month"
}
