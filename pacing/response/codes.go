package response

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// mostCodes is the longest body that is searched for codes. A refusal is
// short; what is longer carries records.
const mostCodes = 64 << 10

// AbnormalUsage is the problem type that comes nearest to the warning of a
// suspension (draft-ietf-httpapi-ratelimit-headers-10).
const AbnormalUsage = "abnormal-usage-detected"

// codes are machine-readable codes of providers, as they spell them.
var codes = map[string]Class{
	"REQUEST_LIMIT_EXCEEDED":     QuotaUsed, // Salesforce: the day's requests
	"dailyLimitExceeded":         QuotaUsed, // Google
	"dailyLimitExceededUnreg":    QuotaUsed,
	"quotaExceeded":              QuotaUsed, // Google: the day's units
	"insufficient_quota":         QuotaUsed, // OpenAI: billing
	"DAILY":                      QuotaUsed, // HubSpot's policyName
	"lock_timeout":               Conflict,
	AbnormalUsage:                Forbidden,
	"quota-exceeded":             Throttle, // the IETF's problem types: of any window
	"temporary-reduced-capacity": Throttle,
	"TEN_SECONDLY_ROLLING":       Throttle, // HubSpot's policyName
	"SECONDLY":                   Throttle,
}

// looseCodes are codes that many providers share, in lower case and without
// separators.
var looseCodes = map[string]Class{
	"ratelimited":           Throttle, // Slack, Notion, GitHub GraphQL, Linear
	"ratelimit":             Throttle, // HubSpot
	"ratelimitexceeded":     Throttle, // Google, OpenAI
	"ratelimiterror":        Throttle, // Anthropic
	"userratelimitexceeded": Throttle, // Google
	"resourceexhausted":     Throttle, // gRPC
	"throttled":             Throttle, // Shopify GraphQL
	"throttling":            Throttle, // AWS
	"throttlingexception":   Throttle, // AWS
	"requestlimitexceeded":  Throttle, // AWS
	"slowdown":              Throttle, // Amazon S3
	"toomanyrequests":       Throttle, // Azure
	"overloadederror":       Throttle, // Anthropic
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func classOfCode(code string) Class {
	if c, ok := codes[code]; ok {
		return c
	}
	return looseCodes[strings.ToLower(separators.Replace(code))]
}

// readCodes looks for codes in the headers and the body, and for what only the
// body tells. It returns the class of the first code that is known and leaves
// the code in r.reason.
func readCodes(r *Reading, status int, h http.Header, body []byte) Class {
	if status >= 400 {
		for _, name := range []string{"Ratelimit-Reason", "X-Rate-Limit-Problem", "Stripe-Rate-Limited-Reason"} {
			reason := strings.TrimSpace(h.Get(name))
			if reason == "" {
				continue
			}
			r.Reason = reason
			if strings.Contains(reason, "-quota-") || reason == "day" { // Atlassian: jira-quota-global-based; Xero: day
				return QuotaUsed
			}
			if c := classOfCode(reason); c != "" {
				return c
			}
			return Throttle
		}
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 || len(body) > mostCodes || body[0] != '{' && body[0] != '[' || status < 400 && !suspect(body) {
		return ""
	}
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	f := found{Reading: r}
	if status < 400 {
		f.success(object(v))
	} else {
		f.failure(v)
	}
	return f.class
}

// suspect reports whether the body of a success may be a throttle in disguise.
// It keeps ordinary pages from being parsed twice.
func suspect(body []byte) bool {
	for _, mark := range []string{"RATE_LIMITED", "RATELIMITED", "THROTTLED", `"ratelimited"`, `"rate_limited"`, etherscanText} {
		if bytes.Contains(body, []byte(mark)) {
			return true
		}
	}
	return false
}

// Two providers say it in words only. These are the words, whole.
const (
	githubText    = "You have exceeded a secondary rate limit" // GitHub, 403 without Retry-After
	etherscanText = "Max rate limit reached"                   // Etherscan, 200
	githubHold    = time.Minute                                // GitHub: "wait for at least one minute"
)

// found is what was found in a body.
type found struct {
	*Reading
	class Class
}

// code takes s as the reason if it is known and the first.
func (f *found) code(s string) {
	if c := classOfCode(s); c != "" && f.class == "" {
		f.class, f.Reason = c, s
	}
}

// success looks into the body of a success, only where a throttle has its
// place: a record may hold any of these words.
func (f *found) success(o map[string]any) {
	if ok, isBool := o["ok"].(bool); isBool && !ok {
		f.code(text(o, "error"))
	}
	if text(o, "status") == "0" && strings.HasPrefix(text(o, "result"), etherscanText) {
		f.class = Throttle
	}
	f.graphQL(o)
}

// graphQL looks at the errors of a GraphQL response, and Shopify's cost.
func (f *found) graphQL(o map[string]any) {
	for _, e := range list(o, "errors") {
		e := object(e)
		f.code(text(object(e["extensions"]), "code"))
		f.code(text(e, "type"))
	}
	cost := object(object(o["extensions"])["cost"])
	state := object(cost["throttleStatus"])
	most, left, restore := count(state, "maximumAvailable"), count(state, "currentlyAvailable"), count(state, "restoreRate")
	if most < 0 || left < 0 || restore <= 0 {
		return
	}
	seconds := func(points float64) time.Duration {
		return capped(number{whole: int64(min(max(0, points/restore*1000), 1e15))}.times(time.Millisecond))
	}
	f.Windows = append(f.Windows, Quota{Name: "shopify-cost", Limit: most, Remaining: left, Reset: seconds(most - left), Unit: "points"})
	if asked := count(cost, "requestedQueryCost"); asked >= 0 {
		f.Cost = asked
		if f.class == Throttle {
			f.Hold = seconds(asked - left)
		}
	}
}

// failure looks into the body of an error.
func (f *found) failure(v any) {
	for _, e := range asList(v) { // Salesforce: a list of errors
		f.code(text(object(e), "errorCode"))
	}
	o := object(v)
	if _, problem, ok := strings.Cut(text(o, "type"), "http-problem-types#"); ok {
		f.code(problem)
	}
	if strings.HasPrefix(text(o, "message"), githubText) && f.class == "" {
		f.class, f.Hold = Throttle, githubHold
	}
	f.google(object(o["error"]))
	for _, o := range []map[string]any{o, object(o["error"])} {
		for _, name := range []string{"policyName", "error", "code", "errorCode", "reason", "status", "errorType", "type"} {
			f.code(text(o, name))
		}
		for _, e := range list(o, "errors") {
			f.code(text(object(e), "reason"))
			f.code(text(object(e), "code"))
		}
	}
	f.graphQL(o)
	if after := count(o, "retry_after"); after >= 0 && f.Hold < 0 { // Discord
		f.Hold = capped(number{whole: int64(min(after*1000, 1e15))}.times(time.Millisecond))
	}
}

// google looks at the details of a google.rpc.Status: how long to wait, and
// whether the quota is a day's.
func (f *found) google(status map[string]any) {
	for _, d := range list(status, "details") {
		d := object(d)
		if delay, ok := parseSpan(text(d, "retryDelay")); ok {
			f.Hold = capped(delay)
		}
		for _, v := range list(d, "violations") {
			if strings.Contains(text(object(v), "quotaId"), "PerDay") {
				f.class, f.Reason = QuotaUsed, text(status, "status")
			}
		}
	}
}

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

func asList(v any) []any { l, _ := v.([]any); return l }

func list(o map[string]any, name string) []any { return asList(o[name]) }

func text(o map[string]any, name string) string { s, _ := o[name].(string); return s }

// count returns a number that is not negative; -1 if there is none.
func count(o map[string]any, name string) float64 {
	if n, ok := o[name].(float64); ok && n >= 0 {
		return n
	}
	return -1
}
