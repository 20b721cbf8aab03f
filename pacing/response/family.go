package response

import (
	"slices"
	"strings"
	"time"
)

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
	family, rate := strings.Join(words[:end+1], "-"), true
	if words[end] != "ratelimit" && !strings.HasSuffix(family, "rate-limit") {
		family, rate = strings.TrimPrefix(family, "x-"), false
	}
	in, ok := parsePlace(words[end+1:])
	if !ok {
		return
	}
	name := family
	if len(in.dimension) > 0 {
		name = strings.Join(in.dimension, "-")
		// A family that has a name: x-app-limit-24hour beside x-user-limit-24hour, x-daily-ratelimit-token beside x-ratelimit
		if end > 1 && (!rate || budgetNamed(family) > 0) {
			name = family + "-" + name
		}
	}
	if in.role == "interval" {
		if d, ok := parseWait(value, l.now, in.unit); ok && d > 0 {
			put(&l.intervals, name, d)
		}
		return
	}
	l.set(name, in, value)
	if in.inFlight {
		l.quota(name).Unit = AtOnce
	}
}

// A place is what the words after a family's name say of a value.
type place struct {
	role      string
	dimension []string
	relative  bool          // a reset is a time to wait
	inFlight  bool          // the limit is one of requests at once
	unit      time.Duration // of an interval or a reset
}

// roles are the words that are one. The weaker ones may also be a dimension.
var (
	roles = map[string]string{
		"limit": "limit", "max": "limit",
		"concurrentlimit": "limit", "concurrentremaining": "remaining", // Sentry
		"remaining": "remaining", "remain": "remaining", "left": "remaining", // also Companies House, BigCommerce
		"available": "remaining", // Ticketmaster
		"reset":     "reset", "resets": "reset",
		"resettime":  "reset", // GitLab, beside a reset of the same time; Yelp, alone
		"used":       "used",
		"percentage": "share", "utilization": "share", // Microsoft Graph, and Anthropic's subscriptions
	}
	weakRoles = map[string]string{
		"total": "total", "interval": "interval", "window": "interval",
		"period": "interval",  // Datadog
		"next":   "reset",     // Akamai: when the next request may come
		"quota":  "limit",     // BigCommerce
		"status": "remaining", // Bybit
	}
)

func parsePlace(words []string) (place, bool) {
	known := roles
	isRole := func(w string) bool { return known[w] != "" }
	at := slices.IndexFunc(words, isRole)
	if at < 0 {
		known = weakRoles
		if at = slices.IndexFunc(words, isRole); at < 0 {
			return place{}, false
		}
	}
	p, next := place{role: known[words[at]], unit: time.Second}, ""
	before, after := words[:at:at], words[at+1:]
	if len(after) > 0 {
		next = after[0]
	}
	switch {
	case strings.HasPrefix(words[at], "reset") && (next == "in" || next == "after"):
		p.relative, after = true, after[1:]
	case words[at] == "reset" && slices.Contains([]string{"at", "date", "time", "timestamp", "seconds"}, next):
		after = after[1:]
	case words[at] == "window" && next == "size": // Composio
		after = after[1:]
	case strings.HasPrefix(words[at], "concurrent"):
		p.inFlight, before = true, append(before, "concurrent")
	}
	if len(after) > 0 && (p.role == "interval" || p.role == "reset") && (after[0] == "ms" || after[0] == "milliseconds") {
		p.unit, after = time.Millisecond, after[1:]
	}
	switch { // BigCommerce: X-Rate-Limit-Requests-Left, X-Rate-Limit-Time-Reset-Ms
	case slices.Equal(before, []string{"requests"}) && (words[at] == "left" || words[at] == "quota"),
		slices.Equal(before, []string{"time"}) && p.unit == time.Millisecond:
		before = nil
	}
	p.dimension = slices.Concat(before, after)
	return p, true
}
