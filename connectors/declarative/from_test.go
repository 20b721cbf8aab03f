package declarative_test

import (
	"testing"

	"collect/connectors/declarative"
)

// TestCheckMark: what a person may go on from is written like the marks that
// the provider gives out.
func TestCheckMark(t *testing.T) {
	for _, test := range []struct {
		since, sample, mark string
		ok, time            bool
	}{
		{"order: asc", `"2024-01-31T10:00:00Z"`, "2024-01-31T10:00:00Z", true, true},
		{"order: asc", `"2024-01-31T10:00:00Z"`, "2024-01-31", true, true},
		{"order: asc", `"2024-01-31T10:00:00Z"`, "31.1.2024", false, false},
		{"order: asc", `"2024-01-31T10:00:00Z"`, "2024-01-32", false, false},
		{"order: asc", `"2024-01-31T10:00:00Z"`, "1706659200", false, false},
		{"order: asc", `null`, "2024-01-31", true, true},
		{"order: asc", `null`, "latest", false, false},
		{"order: asc", `4711`, "4712", true, false},
		{"order: asc", `4711`, "2024-01-31", false, false},
		{"order: asc", `"01JD8Z"`, "01JD9A", true, false},
		{"order: asc, format: unix", `1706659200`, "1706659200", true, true},
		{"order: asc, format: unix", `1706659200`, "2024-01-31", true, true},
		{"order: asc, format: unix", `1706659200`, "soon", false, false},
		{"order: asc, format: date", `"2024-01-31T10:00:00Z"`, "12e99", false, false},
	} {
		spec, err := declarative.Parse("feed.yaml", []byte(feedFile(test.since)))
		if err != nil {
			t.Fatal(err)
		}
		at, err := spec.CheckMark("things", test.mark, []byte(`{"id":1,"at":`+test.sample+`}`))
		if (err == nil) != test.ok || at.IsZero() == test.time {
			t.Errorf("%s, records with %s: %q is the mark of %v (%v), want ok %t, a time %t", test.since, test.sample, test.mark, at, err, test.ok, test.time)
		}
	}
	spec, err := declarative.Parse("feed.yaml", []byte(file("page: {none: true}")))
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{"things", "nothing"} {
		if _, err := spec.CheckMark(stream, "2024-01-31", nil); err == nil {
			t.Errorf("%s has no marks, and takes one", stream)
		}
	}
}
