// Package response reads what a provider's response says about its limits.
//
// [Read] gives a [Reading]: the class of the response, how long to keep silent,
// and the limits that were announced. It knows the header families and the
// error codes of many vendors, and goes by status, headers and codes; by prose
// only where a vendor has nothing else, and then by its very words. Whatever is
// sent, waits and limits are sane: nothing negative, nothing longer than a year,
// no number that is not one.
package response

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// believed is the longest wait that is taken at its word. A longer one is a
// mistake or an attack, and capped at absurd: draft-ietf-httpapi-ratelimit-headers-10
// asks for such a threshold in its security considerations.
const (
	Believed = 365 * 24 * time.Hour
	absurd   = 24 * time.Hour
)

// PaceLimit is the longest window whose end is a throttle and not a quota that
// is used up.
const PaceLimit = time.Hour

// BudgetFrom is the shortest window that is a budget. A shorter one is a pace: a
// run may use the hour's requests in ten minutes, but not the minute's in a second.
const BudgetFrom = 15 * time.Minute

const day = 24 * time.Hour

// A Reading is what a response says about its provider's limits.
type Reading struct {
	Class   Class
	Hold    time.Duration // no request may start earlier; negative: not said
	Basis   Basis         // what Hold follows from
	Retry   time.Duration // Retry-After, also where it does not mean a hold; negative: not said
	Period  time.Duration // of the quota that is used up, or, of a throttle, of a budget that is all that it may come from; 0: not said
	Reason  string        // the provider's own code for it
	Key     string        // what the limit applies to; "" for the account, "*" for everything
	Route   string        // the class of requests that the provider counts this one to; "": not said
	AtOnce  bool          // it is a throttle because too many requests were in flight
	Cost    float64       // of this request, in the provider's points
	MaxRate float64       // requests per second the provider announces; 0: not said
	Pace    float64       // and those of no budget
	Windows []Quota
}

// A Quota is one announced limit. Numbers are negative where not said.
type Quota struct {
	Name      string
	Limit     float64
	Remaining float64
	Reset     time.Duration // until there is more; negative: not said
	Window    time.Duration // 0: not said
	Unit      string        // "" for requests
}

// Read reads a response that arrived at now. Dates in it are compared with its
// own Date, so that a wrong clock here does not matter.
func Read(now time.Time, status int, h http.Header, body []byte) Reading {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	r := Reading{Hold: -1}
	blocked := time.Duration(-1)
	if age, ok := parseNumber(h.Get("Age")); !ok || age.whole == 0 { // a cached answer tells old limits
		blocked = readLimits(&r, h, now)
	}
	mark := readCodes(&r, now, status, h, body)

	r.Retry = RetryAfter(h, now)
	pressed := r.Retry >= 0 || blocked >= 0
	left := leftOf(r.Windows)
	reset := max(blocked, left.reset)
	r.Class = classOf(status, mark, pressed || left.spent)
	switch {
	case r.Class == Throttle && left.spent && !left.paced:
		r.Class = QuotaUsed // the pace was not the problem
	case r.Reason == salesforceLimit && left.day && !left.spent:
		r.Class = Throttle // the same code, for too many at once
	}
	r.AtOnce = r.Class == Throttle && (r.AtOnce || namesAtOnce(r.Reason) || !left.spent && slices.ContainsFunc(r.Windows, atOnceSpent))
	switch {
	case status < 400 && r.Class == OK: // where Retry-After means something else (RFC 9110, 10.2.3), unless it
		// stands beside a limit that is used up (Azure DevOps, "Rate and usage limits")
		if r.Retry >= 0 && (left.spent || delayed(h)) {
			reset = max(blocked, r.Retry)
		}
		r.later(reset, Announced)
	case r.Retry >= 0:
		r.Hold, r.Basis.By = r.Retry, Asked
	case r.Class == Throttle || r.Class == QuotaUsed:
		if r.later(reset, Announced); r.Hold < 0 && !left.told {
			r.later(left.end, Announced)
		}
	default:
		r.Hold = -1
	}
	r.Basis.Quota = usedUp(r.Windows)
	switch {
	case r.Class == QuotaUsed:
		r.Basis.Quota = cmp.Or(r.Basis.Quota, r.Reason)
	case status == http.StatusTooManyRequests && r.Class == Throttle && mark == "" && r.Hold < 0 && !r.AtOnce && !noBudget().Match(body):
		r.Period = spentBudget(r.Windows)
	}
	return r
}

// A state is what announced limits say together.
type state struct {
	told  bool          // how much remains of any
	spent bool          // one is used up
	paced bool          // one that is used up is a pace, and no budget
	day   bool          // something is left of a budget
	reset time.Duration // of those that are used up, the longest; negative: not said
	end   time.Duration // of paces that say no more than that, the longest; negative: none
}

func leftOf(windows []Quota) state {
	s := state{reset: -1, end: -1}
	for _, q := range windows {
		switch {
		case q.Unit == AtOnce || q.Unit == Percent:
		case q.Remaining == 0:
			s.told, s.spent = true, true
			s.paced = s.paced || max(q.Window, q.Reset) <= PaceLimit
			s.reset = max(s.reset, q.Reset)
		case q.Remaining > 0:
			s.told, s.day = true, s.day || q.Window > PaceLimit
		case q.Unit == "" && max(q.Window, q.Reset) <= PaceLimit:
			s.end = max(s.end, q.Reset)
		}
	}
	if s.spent && s.reset < 0 { // X-Ratelimit-Global-Remaining beside X-Ratelimit-Reset: one reset for all
		s.reset = s.end
	}
	return s
}

// RetryAfter returns how long h asks to wait, or a negative value if it does
// not say. A field in milliseconds is finer than Retry-After and wins; of
// several values the longest does.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	var longest time.Duration = -1
	for _, name := range []string{
		"Retry-After-Ms",         // OpenAI
		"X-Ms-Retry-After-Ms",    // Azure
		"X-Amz-Retry-After",      // AWS SDKs since 2026
		"Grpc-Retry-Pushback-Ms", // gRPC proposal A6
	} {
		for _, v := range h[name] {
			if d, ok := parseWait(v, now, time.Millisecond); ok {
				longest = max(longest, d)
			}
		}
	}
	if longest < 0 {
		longest = longestOf(h["Retry-After"], now)
	}
	if longest >= 0 {
		return longest
	}
	for name, values := range h { // X-Retry-After, X-RateLimit-Retry-After, X-Rate-Limit-Retry-After-Seconds
		if strings.HasSuffix(strings.TrimSuffix(name, "-Seconds"), "-Retry-After") || name == delay {
			longest = max(longest, longestOf(values, now))
		}
	}
	return longest
}

// delay is the header in which Azure DevOps tells for how long it kept a request
// waiting, in seconds. Airbrake sends it with 429, for how long to wait.
const delay = "X-Ratelimit-Delay"

// delayed reports whether the provider slowed the request down itself.
func delayed(h http.Header) bool {
	n, ok := parseNumber(h.Get(delay))
	return ok && n != number{}
}

// longestOf returns the longest wait of the lines of a Retry-After; a negative
// value if there is none.
func longestOf(lines []string, now time.Time) time.Duration {
	var longest time.Duration = -1
	for _, line := range lines {
		if d, ok := parseWait(line, now, time.Second); ok {
			longest = max(longest, d)
			continue
		}
		for part := range strings.SplitSeq(line, ",") { // joined on the way
			if d, ok := parseWait(part, now, time.Second); ok {
				longest = max(longest, d)
			}
		}
	}
	return longest
}

// parseWait reads how long to wait: a number of units, or a point in time that
// is compared with now. A time that has passed is 0. What is over a year is
// not believed, and long all the same.
func parseWait(s string, now time.Time, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if bare, ok := unquote(s); ok {
		s = bare
	}
	if n, ok := parseNumber(s); ok {
		d, ok := waitOf(n, now, unit)
		if !ok {
			return absurd, true
		}
		return capped(d), true
	}
	if d, ok := parseSpan(s); ok {
		return capped(d), true
	}
	if t, ok := parseDate(s); ok {
		return capped(max(0, t.Sub(now))), true
	}
	return 0, false
}

// capped replaces a wait that is too long to be meant.
func capped(d time.Duration) time.Duration {
	if d > Believed {
		return absurd
	}
	return d
}

// inSeconds returns a wait of n seconds, and 0 for a negative number. It goes
// by n's digits: 64.57 is 64.57, and not a little less.
func inSeconds(n float64) time.Duration {
	exact, ok := parseNumber(digits(max(0, n)))
	if !ok {
		return absurd
	}
	return capped(exact.times(time.Second))
}

// digits returns n as it is written without an exponent.
func digits(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// waitOf reads a number by its size, because providers use the same names for
// different things: below 1e9 it is a number of units to wait, below 1e11 a
// Unix time in seconds, and each thousand times that is one in the next finer
// unit, down to nanoseconds.
func waitOf(n number, now time.Time, unit time.Duration) (time.Duration, bool) {
	switch {
	case n.whole < 1e9:
		return n.times(unit), true
	case n.whole < 1e11:
		return max(0, time.Unix(n.whole, n.nanos).Sub(now)), true
	case n.whole < 1e14:
		return max(0, time.UnixMilli(n.whole).Sub(now)), true
	case n.whole < 1e17:
		return max(0, time.UnixMicro(n.whole).Sub(now)), true
	case n.whole < math.MaxInt64:
		return max(0, time.Unix(0, n.whole).Sub(now)), true
	}
	return 0, false
}

// A number is a decimal that is not negative, exact to a billionth. A larger
// whole part than it can hold is the largest it can.
type number struct{ whole, nanos int64 }

func (n number) float() float64 { return float64(n.whole) + float64(n.nanos)/1e9 }

// times returns n units, rounded up to the millisecond: later is safe.
func (n number) times(unit time.Duration) time.Duration {
	if n.whole > int64(Believed/unit) {
		return Believed + 1
	}
	d := time.Duration(n.whole)*unit + time.Duration(float64(n.nanos)/1e9*float64(unit))
	if part := d % time.Millisecond; part > 0 {
		d += time.Millisecond - part
	}
	return d
}

// parseNumber reads digits with at most one decimal point, and nothing else:
// neither signs nor exponents, Inf or NaN.
func parseNumber(s string) (number, bool) {
	var n number
	whole, fraction, point := strings.Cut(s, ".")
	if whole == "" || point && fraction == "" {
		return n, false
	}
	for _, c := range []byte(whole) {
		if c < '0' || c > '9' {
			return n, false
		}
		if n.whole > (math.MaxInt64-9)/10 {
			n.whole = math.MaxInt64
			continue
		}
		n.whole = n.whole*10 + int64(c-'0')
	}
	scale := int64(1e9)
	for _, c := range []byte(fraction) {
		if c < '0' || c > '9' {
			return n, false
		}
		scale /= 10
		n.nanos += int64(c-'0') * scale
	}
	return n, true
}

// parseSpan reads a Go duration (6m0s, as OpenAI sends), a .NET TimeSpan
// (00:00:00.033, as Azure's Gremlin does, and 2.00:00:00 for two days) or an
// ISO 8601 duration (PT1M30S).
func parseSpan(s string) (time.Duration, bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, d >= 0 && s[0] != '+' && s[0] != '-'
	}
	if iso, ok := strings.CutPrefix(s, "P"); ok {
		days, clock, timed := strings.Cut(iso, "T")
		d, ok := parseDays(strings.TrimSuffix(days, "D"))
		if !timed {
			return d, ok && days != ""
		}
		t, err := time.ParseDuration(strings.ToLower(clock))
		return d + min(t, Believed), (ok || days == "") && err == nil && clock[0] >= '0' && clock[0] <= '9'
	}
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return 0, false
	}
	var d time.Duration
	if days, hours, long := strings.Cut(parts[0], "."); long {
		var ok bool
		if d, ok = parseDays(days); !ok {
			return 0, false
		}
		parts[0] = hours
	}
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, ok := parseNumber(parts[i])
		if !ok || n.whole > 1e6 || unit != time.Second && n.nanos != 0 {
			return 0, false
		}
		d += n.times(unit)
	}
	return d, true
}

// parseDays reads a number of days.
func parseDays(s string) (time.Duration, bool) {
	n, ok := parseNumber(s)
	return n.times(24 * time.Hour), ok && n.nanos == 0
}

// dateLayouts are the dates that providers send beside those of HTTP: ISO 8601
// with and without seconds or zone (Jira: 2026-11-21T10:01Z), and what
// JavaScript makes of a Date (lemlist).
var dateLayouts = []string{
	time.RFC3339,
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04Z0700",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05 UTC", // as Ruby writes a time
	time.RFC1123Z,
	"Mon, 02 Jan 2006 15:04:05 UTC",
	"Mon Jan 02 2006 15:04:05 GMT-0700",
	"2006-Jan-02 15:04:05-0700 MST", // WSO2
}

func parseDate(s string) (time.Time, bool) {
	if t, err := http.ParseTime(s); err == nil {
		return t, true
	}
	s, _, _ = strings.Cut(s, " (") // the name of a zone, in words
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
