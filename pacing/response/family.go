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
		if !rate && end > 1 { // a family that has a name: x-app-limit-24hour beside x-user-limit-24hour
			name = family + "-" + name
		}
	}
	if in.role == "interval" || in.role == "window" {
		if d, ok := parseWait(value, l.now, in.unit); ok && d > 0 {
			put(&l.intervals, name, d)
		}
		return
	}
	l.set(name, in.role, value, in.relative)
}

// A place is what the words after a family's name say of a value.
type place struct {
	role      string
	dimension []string
	relative  bool          // a reset is a time to wait
	unit      time.Duration // of an interval
}

// roles are the words that are one. The weaker ones may also be a dimension.
var (
	roles     = []string{"limit", "max", "remaining", "remain", "reset", "resets", "resettime", "used"}
	weakRoles = []string{"total", "interval", "window", "period", "next"}
)

func parsePlace(words []string) (place, bool) {
	at := slices.IndexFunc(words, func(w string) bool { return slices.Contains(roles, w) })
	if at < 0 {
		at = slices.IndexFunc(words, func(w string) bool { return slices.Contains(weakRoles, w) })
	}
	if at < 0 {
		return place{}, false
	}
	p, next, after := place{role: words[at], unit: time.Second}, "", words[at+1:]
	if len(after) > 0 {
		next = after[0]
	}
	switch {
	case strings.HasPrefix(p.role, "reset") && (next == "in" || next == "after"):
		p.role, p.relative, after = "reset", true, after[1:]
	case p.role == "reset" && slices.Contains([]string{"at", "date", "time", "timestamp", "seconds"}, next):
		after = after[1:]
	case p.role == "remain": // Companies House
		p.role = "remaining"
	case p.role == "period": // Datadog
		p.role = "window"
	case p.role == "next": // Akamai: when the next request may come
		p.role = "reset"
	case p.role == "resettime": // GitLab, beside a reset of the same time; Yelp, alone
		p.role = "reset"
	case p.role == "window" && next == "size": // Composio
		after = after[1:]
	case p.role == "interval" && (next == "ms" || next == "milliseconds"):
		p.unit, after = time.Millisecond, after[1:]
	}
	p.dimension = slices.Concat(words[:at], after)
	return p, true
}
