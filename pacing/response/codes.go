package response

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
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
	"REQUEST_LIMIT_EXCEEDED":      QuotaUsed, // Salesforce: the day's requests
	"dailyLimitExceeded":          QuotaUsed, // Google
	"dailyLimitExceededUnreg":     QuotaUsed,
	"quotaExceeded":               QuotaUsed, // Google: the day's units
	"insufficient_quota":          QuotaUsed, // OpenAI: billing
	"DAILY":                       QuotaUsed, // HubSpot's policyName
	"lock_timeout":                Conflict,
	AbnormalUsage:                 Forbidden,
	"quota-exceeded":              Throttle, // the IETF's problem types: of any window
	"temporary-reduced-capacity":  Throttle,
	"TEN_SECONDLY_ROLLING":        Throttle, // HubSpot's policyName
	"SECONDLY":                    Throttle,
	"DAILY_LIMIT_EXCEEDED":        QuotaUsed, // monday.com
	"COMPLEXITY_BUDGET_EXHAUSTED": Throttle,  // monday.com: the minute's points
	"maxConcurrencyExceeded":      Throttle,
	"ComplexityException":         Throttle, // monday.com before 2025, with 200
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
	"ipratelimitexceeded":   Throttle, // monday.com
	"toomanyrequests":       Throttle, // Azure
	"overloadederror":       Throttle, // Anthropic

	// AWS: the throttle codes of aws-sdk-go-v2/aws/retry.
	"throttling":                             Throttle,
	"throttlingexception":                    Throttle,
	"throttledexception":                     Throttle,
	"requestthrottled":                       Throttle,
	"requestthrottledexception":              Throttle,
	"toomanyrequestsexception":               Throttle,
	"provisionedthroughputexceededexception": Throttle,
	"transactioninprogressexception":         Throttle,
	"requestlimitexceeded":                   Throttle,
	"bandwidthlimitexceeded":                 Throttle,
	"limitexceededexception":                 Throttle,
	"slowdown":                               Throttle,
	"priorrequestnotcomplete":                Throttle,
	"ec2throttledexception":                  Throttle,
}

// metaThrottle reports whether Meta's Graph API refuses for too many calls by
// the number n: of an app, a user, a page, by custom limits, or, from 80000 to
// 80014, of a business use case.
func metaThrottle(n float64) bool {
	switch n {
	case 4, 17, 32, 613:
		return true
	}
	return n >= 80000 && n <= 80014
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
func readCodes(r *Reading, now time.Time, status int, h http.Header, body []byte) Class {
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
	f := found{Reading: r, now: now}
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
	for _, mark := range []string{
		"RATE_LIMIT", "RATELIMIT", "THROTTLED", `"ratelimit`, `"rate_limit`, `"rate-limit`,
		"COMPLEXITY_BUDGET_EXHAUSTED", "ComplexityException", etherscanText,
	} {
		if bytes.Contains(body, []byte(mark)) {
			return true
		}
	}
	return false
}

// Three providers say it in words only. These are the words, whole.
const (
	githubText    = "You have exceeded a secondary rate limit" // GitHub, 403 without Retry-After
	etherscanText = "Max rate limit reached"                   // Etherscan, 200
	googleText    = "Retry after "                             // Gmail: and then a time
	githubHold    = time.Minute                                // GitHub: "wait for at least one minute"
)

// found is what was found in a body.
type found struct {
	*Reading
	class Class
	now   time.Time // of the response
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
	f.code(text(o, "error_code"))
	if text(o, "status") == "0" && strings.HasPrefix(text(o, "result"), etherscanText) {
		f.class = Throttle
	}
	f.graphQL(o)
}

// graphQL looks at the errors of a GraphQL response, and Shopify's cost.
func (f *found) graphQL(o map[string]any) {
	for _, e := range list(o, "errors") {
		e := object(e)
		extensions := object(e["extensions"])
		f.code(text(extensions, "code"))
		f.code(text(e, "type"))
		f.seconds(count(extensions, "retry_in_seconds")) // monday.com
	}
	cost := object(object(o["extensions"])["cost"])
	state := object(cost["throttleStatus"])
	most, left, restore := count(state, "maximumAvailable"), count(state, "currentlyAvailable"), count(state, "restoreRate")
	if most < 0 || left < 0 || restore <= 0 {
		return
	}
	f.Windows = append(f.Windows, Quota{Name: "shopify-cost", Limit: most, Remaining: left, Reset: inSeconds((most - left) / restore), Unit: "points"})
	if asked := count(cost, "requestedQueryCost"); asked >= 0 {
		f.Cost = asked
		if f.class == Throttle {
			f.Hold = inSeconds((asked - left) / restore)
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
	f.meta(object(o["error"]))
	_, name, _ := strings.Cut(text(o, "__type"), "#") // AWS: com.amazonaws.dynamodb.v20120810#ThrottlingException
	f.code(name)
	for _, o := range []map[string]any{o, object(o["error"])} {
		for _, name := range []string{"policyName", "error", "code", "errorCode", "reason", "status", "errorType", "type", "__type", "error_code"} {
			f.code(text(o, name))
		}
		for _, e := range list(o, "errors") {
			f.code(text(object(e), "reason"))
			f.code(text(object(e), "code"))
		}
	}
	f.graphQL(o)
	f.seconds(count(o, "retry_after"))                  // Discord
	f.seconds(count(object(o["error"]), "retry_after")) // Dropbox
}

// seconds takes a wait, if there is one and it is the first.
func (f *found) seconds(n float64) {
	if n >= 0 && f.Hold < 0 {
		f.Hold = inSeconds(n)
	}
}

// meta looks at the number of an error of Meta's Graph API, whose status is 400
// or 403.
func (f *found) meta(e map[string]any) {
	if _, traced := e["fbtrace_id"]; !traced && text(e, "type") != "OAuthException" {
		return
	}
	if n := count(e, "code"); metaThrottle(n) && f.class == "" {
		f.class, f.Reason = Throttle, strconv.FormatFloat(n, 'f', -1, 64)
	}
}

// google looks at the details of a google.rpc.Status: how long to wait, and
// whether the quota is a day's. Gmail tells until when in words alone.
func (f *found) google(status map[string]any) {
	for _, o := range append(list(status, "errors"), status) {
		if _, until, ok := strings.Cut(text(object(o), "message"), googleText); ok && f.Hold < 0 {
			if t, ok := parseDate(strings.TrimRight(until, ". ")); ok {
				f.Hold = capped(max(0, t.Sub(f.now)))
			}
		}
	}
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
