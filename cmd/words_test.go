package cmd

import (
	"testing"
	"time"
)

func TestNumbersForPeople(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"count", count(0), "0"},
		{"count", count(999), "999"},
		{"count", count(1_000), "1,000"},
		{"count", count(1_176_491), "1,176,491"},
		{"count", count(-1_234), "-1,234"},
		{"counted", counted(1, "gap", "gaps"), "1 gap"},
		{"counted", counted(0, "gap", "gaps"), "0 gaps"},
		{"rate", rate(3.44), "3.4/s"},
		{"rate", rate(0.999), "1.0/s"},
		{"rate", rate(0.5), "30/min"},
		{"rate", rate(0.16667), "10/min"},
		{"rate", rate(0.01), "36/h"},
		{"rate", rate(4999.7), "5,000/s"},
		{"rate", rate(0), "0/s"},
		{"percent", percent(404, 812), "49.7%"},
		{"percent", percent(9_999, 10_000), "99.9%"},
		{"percent", percent(1<<60-1, 1<<60), "99.9%"},
		{"percent", percent(5, 5), "100.0%"},
		{"percent", percent(1, 0), "?"},
		{"span", span(0), "0 s"},
		{"span", span(-time.Second), "0 s"},
		{"span", span(2100 * time.Millisecond), "2.1 s"},
		{"span", span(38 * time.Second), "38 s"},
		{"span", span(67 * time.Minute), "67 min"},
		{"span", span(5 * time.Hour), "5 h"},
		{"span", span(49 * time.Hour), "2 days"},
		{"rough", rough(33 * time.Second), "40 s"},
		{"rough", rough(67*time.Minute + 20*time.Second), "67 min"},
		{"rough", rough(170 * time.Minute), "about 3 h"},
		{"rough", rough(50 * time.Hour), "about 2 days"},
		{"ago", ago(time.Time{}, noon), "never"},
		{"ago", ago(noon.Add(-4700*time.Millisecond), noon), "4 s ago"},
		{"ago", ago(noon.Add(time.Hour), noon), "0 s ago"},
		{"at", at(noon.Add(9*time.Minute), noon), "12:09 UTC"},
		{"at", at(noon.Add(13*time.Hour), noon), "2026-11-22 01:00 UTC"},
		{"home", home("/home/ana/x/state.db", environ("HOME=/home/ana")), "~/x/state.db"},
		{"home", home("/home/anabel/state.db", environ("HOME=/home/ana")), "/home/anabel/state.db"},
		{"home", home("/x", environ("")), "/x"},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
}
