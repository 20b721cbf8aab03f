package jsonout_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"collect/internal/jsonout"
)

// Every object of JSON says its version.
func TestPrint(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{struct {
			A int `json:"a"`
		}{1}, `{"v":1,"a":1}`},
		{struct{}{}, `{"v":1}`},
		{[]struct {
			A string `json:"a"`
		}{{"<b>"}, {"]"}}, `[{"v":1,"a":"<b>"},{"v":1,"a":"]"}]`},
		{[]int{}, `[]`},
		{struct {
			V int `json:"v"`
			A int `json:"a"`
		}{1, 2}, `{"v":1,"a":2}`},
	} {
		var b bytes.Buffer
		if err := jsonout.Print(&b, test.value); err != nil || b.String() != test.want+"\n" {
			t.Errorf("Print(%v) = %q, %v, want %s", test.value, b.String(), err, test.want)
		}
	}
}

func TestTime(t *testing.T) {
	late := time.Date(2026, 11, 21, 13, 0, 0, 5e6, time.FixedZone("CET", 3600))
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{late, `"2026-11-21T12:00:00.005Z"`},
		{time.Time{}, "null"},
	} {
		if got, err := json.Marshal(jsonout.Time(test.at)); err != nil || string(got) != test.want {
			t.Errorf("Time(%v) = %s, %v, want %s", test.at, got, err, test.want)
		}
	}
}
