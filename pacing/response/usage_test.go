package response_test

import (
	"net/http"
	"testing"
	"time"

	"collect/pacing/response"
)

// TestMetaUsage: what is blocked is silent for the minutes that are named, also
// after a success; percentages alone ask for no silence.
func TestMetaUsage(t *testing.T) {
	const open = `{"1":[{"type":"ads_management","call_count":100,"total_cputime":25,"total_time":25,"estimated_time_to_regain_access":0}]}`
	for _, tc := range []struct {
		status int
		usage  []string
		class  response.Class
		hold   time.Duration
	}{
		{200, []string{open}, response.OK, -1},
		{200, []string{`{"1":[{"call_count":95,"estimated_time_to_regain_access":7}]}`}, response.OK, 7 * time.Minute},
		{200, []string{`{"1":[{"estimated_time_to_regain_access":3}],"2":[{"estimated_time_to_regain_access":9},{"estimated_time_to_regain_access":4}]}`}, response.OK, 9 * time.Minute},
		{200, []string{open, `{"2":[{"estimated_time_to_regain_access":2.5}]}`}, response.OK, 150 * time.Second},
		{403, []string{`{"1":[{"estimated_time_to_regain_access":5}]}`}, response.Throttle, 5 * time.Minute},
		{403, []string{open}, response.Forbidden, -1},
		{200, []string{`{"1":[{"estimated_time_to_regain_access":-5}]}`}, response.OK, -1},
		{200, []string{`{"1":[{"estimated_time_to_regain_access":1e30}]}`}, response.OK, -1},
		{200, []string{`{"1":[{"estimated_time_to_regain_access":999999999999}]}`}, response.OK, 24 * time.Hour},
		{200, []string{`{"1":[{"estimated_time_to_regain_access":"soon"}]}`}, response.OK, -1},
		{200, []string{`[]`, `{`, ``, `{"1":7}`}, response.OK, -1},
	} {
		r := response.Read(t0, tc.status, http.Header{"X-Business-Use-Case-Usage": tc.usage}, nil)
		if r.Class != tc.class || r.Hold != tc.hold {
			t.Errorf("%d %s: %s, hold %v, want %s, %v", tc.status, tc.usage, r.Class, r.Hold, tc.class, tc.hold)
		}
	}
}

// TestMetaAdAccount: an ad account that is used up is silent until its score is
// nothing again, and one that is not goes on.
func TestMetaAdAccount(t *testing.T) {
	for _, tc := range []struct {
		status int
		usage  string
		class  response.Class
		hold   time.Duration
	}{
		{200, `{"acc_id_util_pct":100,"reset_time_duration":60}`, response.OK, time.Minute},
		{200, `{"acc_id_util_pct":137.5,"reset_time_duration":60}`, response.OK, time.Minute},
		{200, `{"acc_id_util_pct":99.99,"reset_time_duration":60}`, response.OK, -1},
		{403, `{"acc_id_util_pct":100,"reset_time_duration":300}`, response.Throttle, 5 * time.Minute},
		{403, `{"acc_id_util_pct":50,"reset_time_duration":300}`, response.Forbidden, -1},
		{200, `{"acc_id_util_pct":100,"reset_time_duration":0}`, response.OK, -1},
		{200, `{"acc_id_util_pct":100}`, response.OK, -1},
		{200, `{"acc_id_util_pct":"all","reset_time_duration":60}`, response.OK, -1},
		{200, `[100]`, response.OK, -1},
	} {
		r := response.Read(t0, tc.status, http.Header{"X-Ad-Account-Usage": {tc.usage}}, nil)
		if r.Class != tc.class || r.Hold != tc.hold {
			t.Errorf("%d %s: %s, hold %v, want %s, %v", tc.status, tc.usage, r.Class, r.Hold, tc.class, tc.hold)
		}
	}
}

// TestPeriodOfAQuota: a quota that is used up tells its period by its name or in
// words, which is longer than the wait that may stand beside it.
func TestPeriodOfAQuota(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		status int
		body   string
		hold   time.Duration
		want   time.Duration
	}{
		{429, `{"error":{"details":[{"violations":[{"quotaId":"RequestsPerDay"}]},{"retryDelay":"32s"}]}}`, 32 * time.Second, day},
		{429, `{"error":{"details":[{"violations":[{"quotaId":"RequestsPerMonth"}]}]}}`, -1, 30 * day},
		{403, `{"error":{"errors":[{"reason":"dailyLimitExceeded"}]}}`, -1, day},
		{429, `{"policyName":"DAILY"}`, -1, day},
		{429, `{"message":"You have exceeded the MONTHLY quota for Requests on your plan"}`, -1, 30 * day},
		{429, `{"message":"Rate limit exceeded: free-models-per-day"}`, -1, day},
		{200, `{"success":false,"errors":[{"code":"607"}]}`, -1, day},
		{200, `{"status":"OVER_DAILY_LIMIT"}`, -1, day},
		{403, `{"error":{"errors":[{"reason":"quotaExceeded"}]}}`, -1, 0},
		{429, `{"error":{"code":"insufficient_quota"}}`, -1, 0},
		{429, `{"message":"Too many requests today"}`, -1, 0}, // a throttle
	} {
		r := response.Read(t0, tc.status, http.Header{}, []byte(tc.body))
		if r.Period != tc.want || r.Hold != tc.hold {
			t.Errorf("%d %s: %s, a quota of %v, hold %v, want %v, %v", tc.status, tc.body, r.Class, r.Period, r.Hold, tc.want, tc.hold)
		}
	}
}

// TestRouteOfAnAnswer: the bucket or resource that is named, and what is
// limited by it.
func TestRouteOfAnAnswer(t *testing.T) {
	for _, tc := range []struct {
		header     http.Header
		key, route string
	}{
		{http.Header{}, "", ""},
		{http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Resource": {"search"}}, "", "search"},
		{http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Bucket": {"abcd"}}, "abcd", "abcd"},
		{http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Bucket": {"abcd"}, "X-Ratelimit-Global": {"true"}}, "*", "abcd"},
	} {
		if r := response.Read(t0, 429, tc.header, nil); r.Key != tc.key || r.Route != tc.route {
			t.Errorf("%v: key %q, route %q, want %q, %q", tc.header, r.Key, r.Route, tc.key, tc.route)
		}
	}
}
