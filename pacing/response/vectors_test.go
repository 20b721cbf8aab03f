package response_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"collect/pacing/response"
)

// A vector is one response of a provider and what it means.
type vector struct {
	ID      string
	Vendor  string
	Now     time.Time
	Status  int
	Headers map[string]any // a string, or a list of strings
	Body    string
	Expect  struct {
		Class   string
		HoldMS  *int64 `json:"hold_ms"`
		Reason  string
		Key     string
		Cost    float64
		MaxRate float64 `json:"max_rate"`
		AtOnce  bool    `json:"at_once"`
		PeriodS float64 `json:"period_s"` // of a throttle
		Windows []struct {
			Name      string
			Limit     float64
			Remaining float64
			ResetMS   float64 `json:"reset_ms"`
			WindowS   float64 `json:"window_s"`
			Unit      string
		}
	}
}

// TestVectors reads responses of real providers. PACING_VECTORS names another
// file of the same form, by a path from here or from the module's root.
func TestVectors(t *testing.T) {
	names := []string{"testdata/header-vectors.json", "testdata/more-vectors.json", "testdata/provider-vectors.json", "testdata/combined-vectors.json"}
	if name := os.Getenv("PACING_VECTORS"); name != "" {
		if _, err := os.Stat(name); err != nil && !filepath.IsAbs(name) {
			name = filepath.Join("../..", name)
		}
		names = []string{name}
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Vectors []vector }
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for _, v := range file.Vectors {
			t.Run(v.ID, func(t *testing.T) { v.check(t) })
		}
	}
}

func (v *vector) header() http.Header {
	h := http.Header{}
	for name, value := range v.Headers {
		switch value := value.(type) {
		case string:
			h.Add(name, value)
		case []any:
			for _, each := range value {
				h.Add(name, each.(string))
			}
		}
	}
	return h
}

func (v *vector) check(t *testing.T) {
	r := response.Read(v.Now, v.Status, v.header(), []byte(v.Body))
	if got, want := string(r.Class), v.Expect.Class; got != want {
		t.Errorf("%s: class %s, want %s", v.Vendor, got, want)
	}
	hold := "none"
	if r.Hold >= 0 {
		hold = fmt.Sprint(r.Hold.Milliseconds())
	}
	wantHold := "none"
	if v.Expect.HoldMS != nil {
		wantHold = fmt.Sprint(*v.Expect.HoldMS)
	}
	if hold != wantHold {
		t.Errorf("%s: hold %s ms, want %s", v.Vendor, hold, wantHold)
	}
	if want := v.Expect.Reason; want != "" && r.Reason != want {
		t.Errorf("%s: reason %q, want %q", v.Vendor, r.Reason, want)
	}
	if got, want := r.Key, v.Expect.Key; got != want {
		t.Errorf("%s: key %q, want %q", v.Vendor, got, want)
	}
	if got, want := r.Cost, v.Expect.Cost; got != want {
		t.Errorf("%s: cost %v, want %v", v.Vendor, got, want)
	}
	if got, want := r.MaxRate, v.Expect.MaxRate; want != 0 && math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: at most %v/s, want %v", v.Vendor, got, want)
	}
	if got, want := r.AtOnce, v.Expect.AtOnce; got != want {
		t.Errorf("%s: too many in flight %v, want %v", v.Vendor, got, want)
	}
	if got, want := r.Period.Seconds(), v.Expect.PeriodS; r.Class == response.Throttle && got != want {
		t.Errorf("%s: a period of %v s, want %v", v.Vendor, got, want)
	}
	var got, want []string
	for _, q := range r.Windows {
		resetMS := float64(-1)
		if q.Reset >= 0 {
			resetMS = float64(q.Reset.Milliseconds())
		}
		got = append(got, fmt.Sprint(q.Name, " ", q.Limit, " ", q.Remaining, " ", resetMS, " ", q.Window.Seconds(), " ", q.Unit))
	}
	for _, w := range v.Expect.Windows {
		want = append(want, fmt.Sprint(w.Name, " ", w.Limit, " ", w.Remaining, " ", w.ResetMS, " ", w.WindowS, " ", w.Unit))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: windows (name limit remaining reset window unit)\n got %q\nwant %q", v.Vendor, got, want)
	}
}

// TestDatesAreTheProviders: a wrong clock here changes no wait.
func TestDatesAreTheProviders(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} {
		r := response.Read(t0.Add(skew), 429, http.Header{
			"Date":              {"Sat, 21 Nov 2026 10:00:00 GMT"},
			"Retry-After":       {"Sat, 21 Nov 2026 10:00:30 GMT"},
			"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Reset": {"1795255260"},
		}, nil)
		reset := r.Windows[0].Reset
		if r.Hold != 30*time.Second || reset != time.Minute {
			t.Errorf("with a clock %v off, hold %v and reset %v, want 30s and 1m", skew, r.Hold, reset)
		}
	}
}
