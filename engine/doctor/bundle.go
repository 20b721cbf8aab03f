package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"collect/collection"
)

// bundledEvents is how many of the newest events a bundle holds.
const bundledEvents = 200

// Bundle writes what a report of a bug needs. Everything in it is chosen by
// name: a field that is not listed here is left out, so that a new field of
// the configuration, or of an event, is not in it by itself.
func (d *Diagnosis) Bundle(w io.Writer) error {
	versions := maps.Clone(d.Version)
	maps.Copy(versions, map[string]string{"sqlite": d.state.Library, "os": runtime.GOOS, "arch": runtime.GOARCH})
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	for _, part := range []struct {
		name    string
		content any // text, or what becomes lines of JSON
	}{
		{"checks.json", bundledChecks(d.Report())},
		{"versions.json", versions},
		{"config.json", d.Harmless},
		{"events.jsonl", bundledEventsOf(d.events)},
		{"schema.sql", d.schema},
	} {
		data, err := encoded(part.content)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: "collect-doctor/" + part.name, Mode: 0o600, Size: int64(len(data)), ModTime: d.Now}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

// encoded returns text as it is, a list as a line of JSON for each, and
// anything else as JSON for people.
func encoded(content any) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	switch v := content.(type) {
	case string:
		return []byte(v), nil
	case []bundledEvent:
		for _, event := range v {
			if err := lines.Encode(event); err != nil {
				return nil, err
			}
		}
	default:
		lines.SetIndent("", "  ")
		if err := lines.Encode(v); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// bundledChecks is the report without the words of errors about files that
// people write: those quote them.
func bundledChecks(r Report) Report {
	r.Checks = slices.Clone(r.Checks)
	for i, f := range r.Checks {
		if f.quotes {
			r.Checks[i].Text, r.Checks[i].Do = "left out, because it may quote the file", ""
		}
	}
	return r
}

// A bundledEvent is an event without words, and without the partition, which
// is made of keys of records.
type bundledEvent struct {
	Time      time.Time                `json:"ts"`
	Kind      collection.EventKind     `json:"event"`
	Run       string                   `json:"run_id,omitempty"`
	Connector string                   `json:"connector"`
	Provider  string                   `json:"provider,omitempty"`
	Stream    string                   `json:"stream,omitempty"`
	Lane      collection.Lane          `json:"lane,omitempty"`
	Slice     *collection.SliceInfo    `json:"slice,omitempty"`
	Rate      *collection.RateInfo     `json:"rate,omitempty"`
	Throttle  *collection.ThrottleInfo `json:"throttle,omitempty"`
	Wait      *collection.WaitInfo     `json:"wait,omitempty"`
	Breaker   string                   `json:"breaker,omitempty"` // the state it went to
	Frozen    *bool                    `json:"frozen,omitempty"`
	Gap       *collection.GapInfo      `json:"gap,omitempty"`
	Budget    *collection.BudgetInfo   `json:"budget,omitempty"`
}

func bundledEventsOf(events []collection.Event) []bundledEvent {
	bundled := []bundledEvent{}
	for _, e := range events {
		b := bundledEvent{
			Time: e.Time, Kind: e.Kind, Run: e.Run, Connector: e.Connector, Provider: e.Provider, Stream: e.Stream, Lane: e.Lane,
			Slice: e.Slice, Rate: e.Rate, Throttle: e.Throttle, Wait: e.Wait, Gap: e.Gap, Budget: e.Budget,
		}
		if e.Breaker != nil {
			b.Breaker = e.Breaker.State
		}
		if e.Freeze != nil {
			b.Frozen = &e.Freeze.Frozen
		}
		bundled = append(bundled, b)
	}
	return bundled
}
