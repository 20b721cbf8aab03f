package response_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/pacing/response"
)

// told is what a reading says, in words.
func told(r response.Reading) string {
	var out strings.Builder
	out.WriteString(string(r.Class))
	if r.Hold >= 0 {
		fmt.Fprintf(&out, ", hold %v", r.Hold)
	}
	if r.Key != "" {
		fmt.Fprintf(&out, ", key %s", r.Key)
	}
	if r.Cost != 0 {
		fmt.Fprintf(&out, ", cost %v", r.Cost)
	}
	if r.MaxRate != 0 {
		fmt.Fprintf(&out, ", %.4g/s", r.MaxRate)
	}
	for _, q := range r.Windows {
		fmt.Fprintf(&out, ", %s %v/%v", q.Name, q.Remaining, q.Limit)
		if q.Reset >= 0 {
			fmt.Fprintf(&out, " until %v", q.Reset)
		}
		if q.Window > 0 {
			fmt.Fprintf(&out, " of %v", q.Window)
		}
		if q.Unit != "" {
			fmt.Fprintf(&out, " %s", q.Unit)
		}
	}
	return out.String()
}

// TestEdgesOfBodies: where a code counts, and where the same words are a record
// or say nothing.
func TestEdgesOfBodies(t *testing.T) {
	long := func(n int) string { // a refusal of n bytes
		body := `{"error":"rate_limited","pad":""}`
		return body[:len(body)-2] + strings.Repeat("x", n-len(body)) + `"}`
	}
	cost := func(asked, most, left, restore string) string {
		return `{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":` + asked +
			`,"throttleStatus":{"maximumAvailable":` + most + `,"currentlyAvailable":` + left + `,"restoreRate":` + restore + `}}}}`
	}
	for _, tc := range []struct {
		status int
		body   string
		want   string
	}{
		{404, `{"error":"rate_limited"}`, "rejected"}, // that a thing is not there is no news of the pace
		{410, `{"error":"rate_limited"}`, "rejected"},
		{401, `{"error":"rate_limited"}`, "auth"},
		{399, ``, "ok"}, {400, ``, "rejected"},
		{400, `{"error":"rate_limited"}`, "throttle"},
		{400, ` [{"errorCode":"REQUEST_LIMIT_EXCEEDED"}]`, "quota"},
		{400, `"rate_limited"`, "rejected"},
		{400, long(64 << 10), "throttle"}, {400, long(64<<10 + 1), "rejected"}, // what is longer carries records
		{200, `{"ok":false,"error":"ratelimited"}`, "throttle"},
		{200, `{"ok":true,"error":"ratelimited"}`, "ok"},
		{200, `{"ok":"no","error":"ratelimited"}`, "ok"},
		{200, `{"status":"0","result":"Max rate limit reached"}`, "throttle"},
		{200, `{"status":"1","result":"Max rate limit reached"}`, "ok"},
		{200, `{"status":"0","result":"[] Max rate limit reached"}`, "ok"},
		{200, cost("100", "1000", "40", "50"), "throttle, hold 1.2s, cost 100, shopify-cost 40/1000 until 19.2s points"},
		{200, cost("0", "1000", "40", "50"), "throttle, hold 0s, shopify-cost 40/1000 until 19.2s points"},
		{200, cost("100", "0", "0", "50"), "throttle, hold 2s, cost 100, shopify-cost 0/0 until 0s points"},
		{200, cost("100", "-1", "40", "50"), "throttle"},
		{200, cost("100", "1000", "-1", "50"), "throttle"},
		{200, cost("100", "1000", "40", "0"), "throttle"},
		{200, `{"errors":[{"extensions":{"code":"THROTTLED"}}]}`, "throttle"},
		{200, `{"error":["EGeneral:Temporary lockout"]}`, "throttle"},
		{200, `{"status":"OVER_QUERY_LIMIT"}`, "throttle"},
		{200, `{"status":"rate_limited","id":1}`, "ok"},
		{200, `{"Note":"our API rate limit is high","Data":{}}`, "ok"},
		{429, `{"retry_after":2,"retry_after_ms":1500}`, "throttle, hold 1.5s"},
		{429, `{"retry_after":0}`, "throttle, hold 0s"},
		{429, `{"retry_after":1.5}`, "throttle, hold 1.5s"},
		{429, `{"retry_after":-1}`, "throttle"},
		{429, `{"retry_after":"soon"}`, "throttle"},
	} {
		if got := told(response.Read(t0, tc.status, http.Header{}, []byte(tc.body))); got != tc.want {
			t.Errorf("%d %.200s\n got %s\nwant %s", tc.status, tc.body, got, tc.want)
		}
	}
}

// TestWaitsOfBodies: a wait that a body names is the one that a header would
// name with the same digits, and never a little less.
func TestWaitsOfBodies(t *testing.T) {
	for cents := range 2000 {
		digits := strconv.FormatFloat(float64(cents)/100, 'f', -1, 64)
		got := response.Read(t0, 429, http.Header{}, []byte(`{"retry_after":`+digits+`}`)).Hold
		want := response.Read(t0, 429, http.Header{"Retry-After": {digits}}, nil).Hold
		if got != want || got != time.Duration(cents)*10*time.Millisecond {
			t.Fatalf("retry_after %s: hold %v, and by a header %v", digits, got, want)
		}
	}
}

// TestEdgesOfHeaders: what announces a limit, and what only looks like it.
func TestEdgesOfHeaders(t *testing.T) {
	for _, tc := range []struct {
		status int
		header string // lines
		want   string
	}{
		// A name may tell the window, with a number before it.
		{200, "X-RateLimit-Remaining-10Min: 5", "ok, 10min 5/-1 of 10m0s"},
		{200, "X-RateLimit-Remaining-Min: 5", "ok, min 5/-1 of 1m0s"},
		{200, "X-RateLimit-Remaining-09Sec: 5", "ok, 09sec 5/-1 of 9s"},
		{200, "X-RateLimit-Remaining-0Sec: 5", "ok, 0sec 5/-1 of 1s"},
		{200, "X-RateLimit-Remaining-9999Sec: 5", "ok, 9999sec 5/-1 of 2h46m39s"},
		{200, "X-RateLimit-Remaining-10000Sec: 5", "ok, 10000sec 5/-1 of 1s"},
		{200, "X-RateLimit-Remaining-1.5Sec: 5", "ok, 1.5sec 5/-1 of 5s"},
		{200, "X-RateLimit-Remaining-Day: 5", "ok, day 5/-1 of 24h0m0s"},
		{200, "X-RateLimit-Remaining-Daily: 5", "ok, daily 5/-1 of 24h0m0s"},
		{200, "X-DayLimit-Remaining: 7\nX-DayLimit-Limit: 10", "ok, daylimit 7/10 of 24h0m0s"},

		// What announces nothing.
		{200, "X-Page-Limit: 50", "ok"},
		{200, "X-RateLimit-Policy: 50", "ok"},
		{200, "X-RateLimit-Limit: many", "ok"},
		{200, "X-RateLimit-Used: 5", "ok"},
		{200, "X-HubSpot-RateLimit-Interval-Milliseconds: 10000", "ok"},

		// Zero is a number, and none is not zero.
		{200, "X-RateLimit-Limit: 0", "ok, x-ratelimit -1/0"},
		{200, "X-RateLimit-Reset: 0", "ok, x-ratelimit -1/-1 until 0s"},
		{200, "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 0", "ok, x-ratelimit 0/10"},
		{200, "X-RateLimit-Limit: 10\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 0", "ok, hold 0s, x-ratelimit 0/10 until 0s"},

		// The limit from what is used and what remains, if nobody told it.
		{200, "X-RateLimit-Used: 3\nX-RateLimit-Remaining: 0", "ok, x-ratelimit 0/3"},
		{200, "X-RateLimit-Used: 3\nX-RateLimit-Remaining: 7\nX-RateLimit-Limit: 99", "ok, x-ratelimit 7/99"},
		{200, "X-RateLimit-Used: 3\nX-RateLimit-Remaining: 7\nX-RateLimit-Limit: 0", "ok, x-ratelimit 7/0"},
		{200, "X-RateLimit-Used: 3\nX-RateLimit-Reset: 7", "ok, x-ratelimit -1/-1 until 7s"},

		// The relative form of a reset wins, and one that cannot be read is none.
		{200, "X-RateLimit-Reset: 1795255260\nX-RateLimit-Reset-After: 5", "ok, x-ratelimit -1/-1 until 5s"},
		{200, "X-RateLimit-Reset: 90\nX-RateLimit-Resets-In: 5", "ok, x-ratelimit -1/-1 until 5s"},
		{200, "X-RateLimit-Reset: 90\nX-RateLimit-Reset-After: soon", "ok, x-ratelimit -1/-1 until 1m30s"},
		{200, "X-RateLimit-Reset-In: 5", "ok, x-ratelimit -1/-1 until 5s"},

		// The policies behind a limit: only the one of this limit tells its window.
		{200, "RateLimit-Limit: 100, 100;w=60, 5;w=1", "ok, ratelimit -1/100 of 1m0s"},
		{200, "RateLimit-Limit: 100, 100;w=x, 5;w=1", "ok, ratelimit -1/100"},
		{200, "RateLimit-Limit: 100, 100", "ok, ratelimit -1/100"},

		// Of two layers that count, the stricter binds, on one line or on two.
		{200, "X-RateLimit-Remaining: 40\nX-RateLimit-Remaining: 7", "ok, x-ratelimit 7/-1"},
		{200, "X-RateLimit-Remaining: 7\nX-RateLimit-Remaining: 40", "ok, x-ratelimit 7/-1"},
		{200, "X-RateLimit-Remaining: 40, 7", "ok, x-ratelimit 7/-1"},
		{200, "X-RateLimit-Limit: 60\nX-RateLimit-Max: 50", "ok, x-ratelimit -1/50"},
		{200, "X-RateLimit-Reset: 30\nX-RateLimit-Reset: 50", "ok, x-ratelimit -1/-1 until 50s"},
		{200, "X-RateLimit-Reset: 50\nX-RateLimit-Reset: 30", "ok, x-ratelimit -1/-1 until 50s"},
		{200, "X-RateLimit-Reset-After: 5\nX-RateLimit-Reset-After: 9\nX-RateLimit-Reset: 90", "ok, x-ratelimit -1/-1 until 9s"},

		// The window of a limit, and the limit by another name.
		{200, "X-Rate-Limit-Limit: 50\nX-Rate-Limit-Interval: 1s", "ok, 50/s, x-rate-limit -1/50 of 1s"},
		{200, "X-RateLimit-Limit: 50\nX-RateLimit-Interval-Ms: 500", "ok, 100/s, x-ratelimit -1/50 of 500ms"},
		{200, "X-RateLimit-Limit: 50\nX-RateLimit-Window: 7200", "ok, x-ratelimit -1/50 of 2h0m0s"}, // a budget, and no pace
		{200, "X-RateLimit-Limit: 50\nX-RateLimit-Interval: 0", "ok, x-ratelimit -1/50"},
		{200, "X-RateLimit-Interval: 1s", "ok"},
		{200, "X-RateLimit-Window-Remaining: 5", "ok, window 5/-1"}, // the name of a dimension
		{200, "X-RateLimit-Total: 50\nX-RateLimit-Remaining: 7", "ok, x-ratelimit 7/50"},
		{200, "X-RateLimit-Total: 50\nX-RateLimit-Remaining: 7\nX-RateLimit-Limit: 9", "ok, x-ratelimit 7/9"},
		{200, "RateLimit-Limit: 100;w=21600", "ok, ratelimit -1/100 of 6h0m0s"},
		{200, "RateLimit-Limit: 10, 10;w=1;name=\"a\", 1000;w=3600", "ok, ratelimit -1/10 of 1s"},
		{200, "RateLimit-Limit: 10\nRateLimit-Policy: 10;w=60", "ok, 0.1667/s, ratelimit -1/10 of 1m0s"},
		{200, "RateLimit-Limit: 10\nRateLimit-Policy: 11;w=60", "ok, 0.1833/s, ratelimit -1/10"},

		// A comma may stand for thousands, if there is a fraction behind it.
		{200, "X-RateLimit-Remaining: 1,200.00", "ok, x-ratelimit 1200/-1"},
		{200, "X-RateLimit-Remaining: 1,200", "ok, x-ratelimit 1/-1"},
		{200, "X-RateLimit-Remaining: 1,20.00", "ok, x-ratelimit 1/-1"},

		// Strava's pairs end with the quarter of the hour and with the day.
		{200, "Date: Sat, 21 Nov 2026 23:59:59 GMT\nX-RateLimit-Limit: 6,30\nX-RateLimit-Usage: 4,27", "ok, x-ratelimit-15min 2/6 until 1s of 15m0s, x-ratelimit-day 3/30 until 1s of 24h0m0s"},
		{200, "X-RateLimit-Limit: 6,30\nX-RateLimit-Usage: 4", "ok, x-ratelimit -1/6"},
		{200, "X-RateLimit-Limit: 6\nX-RateLimit-Usage: 4,27", "ok, x-ratelimit -1/6"},

		// Vendors of their own.
		{200, "X-Shopify-Shop-Api-Call-Limit: 32/40", "ok, x-shopify-shop-api-call-limit 8/40"},
		{200, "X-Shopify-Shop-Api-Call-Limit: 44/40", "ok, x-shopify-shop-api-call-limit 0/40"},
		{200, "X-Shopify-Shop-Api-Call-Limit: 40", "ok"},
		{200, "X-Shopify-Shop-Api-Call-Limit: x/40", "ok"},
		{200, "X-Shopify-Shop-Api-Call-Limit: 32/x", "ok"},
		{200, "Sforce-Limit-Info: api-usage=18/100, api-bursts=1/750; per-app=2/5", "ok, api-bursts 749/750, api-usage 82/100 of 24h0m0s, per-app 3/5"},

		// The fields of the draft.
		{200, "RateLimit: \"a\";r=5;t=7\nRateLimit-Policy: \"a\";q=10;w=60", "ok, 0.25/s, a 5/10 until 7s of 1m0s"},
		{200, "RateLimit-Policy: \"a\";q=10;w=3600", "ok, 0.002778/s"},
		{200, "RateLimit-Policy: \"a\";q=10;w=3601", "ok"}, // longer than a pace
		{200, "RateLimit-Policy: \"a\";q=0;w=60", "ok"},
		{200, "RateLimit-Policy: \"a\";q=10;w=0", "ok"},
		{200, "RateLimit-Policy: \"a\";q=10;w=60;qu=\"content-bytes\"", "ok"},
		{200, "RateLimit-Policy: \"a\";q=10;w=60, \"b\";q=5;w=60", "ok, 0.08333/s"}, // the strictest
		{200, "RateLimit-Policy: \"a\";q=5;w=60, \"b\";q=10;w=60", "ok, 0.08333/s"},
		{200, "Beta-RateLimit-Policy: \"a\";q=10;w=60\nBeta-RateLimit: \"a\";r=5", "ok, a 5/10 of 1m0s points"},
		{200, "RateLimit: \"a\";r=5\nRateLimit-Policy: \"a\";q=10;w=0", "ok, a 5/10"},
		{200, "RateLimit: \"a\";r=5;t=0.5\nRateLimit-Policy: \"a\";q=10;w=60", "ok, 0.25/s, a 5/10 until 500ms of 1m0s"},
		{200, "RateLimit: limit=100, remaining=50, reset=5", "ok, ratelimit 50/100 until 5s"},
		{200, "RateLimit: \"", "ok"},
		{200, "RateLimit: ,", "ok"},
		{200, "RateLimit: \"a\";r=5, ,\"b\";r=6", "ok"},
		{200, "RateLimit: \"a\";r=5, ;r=6", "ok"},
		{200, `RateLimit: "a\";b";r=5`, `ok, a";b 5/-1`},

		// A refusal, and one end that is named: that is when. But not if more
		// is left, nor if the end is so far that it is no pace's.
		{429, "X-RateLimit-Limit: 10\nX-RateLimit-Reset: 90", "throttle, hold 1m30s, x-ratelimit -1/10 until 1m30s"},
		{429, "X-RateLimit-Limit: 10\nX-RateLimit-Reset: 90\nX-RateLimit-Remaining: 3", "throttle, x-ratelimit 3/10 until 1m30s"},
		{429, "X-RateLimit-Remaining-Minute: 3\nX-RateLimit-Limit: 10\nX-RateLimit-Reset: 90", "throttle, minute 3/-1 of 1m0s, x-ratelimit -1/10 until 1m30s"},
		{429, "X-RateLimit-Limit: 10\nX-RateLimit-Reset: 3601", "throttle, x-ratelimit -1/10 until 1h0m1s"},
		{403, "X-RateLimit-Limit: 10\nX-RateLimit-Reset: 90", "forbidden, x-ratelimit -1/10 until 1m30s"},
		{418, "", "rejected"}, {418, "Retry-After: 7", "throttle, hold 7s"},

		// A time to wait makes a throttle of a refusal, and 0 is a time.
		{403, "", "forbidden"},
		{403, "Retry-After: 0", "throttle, hold 0s"},
		{403, "Retry-After: 7", "throttle, hold 7s"},
		{403, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 9", "throttle, hold 9s, x-ratelimit 0/-1 until 9s"},
		{200, "Retry-After: 7", "ok"},
		{400, "Retry-After: 7", "rejected, hold 7s"},
		{429, "Retry-After-Ms: 0\nRetry-After: 7", "throttle, hold 0s"}, // finer, and wins

		// A cached answer tells old limits.
		{200, "Age: 9\nX-RateLimit-Remaining: 5", "ok"},
		{200, "Age: 0\nX-RateLimit-Remaining: 5", "ok, x-ratelimit 5/-1"},
	} {
		h := http.Header{}
		for line := range strings.SplitSeq(tc.header, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				h.Add(name, value)
			}
		}
		for range 3 { // headers come in any order
			if got := told(response.Read(t0, tc.status, h, nil)); got != tc.want {
				t.Errorf("%d\n%s\n got %s\nwant %s", tc.status, tc.header, got, tc.want)
				break
			}
		}
	}
}

// TestEdgesOfWaits: a number is read by its size, to the last one of each kind,
// and what is no number is none.
func TestEdgesOfWaits(t *testing.T) {
	at := func(seconds int64) http.Header {
		return http.Header{"Date": {time.Unix(seconds, 0).UTC().Format(http.TimeFormat)}}
	}
	for _, tc := range []struct {
		header http.Header
		after  string
		want   time.Duration
	}{
		{http.Header{}, "999999999", 24 * time.Hour}, // seconds, and more than anybody means
		{at(999999990), "1000000000", 10 * time.Second},
		{at(99999999990), "99999999999", 9 * time.Second},
		{http.Header{}, "100000000000", 0}, // milliseconds, of 1973
		{http.Header{}, "99999999999999", 24 * time.Hour},
		{http.Header{}, "100000000000000", 0}, // microseconds, of 1973
		{http.Header{}, "99999999999999999", 24 * time.Hour},
		{http.Header{}, "100000000000000000", 0}, // nanoseconds, of 1973
		{http.Header{}, "9223372036854775806", 24 * time.Hour}, {http.Header{}, "9223372036854775807", 24 * time.Hour},
		{http.Header{}, "1s", time.Second}, {http.Header{}, "0s", 0}, {http.Header{}, "+1s", -1}, {http.Header{}, "-1s", -1},
		{http.Header{}, "00:00:09", 9 * time.Second}, {http.Header{}, "00:00:00.5", 500 * time.Millisecond},
		{http.Header{}, "00:00.5:09", -1}, {http.Header{}, "00:x:09", -1},
		{http.Header{}, "0:0:1000000", 1000000 * time.Second}, {http.Header{}, "0:0:1000001", -1},
		{http.Header{}, "1/", -1}, {http.Header{}, "1:", -1}, {http.Header{}, "1.:", -1}, {http.Header{}, "9.09", 9090 * time.Millisecond},
		{http.Header{}, "99999999999999999990.5", 24 * time.Hour},
	} {
		tc.header.Set("Retry-After", tc.after)
		if got := response.Read(t0, 429, tc.header, nil).Hold; got != tc.want {
			t.Errorf("Retry-After %q at %s: hold %v, want %v", tc.after, tc.header.Get("Date"), got, tc.want)
		}
	}
}
