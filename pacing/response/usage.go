package response

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Percent is the quota unit of a provider that tells which share of a limit is
// used, and not its size. What remains is told of a hundred.
const Percent = "percent"

// usages are the headers of Meta's Graph API that tell the used part in percent,
// by account and kind of call. Each kind of call counts calls, time and processor
// time, and the fullest of them binds:
//
//	X-App-Usage: {"call_count":28,"total_time":25,"total_cputime":25}
//	X-Business-Use-Case-Usage: {"1784":[{"type":"ads_management","call_count":100,
//	  "total_cputime":12,"total_time":9,"estimated_time_to_regain_access":7}]}
//	X-Ad-Account-Usage: {"acc_id_util_pct":100,"reset_time_duration":60}
//
// An app and a business use case are counted over the last hour (Graph API, "Rate
// Limits"), a page over the last day ("Page-level Rate Limits").
var usages = []struct {
	header string
	window time.Duration
}{
	{"X-App-Usage", time.Hour},
	{"X-Business-Use-Case-Usage", time.Hour},
	{"X-Page-Usage", 24 * time.Hour},
	{"X-Ad-Account-Usage", 0},
	{"X-Fb-Ads-Insights-Throttle", 0},
}

// readUsage reads the shares that are used of limits. It returns how long access
// is blocked; a negative value if it is not, or not said. A share alone is no
// reason for silence: at 100, the number of an error tells who is over it.
func (l *limits) readUsage(h http.Header) (blocked time.Duration) {
	blocked = -1
	for _, u := range usages {
		for _, value := range h[u.header] {
			d := json.NewDecoder(strings.NewReader(value))
			d.UseNumber()
			var told any
			if d.Decode(&told) == nil {
				blocked = max(blocked, l.usage(told, strings.ToLower(u.header), u.window))
			}
		}
	}
	return blocked
}

// usage reads one object that tells the used part, or the objects inside of it. It
// returns the longest time for which access is blocked.
func (l *limits) usage(told any, name string, window time.Duration) (blocked time.Duration) {
	blocked = -1
	for _, inner := range asList(told) {
		blocked = max(blocked, l.usage(inner, name, window))
	}
	o := object(told)
	used := -1.0
	for key, value := range o {
		n, isNumber := value.(json.Number)
		if !isNumber {
			blocked = max(blocked, l.usage(value, name, window))
			continue
		}
		switch key {
		case "call_count", "total_time", "total_cputime", "acc_id_util_pct", "app_id_util_pct":
			if share, ok := parseNumber(n.String()); ok {
				used = max(used, share.float())
			}
		}
	}
	wait := waitIn(o, "estimated_time_to_regain_access", time.Minute)
	if used >= 100 { // it is always told, and means something only then
		wait = max(wait, waitIn(o, "reset_time_duration", time.Second))
	}
	if used >= 0 {
		if kind := text(o, "type"); kind != "" {
			name = kind
		}
		q := l.percent(name, used)
		q.Window, q.Reset = window, max(q.Reset, wait)
	}
	return max(blocked, wait)
}

// percent notes that so much of a hundred is used of a limit. Of several the
// fullest counts.
func (l *limits) percent(name string, used float64) *Quota {
	q := l.quota(name)
	q.Unit, q.Limit, q.Remaining = Percent, 100, stricter(q.Remaining, max(0, 100-used))
	return q
}

// waitIn returns what o[name] says in units, and a negative value for nothing.
func waitIn(o map[string]any, name string, unit time.Duration) time.Duration {
	said, _ := o[name].(json.Number)
	if n, ok := parseNumber(said.String()); ok && (n.whole > 0 || n.nanos > 0) {
		return capped(n.times(unit))
	}
	return -1
}
