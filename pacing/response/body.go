package response

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
)

// shortRefusal is the longest body of a success that is a refusal by a code which
// says nothing by itself: the code, and a few words.
const shortRefusal = 1 << 10

// The words that bodies of a success have if they may be a throttle in disguise,
// and those that a short one has.
var (
	marks = []string{
		"THROTTLED", "throttleStatus", "TOO_MANY_REQUESTS", `"maxlag"`, "API call frequency", "OVER_QUERY_LIMIT", "OVER_DAILY_LIMIT",
		"COMPLEXITY_BUDGET_EXHAUSTED", "ComplexityException", `"quota_remaining"`,
		"UNAUTHENTICATED",
	}
	shortMarks = []string{"false", "error", "retCode", "infocode", "99991400"}
)

// suspect reports whether the body of a success may be a throttle in disguise.
// It keeps ordinary pages from being parsed twice.
func suspect(body []byte) bool {
	has := func(mark string) bool { return bytes.Contains(body, []byte(mark)) }
	return slices.ContainsFunc(marks, has) || len(body) <= shortRefusal && slices.ContainsFunc(shortMarks, has) ||
		limitsRate(body, "limit") || limitsRate(body, "Limit") || limitsRate(body, "LIMIT")
}

// limitsRate reports whether s has a rate before a limit, as in RATE_LIMITED,
// ratelimited and Rate limit exceeded.
func limitsRate(s []byte, limit string) bool {
	for at := 0; ; at += len(limit) {
		i := bytes.Index(s[at:], []byte(limit))
		if i < 0 {
			return false
		}
		at += i
		before := bytes.TrimRight(s[max(0, at-5):at], "_- ")
		if n := len(before) - 4; n >= 0 && bytes.EqualFold(before[n:], []byte("rate")) {
			return true
		}
	}
}

// found is what was found in a body.
type found struct {
	*Reading
	class  Class
	status int
	now    time.Time // of the response
}

// code takes s as the reason if it is known and the first; but that a quota is
// used up says more than that this is a throttle.
func (f *found) code(s string) {
	c := classOfCode(s)
	if c == "" && f.status < http.StatusTooManyRequests && strings.EqualFold(separators.Replace(s), "quotaexceeded") {
		c = QuotaUsed // with 429 it may be a pace all the same: Amazon SP-API
	}
	if c != "" && (f.class == "" || f.class == Throttle && c == QuotaUsed) {
		f.class, f.Reason = c, s
	}
}

// success looks into the body of a success, only where a throttle has its
// place: a record may hold any of these words. What has an id is a record, and
// its errors are its own.
func (f *found) success(o map[string]any) {
	if id := o["id"]; id != nil && o["jsonrpc"] == nil {
		return
	}
	if ok, isBool := o["ok"].(bool); isBool && !ok {
		f.code(text(o, "error"))
	}
	f.code(text(o, "error_code"))
	f.code(text(object(o["error"]), "code")) // MediaWiki
	if status := text(o, "status"); strings.HasPrefix(status, "OVER_") {
		f.code(status) // Google Maps
	}
	for _, e := range list(o, "errors") {
		f.code(text(object(e), "code"))
	}
	if text(o, "documentation_url") != "" { // a refusal by GitHub, and no record
		f.say(text(o, "message"))
	}
	f.numbered(o)
	f.kraken(list(o, "error"))
	f.stackExchange(o)
	f.inWords(o)
	f.graphQL(o)
	f.longQuota(text(o, "error_message")) // Google Maps
}

// kraken reads its errors, a class and words: EAPI:Rate limit exceeded, or
// EService:Throttled: and until when, as a Unix time.
func (f *found) kraken(errors []any) {
	for _, e := range errors {
		e, _ := e.(string)
		_, words, _ := strings.Cut(e, ":")
		words, until, _ := strings.Cut(words, ":")
		if f.code(strings.TrimSpace(words)); f.class == "" {
			continue
		}
		if wait, ok := parseWait(until, f.now, time.Second); ok {
			f.later(wait, Asked)
		}
	}
}

// stackExchange reads how many requests of the day are left, and how long to leave
// a method alone. Both stand in each body, and in no header.
func (f *found) stackExchange(o map[string]any) {
	most, left := count(o, "quota_max"), count(o, "quota_remaining")
	if most < 0 || left < 0 {
		return
	}
	f.Windows = append(f.Windows, Quota{Name: "quota", Limit: most, Remaining: left, Reset: -1, Window: 24 * time.Hour})
	f.wait(o, "backoff", time.Second)
}

// inWords reads the providers that answer a throttle with 200 and words.
func (f *found) inWords(o map[string]any) {
	result, message := text(o, "result"), text(o, "message")
	switch {
	case text(o, "status") == "0" && strings.HasPrefix(result, "Max ") && strings.Contains(result, "rate limit reached"):
		f.class = Throttle // Etherscan: Max calls per sec rate limit reached (5/sec)
		if strings.HasPrefix(result, "Max daily ") {
			f.class = QuotaUsed
		}
	case count(o, "error") == 29 && strings.HasPrefix(strings.ToLower(message), "rate limit exceeded"):
		f.class, f.Reason = Throttle, "29" // Last.fm
	case len(o) == 1:
		note := text(o, "Note") + text(o, "Information") // Alpha Vantage: all that it sends instead of data
		if !strings.Contains(note, "API call frequency is") && !strings.Contains(note, "API rate limit is") {
			return
		}
		f.class = QuotaUsed
		if strings.Contains(note, "per minute") {
			f.class = Throttle
		}
	}
}

// graphQL looks at the errors of a GraphQL response, and Shopify's cost.
func (f *found) graphQL(o map[string]any) {
	for _, e := range list(o, "errors") {
		e := object(e)
		extensions := object(e["extensions"])
		f.code(text(extensions, "code"))
		f.code(text(extensions, "category")) // Lighthouse
		f.code(text(e, "type"))
		f.say(text(e, "message"))
		f.waits(extensions) // monday.com
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
			f.Hold, f.Basis.By = inSeconds((asked-left)/restore), TooLittle
		}
	}
	if charged := count(cost, "actualQueryCost"); charged >= 0 {
		f.Cost = charged
	}
}

// failure looks into the body of an error.
func (f *found) failure(v any) {
	o := object(v)
	if errors := asList(v); len(errors) > 0 { // Salesforce, and Gemini while it streams
		o = object(errors[0])
	}
	if problem := text(o, "type"); strings.Contains(problem, "/") { // RFC 9457: a URI, whose last part names it
		f.code(problem[strings.LastIndexAny(problem, "/#")+1:])
	}
	f.say(text(o, "message"))
	e := object(o["error"])
	f.google(e)
	f.google(o) // a google.rpc.Status as it is: grpc-gateway
	f.meta(e)
	_, name, _ := strings.Cut(text(o, "__type"), "#") // AWS: com.amazonaws.dynamodb.v20120810#ThrottlingException
	f.code(name)
	fault := object(o["fault"]) // Apigee, WSO2
	for _, o := range []map[string]any{o, e, object(e["details"]), object(fault["detail"])} {
		if text(o, "errorCode") == salesforceLimit && f.status != http.StatusTooManyRequests && f.class == "" {
			f.class, f.Reason = QuotaUsed, salesforceLimit
		}
		for _, name := range []string{"policyName", "error", "code", "Code", "errorCode", "reason", "status", "errorType", "type", "__type", "error_code", "error_type", "error_name", "name", "errorcode"} {
			f.code(text(o, name))
		}
		for _, e := range list(o, "o:errorDetails") { // NetSuite
			f.code(text(object(e), "o:errorCode"))
		}
		for _, e := range list(o, "errors") {
			f.code(text(object(e), "reason"))
			f.code(text(object(e), "code"))
			f.code(text(object(e), "error")) // Airtable
		}
	}
	f.numbered(o)
	f.graphQL(o)
	for _, o := range []map[string]any{
		o, e, fault, // Discord, Dropbox, WSO2
		object(o["parameters"]), // Telegram
		object(o["details"]), object(e["details"]),
		object(object(e["data"])["rate"]), // Infura
	} {
		f.waits(o)
	}
	for _, o := range []map[string]any{o, e, object(o["status"])} { // the last is CoinMarketCap's
		for _, name := range []string{"message", "error_message", "reason", "error", "detail"} {
			f.longQuota(text(o, name))
		}
		for _, name := range []string{"message", "error", "detail"} {
			f.limit(text(o, name))
		}
	}
	for _, o := range append(list(o, "errors"), o, e, o["detail"]) {
		f.places(object(o))
	}
	if f.Hold > PaceLimit && text(o, "nextAccessTime")+text(fault, "nextAccessTime") != "" { // WSO2: of no pace
		f.class = QuotaUsed
	}
	f.headers(object(object(e["metadata"])["headers"]))
	if everywhere, _ := o["global"].(bool); everywhere && count(o, "retry_after") >= 0 {
		f.Key = "*" // Discord: not only this route
	}
}

// headers reads the limits that OpenRouter tells in the body of a refusal, in the
// form of headers.
func (f *found) headers(told map[string]any) {
	if len(f.Windows) > 0 {
		return // they are headers as well
	}
	h := http.Header{}
	for name := range told {
		if value := text(told, name); value != "" {
			h.Set(name, value)
		}
	}
	readLimits(f.Reading, h, f.now)
}

// xml looks for the code of an error of AWS's older protocols, and of S3:
// <Error><Code>SlowDown</Code>.
func (f *found) xml(body []byte) {
	_, rest, _ := bytes.Cut(body, []byte("<Code>"))
	code, _, ok := bytes.Cut(rest, []byte("</Code>"))
	if ok {
		f.code(string(code))
	}
}

// waits takes the wait that o names in one of the usual ways. Of two, the finer
// is the first.
func (f *found) waits(o map[string]any) {
	for _, name := range []string{"retry_after_ms", "retryAfterMs"} {
		f.wait(o, name, time.Millisecond)
	}
	for _, name := range []string{"retry_after", "retryAfter", "retry_after_seconds", "retryAfterSeconds", "retry_in_seconds", "backoff_seconds", "reset_at", "resetAt", "nextAccessTime", "RateLimitResetTime"} {
		f.wait(o, name, time.Second)
	}
}

// wait takes what o[name] says, a number or text as in Retry-After, if it is
// the first.
func (f *found) wait(o map[string]any, name string, unit time.Duration) {
	said := text(o, name)
	if n := count(o, name); n >= 0 {
		said = digits(n)
	}
	if d, ok := parseWait(said, f.now, unit); ok && f.Hold < 0 {
		f.later(d, Asked)
	}
}

// meta looks at the number of an error of Meta's Graph API, whose status is 400
// or 403.
func (f *found) meta(e map[string]any) {
	if _, traced := e["fbtrace_id"]; !traced && text(e, "type") != "OAuthException" {
		return
	}
	n := count(e, "code")
	if c := metaClass(n); c != "" && f.class == "" {
		f.class, f.Reason = c, digits(n)
	}
}

// google looks at the details of a google.rpc.Status: how long to wait, and
// whether the quota is a day's. Gmail tells until when in words alone.
func (f *found) google(status map[string]any) {
	for _, o := range append(list(status, "errors"), status) {
		if _, until, ok := strings.Cut(text(object(o), "message"), googleText); ok && f.Hold < 0 {
			if t, ok := parseDate(strings.TrimRight(until, ". ")); ok {
				f.later(capped(max(0, t.Sub(f.now))), Asked)
			}
		}
	}
	for _, d := range list(status, "details") {
		d := object(d)
		if delay, ok := parseSpan(text(d, "retryDelay")); ok {
			f.Hold, f.Basis.By = capped(delay), Asked
		}
		for _, v := range list(d, "violations") {
			f.named(text(object(v), "quotaId"), status)
			f.named(text(object(v), "quotaMetric"), status)
		}
		f.named(text(object(d["metadata"]), "quota_limit"), status)
		f.named(text(object(d["metadata"]), "quota_unit"), status)
	}
}

// named takes a quota that is used up for one of a day, or longer, by its name,
// as in QueriesPerDay, requests_per_model_per_day, CLIENT_PROJECT-1d, 1/d/{project}.
// The wait that stands beside it is that of the minute's quota.
func (f *found) named(quota string, status map[string]any) {
	folded := strings.ToLower(separators.Replace(quota))
	if strings.Contains(folded, "perday") || strings.Contains(folded, "permonth") ||
		strings.HasSuffix(quota, "-1d") || strings.HasPrefix(quota, "1/d/") {
		f.class, f.Reason, f.Period = QuotaUsed, text(status, "status"), max(day, periodNamed(folded))
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
