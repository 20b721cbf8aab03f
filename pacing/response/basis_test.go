package response_test

import (
	"net/http"
	"testing"
	"time"

	"collect/pacing/response"
)

// TestBasis: a reading says why there is a silence, and which quota is used up.
func TestBasis(t *testing.T) {
	const secondary = `{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, tc := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   response.Basis
		hold   time.Duration
	}{
		{"Retry-After", 429, header("Retry-After", "7"), "", response.Basis{By: response.Asked}, 7 * time.Second},
		{"GitHub's secondary limit", 403, header(), secondary, response.Basis{By: response.Documented}, time.Minute},
		{"and with Retry-After", 403, header("Retry-After", "60"), secondary, response.Basis{By: response.Asked}, time.Minute},
		{"a wait in the body", 429, header(), `{"retry_after": 3}`, response.Basis{By: response.Asked}, 3 * time.Second},
		{"an announced end", 429, header("X-RateLimit-Limit-Minute", "60", "X-RateLimit-Remaining-Minute", "0", "X-RateLimit-Reset-Minute", "20"), "",
			response.Basis{By: response.Announced, Quota: "minute"}, 20 * time.Second},
		{"HubSpot's day", 429, header("X-HubSpot-RateLimit-Daily", "250000", "X-HubSpot-RateLimit-Daily-Remaining", "0"), `{"policyName": "DAILY"}`, response.Basis{Quota: "daily"}, -1},
		{"a code alone", 403, header(), `{"error": {"errors": [{"reason": "quotaExceeded"}]}}`, response.Basis{Quota: "quotaExceeded"}, -1},
	} {
		r := response.Read(time.Unix(1e9, 0), tc.status, tc.header, []byte(tc.body))
		if r.Basis != tc.want || r.Hold != tc.hold {
			t.Errorf("%s: a silence of %v by %+v, want %v by %+v", tc.name, r.Hold, r.Basis, tc.hold, tc.want)
		}
	}
}
