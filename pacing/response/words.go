package response

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"collect/internal/lazy"
)

// sayings are the words of the providers that say it in words only, whole.
var sayings = []struct {
	words string
	class Class
	hold  time.Duration // where the provider's documents say how long; 0: they do not
}{
	{"You have exceeded a secondary rate limit", Throttle, time.Minute},       // GitHub, 403 without Retry-After: "wait for at least one minute"
	{"You have triggered an abuse detection", Throttle, time.Minute},          // and what it said before
	{"Out of call volume quota", QuotaUsed, 0},                                // Azure API Management, "quota policy": with 403
	{"SEC.gov | Request Rate Threshold Exceeded", Throttle, 10 * time.Minute}, // EDGAR, "Internet Security Policy": below it for 10 minutes
}

const (
	googleText = "Retry after "                  // Gmail: and then a time
	azureText  = "Quota will be replenished in " // Azure API Management: and then a TimeSpan
)

// longUsedUp finds the sentence that tells a day's or a month's quota from a
// pace, where a throttle has no code for it: You have exceeded the MONTHLY quota
// (RapidAPI), You've exceeded your API Key's daily rate limit (CoinMarketCap),
// Daily API request limit exceeded (Open-Meteo), throttle APPLICATION DAY limit
// for calls to this resource is reached (LinkedIn). What only speaks of such a
// limit does not say in one breath that it is used up.
//
// perDay finds the same behind a colon: Rate limit exceeded: free-models-per-day
// (OpenRouter), Quota exceeded for ... limit 'Queries per day' (Google). If the
// sentence has a shorter period, too, it lists the limits there are.
var (
	longUsedUp = lazy.Regexp(`(?i)\b(exceeded|reached) [^.]{0,30}\b(daily|monthly) [^.]{0,20}\b(limit|quota)\b` +
		`|\b(daily|day|monthly|month) [^.]{0,20}\b(limit|quota)[^.]{0,30} (exceeded|reached)\b`)
	perDay  = lazy.Regexp(`(?i)\b(exceeded|reached)\b(?:[^.]|\.\S){0,120}\bper[- _](day|month)\b`)
	shorter = lazy.Regexp(`(?i)\b(second|sec|minute|min|hour)\b`)
)

// limitInWords finds a limit that a refusal tells in its words alone, which are no
// more than that: 2 per 1 minute (Flask-Limiter), Rate limit exceeded: 5 per 1 minute
// (slowapi), API calls quota exceeded! maximum admitted 6000 per 1d (AspNetCoreRateLimit),
// You have exceeded your limit of 30 requests per minute (Akamai CloudTest),
// The /rates API allows 10 requests per 60s to avoid overloading our servers (MetaApi).
var limitInWords = lazy.Regexp(`(?i)^(?:rate ?limit exceeded:? |api calls quota exceeded! maximum admitted |you have exceeded your limit of |the \S+ api allows )?` +
	`(\d{1,9}) (?:requests )?per (?:(\d{1,5}) ?)?(s|second|m|minute|h|hour|d|day|month)s?(?:\.?$| to avoid overloading our servers\b)`)

// limit takes the limit that the words of a refusal name for an announced one
// that is used up. Fields that announce one say more.
func (f *found) limit(said string) {
	words := limitInWords().FindStringSubmatch(said)
	if words == nil || len(f.Windows) > 0 || f.class != Throttle && (f.class != "" || f.status != http.StatusTooManyRequests) {
		return
	}
	most, _ := parseNumber(words[1])
	times, counted := parseNumber(words[2])
	if !counted {
		times.whole = 1
	}
	window := times.times(unitsInWords[strings.ToLower(words[3])[0]])
	if strings.EqualFold(words[3], "month") {
		window = times.times(30 * day)
	}
	if most.whole == 0 || window == 0 {
		return
	}
	f.Windows = append(f.Windows, Quota{Name: "words", Limit: most.float(), Reset: -1, Window: capped(window)})
	f.announce(most.float(), -1, window)
	if window > PaceLimit {
		f.class, f.Period = QuotaUsed, window
	}
}

// atOnce finds that a refusal speaks of the requests in flight: You have exceeded the limit of 10 simultaneous connections
// (Mailchimp), Concurrent access limit reached (Marketo), ConcurrentPerOrgLongTxn Limit exceeded (Salesforce). Codes do as
// well: endpoint-concurrency (Stripe), too_many_concurrent_requests (ElevenLabs), maxConcurrencyExceeded (monday.com).
var atOnce = lazy.Regexp(`(?i)concurren(t|cy)|\bsimultaneous`)

// namesAtOnce reports whether a code or the words of a refusal do. What names a span as well lists the limits there are.
func namesAtOnce(said string) bool {
	return said == netSuiteAtOnce || atOnce().MatchString(said) && !shorter().MatchString(said)
}

// places looks for that in an error.
func (f *found) places(o map[string]any) {
	for _, name := range []string{"message", "detail", "error", "reason", "status"} {
		f.AtOnce = f.AtOnce || namesAtOnce(text(o, name))
	}
}

// noBudget finds that a refusal speaks of a pace, of a wait or of the requests in flight, and so not of a budget of an hour or more.
var noBudget = lazy.Regexp(`(?i)throttl|concurren|simultaneous|\bburst|\b(second|sec|minute|min)s?\b|\d ?m?s\b`)

// unitsInWords are the periods of such limits, by their first letters.
var unitsInWords = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': day}

// say reads the words of a limit that has no code.
func (f *found) say(said string) {
	for _, s := range sayings {
		if f.class != "" || !strings.HasPrefix(said, s.words) {
			continue
		}
		if f.class = s.class; s.hold > 0 {
			f.Hold, f.Basis.By = s.hold, Documented
		}
		if _, wait, ok := strings.Cut(said, azureText); ok {
			if d, ok := parseSpan(strings.TrimRight(wait, ". ")); ok {
				f.Hold, f.Basis.By = capped(d), Asked
			}
		}
	}
}

// page reads the title of a refusal for people, and its first paragraph.
func (f *found) page(body []byte) {
	f.say(within(body, "title"))
	f.limit(within(body, "p"))
}

// within returns the text of the first element of a page with that name.
func within(body []byte, name string) string {
	_, text, _ := bytes.Cut(body, []byte("<"+name+">"))
	text, _, ok := bytes.Cut(text, []byte("</"+name+">"))
	if !ok {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

// longQuota takes a throttle for a quota that is used up, if said says so.
func (f *found) longQuota(said string) {
	if f.class != Throttle && (f.class != "" || f.status != http.StatusTooManyRequests) {
		return
	}
	words := longUsedUp().FindString(said)
	if words == "" {
		if words = perDay().FindString(said); shorter().MatchString(words) {
			return
		}
	}
	if words != "" {
		f.class, f.Period = QuotaUsed, periodNamed(words)
	}
}

// periodNamed returns the period of a quota that its name or its words tell.
func periodNamed(s string) time.Duration {
	switch s = strings.ToLower(s); {
	case strings.Contains(s, "month"):
		return 30 * day
	case strings.Contains(s, "day"), strings.Contains(s, "daily"):
		return day
	}
	return 0
}
