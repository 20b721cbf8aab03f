package words

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

func TestNumbersForPeople(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	tests := []struct{ name, got, want string }{
		{"count", Count(0), "0"},
		{"count", Count(999), "999"},
		{"count", Count(1_000), "1,000"},
		{"count", Count(1_176_491), "1,176,491"},
		{"count", Count(-1_234), "-1,234"},
		{"counted", Counted(1, "gap", "gaps"), "1 gap"},
		{"counted", Counted(0, "gap", "gaps"), "0 gaps"},
		{"rate", Rate(3.44), "3.4/s"},
		{"rate", Rate(0.999), "1.0/s"},
		{"rate", Rate(0.5), "30/min"},
		{"rate", Rate(0.16667), "10/min"},
		{"rate", Rate(0.01), "36/h"},
		{"rate", Rate(4999.7), "5,000/s"},
		{"rate", Rate(0), "0/s"},
		{"percent", Percent(404, 812), "49.7%"},
		{"percent", Percent(9_999, 10_000), "99.9%"},
		{"percent", Percent(1<<60-1, 1<<60), "99.9%"},
		{"percent", Percent(5, 5), "100.0%"},
		{"percent", Percent(1, 0), "?"},
		{"span", Span(0), "0 s"},
		{"span", Span(-time.Second), "0 s"},
		{"span", Span(2100 * time.Millisecond), "2.1 s"},
		{"span", Span(38 * time.Second), "38 s"},
		{"whole", Whole(90 * time.Second), "90 s"},
		{"whole", Whole(2 * time.Minute), "2 min"},
		{"whole", Whole(150 * time.Second), "2 min 30 s"},
		{"whole", Whole(83 * time.Minute), "83 min"},
		{"span", Span(67 * time.Minute), "67 min"},
		{"span", Span(5 * time.Hour), "5 h"},
		{"span", Span(49 * time.Hour), "2 days"},
		{"rough", Rough(33 * time.Second), "40 s"},
		{"rough", Rough(67*time.Minute + 20*time.Second), "67 min"},
		{"rough", Rough(170 * time.Minute), "about 3 h"},
		{"rough", Rough(50 * time.Hour), "about 2 days"},
		{"ago", Ago(time.Time{}, noon), "never"},
		{"ago", Ago(noon.Add(-4700*time.Millisecond), noon), "4 s ago"},
		{"ago", Ago(noon.Add(time.Hour), noon), "0 s ago"},
		{"at", At(noon.Add(9*time.Minute), noon), "12:09 UTC"},
		{"at a moment that is near", At(noon.Add(250*time.Millisecond), noon), "12:00:01 UTC"},
		{"at a minute that is near", At(noon.Add(61*time.Second), noon), "12:01:01 UTC"},
		{"at", At(noon.Add(13*time.Hour), noon), "2026-11-22 01:00 UTC"},
		{"home", Home("/home/ana/x/state.db", home("/home/ana")), "~/x/state.db"},
		{"home", Home("/home/anabel/state.db", home("/home/ana")), "/home/anabel/state.db"},
		{"home", Home("/x", home("")), "/x"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
}

// Paces on one line are in one unit, that of the slowest.
func TestRates(t *testing.T) {
	for _, test := range []struct {
		paces []float64
		want  string
	}{
		{[]float64{4, 2}, "4.0/s 2.0/s"},
		{[]float64{4, 0.5}, "240/min 30/min"},
		{[]float64{0.5, 0}, "30/min 0/min"},
		{[]float64{2, 0.01, 0.5}, "7,200/h 36/h 1,800/h"},
		{[]float64{150, 157.4}, "150/s 157/s"},
	} {
		if got := strings.Join(Rates(test.paces...), " "); got != test.want {
			t.Errorf("rates(%v) = %q, want %q", test.paces, got, test.want)
		}
	}
}

// home returns an environment that has HOME only.
func home(dir string) func(string) string {
	return func(name string) string {
		if name == "HOME" {
			return dir
		}
		return ""
	}
}

// The paths of a file, and both of a link or of a new name, are left out.
func TestCause(t *testing.T) {
	for _, err := range []error{
		errors.New("no space"),
		&fs.PathError{Op: "open", Path: "/secret", Err: errors.New("no space")},
		&os.LinkError{Op: "rename", Old: "/secret", New: "/other", Err: errors.New("no space")},
		fmt.Errorf("/secret: %w", &os.LinkError{Op: "rename", Old: "/secret", New: "/other", Err: errors.New("no space")}),
	} {
		if got, want := Cause(err), "no space"; got != want {
			t.Errorf("Cause(%v) = %q, want %q", err, got, want)
		}
	}
}
