package response

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

// concurrentRequests is the quota unit for requests in flight, by
// draft-ietf-httpapi-ratelimit-headers-10.
const concurrentRequests = "concurrent-requests"

// readLimits reads the announced limits of h into r. The names follow a few
// families, which vendors mix freely:
//
//	RateLimit: "name";r=50;t=30         with RateLimit-Policy: "name";q=100;w=60
//	X-RateLimit-Remaining               role after the family
//	x-ratelimit-remaining-requests      a dimension after the role, or before it
//	X-MinLimit-Remaining                a family per window
//
// and a handful of vendors have one of their own.
func readLimits(r *Reading, h http.Header, now time.Time) {
	l := limits{now: now, byName: map[string]*Quota{}}
	for key, values := range h {
		if len(values) == 0 || !strings.Contains(key, "imit") && !strings.Contains(key, "uota") && !strings.Contains(key, "omplexity") {
			continue
		}
		name := strings.ToLower(key)
		if !l.vendor(r, name, values) {
			l.family(name, values[0])
		}
	}
	l.structured(r, h)
	if len(l.byName) == 0 {
		return
	}
	l.rename(r, h)
	for _, q := range l.byName {
		if q.Limit < 0 && q.Remaining < 0 && q.Reset < 0 {
			continue
		}
		r.Windows = append(r.Windows, *q)
	}
	slices.SortFunc(r.Windows, func(a, b Quota) int { return strings.Compare(a.Name, b.Name) })
}

// limits collects quotas by name while headers are read.
type limits struct {
	now    time.Time
	byName map[string]*Quota
	used   map[string]float64
}

func (l *limits) quota(name string) *Quota {
	q := l.byName[name]
	if q == nil {
		q = &Quota{Name: name, Limit: -1, Remaining: -1, Reset: -1, Window: windowNamed(name)}
		switch {
		case strings.Contains(name, "token"):
			q.Unit = "tokens"
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
			return time.Duration(n.whole) * w.unit
		}
		return w.unit
	}
	return 0
}

// family reads one header of the families. The role is the first word after
// the family's name that is one; the words beside it are the dimension.
func (l *limits) family(header, value string) {
	words := strings.Split(header, "-")
	end := -1 // of the family's name
	for i, w := range words {
		if w == "ratelimit" || w == "quota" || strings.HasSuffix(w, "limit") && i < len(words)-1 {
			end = i
			break
		}
	}
	if end < 0 {
		return
	}
	family := strings.Join(words[:end+1], "-")
	if words[end] != "ratelimit" && !strings.HasSuffix(family, "rate-limit") {
		family = strings.TrimPrefix(family, "x-")
	}
	rest := words[end+1:]
	at := slices.IndexFunc(rest, func(w string) bool {
		return slices.Contains([]string{"limit", "max", "remaining", "reset", "resets", "used"}, w)
	})
	if at < 0 {
		return
	}
	role, dimension := rest[at], slices.Concat(rest[:at], rest[at+1:])
	relative := false
	if len(dimension) > 0 && (role == "resets" && dimension[0] == "in" || role == "reset" && dimension[0] == "after") {
		role, relative, dimension = "reset", true, dimension[1:]
	}
	name := family
	if len(dimension) > 0 {
		name = strings.Join(dimension, "-")
	}
	l.set(name, role, strings.TrimSpace(value), relative)
}

// set records one value. The relative form of a reset wins over the absolute
// one, which depends on clocks.
func (l *limits) set(name, role, value string, relative bool) {
	if role == "reset" {
		d, ok := parseWait(value, l.now, time.Second)
		if q := l.quota(name); ok && (relative || q.Reset < 0) {
			q.Reset = d
		}
		return
	}
	first, rest, _ := strings.Cut(value, ",") // "100, 100;w=60": the limit, then the policies behind it
	first, _, _ = strings.Cut(first, ";")
	n, ok := parseNumber(strings.TrimSpace(first))
	if !ok {
		return
	}
	count := math.Floor(n.float())
	switch role {
	case "limit", "max":
		q := l.quota(name)
		q.Limit = count
		for policy := range strings.SplitSeq(rest, ",") {
			size, w, ok := strings.Cut(strings.TrimSpace(policy), ";w=")
			if seconds, isNumber := parseNumber(w); ok && isNumber && size == strings.TrimSpace(first) {
				q.Window = capped(seconds.times(time.Second))
			}
		}
	case "remaining":
		l.quota(name).Remaining = count
	case "used":
		if l.used == nil {
			l.used = map[string]float64{}
		}
		l.used[name] = count
	}
}

// rename gives quotas the names that other headers tell, and fills in a limit
// from what is used and what remains.
func (l *limits) rename(r *Reading, h http.Header) {
	for name, used := range l.used {
		if q := l.byName[name]; q != nil && q.Limit < 0 && q.Remaining >= 0 {
			q.Limit = used + q.Remaining
		}
	}
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
func (l *limits) vendor(r *Reading, name string, values []string) bool {
	value := values[0]
	switch name {
	case "ratelimit", "ratelimit-policy", "beta-ratelimit", "beta-ratelimit-policy":
		return true // see structured
	case "ratelimit-reason", "x-ratelimit-resource", "x-ratelimit-bucket", "x-ratelimit-scope":
		return true
	case "x-ratelimit-global": // Discord: not only this route
		if value == "true" {
			r.Key = "*"
		}
	case "x-complexity": // Linear: the cost of this request
		if n, ok := parseNumber(value); ok {
			r.Cost = n.float()
		}
	case "x-amzn-ratelimit-limit": // Amazon SP-API: a rate. 0 has been seen, and means nothing
		if n, ok := parseNumber(value); ok {
			r.MaxRate = n.float()
		}
	case "x-rate-limit": // Zendesk: the limit, beside X-Rate-Limit-Remaining
		l.set(name, "limit", value, false)
	case "x-shopify-shop-api-call-limit": // Shopify: 32/40 of a leaky bucket
		l.share(name, value)
	case "sforce-limit-info": // Salesforce: api-usage=10018/100000; api-bursts=1/750
		for _, part := range strings.FieldsFunc(value, func(c rune) bool { return c == ';' || c == ',' }) {
			if window, used, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
				l.share(window, used)
				if q := l.byName[window]; q != nil && window == "api-usage" {
					q.Window = 24 * time.Hour
				}
			}
		}
	case "x-ms-ratelimit-remaining-resource": // Azure Compute: Microsoft.Compute/HighCostGet3Min;107
		for _, v := range values {
			for part := range strings.SplitSeq(v, ",") {
				if policy, left, ok := strings.Cut(strings.TrimSpace(part), ";"); ok {
					l.set(policy, "remaining", left, false)
				}
			}
		}
	case "x-hubspot-ratelimit-interval-milliseconds":
		if n, ok := parseNumber(value); ok {
			l.quota("x-hubspot-ratelimit").Window = capped(n.times(time.Millisecond))
		}
	case "x-hubspot-ratelimit-daily", "x-hubspot-ratelimit-secondly":
		l.set(strings.TrimPrefix(name, "x-hubspot-ratelimit-"), "limit", value, false)
	default:
		return l.zendesk(name, value)
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
			l.set(endpoint, role, n, true)
		}
	}
	return true
}

// share reads used/limit. More may be used than there is.
func (l *limits) share(name, value string) {
	used, limit, ok := strings.Cut(value, "/")
	u, ok1 := parseNumber(strings.TrimSpace(used))
	n, ok2 := parseNumber(strings.TrimSpace(limit))
	if ok && ok1 && ok2 {
		q := l.quota(name)
		q.Limit, q.Remaining = n.float(), max(0, n.float()-u.float())
	}
}
