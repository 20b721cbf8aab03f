package response

import (
	"math"
	"net/http"
	"strings"
)

// strava reads pairs of limits, of a quarter of an hour and of a day, with what
// is used of them:
//
//	X-RateLimit-Limit: 600,30000
//	X-RateLimit-Usage: 314,27536
//
// They end on the quarters of the hour and at midnight UTC. X-ReadRateLimit-*
// are the same for requests that only read (developers.strava.com/docs/rate-limits).
func (l *limits) strava(h http.Header) {
	for _, family := range []string{"Ratelimit", "Readratelimit"} {
		if h["X-"+family+"-Usage"] == nil {
			continue
		}
		limits, ok := parsePair(h.Get("X-" + family + "-Limit"))
		used, ok2 := parsePair(h.Get("X-" + family + "-Usage"))
		if !ok || !ok2 {
			continue
		}
		name := strings.ToLower(family)
		for _, half := range []string{name, "x-" + name} { // read as one limit: the first of the pair
			if q := l.byName[half]; q != nil && q.Remaining < 0 {
				delete(l.byName, half)
			}
		}
		for i, window := range []string{"15min", "day"} {
			q := l.quota("x-" + name + "-" + window)
			q.Limit, q.Remaining = limits[i], max(0, limits[i]-used[i])
			q.Reset = l.now.Truncate(q.Window).Add(q.Window).Sub(l.now)
		}
	}
}

// parsePair reads two counts, as in 600,30000.
func parsePair(s string) (pair [2]float64, ok bool) {
	a, b, _ := strings.Cut(s, ",")
	for i, s := range []string{a, b} {
		n, ok := parseNumber(strings.TrimSpace(s))
		if !ok {
			return pair, false
		}
		pair[i] = math.Floor(n.float())
	}
	return pair, true
}
