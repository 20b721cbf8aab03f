package response

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// mostCodes is the longest body that is searched for codes. A refusal is short; a
// longer body carries records.
const mostCodes = 64 << 10

// AbnormalUsage is the problem type that comes nearest to the warning of a
// suspension (draft-ietf-httpapi-ratelimit-headers-10).
const AbnormalUsage = "abnormal-usage-detected"

// Challenge is the reason of an answer that a firewall gave in the provider's
// place.
const Challenge = "challenge"

// salesforceLimit is Salesforce's code for the day's requests, and for those
// at once. Databricks has it for a pace, with 429.
const salesforceLimit = "REQUEST_LIMIT_EXCEEDED"

// netSuiteAtOnce is NetSuite's code for too many requests at once.
const netSuiteAtOnce = "SSS_REQUEST_LIMIT_EXCEEDED"

// codes are machine-readable codes of providers, as they spell them.
var codes = map[string]Class{
	"quotaExceeded":               QuotaUsed, // Google: the day's units
	"insufficient_quota":          QuotaUsed, // OpenAI: billing
	"DAILY":                       QuotaUsed, // HubSpot's policyName
	"usage-capped":                QuotaUsed, // X: the month's posts
	"lock_timeout":                Conflict,
	AbnormalUsage:                 Forbidden,
	"quota-exceeded":              Throttle, // the IETF's problem types: of any window
	"temporary-reduced-capacity":  Throttle,
	"TEN_SECONDLY_ROLLING":        Throttle, // HubSpot's policyName
	"SECONDLY":                    Throttle,
	"COMPLEXITY_BUDGET_EXHAUSTED": Throttle, // monday.com: the minute's points
	"maxConcurrencyExceeded":      Throttle,
	"ComplexityException":         Throttle, // monday.com before 2025, with 200
	"maxlag":                      Throttle, // MediaWiki: its replicas are behind
	"OVER_QUERY_LIMIT":            Throttle, // Google Maps, with 200
	"OVER_DAILY_LIMIT":            QuotaUsed,
	"ERR_403_DEVELOPER_OVER_QPS":  Throttle, // Mashery, in a header
	"ERR_403_SERVICE_OVER_QPS":    Throttle,
	"ERR_403_DEVELOPER_OVER_RATE": QuotaUsed, // the day's calls
	netSuiteAtOnce:                Throttle,  // with 400
	"CONCURRENCY_LIMIT_EXCEEDED":  Throttle,  // and of its REST web services

	// Apigee: of any window; Ticketmaster's headers tell which.
	"policies.ratelimit.QuotaViolation":       Throttle,
	"policies.ratelimit.SpikeArrestViolation": Throttle,
}

// OwnTrouble reports whether a code says that the provider has trouble of its own, whatever this client does:
// MediaWiki's replicas are behind (mediawiki.org/wiki/Manual:Maxlag_parameter), and Anthropic is overloaded by all of
// its users (docs.anthropic.com/en/api/errors).
func OwnTrouble(code string) bool { return code == "maxlag" || code == "overloaded_error" }

// looseCodes are codes that many providers share, in lower case and without
// separators. Some write them with blanks, as if they were words.
var looseCodes = map[string]Class{
	"ratelimitexceeded":    Throttle,
	"toomanyrequests":      Throttle,
	"dailylimitexceeded":   QuotaUsed,
	"dailylimit":           QuotaUsed, // Zoom's X-RateLimit-Type
	"resourceexhausted":    Throttle,  // gRPC
	"overloadederror":      Throttle,  // Anthropic
	"apiratelimitexceeded": Throttle,  // NCBI, Kong
	"temporarylockout":     Throttle,  // Kraken
	"billingerror":         QuotaUsed, // Anthropic

	// Where a credential that is not accepted is told with another status than
	// 401: AWS with 400 and 403, Slack and GraphQL servers with 200.
	"expiredtoken":                Auth,
	"expiredtokenexception":       Auth,
	"unrecognizedclientexception": Auth,
	"unauthenticated":             Auth,
	"invalidauth":                 Auth,
	"notauthed":                   Auth,
	"tokenexpired":                Auth,
	"tokenrevoked":                Auth,

	// DocuSign: in the hour, and in 30 seconds.
	"hourlyapiinvocationlimitexceeded": Throttle,
	"burstapiinvocationlimitexceeded":  Throttle,

	// AWS: the throttle codes of aws-sdk-go-v2/aws/retry that do not say so.
	"provisionedthroughputexceededexception": Throttle,
	"transactioninprogressexception":         Throttle,
	"requestlimitexceeded":                   Throttle,
	"bandwidthlimitexceeded":                 Throttle,
	"limitexceededexception":                 Throttle,
	"slowdown":                               Throttle,
	"priorrequestnotcomplete":                Throttle,
}

// wordedCode reads a code by its parts, because providers vary them without
// end: sharingRateLimitExceeded, MINUTE_RATE_LIMIT_EXCEEDED, RATE_LIMITED,
// throttledRequest, monthly_quota_exceeded, project_spend_limit_exceeded. It is
// in lower case and without separators. A code that only speaks of a limit, such
// as rate_limit_not_found, is none of these.
func wordedCode(code string) Class {
	has := func(part string) bool { return strings.Contains(code, part) }
	switch {
	case (has("daily") || has("monthly") || has("billing") || has("spend") || has("usage")) && (has("limit") || has("quota")) && (has("exceeded") || has("reached")):
		return QuotaUsed
	case has("throttl"), has("toomanyrequests"):
		return Throttle
	}
	before, after, ok := strings.Cut(code, "ratelimit")
	switch after {
	case "":
		if ok && (before == "" || before == "over" || before == "hit") { // Eventbrite: HIT_RATE_LIMIT
			return Throttle
		}
	case "ed", "error", "exceeded", "reached", "exceededexception", "exceedederror":
		return Throttle
	}
	return ""
}

// metaClass returns what the number n of an error of Meta's Graph API says.
// Too many calls are those of an app, a user, a page, by custom limits, or,
// from 80000 to 80014, of a business use case; 341 is too many for a while,
// 130429 is WhatsApp's, and 368 blocks a client that goes on.
func metaClass(n float64) Class {
	switch n {
	case 4, 17, 32, 341, 613, 130429:
		return Throttle
	case 368:
		return Forbidden
	case 102, 190: // the token has expired or was withdrawn; with 400, too
		return Auth
	}
	if n >= 80000 && n <= 80014 {
		return Throttle
	}
	return ""
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func classOfCode(code string) Class {
	if c, ok := codes[code]; ok {
		return c
	}
	loose := strings.ToLower(separators.Replace(code))
	if c, ok := looseCodes[loose]; ok || strings.Contains(code, " ") {
		return c // words are prose, unless they are known as a whole
	}
	return wordedCode(loose)
}

// readCodes looks for codes in the headers and the body, and for what only the
// body tells. It returns the class of the first code that is known and leaves
// the code in r.reason.
func readCodes(r *Reading, now time.Time, status int, h http.Header, body []byte) Class {
	if challenged(h) {
		r.Reason = Challenge
		return Forbidden
	}
	if status >= 400 {
		if c := headerCode(r, status, h); c != "" {
			return c
		}
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 || len(body) > mostCodes || status < 400 && !suspect(body) {
		return ""
	}
	f := found{Reading: r, status: status, now: now}
	if body[0] == '<' && status >= 400 {
		f.xml(body)
		f.page(body)
		return f.class
	}
	if body[0] != '{' && body[0] != '[' {
		f.limit(string(bytes.TrimSpace(body)))
		return f.class
	}
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	if status < 400 {
		f.success(object(v))
	} else {
		f.failure(v)
	}
	if f.class == QuotaUsed && r.Period == 0 {
		r.Period = periodNamed(r.Reason)
	}
	return f.class
}

// challenged reports whether a firewall answered in the provider's place, with
// a riddle for browsers. Its status says little: Cloudflare's is 403, 429 or 503,
// and that of AWS WAF is 405 or 202, which would pass for a page without records.
func challenged(h http.Header) bool {
	return h.Get("Cf-Mitigated") == "challenge" || h.Get("X-Amzn-Waf-Action") != ""
}

// headerCode looks for the code of an error in its headers. That one of the
// first is there at all says that it is a throttle.
func headerCode(r *Reading, status int, h http.Header) Class {
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
	aws, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":") // ThrottlingException:http://internal.amazon.com/
	for _, code := range []string{aws, h.Get("X-Mashery-Error-Code")} {
		if c := classOfCode(code); c != "" {
			r.Reason = code
			return c
		}
	}
	if status == http.StatusTooManyRequests { // Zoom: which of its limits, told on every answer
		if limit := h.Get("X-Ratelimit-Type"); classOfCode(limit) == QuotaUsed {
			r.Reason = limit
			return QuotaUsed
		}
	}
	return ""
}
