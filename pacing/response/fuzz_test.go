package response_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"collect/pacing/response"
)

const year = 365 * 24 * time.Hour

// FuzzRetryAfter: whatever a provider sends, the wait is none or sane.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "0", "2.0", "64.57", "-5", "99999999999999999999", "soon", "Sat, 21 Nov 2026 10:01:30 GMT",
		"Saturday, 21-Nov-26 10:00:10 GMT", "Sat Nov 21 10:00:10 2026", "2026-11-21T10:01Z", "1795255264.57", "1795255264570",
		"6m0s", "00:00:00.033", "5, 30", "Sat Nov 21 2026 10:00:10 GMT+0000 (Coordinated Universal Time)", "1e9", "NaN", "+5", ".5", "5.",
		"PT1M30S", "P400D", "P1DT", "2.00:00:00", "999999.00:00:01", `"30"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"Retry-After", "Retry-After-Ms"} {
			d := response.RetryAfter(http.Header{name: {s}}, t0)
			if d > year {
				t.Errorf("%s: %q is %v", name, s, d)
			}
			if again := response.RetryAfter(http.Header{name: {"  " + s + " "}}, t0); again != d {
				t.Errorf("%s: %q is %v, with blanks around it %v", name, s, d, again)
			}
		}
	})
}

// TestRetryAfterGrammar is what people and machines send.
func TestRetryAfterGrammar(t *testing.T) {
	const none = -1
	for _, tc := range []struct {
		value string
		want  time.Duration
	}{
		{"12", 12 * time.Second}, {"0.25", 250 * ms}, {" 30 ", 30 * time.Second}, {"0", 0}, {"30.5", 30500 * ms},
		{"0.0001", ms}, // rounded up
		{"Sat, 21 Nov 2026 10:00:10 GMT", 10 * time.Second}, {"Sat, 21 Nov 2026 09:59:50 GMT", 0},
		{"2026-11-21T10:00:10Z", 10 * time.Second}, {"1795255210", 10 * time.Second}, {"1795255210000", 10 * time.Second},
		{"31536000", year}, {"31536001", 24 * time.Hour}, {"Sat, 21 Nov 2099 10:00:10 GMT", 24 * time.Hour},
		{"99999999999999999999", 24 * time.Hour}, {"9223372036854775807", 24 * time.Hour}, {"9223372037", 24 * time.Hour}, // in the year 2262

		{"not a date", none}, {"30 seconds", none}, {"-5", none}, {"+5", none}, {"NaN", none}, {"Infinity", none}, {"1e3", none}, {"0x10", none}, {"", none},
		{strings.Repeat("9", 400), 24 * time.Hour},
	} {
		if got := response.RetryAfter(http.Header{"Retry-After": {tc.value}}, t0); got != tc.want {
			t.Errorf("Retry-After %q is %v, want %v", tc.value, got, tc.want)
		}
	}
}

// FuzzRead: a response of any shape has a class, sane waits and sane limits.
func FuzzRead(f *testing.F) {
	f.Add(429, "Retry-After: 5\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", `{"error":{"code":"rate_limited"}}`)
	f.Add(200, "RateLimit: \"a\";r=0;t=5\nRateLimit-Policy: \"a\";q=10;w=60", ``)
	f.Add(200, "RateLimit: limit=100, remaining=0, reset=5", `{"errors":[{"extensions":{"code":"THROTTLED"}}]}`)
	f.Add(403, "Sforce-Limit-Info: api-usage=100001/100000; x=/\nX-Shopify-Shop-Api-Call-Limit: 40/40", `[{"errorCode":"REQUEST_LIMIT_EXCEEDED"}]`)
	f.Add(200, "RateLimit-Limit: 100, 100;w=60, 5;w=-1\nRateLimit-Remaining: 1e9\nRateLimit-Reset: 99999999999999", "null")
	f.Add(429, "x-ms-ratelimit-remaining-resource: a3Min;1,b;2\nX-HubSpot-RateLimit-Interval-Milliseconds: 10000", `{"retry_after":1e300}`)
	f.Add(200, `RateLimit: "a\";r=1`, `{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":1e300,"throttleStatus":{"maximumAvailable":1e300,"currentlyAvailable":0,"restoreRate":1e-300}}}}`)
	f.Add(429, "X-RateLimit-Limit: 600,30000\nX-RateLimit-Usage: 692,29300\nX-RateLimit-Interval-Ms: 1\nX-RateLimit-Remaining-9999Month: 1,200.00", `{"error":["EService:Throttled: 1795255260"]}`)
	f.Add(400, "X-Ad-Account-Usage: {\"acc_id_util_pct\":100,\"reset_time_duration\":1e9}", `<Error><Code>SlowDown</Code></Error>`)
	f.Add(202, "X-Amzn-Waf-Action: challenge\nX-Rl: 0\nX-Ttl: 44\nX-RateLimit-Window-Size: 600s\nX-RateLimit: 20000", `{"ok":false,"error":"invalid_auth"}`)
	f.Add(429, "RateLimit-Policy: \"fixed window\";\"api\";q=500;w=300\nX-RateLimit-Retry-After: 1795255260000000\nX-RateLimit-Next: 2026-11-21T10:00:21Z", `{"code":8,"message":"x","details":[{"retryDelay":"3.5s"}]}`)
	f.Add(429, "X-Mashery-Error-Code: ERR_403_DEVELOPER_OVER_RATE", `{"message":"You have exceeded the MONTHLY quota for Requests","details":{"retry_after_ms":1e300},"reset_at":"9999-12-31T23:59:59Z"}`)
	f.Add(200, "X-App-Usage: {\"call_count\":110,\"total_time\":1e9}\nX-Business-Use-Case-Usage: {\"1\":[{\"type\":\"x\",\"call_count\":97,\"estimated_time_to_regain_access\":99999999999}]}", `{"success":false,"errors":[{"code":"606"}]}`)
	f.Add(200, "Retry-After: 27\nX-RateLimit-Delay: 2.508\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1795255480\nX-RateLimit-Resource: a", `{"retCode":10006,"retMsg":"x"}`)
	f.Add(200, "X-Rate-Limit-Time-Reset-Ms: 15000\nX-Rate-Limit-Requests-Left: 149\nX-Rate-Limit-Time-Window-Ms: 30000\nX-Ms-Throttle-Limit-Percentage: 1.8", `{"error":{"error_code":6,"error_msg":"x"}}`)
	f.Add(429, "X-Current-Token-Count: 0\nX-Next-Replenish-Time: 1795255380000\nX-LS-API-Bucket-Level: 61/60", `{"error":{"message":"exceeded: per-day","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"9999999999999999"}}}}`)
	f.Add(403, "", `<html><title>SEC.gov | Request Rate Threshold Exceeded</title>`)
	f.Fuzz(func(t *testing.T, status int, header, body string) {
		h := http.Header{}
		for line := range strings.SplitSeq(header, "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok {
				h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
		r := response.Read(t0, status, h, []byte(body))
		if r.Class == "" || r.Hold > year {
			t.Errorf("class %q, hold %v", r.Class, r.Hold)
		}
		if status == 401 && r.Class != "auth" {
			t.Errorf("401 is %s", r.Class)
		}
		if r.Class == "ok" && status >= 400 {
			t.Errorf("status %d is ok", status)
		}
		for _, q := range r.Windows {
			name, limit, remaining, reset, window := q.Name, q.Limit, q.Remaining, q.Reset, q.Window
			if limit < -1 || remaining < -1 || reset < -1 || reset > year || window < 0 || window > year {
				t.Errorf("%s: limit %v, remaining %v, reset %v, window %v", name, limit, remaining, reset, window)
			}
		}
		if again := response.Read(t0, status, h, []byte(body)); again.Hold != r.Hold || again.Class != r.Class || len(again.Windows) != len(r.Windows) {
			t.Errorf("read again: %+v, then %+v", r, again)
		}
	})
}
