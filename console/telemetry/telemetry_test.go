package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"collect/collection"
	"collect/console/telemetry"
	"collect/engine"
	"collect/engine/registry"
	"collect/report"
	"collect/store"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// known is a connector of which everything is known.
func known(name string) report.Measured {
	planned := int64(812)
	return report.Measured{
		Measures: store.Measures{
			SuccessAt: now.Add(-time.Hour),
			Traffic: collection.Traffic{
				Attempts:  map[collection.Fate]int64{collection.FateOK: 95, collection.FateThrottled: 5},
				Calls:     map[collection.CallEnd]int64{collection.CallAnswered: 94, collection.CallFailed: 1},
				Throttles: map[string]int64{"429": 5},
				Waited:    map[collection.WaitCause]float64{collection.WaitPacing: 12.5},
				Used:      map[collection.Reason]float64{collection.RequestCap: 0.25},
				Durations: collection.Durations{Count: 6, Sum: 9, Buckets: map[int]int64{-20: 3, -19: 1, 8: 2}},
				Exemplars: map[int]collection.DurationExemplar{8: {TraceID: strings.Repeat("ab", 16), SpanID: strings.Repeat("cd", 8), Seconds: 1.9, At: now}},
			},
		},
		Status: report.Status{
			Name: name, Count: 3,
			All: collection.Tally{Requests: 100, Retries: 6, Records: 1000, Changed: 900, Rejected: 10, Older: 5, Slices: 20, GapsOpen: 4, GapsShut: 2},
			Streams: []store.StreamState{{Stream: collection.Stream{Name: "issues"}, Lanes: []store.LaneState{{
				Lane: collection.Incremental, SavedAt: now.Add(-time.Minute),
				Evidence: collection.Evidence{Pages: 20, By: "total", InPages: true, Total: planned},
			}}}},
			Owed: []store.OwnedGap{{Connector: name, Gap: collection.Gap{
				Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, Reason: collection.BadPage, OpenedAt: now.Add(-time.Hour),
			}}},
			Runs: []collection.Run{{
				Connector: name, Domain: "acme/0123456789ab", Outcome: collection.Complete, StartedAt: now.Add(-2 * time.Hour), EndedAt: now.Add(-time.Hour),
			}},
			Account: &report.Account{Provider: "acme", Learned: 3.5, Ceiling: 4},
		},
	}
}

// scrape returns what a handler answers to a client that accepts a format.
func scrape(t *testing.T, h http.Handler, accept string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Result()
}

func text(t *testing.T, h http.Handler, accept string) string {
	t.Helper()
	b, err := io.ReadAll(scrape(t, h, accept).Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func handler(f telemetry.Facts, err error) http.Handler {
	return telemetry.Handler(telemetry.Config{Version: "1.2.3", Look: func(context.Context) (telemetry.Facts, error) { return f, err }})
}

func factsOf(all ...report.Measured) telemetry.Facts {
	return telemetry.Facts{At: now, All: len(all), Connectors: all, StoreBytes: 1 << 20, FreeBytes: 1 << 30}
}

func TestMetrics(t *testing.T) {
	got := text(t, handler(factsOf(known("tickets")), nil), "text/plain")
	for _, want := range []string{
		`collect_requests_total{connector="tickets",outcome="throttled",provider="acme"} 5`,
		`collect_requests_total{connector="tickets",outcome="failed",provider="acme"} 0`,
		`collect_calls_total{connector="tickets",outcome="failed",provider="acme"} 1`,
		`collect_throttles_total{connector="tickets",provider="acme",signal="429"} 5`,
		`collect_retries_total{connector="tickets",provider="acme"} 6`,
		`collect_wait_seconds_total{connector="tickets",provider="acme",reason="pacing"} 12.5`,
		`collect_records_saved_total{connector="tickets"} 985`,
		`collect_records_quarantined_total{connector="tickets"} 10`,
		`collect_slices_done{connector="tickets",unit="pages"} 20`,
		`collect_slices_planned{connector="tickets",unit="pages"} 812`,
		`collect_gaps_open{connector="tickets",kind="stuck"} 1`,
		`collect_gaps_open{connector="tickets",kind="planned"} 0`,
		`collect_rate_learned_per_second{connector="tickets",provider="acme"} 3.5`,
		`collect_rate_ceiling_per_second{connector="tickets",provider="acme"} 4`,
		`collect_clamp_ratio{connector="tickets",provider="acme"} 1`,
		`collect_breaker_state{connector="tickets",provider="acme",state="closed"} 1`,
		`collect_frozen{connector="tickets",provider="acme"} 0`,
		`collect_checkpoint_age_seconds{connector="tickets"} 60`,
		`collect_connector_state{connector="tickets",state="stuck"} 1`,
		`collect_request_duration_seconds_bucket{connector="tickets",provider="acme",le="1"} 4`,
		`collect_request_duration_seconds_bucket{connector="tickets",provider="acme",le="2"} 6`,
		`collect_store_readable 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// What is not known is absent: a connector that never asked for anything has no
// requests, no pace and no success, and 0 of nothing.
func TestUnknownIsAbsent(t *testing.T) {
	got := text(t, handler(factsOf(report.Measured{Status: report.Status{Name: "new"}}), nil), "text/plain")
	for _, name := range []string{
		"requests_total", "calls_total", "throttles_total", "wait_seconds_total", "request_duration_seconds", "rate_", "clamp_ratio", "breaker_state",
		"frozen", "budget_used_ratio", "records_saved_total", "slices_", "last_", "checkpoint_",
	} {
		if strings.Contains(got, "collect_"+name) {
			t.Errorf("collect_%s is there, and nothing is known of it", name)
		}
	}
	if want := `collect_connector_state{connector="new",state="not_measured"} 1`; !strings.Contains(got, want) {
		t.Errorf("no line %s in\n%s", want, got)
	}
}

// OpenMetrics has the trace of an attempt, in the bucket that the attempt is in.
func TestExemplar(t *testing.T) {
	got := text(t, handler(factsOf(known("tickets")), nil), "application/openmetrics-text; version=1.0.0")
	want := fmt.Sprintf(`le="2.0"} 6 # {trace_id="%s",span_id="%s"} 1.9 `, strings.Repeat("ab", 16), strings.Repeat("cd", 8))
	if !strings.Contains(got, want) || strings.Count(got, "trace_id") != 1 {
		t.Errorf("no %s, or more than that, in\n%s", want, got)
	}
	if !strings.HasSuffix(got, "# EOF\n") {
		t.Error("it does not end as OpenMetrics does")
	}
}

// Protocol buffers have the native histogram: counts and distances as Prometheus
// reads them.
func TestNativeHistogram(t *testing.T) {
	resp := scrape(t, handler(factsOf(known("tickets")), nil),
		"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited")
	decoder := expfmt.NewDecoder(resp.Body, expfmt.ResponseFormat(resp.Header))
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			t.Fatal("no histogram")
		} else if err != nil {
			t.Fatal(err)
		}
		if family.GetName() != "collect_request_duration_seconds" {
			continue
		}
		h := family.Metric[0].Histogram
		got := map[int]int64{}
		bucket, count, next := 0, int64(0), 0
		for _, span := range h.PositiveSpan {
			bucket += int(span.GetOffset())
			for range span.GetLength() {
				count += h.PositiveDelta[next]
				got[bucket] = count
				bucket, next = bucket+1, next+1
			}
		}
		if want := (map[int]int64{-20: 3, -19: 1, 8: 2}); fmt.Sprint(got) != fmt.Sprint(want) || h.GetSchema() != 3 || h.GetSampleCount() != 6 || len(h.Exemplars) != 1 {
			t.Errorf("buckets %v, schema %d, count %d, %d exemplars, want %v, 3, 6, 1", got, h.GetSchema(), h.GetSampleCount(), len(h.Exemplars), want)
		}
		return
	}
}

// A store that cannot be read is told, without why: that could have a path.
func TestUnreadable(t *testing.T) {
	got := text(t, handler(telemetry.Facts{}, errors.New("secret.db is damaged")), "text/plain")
	if !strings.Contains(got, "collect_store_readable 0\n") || strings.Contains(got, "secret") || strings.Contains(got, "connector") {
		t.Errorf("got\n%s", got)
	}
}

// The file has no ages, which would stand still in it, and everybody may read it.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "collect.prom")
	if err := telemetry.WriteFile(path, factsOf(known("tickets")), "1.2.3"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "_age_seconds") || !strings.Contains(string(got), "collect_checkpoint_timestamp_seconds{") {
		t.Errorf("got\n%s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it is left: %v, %v", entries, err)
	}
}

// crowd is a store with many connectors, whose names are hostile.
type crowd struct {
	store.Reader
	n int
}

func (c crowd) States(context.Context, string) ([]store.ConnectorState, error) {
	all := make([]store.ConnectorState, c.n)
	for i := range all {
		name := fmt.Sprintf("%05d-%s\n\x1b[31m\"}", i, strings.Repeat("é", 500))
		runs, _ := c.Runs(context.Background(), name, 1)
		all[i] = store.ConnectorState{Connector: name, Newest: &runs[0], Runs: 1, All: collection.Tally{Requests: 1}, Accounts: make([][]byte, 1)}
	}
	return all, nil
}
func (crowd) Salt(context.Context) ([]byte, error) { return nil, nil }
func (c crowd) Runs(_ context.Context, name string, _ int) ([]collection.Run, error) {
	return []collection.Run{{ID: "run-" + name[:5], Connector: name, Domain: "provider-" + name + "/0123456789ab", Outcome: collection.Complete, EndedAt: now}}, nil
}
func (c crowd) Measures(context.Context, string) (map[string]store.Measures, error) {
	states, err := c.States(context.Background(), "")
	all := map[string]store.Measures{}
	for _, s := range states {
		all[s.Connector] = known("").Measures
	}
	return all, err
}

// Whatever a store holds, the series are bounded (I20): 10,000 connectors with
// providers of their own show as many as 1,000 do, and how many are left out.
func TestBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it goes through much data")
	}
	series := func(n int) (int, string) {
		facts, err := telemetry.Look(t.Context(), crowd{n: n}, engine.Meeting{Registry: &registry.Registry{}}, "", now)
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, handler(facts, nil), "text/plain")
		n = 0
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
			if len(line) > 600 || strings.ContainsAny(line, "\x1b") {
				t.Fatalf("a line of %d bytes: %.200q", len(line), line)
			}
		}
		return n, got
	}
	most, _ := series(telemetry.MostConnectors)
	got, metrics := series(10_000)
	if got != most || most > 100*telemetry.MostConnectors {
		t.Errorf("%d series of 10,000 connectors, %d of %d, want the same, and at most 100 each", got, most, telemetry.MostConnectors)
	}
	for _, want := range []string{"collect_connectors 10000\n", "collect_connectors_omitted 9000\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(metrics, "run-0") {
		t.Error("the id of a run is in the metrics")
	}
}

// The page for users has each metric, and no other.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	m := known("tickets")
	m.Runs[0].EndedAt, m.Runs[0].Outcome, m.Runs[0].BeatAt = time.Time{}, collection.Running, now
	m.Account.Pace.PerSecond = 3.5
	metrics := text(t, handler(factsOf(known("ended"), m), nil), "text/plain")
	var told, written []string
	for _, match := range regexp.MustCompile(`(?m)^# HELP (\w+)`).FindAllStringSubmatch(metrics, -1) {
		told = append(told, match[1])
	}
	for _, match := range regexp.MustCompile("(?m)^\\| `(collect_\\w+)`").FindAllStringSubmatch(string(page), -1) {
		written = append(written, match[1])
	}
	slices.Sort(told)
	slices.Sort(written)
	if !slices.Equal(told, written) {
		t.Errorf("docs/monitoring.md has\n%s\nand the metrics are\n%s", strings.Join(written, "\n"), strings.Join(told, "\n"))
	}
}
