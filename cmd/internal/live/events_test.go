package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/texttest"
)

func TestEventLines(t *testing.T) {
	var out bytes.Buffer
	w := NewEvents(&out)
	for _, e := range happened() {
		e.Run, e.Partition = "01JD8Z", `{"repo":"canary-partition"}`
		w.Observe(e)
	}
	end := collection.Event{Time: noon.Add(time.Minute), Kind: collection.RunFinished, Run: "01JD8Z", Connector: "tickets", Provider: "acme"}
	w.Finish(end, map[string]any{"outcome": "deferred"})
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	const head = `"ts":"2026-11-21T12:03:25.000Z","event":"`
	const tail = `","run_id":"01JD8Z","connector":"tickets","provider":"acme","stream":"issues"`
	want := []string{
		`{"v":1,"seq":1,` + head + `run.started","run_id":"01JD8Z","connector":"tickets","provider":"acme","lane":"incremental"}`,
		`{"v":1,"seq":2,` + head + `slice.committed` + tail + `,"slice":{"commit":0,"records":100,"changed":0,"rejected":0,"older":0,"deleted":0,"done":false}}`,
		`{"v":1,"seq":3,` + head + `throttled` + tail + `,"rate":{"learned_per_second":3.5,"previous_per_second":4,"ceiling_per_second":4,"reason":"429"},"throttle":{"signal":"429","retry_after_seconds":6}}`,
		`{"v":1,"seq":4,` + head + `rate.changed` + tail + `,"rate":{"learned_per_second":2,"previous_per_second":4,"ceiling_per_second":null,"reason":"slow answers"}}`,
		`{"v":1,"seq":5,` + head + `rate.changed` + tail + `,"rate":{"learned_per_second":4,"previous_per_second":2,"ceiling_per_second":null,"reason":"success"}}`,
		`{"v":1,"seq":6,` + head + `wait.started` + tail + `,"wait":{"cause":"retry_after","seconds":90,"next_at":"2026-11-21T12:04:55.000Z"}}`,
		`{"v":1,"seq":7,` + head + `wait.started` + tail + `,"wait":{"cause":"pacing","seconds":2,"next_at":"2026-11-21T12:04:55.000Z"}}`,
		`{"v":1,"seq":8,` + head + `breaker.changed` + tail + `,"breaker":{"previous_state":"closed","state":"open","reason":"6 of 10 failed","trigger":"","elapsed_seconds":0,"request_count":0,"retry_tokens_remaining":0}}`,
		`{"v":1,"seq":9,` + head + `freeze.changed` + tail + `,"freeze":{"frozen":true,"reason":"403","next_at":"2026-11-21T12:04:55.000Z"}}`,
		`{"v":1,"seq":10,` + head + `freeze.changed` + tail + `,"freeze":{"frozen":false,"reason":"released","next_at":null}}`,
		`{"v":1,"seq":11,` + head + `gap.opened` + tail + `,"gap":{"id":"g_31","stream":"issues","shape":"SLICE_GAP","reason":"bad_page","kind":"stuck","attempts":1,"needs":"operator"}}`,
		`{"v":1,"seq":12,` + head + `gap.closed` + tail + `,"gap":{"id":"g_31","stream":"issues","shape":"SLICE_GAP","reason":"bad_page","kind":"stuck","attempts":0,"needs":"operator"}}`,
		`{"v":1,"seq":13,` + head + `budget.exhausted` + tail + `,"budget":{"axis":"request_cap","limit":20000}}`,
		`{"v":1,"seq":14,` + head + `warning` + tail + `,"message":"learned rate of a newer version: starting cold"}`,
		`{"v":1,"seq":15,` + head + `error` + tail + `,"message":"no space left"}`,
		`{"v":1,"seq":16,` + head + `route.changed` + tail + `,"route":{"stream":"search","state":"tried"}}`,
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) != len(want)+1 {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want)+1, out.String())
	}
	for i := range want {
		texttest.Same(t, "event", lines[i], want[i])
	}
	last := lines[len(lines)-1]
	texttest.Same(t, "last line", last, `{"v":1,"seq":17,"ts":"2026-11-21T12:01:00.000Z","event":"run.finished","run_id":"01JD8Z",`+
		`"connector":"tickets","provider":"acme","summary":{"outcome":"deferred"}}`)
	if strings.Contains(out.String(), "canary") {
		t.Errorf("a partition, whose values are the provider's, is in\n%s", out.String())
	}
}

func TestProgressEvent(t *testing.T) {
	tests := []struct {
		name string
		m    Frame
		want string
	}{
		{"everything", worked(75*time.Second, Totals{RequestCap: 300, Retries: 183.5, RetryCap: 200}).Frame(noon.Add(75 * time.Second)),
			`{"slices":13,"records":1300,"quarantined":0,"requests":51,"request_cap":300,"retries_left":183.5,"gaps_opened":0,` +
				`"partitions_done":405,"partitions":812,"rate_per_second":0.8,"learned_per_second":3.5,"ceiling_per_second":4,` +
				`"limit":null,"waiting_seconds":0,"seconds_left":124.5,"stops_first":"request_cap","metrics":null}`},
		{"nothing", Frame{Now: noon},
			`{"slices":0,"records":0,"quarantined":0,"requests":0,"request_cap":null,"retries_left":null,"gaps_opened":0,` +
				`"partitions_done":null,"partitions":null,"rate_per_second":0,"learned_per_second":null,"ceiling_per_second":null,` +
				`"limit":null,"waiting_seconds":0,"seconds_left":null,"stops_first":null,"metrics":null}`},
	}
	for _, test := range tests {
		var out bytes.Buffer
		NewEvents(&out).Progress(test.m)
		_, got, _ := strings.Cut(strings.TrimSpace(out.String()), `"progress":`)
		texttest.Same(t, test.name, strings.TrimSuffix(got, "}"), test.want)
	}
}

// What a provider announces, what a trace tells and what is counted have their
// own lines in the stream, and the first of them alone a line for people.
func TestRequestEvents(t *testing.T) {
	window, delay := 60.0, 1.5
	events := []collection.Event{
		{Kind: collection.LimitLearned, Limit: &collection.LimitInfo{Name: "core\x1b[31m", Unit: "requests", Limit: 5000, Remaining: 4990, Ratio: 0.998, Window: &window}},
		{Kind: collection.LimitLow, Limit: &collection.LimitInfo{Unit: "requests", Limit: 100, Remaining: 5, Ratio: 0.05}},
		{Kind: collection.SlotAcquired, Request: &collection.RequestInfo{ID: 7, Attempt: 1, QueueDepth: 3}},
		{Kind: collection.RequestRetrying, Request: &collection.RequestInfo{ID: 7, Attempt: 2, Delay: &delay, Reason: "ratelimit"}},
	}
	var out bytes.Buffer
	w := NewEvents(&out)
	var s story
	var people []string
	for _, e := range events {
		e.Time, e.Provider = noon, "acme"
		w.Observe(e)
		people = append(people, s.tell(e)...)
		if line := plainLine(e, Stamped); line != "" && e.Kind != collection.LimitLearned {
			t.Errorf("a line where nobody watches: %s", line)
		}
	}
	const head = `"ts":"2026-11-21T12:00:00.000Z","event":"`
	const mid = `","run_id":"","connector":"","provider":"acme",`
	want := strings.Join([]string{
		`{"v":1,"seq":1,` + head + `limit.learned` + mid + `"limit":{"name":"core","unit":"requests","limit":5000,"remaining":4990,"remaining_ratio":0.998,"window_seconds":60,"reset_seconds":null}}`,
		`{"v":1,"seq":2,` + head + `limit.low` + mid + `"limit":{"name":"","unit":"requests","limit":100,"remaining":5,"remaining_ratio":0.05,"window_seconds":null,"reset_seconds":null}}`,
		`{"v":1,"seq":3,` + head + `slot.acquired` + mid + `"request":{"request_id":7,"attempt":1,"queue_depth":3}}`,
		`{"v":1,"seq":4,` + head + `request.retrying` + mid + `"request":{"request_id":7,"attempt":2,"queue_depth":0,"delay_seconds":1.5,"reason":"ratelimit"}}`,
	}, "\n") + "\n"
	texttest.Same(t, "events", out.String(), want)
	texttest.Same(t, "lines for people", strings.Join(people, "\n"), "12:00:00  acme announces 5,000 requests in 60 s, 4,990 left")
}

// From any number of goroutines: no hole in the numbers, one line a write, and
// nothing of a run after its end.
func TestEventSequence(t *testing.T) {
	var out lineBuffer
	w := NewEvents(&out)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				w.Observe(collection.Event{Kind: collection.SliceCommitted, Run: "one"})
				w.Observe(collection.Event{Kind: collection.RunFinished, Run: "one"}) // the runner's is not the verdict
				w.Observe(collection.Event{Kind: collection.SliceCommitted, Run: "two"})
			}
		})
	}
	wg.Wait()
	for range 2 {
		w.Finish(collection.Event{Time: noon, Kind: collection.RunFinished, Run: "one"}, nil)
		w.Observe(collection.Event{Kind: collection.WarningRaised, Run: "one", Message: "too late"})
		w.Observe(collection.Event{Kind: collection.WarningRaised, Run: "two"})
	}
	if got, want := len(out.lines), 800+3; got != want {
		t.Fatalf("%d lines, want %d", got, want)
	}
	finished := false
	for i, line := range out.lines {
		var e struct {
			Seq   int64  `json:"seq"`
			Event string `json:"event"`
			Run   string `json:"run_id"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		}
		if e.Seq != int64(i+1) {
			t.Fatalf("line %d has the number %d", i+1, e.Seq)
		}
		if finished && e.Run == "one" {
			t.Errorf("after the end of its run: %s", line)
		}
		finished = finished || e.Event == string(collection.RunFinished)
	}
	if !finished {
		t.Error("no run.finished")
	}
}

// A lineBuffer keeps each Write by itself.
type lineBuffer struct{ lines [][]byte }

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.lines = append(b.lines, bytes.Clone(p))
	return len(p), nil
}

// When nobody reads any more, the writer says so and stops.
func TestEventsStopWithTheirOutput(t *testing.T) {
	broken := &brokenWriter{}
	w := NewEvents(broken)
	for range 3 {
		w.Observe(collection.Event{Kind: collection.WarningRaised})
	}
	if w.Err() == nil || broken.writes != 1 {
		t.Errorf("after %d writes to a closed pipe, Err = %v; want one write and an error", broken.writes, w.Err())
	}
}

type brokenWriter struct{ writes int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, errors.New("broken pipe")
}
