package har

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"collect/connectors/cassette"
	"collect/internal/lazy"
)

// The objects of the format, as far as they are used. A time of -1 does not apply.
type entry struct {
	Started  string   `json:"startedDateTime"`
	Time     float64  `json:"time"` // milliseconds
	Request  request  `json:"request"`
	Response response `json:"response"`
	Cache    struct{} `json:"cache"`
	Timings  timings  `json:"timings"`
	Stream   string   `json:"_stream,omitempty"`
	Comment  string   `json:"comment,omitempty"`
}

type request struct {
	Method      string `json:"method"`
	URL         string `json:"url"`
	HTTPVersion string `json:"httpVersion"`
	Cookies     []pair `json:"cookies"`
	Headers     []pair `json:"headers"`
	Query       []pair `json:"queryString"`
	HeadersSize int64  `json:"headersSize"`
	BodySize    int64  `json:"bodySize"`
}

type response struct {
	Status      int     `json:"status"` // 0: there was no answer
	StatusText  string  `json:"statusText"`
	HTTPVersion string  `json:"httpVersion"`
	Cookies     []pair  `json:"cookies"`
	Headers     []pair  `json:"headers"`
	Content     content `json:"content"`
	RedirectURL string  `json:"redirectURL"`
	HeadersSize int64   `json:"headersSize"`
	BodySize    int64   `json:"bodySize"` // as it was received
}

type content struct {
	Size     int64  `json:"size"` // -1: it came packed, and was counted as it came
	MimeType string `json:"mimeType"`
}

type timings struct {
	Blocked float64 `json:"blocked"` // until there was a connection, made for it or kept
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

type pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// shown are the headers whose values are written. Limits that a provider announces
// are known by the beginning of their names.
var shown = []string{
	"accept", "accept-encoding", "accept-language", "age", "cache-control", "content-encoding", "content-language", "content-length", "content-range", "content-type",
	"date", "etag", "expires", "if-modified-since", "if-none-match", "last-modified", "link", "location", "prefer", "preference-applied", "range", "retry-after",
	"server", "user-agent", "vary", "via", "x-total-count", "x-total", "x-total-pages", "x-page", "x-per-page", "x-next-page", "x-prev-page",
}

var shownPrefixes = []string{"ratelimit", "x-ratelimit", "x-rate-limit", "x-app-usage", "x-business-use-case-usage"}

// addressed are the headers that hold addresses.
var addressed = []string{"location", "link"}

// named are the other headers of a response whose names are written: a provider may
// have put anything into the name of one.
var named = []string{"set-cookie", "www-authenticate", "proxy-authenticate", "authentication-info", "content-disposition", "transfer-encoding", "alt-svc"}

// headers returns h as it is written, by name. Ours are all named: the connector file
// has their names.
func headers(h http.Header, ours bool, s *mask) []pair {
	list := []pair{}
	for name, values := range h {
		for _, value := range values {
			low := strings.ToLower(name)
			switch {
			case s.lower.Text(low) != low:
				continue // net/http has changed the case of the letters of a secret in it
			case slices.Contains(addressed, low):
				value = addresses().ReplaceAllStringFunc(value, func(text string) string { return address(text, s) })
			case !slices.Contains(shown, low) && !slices.ContainsFunc(shownPrefixes, func(p string) bool { return strings.HasPrefix(low, p) }):
				if !ours && !slices.Contains(named, low) {
					continue
				}
				value = cassette.Redacted
			}
			list = append(list, pair{name, s.Text(value)})
		}
	}
	slices.SortFunc(list, func(a, b pair) int { return strings.Compare(a.Name+"\n"+a.Value, b.Name+"\n"+b.Value) })
	return list
}

// addresses finds the addresses in a Link or a Location, in which they stand alone or
// between angle brackets.
var addresses = lazy.Regexp(`[^<>\s]*[/?#][^<>\s]*`)

// secretName matches the names of parameters that may carry a credential. It rather
// matches too much: what is left out of an address can still be looked up in the
// connector file.
var secretName = lazy.Regexp(`(?i)(key|token|secret|pass|pwd|sig|auth|cred|session|sess_|sid$|jwt|code|assert|nonce|hash|digest|mac$|user|login|policy)`)

// address returns an address as it is written; what cannot be read as one is left out.
func address(text string, s *mask) string {
	u, err := url.Parse(text)
	if err != nil {
		return cassette.Redacted
	}
	return urlOf(u, s)
}

func urlOf(u *url.URL, s *mask) string {
	clean := *u
	clean.User, clean.Fragment, clean.RawFragment = nil, "", ""
	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		if raw, _, ok := strings.Cut(part, "="); ok && secret(raw) {
			parts[i] = raw + "=" + cassette.Redacted
		}
	}
	clean.RawQuery = strings.Join(parts, "&")
	return s.Text(clean.String())
}

func secret(raw string) bool {
	name, err := url.QueryUnescape(raw)
	return err != nil || secretName().MatchString(name)
}

// query returns the parameters of an address as they are written, by name.
func query(u *url.URL, s *mask) []pair {
	list := []pair{}
	for name, values := range u.Query() {
		for _, value := range values {
			if secretName().MatchString(name) {
				value = cassette.Redacted
			}
			list = append(list, pair{s.Text(name), s.Text(value)})
		}
	}
	slices.SortFunc(list, func(a, b pair) int { return strings.Compare(a.Name+"\n"+a.Value, b.Name+"\n"+b.Value) })
	return list
}
