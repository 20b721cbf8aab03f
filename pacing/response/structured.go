package response

import (
	"net/http"
	"strings"
	"time"
)

// AboveAverage is how far above the average of its window the pace may be, where
// it is told what is left: remaining/reset at the end of a window says much more
// than the window sustains
// (draft-ietf-httpapi-ratelimit-headers-10, security considerations).
const AboveAverage = 1.5

// structured reads the fields of draft-ietf-httpapi-ratelimit-headers, and
// Atlassian's beta of them. A field that is malformed is ignored as a whole.
func (l *limits) structured(r *Reading, h http.Header) {
	for _, prefix := range []string{"Ratelimit", "Beta-Ratelimit"} {
		if h[prefix] == nil && h[prefix+"-Policy"] == nil {
			continue
		}
		policies := parseItems(strings.Join(h[prefix+"-Policy"], ","))
		states := parseItems(strings.Join(h[prefix], ","))
		if len(states) > 0 && states[0].key != "" { // draft 07: limit=100, remaining=50, reset=5
			for _, s := range states {
				l.set("ratelimit", place{role: s.key, unit: time.Second, relative: s.key == "reset"}, s.name)
			}
			states = nil
		}
		for i, p := range policies { // drafts 03 to 07: 100;w=60, and no name
			if n, ok := parseNumber(p.name); ok && p.params["q"] == "" {
				policies[i].params["q"] = p.name
				if q := l.byName["ratelimit"]; q != nil && (q.Limit == n.float() || q.Limit < 0 && len(policies) == 1) {
					policies[i].name = q.Name
				}
			}
		}
		for _, s := range states {
			q := l.quota(s.name)
			q.Remaining = s.number("r")
			if t, ok := parseNumber(s.params["t"]); ok {
				q.Reset = capped(t.times(time.Second))
			}
			if prefix == "Beta-Ratelimit" {
				q.Unit = "points"
			}
		}
		for _, p := range policies {
			size, seconds, remaining := p.number("q"), p.number("w"), -1.0
			if q := l.byName[p.name]; q != nil {
				q.Limit, remaining = size, q.Remaining
				if seconds > 0 {
					q.Window = capped(number{whole: int64(min(seconds, 1e12))}.times(time.Second))
				}
				if unit := p.params["qu"]; unit != "" && unit != "requests" {
					q.Unit = unit
				}
			}
			if p.params["qu"] == "" && prefix == "Ratelimit" {
				r.announce(size, remaining, number{whole: int64(min(max(0, seconds), 1e12))}.times(time.Second))
			}
		}
	}
}

// announce takes limit per window for the pace that the provider announces, if
// that is what it is; or half more, if what remains, which is told as well, may
// allow that. Of several the slowest counts.
func (r *Reading) announce(limit, remaining float64, window time.Duration) {
	if limit <= 0 || window <= 0 || window > PaceLimit {
		return
	}
	rate := limit / window.Seconds()
	if remaining >= 0 {
		rate *= AboveAverage
	}
	slower := func(than float64) float64 {
		if than == 0 {
			return rate
		}
		return min(than, rate)
	}
	r.MaxRate = slower(r.MaxRate)
	if window < BudgetFrom {
		r.Pace = slower(r.Pace)
	}
}

// An item is a member of a list in a structured field (RFC 9651): "name";a=1;b="x".
// A member of a dictionary (key=value) has a key, and the value as its name.
type item struct {
	key    string
	name   string
	params map[string]string
}

// number returns the parameter name as a number; -1 if it is not there.
func (i item) number(name string) float64 {
	if n, ok := parseNumber(i.params[name]); ok {
		return n.float()
	}
	return -1
}

// countParams are the parameters whose value must be a number.
const countParams = "qwrt"

// parseItems reads the part of RFC 9651 that limits use. It returns nil if
// anything in s is not well-formed.
func parseItems(s string) []item {
	var items []item
	for _, member := range splitQuoted(s, ',') {
		parts := splitQuoted(member, ';')
		if len(parts) == 0 || strings.TrimSpace(parts[0]) == "" {
			return nil // as in "," and in ";r=1"
		}
		it := item{name: strings.TrimSpace(parts[0]), params: map[string]string{}}
		if bare, ok := unquote(it.name); ok {
			it.name = bare
		} else if key, value, ok := strings.Cut(it.name, "="); ok {
			it.key, it.name = strings.TrimSpace(key), strings.TrimSpace(value)
		}
		for _, p := range parts[1:] {
			if name, ok := unquote(strings.TrimSpace(p)); ok { // Hugging Face: "fixed window";"api";q=500;w=300
				it.name = name
				continue
			}
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			if bare, ok := unquote(value); ok {
				value = bare
			}
			if _, ok := parseNumber(value); !ok && len(key) == 1 && strings.Contains(countParams, key) {
				return nil
			}
			it.params[key] = value
		}
		items = append(items, it)
	}
	return items
}

// splitQuoted splits s at sep outside of double quotes. It returns nil if one
// is not closed.
func splitQuoted(s string, sep byte) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	if quoted {
		return nil
	}
	return append(parts, s[start:])
}

func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	return strings.ReplaceAll(s[1:len(s)-1], `\`, ""), true
}
