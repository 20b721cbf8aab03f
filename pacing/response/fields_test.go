package response_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"collect/pacing/response"
)

// FuzzStructuredFields: whatever name a limit has, and however its parameters
// are ordered and spaced, its numbers are read as they were written, and a
// field with anything malformed behind it is not read at all.
func FuzzStructuredFields(f *testing.F) {
	f.Add("default", uint32(100), uint32(5), uint32(30), uint32(60), true, "")
	f.Add(`per "minute", a;b=1\`, uint32(0), uint32(0), uint32(0), uint32(0), false, "")
	f.Add("a", uint32(1), uint32(1), uint32(1), uint32(1), true, `;r=x`)
	f.Fuzz(func(t *testing.T, name string, limit, remaining, reset, window uint32, spaced bool, tail string) {
		for _, c := range []byte(name) {
			if c < ' ' || c > '~' {
				return // no string of RFC 9651
			}
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
		sep := ";"
		if spaced {
			sep = " ; "
		}
		state := quoted + sep + fmt.Sprintf("r=%d", remaining) + sep + fmt.Sprintf("t=%d", reset)
		policy := quoted + sep + fmt.Sprintf("q=%d", limit) + sep + fmt.Sprintf("w=%d", window)
		h := http.Header{"Ratelimit": {state}, "Ratelimit-Policy": {policy}}
		if strings.HasPrefix(tail, ";r=") && strings.Trim(tail[3:], "0123456789.,;\" \\\t=") != "" && !strings.ContainsAny(tail[3:], ",;\"\\= \t0123456789") {
			h["Ratelimit"] = []string{state + tail}
			if got := response.Read(t0, 200, h, nil).Windows; len(got) != 0 {
				t.Errorf("%q: %+v, want nothing of a field with a malformed number", h, got)
			}
			return
		}
		got := response.Read(t0, 200, h, nil).Windows
		if len(got) != 1 {
			t.Fatalf("%q: %+v, want one limit", h, got)
		}
		q := got[0]
		if q.Limit != float64(limit) || q.Remaining != float64(remaining) || window > 0 && q.Window != capped(window) || q.Reset != capped(reset) {
			t.Errorf("%q: %+v", h, q)
		}
	})
}

// capped is a number of seconds that a provider may name.
func capped(seconds uint32) time.Duration {
	d := time.Duration(seconds) * time.Second
	if d > 365*24*time.Hour {
		d = 24 * time.Hour
	}
	return d
}
