package response

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"collect/internal/lazy"
)

// AtOnce is the quota unit for requests in flight, by
// draft-ietf-httpapi-ratelimit-headers-10.
const AtOnce = "concurrent-requests"

// atOnceSpent reports whether q is a limit of requests in flight, and none is left.
func atOnceSpent(q Quota) bool { return q.Unit == AtOnce && q.Remaining == 0 }

// readLimits reads the announced limits of h into r, and returns how long access
// is blocked beside them; a negative value if it is not. The names follow a few
// families, which vendors mix freely:
//
//	RateLimit: "name";r=50;t=30         with RateLimit-Policy: "name";q=100;w=60
//	X-RateLimit-Remaining               role after the family
//	x-ratelimit-remaining-requests      a dimension after the role, or before it
//	X-MinLimit-Remaining                a family per window
//	X-Rate-Limit-Interval: 1s           the window of a limit
//	X-Gorgias-Account-Api-Call-Limit: 1/40   how much of the limit is used
//
// and a handful of vendors have one of their own.
func readLimits(r *Reading, h http.Header, now time.Time) (blocked time.Duration) {
	l := limits{now: now, byName: map[string]*Quota{}}
	for key, values := range h {
		if len(values) == 0 || !strings.Contains(key, "imit") && !strings.Contains(key, "uota") &&
			!strings.Contains(key, "omplexity") && !strings.Contains(key, "ucket") {
			continue
		}
		name := strings.ToLower(key)
		for _, value := range values { // more than one: two layers count, and the stricter binds
			if !l.vendor(r, name, value) {
				l.family(name, strings.TrimSpace(value))
			}
		}
	}
	for _, own := range unlike {
		if left := h.Get(own.remaining); left != "" {
			name := strings.ToLower(own.remaining)
			l.set(name, place{role: "remaining"}, left)
			l.set(name, place{role: "limit"}, h.Get(own.limit))
			for _, reset := range own.resets {
				l.set(name, place{role: "reset", unit: time.Second, relative: reset == "X-Ttl"}, h.Get(reset))
			}
		}
	}
	l.structured(r, h)
	l.strava(h)
	blocked = l.readUsage(h)
	if len(l.byName) == 0 {
		return blocked
	}
	l.complete(r)
	l.rename(r, h)
	for _, q := range l.byName {
		if q.Limit < 0 && q.Remaining < 0 && q.Reset < 0 {
			continue
		}
		r.Windows = append(r.Windows, *q)
	}
	slices.SortFunc(r.Windows, func(a, b Quota) int { return strings.Compare(a.Name, b.Name) })
	return blocked
}

// unlike are the limits whose headers do not speak of one.
var unlike = []struct {
	remaining, limit string
	resets           []string
}{
	{"X-Rl", "", []string{"X-Ttl"}}, // ip-api.com
	{"X-Current-Token-Count", "", []string{"X-Next-Replenish-Time", "X-Next-Replenishment-Time"}}, // Walmart, "Rate limiting": either name
	{"X-Api-Request-Remaining", "X-Api-Request-Limit", nil},                                       // Event Temple, "Rate Limiting"
}

// limits collects quotas by name while headers are read.
type limits struct {
	now       time.Time
	byName    map[string]*Quota
	used      map[string]float64
	total     map[string]float64       // a limit, where none is named so
	intervals map[string]time.Duration // the windows of limits
	relative  map[string]bool          // the reset is a time to wait
}

func (l *limits) quota(name string) *Quota {
	q := l.byName[name]
	if q == nil {
		q = &Quota{Name: name, Limit: -1, Remaining: -1, Reset: -1, Window: windowNamed(name)}
		switch {
		case name == "x-discogs-ratelimit": // discogs.com/developers: a moving minute, and no answer says when more is granted
			q.Window = time.Minute
		case strings.Contains(name, "tokens"):
			q.Unit = "tokens"
		case strings.HasPrefix(name, "time-"): // Dataverse: of execution
			q.Unit = "seconds"
		case strings.Contains(name, "complexity"):
			q.Unit = "complexity"
		}
		l.byName[name] = q
	}
	return q
}

// windowNamed returns the window that a name tells: X-DayLimit-Remaining,
// X-RateLimit-Limit-Minute, DeleteVMScaleSet30Min.
func windowNamed(name string) time.Duration {
	name = strings.TrimSuffix(strings.ToLower(name), "limit")
	for _, w := range []struct {
		suffix string
		unit   time.Duration
	}{
		{"second", time.Second}, {"secondly", time.Second}, {"sec", time.Second},
		{"minute", time.Minute}, {"min", time.Minute},
		{"hour", time.Hour}, {"hourly", time.Hour},
		{"day", 24 * time.Hour}, {"daily", 24 * time.Hour},
		{"week", 7 * 24 * time.Hour}, {"weekly", 7 * 24 * time.Hour},
		{"month", 30 * 24 * time.Hour}, {"monthly", 30 * 24 * time.Hour},
	} {
		rest, ok := strings.CutSuffix(name, w.suffix)
		if !ok {
			continue
		}
		digits := len(rest)
		for digits > 0 && rest[digits-1] >= '0' && rest[digits-1] <= '9' {
			digits--
		}
		if n, ok := parseNumber(rest[digits:]); ok && n.whole > 0 && n.whole < 1e4 {
			return capped(n.times(w.unit))
		}
		return w.unit
	}
	return 0
}

// budgetWord is the word of a name that tells the window of a budget: right before the
// word of its family (X-Daily-RateLimit-Token), or at the end (X-RateLimit-Remaining-Day,
// X-HourLimit-Remaining). Elsewhere it is of what is asked for: Day-Ahead-Prices.
var budgetWord = lazy.Regexp(`^(?:x-)?(hourly|daily|weekly|monthly)-(?:ratelimit|rate-limit|quota)\b` +
	`|(?:^|-)([0-9]*(?:hour|hourly|day|daily|week|weekly|month|monthly))(?:limit)?$`)

// budgetNamed returns the window of a budget that the name of a limit tells by such a
// word; 0 if it tells none.
func budgetNamed(name string) time.Duration {
	words := budgetWord().FindStringSubmatch(name)
	if words == nil {
		return 0
	}
	return windowNamed(words[1] + words[2])
}

// spentBudget returns the longest window of the budgets that are used up; 0 if another limit
// is used up as well, or one of the budgets may be no limit at all.
func spentBudget(windows []Quota) (longest time.Duration) {
	for _, q := range windows {
		if q.Remaining != 0 {
			continue
		}
		window := budgetNamed(q.Name)
		if window == 0 || q.Limit < 1 || q.Unit == AtOnce {
			return 0
		}
		longest = max(longest, window)
	}
	return longest
}

// put sets m[k], and makes m if need be: most answers need none.
func put[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

// set records one value. Of several the strictest counts. The relative form of
// a reset wins over the absolute one, which depends on clocks.
func (l *limits) set(name string, in place, value string) {
	if in.role == "reset" {
		d, ok := parseWait(value, l.now, in.unit)
		if q := l.quota(name); ok && (in.relative || !l.relative[name]) {
			if in.relative && !l.relative[name] {
				put(&l.relative, name, true)
				q.Reset = -1
			}
			q.Reset = max(q.Reset, d)
		}
		return
	}
	value = withoutThousands(value)
	n, ok := parseCount(value)
	if !ok {
		return
	}
	switch in.role {
	case "limit":
		q := l.quota(name)
		q.Limit = stricter(q.Limit, n)
		if w := windowOf(value, n); w > 0 {
			q.Window = w
		}
	case "remaining":
		q := l.quota(name)
		for part := range strings.SplitSeq(value, ",") { // lines that were joined on the way
			if n, ok := parseCount(part); ok {
				q.Remaining = stricter(q.Remaining, n)
			}
		}
	case "total":
		put(&l.total, name, n)
	case "used":
		put(&l.used, name, n)
	case "share":
		if used, ok := parseNumber(value); ok && used.float() <= 2 { // of 1; more than the whole limit may be used
			l.percent(name, 100*used.float())
		} else if ok {
			l.percent(name, used.float())
		}
	}
}

// stricter returns the smaller of two counts; a negative one is none.
func stricter(a, b float64) float64 {
	if a < 0 {
		return b
	}
	return min(a, b)
}

// withoutThousands takes the commas out of a number like 1,200.00, as Dataverse
// sends it. Without a fraction it would be a list.
func withoutThousands(value string) string {
	whole, fraction, ok := strings.Cut(value, ".")
	if !ok || !strings.Contains(whole, ",") {
		return value
	}
	groups := strings.Split(whole, ",")
	if slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 }) {
		return value
	}
	return strings.Join(groups, "") + "." + fraction
}

// parseCount reads a count: the first of a list, without the policies that
// stand behind a limit, as in 100, 100;w=60.
func parseCount(value string) (float64, bool) {
	value, _, _ = strings.Cut(value, ",")
	value, _, _ = strings.Cut(value, ";")
	n, ok := parseNumber(strings.TrimSpace(value))
	return math.Floor(n.float()), ok
}

// windowOf returns the window that the policies of a limit tell for it:
// 100, 100;w=60, 5;w=1 has a hundred a minute. Docker Hub sends 100;w=21600,
// and WHOOP writes window=60.
func windowOf(value string, limit float64) time.Duration {
	var window time.Duration
	for policy := range strings.SplitSeq(value, ",") {
		size, params, _ := strings.Cut(policy, ";")
		if n, ok := parseNumber(strings.TrimSpace(size)); !ok || n.float() != limit {
			continue
		}
		for param := range strings.SplitSeq(params, ";") {
			key, w, _ := strings.Cut(strings.TrimSpace(param), "=")
			if seconds, ok := parseNumber(w); ok && (key == "w" || key == "window") {
				window = capped(seconds.times(time.Second))
			}
		}
	}
	return window
}

// complete fills in what other headers tell of a limit: its window, its size
// by another name, and its size as the sum of the used and the remaining part. A limit
// with its interval is a pace that is announced, as a policy is.
func (l *limits) complete(r *Reading) {
	for name, total := range l.total {
		if q := l.byName[name]; q != nil && q.Limit < 0 {
			q.Limit = total
		}
	}
	for name, used := range l.used {
		if q := l.byName[name]; q != nil && q.Limit < 0 && q.Remaining >= 0 {
			q.Limit = used + q.Remaining
		}
	}
	for name, interval := range l.intervals {
		if q := l.byName[name]; q != nil {
			q.Window = interval
			r.announce(q.Limit, q.Remaining, interval)
		}
	}
}

// rename gives quotas the names that other headers tell.
func (l *limits) rename(r *Reading, h http.Header) {
	if q := l.byName["x-ratelimit"]; q != nil {
		if bucket := h.Get("X-Ratelimit-Bucket"); bucket != "" { // Discord
			q.Name, r.Route = bucket, bucket
			if r.Key == "" {
				r.Key = bucket
			}
		} else if resource := h.Get("X-Ratelimit-Resource"); resource != "" { // GitHub
			q.Name, r.Route = resource, resource
		}
	}
}

// vendor reads a header that follows no family.
func (l *limits) vendor(r *Reading, name, value string) bool {
	switch name {
	case "ratelimit", "ratelimit-policy", "beta-ratelimit", "beta-ratelimit-policy": // see structured
	case "ratelimit-reason", "x-ratelimit-resource", "x-ratelimit-bucket":
	case "x-ratelimit-global", "x-ratelimit-scope": // Discord: not only this route
		if value == "true" || value == "global" {
			r.Key = "*"
		}
	case "x-complexity": // Linear: the cost of this request
		if n, ok := parseNumber(value); ok {
			r.Cost = n.float()
		}
	case "x-amzn-ratelimit-limit": // Amazon SP-API: a rate. 0 has been seen, and means nothing
		if n, ok := parseNumber(value); ok {
			r.MaxRate, r.Pace = n.float(), n.float()
		}
	case "x-rate-limit", "x-ratelimit", "rate-limit": // Zendesk, Composio, Ticketmaster: the limit, beside X-Rate-Limit-Remaining
		l.set(name, place{role: "limit"}, value)
	case "x-bapi-limit": // Bybit: the limit, beside X-Bapi-Limit-Status
		l.set("bapi-limit", place{role: "limit"}, value)
	case "sforce-limit-info": // Salesforce: api-usage=10018/100000; per-app-api-usage=17/250(appName=x)
		for _, part := range strings.FieldsFunc(value, func(c rune) bool { return c == ';' || c == ',' }) {
			if window, used, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
				l.usedOf(window, used)
				if q := l.byName[window]; q != nil && strings.HasSuffix(window, "api-usage") {
					q.Window = 24 * time.Hour
				}
			}
		}
	case "x-ms-ratelimit-remaining-resource": // Azure Compute: Microsoft.Compute/HighCostGet3Min;107
		for part := range strings.SplitSeq(value, ",") {
			if policy, left, ok := strings.Cut(strings.TrimSpace(part), ";"); ok {
				l.set(policy, place{role: "remaining"}, left)
			}
		}
	case "x-hubspot-ratelimit-daily", "x-hubspot-ratelimit-secondly":
		l.set(strings.TrimPrefix(name, "x-hubspot-ratelimit-"), place{role: "limit"}, value)
	default: // Shopify, ReCharge, Gorgias, Lightspeed: 32/40 of a leaky bucket
		return l.zendesk(name, value) || l.usedOf(name, value)
	}
	return true
}

// zendesk reads the limit of one endpoint, zendesk-ratelimit-tickets-index:
// total=100; remaining=99; resets=41.
func (l *limits) zendesk(name, value string) bool {
	endpoint, ok := strings.CutPrefix(name, "zendesk-ratelimit-")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(value, ";") {
		key, n, _ := strings.Cut(strings.TrimSpace(part), "=")
		role := map[string]string{"total": "limit", "remaining": "remaining", "resets": "reset"}[key]
		if role != "" {
			l.set(endpoint, place{role: role, unit: time.Second, relative: true}, n)
		}
	}
	return true
}

// usedOf reads used/limit, and reports whether that is what value is. More may
// be used than there is.
func (l *limits) usedOf(name, value string) bool {
	used, limit, ok := strings.Cut(value, "/")
	limit, _, _ = strings.Cut(limit, "(")
	u, ok1 := parseNumber(strings.TrimSpace(used))
	n, ok2 := parseNumber(strings.TrimSpace(limit))
	if !ok || !ok1 || !ok2 {
		return false
	}
	q := l.quota(name)
	q.Limit, q.Remaining = n.float(), max(0, n.float()-u.float())
	return true
}
