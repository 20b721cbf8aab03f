package response_test

import (
	"net/http"
	"strings"
	"testing"

	"collect/pacing/response"
)

// TestOrdinaryBodies: the words and numbers of a refusal are data wherever a
// provider does not refuse with them. A page that is taken for a refusal is
// asked for again until the budget ends.
func TestOrdinaryBodies(t *testing.T) {
	for _, body := range []string{
		// Numbers that are refusals elsewhere.
		`{"code":606,"data":[]}`, `{"code":"607","message":"ok"}`, `{"data":[{"code":606},{"code":607},{"code":615}]}`,
		`{"errors":[{"code":"606"}]}`, `{"success":true,"errors":[{"code":"607","message":"x"}]}`, `{"success":"false","errors":[{"code":"606"}]}`,
		`{"success":false,"errors":[]}`, `{"success":false,"errors":[{"code":"1003"}]}`, `{"success":false,"errors":["606"]}`, `{"success":false,"errors":"606"}`,
		`{"success":false,"result":[{"code":"606"}]}`, `{"success":false,"code":"606"}`,
		`{"retCode":10006}`, `{"retMsg":"OK","result":{"retCode":10006}}`, `{"retCode":0,"retMsg":"OK"}`, `{"retCode":"many","retMsg":"x"}`,
		`{"status":"1","infocode":"10003"}`, `{"infocode":"10003"}`, `{"status":0,"infocode":"10003"}`,
		`{"code":99991400}`, `{"code":0,"msg":"success","data":{"code":99991400,"msg":"x"}}`,
		`{"error_code":6,"error_msg":"x"}`, `{"error":{"error_code":6}}`, `{"error":{"error_code":7,"error_msg":"x"}}`, `{"response":{"error":{"error_code":6,"error_msg":"x"}}}`,
		`{"error":29,"message":"twenty-nine"}`, `{"code":20429}`, `{"status":429}`, `{"error":{"code":429}}`, `{"status_code":429,"items":[]}`,

		// A record that failed once, for reasons of its own.
		`{"id":"resp_1","object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"}}`,
		`{"id":7,"state":"failed","errors":[{"code":"TOO_MANY_REQUESTS"}]}`,
		`{"id":"j1","errors":[{"extensions":{"code":"THROTTLED"}}]}`,
		`{"id":1,"ok":false,"error":"ratelimited"}`,
		`{"id":"x","success":false,"errors":[{"code":"606","message":"x"}]}`,
		`{"last_error":{"code":"rate_limit_exceeded"},"job":"j1"}`,
		`{"data":[{"error":{"code":"rate_limit_exceeded"}}]}`, `[{"error":"rate_limited"}]`, `[{"errorCode":"REQUEST_LIMIT_EXCEEDED"}]`,

		// Usage, quotas and limits that are data.
		`{"usage":{"call_count":100,"total_time":100}}`, `{"usage":{"prompt_tokens":100,"total_tokens":100}}`, `{"acc_id_util_pct":100}`,
		`{"estimated_time_to_regain_access":30}`, `{"quota_limit":"QueriesPerDay"}`, `{"details":[{"metadata":{"quota_unit":"1/d/{project}"}}]}`,
		`{"error":{"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"60"}}}}`,
		`{"nextAccessTime":"2026-Nov-22 00:00:00+0000 UTC"}`, `{"RateLimitResetTime":"2026-11-22T00:00:00Z"}`,

		// Prose.
		`{"message":"You have exceeded a secondary rate limit"}`, `{"message":"Out of call volume quota. Quota will be replenished in 07:01:20."}`,
		`{"error_message":"You have exceeded your daily request quota for this API."}`, // no status that says so
		`{"title":"SEC.gov | Request Rate Threshold Exceeded"}`, `<html><title>SEC.gov | Request Rate Threshold Exceeded</title></html>`,
		`{"text":"Rate limit exceeded: free-models-per-day"}`,
		`{"fault":{"detail":{"errorcode":"policies.ratelimit.QuotaViolation"}}}`,
		`{"o:errorDetails":[{"o:errorCode":"CONCURRENCY_LIMIT_EXCEEDED"}]}`,
		`{"status":"OVERDUE"}`, `{"status":"OVER_BUDGET"}`, `{"documentation_url":"x","message":"hello"}`,
	} {
		for _, padded := range []string{body, body + strings.Repeat(" ", 2000)} { // short, and as long as a page
			if got := told(response.Read(t0, 200, http.Header{}, []byte(padded))); got != "ok" {
				t.Errorf("%s\n got %s, want ok", body, got)
				break
			}
		}
	}
}

// TestOrdinaryRefusals: a refusal that only speaks of limits is none of them.
func TestOrdinaryRefusals(t *testing.T) {
	for _, tc := range []struct {
		status int
		body   string
		want   string
	}{
		{400, `{"error":{"code":"SSS_INVALID_SEARCH_TYPE"}}`, "rejected"},
		{400, `{"code":606}`, "rejected"},
		{400, `{"code":99991401,"msg":"x"}`, "rejected"},
		{400, `{"fault":{"detail":{"errorcode":"policies.ratelimit.InvalidMessageWeight"}}}`, "rejected"},
		{400, `{"message":"The daily limit that you ask for exceeds 10"}`, "rejected"},
		{403, `{"message":"Quota will be replenished in 07:01:20."}`, "forbidden"},
		{403, `{"message":"You do not have the DAY limit permission"}`, "forbidden"},
		{403, `<html><head><title>Forbidden</title></head><body>Request Rate Threshold Exceeded</body></html>`, "forbidden"},
		{429, `{"message":"Rate limit exceeded: 10 requests per second, 5000 per day"}`, "throttle"}, // what is allowed, and not what is used up
		{429, `{"message":"Rate limit exceeded. You may send 5000 requests per day."}`, "throttle"},
		{429, `{"message":"Too many requests. The daily quota is fine."}`, "throttle"},
		{429, `{"error":{"details":[{"violations":[{"quotaId":"RequestsPerMinutePerProject"}]}]}}`, "throttle"},
		{429, `{"error":{"metadata":{"headers":{"X-RateLimit-Remaining":0,"X-RateLimit-Reset":null}}}}`, "throttle"},
		{429, `{"error":{"metadata":{"headers":["X-RateLimit-Remaining"]}}}`, "throttle"},
		{429, `{"nextAccessTime":"soon"}`, "throttle"},
		{429, `{"error_code":"REQUEST_LIMIT_EXCEEDED"}`, "throttle"},
		{429, `[{"errorCode":"REQUEST_LIMIT_EXCEEDED"}]`, "throttle"},
		{403, `{"errorCode":"REQUEST_LIMIT_EXCEEDED"}`, "quota"},
	} {
		if got := told(response.Read(t0, tc.status, http.Header{}, []byte(tc.body))); got != tc.want {
			t.Errorf("%d %s\n got %s, want %s", tc.status, tc.body, got, tc.want)
		}
	}
}
