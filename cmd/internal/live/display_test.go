package live

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/internal/texttest"
)

// A display counts what is stored from the events of the run, asks for the
// rest, and writes an event of progress as often as it was told to.
func TestDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		requests := int64(0)
		d := Start(Config{
			Mode: config.ProgressJSON, Every: 10 * time.Second, Out: &out,
			Streams: []StreamTotal{{Stream: "issues", Records: 5}, {Stream: "comments", Parent: "issues", Records: 40, Done: 3}},
			Totals: func() Totals {
				requests += 2
				return Totals{Requests: requests, Passed: map[string]int64{"comments": 2}}
			},
		})
		slice := func(stream string, partition collection.Partition, info collection.SliceInfo) {
			d.Observe(collection.Event{
				Time: time.Now(), Kind: collection.SliceCommitted, Run: "01JD8Z", Connector: "tickets", Provider: "acme",
				Stream: stream, Partition: partition, Slice: &info,
			})
		}
		d.Observe(collection.Event{Time: time.Now(), Kind: collection.RunStarted, Run: "01JD8Z", Lane: collection.Backfill})
		slice("issues", "", collection.SliceInfo{Records: 9, Changed: 2, Done: true})
		slice("comments", `{"n":1}`, collection.SliceInfo{Records: 3, Changed: 3, Done: true})
		slice("comments", `{"n":2}`, collection.SliceInfo{Records: 3, Changed: 3})
		time.Sleep(25 * time.Second)
		d.Stopping(os.Interrupt)
		d.Say("no line stands beside events")
		d.Close()
		d.Close()

		var progress []progressLine
		for line := range bytes.Lines(out.Bytes()) {
			var e struct {
				Run      string          `json:"run_id"`
				Lane     collection.Lane `json:"lane"`
				Progress *progressLine   `json:"progress"`
			}
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if e.Progress == nil {
				continue
			}
			if e.Run != "01JD8Z" || e.Lane != collection.Backfill {
				t.Errorf("progress of run %q, lane %q, want those of the events: %s", e.Run, e.Lane, line)
			}
			progress = append(progress, *e.Progress)
		}
		if len(progress) != 2 {
			t.Fatalf("%d events of progress in 25 s, want one each 10 s:\n%s", len(progress), out.String())
		}
		got, err := json.Marshal([]any{progress[1].PartitionsDone, progress[1].Partitions, progress[1].RatePerSecond, progress[1].Slices})
		if err != nil {
			t.Fatal(err)
		}
		texttest.Same(t, "partitions done, of, rate, slices", string(got), "[4,5,2,3]")
	})
}
