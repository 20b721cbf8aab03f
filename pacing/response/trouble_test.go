package response_test

import (
	"net/http"
	"testing"
	"time"

	"collect/pacing/response"
)

// TestOwnTrouble: a provider that is behind, or overloaded by others, says so in its code.
func TestOwnTrouble(t *testing.T) {
	for body, want := range map[string]bool{
		`{"error":{"code":"maxlag","info":"Waiting for 10.64.0.1: 7.1 seconds lagged"}}`:         true,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:            true,
		`{"type":"error","error":{"type":"rate_limit_error","message":"Number of requests"}}`:    false,
		`{"error":{"code":"ratelimited","info":"You've exceeded your rate limit. Please wait"}}`: false,
	} {
		if r := response.Read(time.Now(), 429, http.Header{}, []byte(body)); response.OwnTrouble(r.Reason) != want {
			t.Errorf("%s: %q is trouble of its own: %t, want %t", body, r.Reason, !want, want)
		}
	}
}
