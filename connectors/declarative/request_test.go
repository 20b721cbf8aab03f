package declarative_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
)

// build returns the connector of a file with options.
func build(t *testing.T, src string, o declarative.Options) (connectors.Connector, error) {
	t.Helper()
	spec, err := declarative.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return spec.Build(o)
}

// recorder answers every request with an empty page and notes it, with the
// credential attached as the governed client would.
type recorder struct {
	provider collection.Provider
	seen     []*http.Request
	body     string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.provider.Authorize != nil && slices.Contains(r.provider.Origins, req.URL.Scheme+"://"+req.URL.Host) {
		req = req.Clone(req.Context())
		r.provider.Authorize(req)
	}
	r.seen = append(r.seen, req)
	return direct{answer(200, r.body)}.RoundTrip(req)
}

func TestRequestsAreWrittenAsTheFileSays(t *testing.T) {
	src := `
connector: test
params: {org: {}, q: {}, unset: {}}
provider: {base_url: "https://api.test/v1/", headers: {X-Org: "${params.org}", Accept: text/json}}
defaults: {key: id, page: {none: true}, query: {a: 1, b: "2 3&4", c: x}, headers: {X-B: b}}
streams:
  parents: {get: /p}
  things:
    each: {repo: parents.name, n: parents.n}
    get: "/orgs/${params.org}/${repo}/x${n}?v=${repo}&w=1"
    query: {c: null, b: "${params.q}", d: "${params.unset}", "e[f]": "${n}", since: "x ${since} y"}
    since: {field: at, start: "${params.org}", order: asc}
    headers: {X-B: null, X-N: "n ${n}"}
`
	c, err := build(t, src, declarative.Options{Params: map[string]string{"org": "a/b c?", "q": "ä&="}})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{body: "[]"}
	at := collection.Place{Stream: "things", Partition: `{"n":1.50,"repo":"o/r #%"}`}
	for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, at, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	req := r.seen[0]
	want := "https://api.test/v1/orgs/a/b%20c%3F/o/r%20%23%25/x1.50?v=o%2Fr%20%23%25&w=1&a=1&b=%C3%A4%26%3D&e%5Bf%5D=1.50&since=x%20a%2Fb%20c%3F%20y"
	if got := req.URL.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	wantHeader := http.Header{"X-Org": {"a/b c?"}, "Accept": {"text/json"}, "X-N": {"n 1.50"}}
	if !reflect.DeepEqual(req.Header, wantHeader) {
		t.Errorf("header %v, want %v", req.Header, wantHeader)
	}
	for _, evil := range []string{`".."`, `"a/../b"`, `"."`, `""`, `"a//b"`, `"/etc"`} {
		at.Partition = collection.Partition(`{"n":1,"repo":` + evil + `}`)
		r.seen = nil
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, at, collection.Cursor{}) {
			if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.BadPage {
				t.Errorf("repo %s: error %v, want a stop for bad_page", evil, err)
			}
		}
		if len(r.seen) > 0 {
			t.Errorf("repo %s: requested %s", evil, r.seen[0].URL)
		}
	}
}

// TestNoParameterIsSentTwice: a page that is asked for by the parameter of the
// mark is asked for without the mark, and what a `get` sets itself is not set by
// the defaults as well.
func TestNoParameterIsSentTwice(t *testing.T) {
	c, err := build(t, `
connector: test
provider: {base_url: "https://api.test"}
defaults: {query: {per_page: 100, state: all}}
streams:
  things:
    get: /things?per_page=50
    key: id
    records: items
    since: {field: at, param: since, lookback: 1s}
    page: {cursor: {from: next, param: since}}
`, declarative.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{body: `{"items":[{"id":1,"at":1700000000}],"next":"98"}`}
	for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{Since: "580", Done: true}) {
		if err != nil {
			break // the same cursor again
		}
	}
	var got []string
	for _, req := range r.seen {
		got = append(got, req.URL.RawQuery)
	}
	if want := []string{"per_page=50&state=all&since=579", "per_page=50&state=all&since=98"}; !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// TestLinksStayAtListedOrigins: a link is followed to an origin that the file
// lists or a stream names. Elsewhere the page that has it is owed, and the stop
// names the line to add.
func TestLinksStayAtListedOrigins(t *testing.T) {
	for _, test := range []struct {
		base, origins, next string
		line                string // "": the link is followed
	}{
		{"https://api.test", "[]", "/x", ""},
		{"https://api.test", "[]", "https://API.test:443/x", ""},
		{"https://api.test:443", "[]", "//api.test./x", ""},
		{"https://api.test", `["http://plain.test"]`, "http://plain.test/x", ""},
		{"https://api.test", "[]", "https://named.test/x", ""},
		{"https://api.test", "[]", "http://plain.test/x", `origins: ["http://plain.test"]`},
		{"https://api.test", `["https://plain.test"]`, "http://plain.test/x", `origins: ["http://plain.test"]`},
		{"http://api.test", "[]", "http://api.test:8080/x", `origins: ["http://api.test:8080"]`},
		{"https://api.test", "[]", "//api2.test/x", `origins: ["https://api2.test"]`},
	} {
		c, err := build(t, fmt.Sprintf(`
connector: test
provider: {base_url: %q, origins: %s}
streams: {things: {get: things, key: id, records: items, page: {next_url: next}}, others: {get: "https://named.test/y", key: id, page: {none: true}}}
`, test.base, test.origins), declarative.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: fmt.Sprintf(`{"items":[],"next":%q}`, test.next)}
		var first error
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			if first = err; err != nil || len(r.seen) > 1 {
				break
			}
		}
		stop, _ := errors.AsType[*collection.Stop](first)
		_, unlisted := errors.AsType[*collection.UnlistedError](first)
		switch {
		case unlisted != (test.line != ""), unlisted != (len(r.seen) == 1):
			t.Errorf("%s, origins %s, next %s: %v after %d requests", test.base, test.origins, test.next, first, len(r.seen))
		case unlisted && (stop.Reason != collection.BadPage || !strings.HasSuffix(stop.Detail, test.line)):
			t.Errorf("%s, next %s: %v, want bad_page and the line %s", test.base, test.next, stop, test.line)
		}
	}
}

func TestLinksAreFollowedAsSent(t *testing.T) {
	tests := []struct{ link, token, requested string }{
		{"https://api.test/things?c=%2f%2F+x&&y", "", "https://api.test/things?c=%2f%2F+x&&y"},
		{"/things?c=1#f", "", "https://api.test/things?c=1"},
		{"?c=1", "", "https://api.test/v1/things?c=1"},
		{"?c=a b", "", "https://api.test/v1/things?c=a%20b"},
		{"//other.test/x", "", "https://other.test/x?key=s3cr3t"},
		{"more/2", "https://api.test/v1/more/2", "https://api.test/v1/more/2"},
		{"https://api.test/x?key=s3cr3t&c=%2f", "https://api.test/x?c=%2f", "https://api.test/x?c=%2f&key=s3cr3t"},
		{"?k%65y=s3cr3t", "?", "https://api.test/v1/things?key=s3cr3t"},
	}
	for _, test := range tests {
		c, err := build(t, `
connector: test
secrets: {key: {env: KEY}}
provider: {base_url: "https://api.test/v1", origins: ["https://other.test"], auth: {api_key: {query: key, value: "${secrets.key}"}}}
streams: {things: {get: things, key: id, records: items, page: {next_url: next}}}
`, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "s3cr3t"}}})
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{provider: c.Provider(), body: fmt.Sprintf(`{"items":[],"next":%q}`, test.link)}
		token := test.token
		if token == "" {
			token = test.link
		}
		for slice, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			if err != nil {
				break // the same link again
			}
			if slice.From.Token == "" && slice.Next.Token != token {
				t.Errorf("%s: token %q, want %q", test.link, slice.Next.Token, token)
			}
		}
		if len(r.seen) < 2 {
			t.Errorf("%s: not followed", test.link)
			continue
		}
		got, want := r.seen[1].URL.String(), test.requested
		if strings.HasPrefix(want, "https://api.test") && !strings.Contains(want, "key=") {
			want += map[bool]string{true: "&", false: "?"}[strings.Contains(want, "?")] + "key=s3cr3t"
		}
		if got != want {
			t.Errorf("%s: requested %s, want %s", test.link, got, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	tests := []struct{ auth, header, value, credential string }{
		{`{bearer: "${secrets.token}"}`, "Authorization", "Bearer t0k", "t0k"},
		{`{basic: {user: me, password: "${secrets.token}"}}`, "Authorization", "Basic bWU6dDBr", "me:t0k"},
		{`{basic: {user: "${secrets.token}"}}`, "Authorization", "Basic dDBrOg==", "t0k:"},
		{`{api_key: {header: x-key, value: "${secrets.token}", prefix: "Key "}}`, "X-Key", "Key t0k", "t0k"},
		{`{api_key: {cookie: session, value: "${secrets.token}"}}`, "Cookie", "session=t0k", "t0k"},
		{`{api_key: [{header: x-a, value: "${secrets.token}"}, {cookie: b, value: "${secrets.token}2"}]}`, "Cookie", "b=t0k2", "t0k\nt0k2"},
	}
	for _, test := range tests {
		c, err := build(t, "connector: test\nsecrets: {token: {env: TOK}}\nprovider: {base_url: \"https://API.test:443/v1\", origins: [\"http://up.test:80\", \"https://up.test:8443\"], auth: "+test.auth+"}\nstreams: {things: {get: /x, key: id, page: {none: true}}}\n",
			declarative.Options{Secrets: map[string]declarative.SecretValue{"token": {Value: "t0k", From: "env TOK"}}})
		if err != nil {
			t.Fatal(err)
		}
		p := c.Provider()
		req, _ := http.NewRequest("GET", "https://api.test/", nil)
		p.Authorize(req)
		if got := req.Header.Get(test.header); got != test.value || p.Credential != test.credential || p.CredentialFrom != "env TOK" {
			t.Errorf("%s: %s: %s, credential %q from %q; want %s, %q from env TOK", test.auth, test.header, got, p.Credential, p.CredentialFrom, test.value, test.credential)
		}
		if want := []string{"https://api.test", "http://up.test", "https://up.test:8443"}; !slices.Equal(p.Origins, want) {
			t.Errorf("origins %v, want %v", p.Origins, want)
		}
	}
}

func TestWhatIsMissingOrWrong(t *testing.T) {
	const src = `
connector: test
params: {url: {required: true}, n: {type: int}, on: {type: bool}, x: {type: number}, day: {type: date, default: 2024-01-01}}
secrets: {token: {file: /run/tok}}
provider: {base_url: "${params.url}", auth: {bearer: "${secrets.token}"}}
streams: {things: {get: /x, key: id, page: {none: true}}}
`
	tests := []struct {
		params map[string]string
		secret string
		want   error
	}{
		{map[string]string{}, "t", &declarative.MissingParamError{Name: "url"}},
		{map[string]string{"url": "https://a.test", "n": "1.5"}, "t", &declarative.BadParamError{Name: "n", Problem: "is not a whole number"}},
		{map[string]string{"url": "https://a.test", "on": "yes"}, "t", &declarative.BadParamError{Name: "on", Problem: "is neither true nor false"}},
		{map[string]string{"url": "https://a.test", "x": "1e"}, "t", &declarative.BadParamError{Name: "x", Problem: "is not a number"}},
		{map[string]string{"url": "https://a.test", "day": "soon"}, "t", &declarative.BadParamError{Name: "day", Problem: "is not a date such as 2024-01-31, or a time such as 2024-01-31T12:00:00Z"}},
		{map[string]string{"url": "https://a.test", "dya": "1"}, "t", &declarative.BadParamError{Name: "dya", Problem: "is not one of this connector; a similar one is `day`"}},
		{map[string]string{"url": "a.test"}, "t", &declarative.BadParamError{Name: "url", Problem: "is not an HTTP address such as https://api.example.com"}},
		{map[string]string{"url": "https://u:p@a.test"}, "t", &declarative.BadParamError{Name: "url", Problem: "must not hold a user, a query or a fragment"}},
		{map[string]string{"url": "https://a.test"}, "", &declarative.MissingSecretError{Name: "token", Looked: []string{"file /run/tok"}}},
		{map[string]string{"url": "https://a.test"}, "t\nX: y", &declarative.BadSecretError{Name: "token", Problem: "contains a line break or another control character"}},
		{map[string]string{"url": "https://a.test", "n": "-7", "on": "true", "x": "-1.5e3"}, "t", nil},
	}
	for _, test := range tests {
		_, err := build(t, src, declarative.Options{Params: test.params, Secrets: map[string]declarative.SecretValue{"token": {Value: test.secret}}})
		if !reflect.DeepEqual(err, test.want) {
			t.Errorf("%v, secret %q: error %v, want %v", test.params, test.secret, err, test.want)
		}
	}
	// A secret that is optional may be missing: then there is no credential.
	c, err := build(t, strings.Replace(src, "file: /run/tok", "file: /run/tok, optional: true", 1), declarative.Options{Params: map[string]string{"url": "https://a.test"}})
	if err != nil || c.Provider().Authorize != nil || c.Provider().Credential != "" {
		t.Errorf("without an optional secret: error %v, or a credential", err)
	}
}

func TestProvider(t *testing.T) {
	c, err := build(t, `
connector: test
provider:
  name: acme
  base_url: https://api.test
  ceiling: {per_second: 0.5, per_minute: 100, per_hour: 5000, per_day: 100000}
  start_per_second: 0.25
  pace: off
  on_403: hold
  limits: {request_timeout: 1m, header_timeout: 10s, body: 1MiB, record: 2KB, headers: 3B, cursor: 4KiB, pages_without_new_record: 7, pages: 900, attempts: 2, longest_retry_after: 1d}
streams: {things: {get: /x, key: id, page: {none: true}}}
`, declarative.Options{Provider: declarative.Overrides{StartPerSecond: 2, Ceilings: []collection.Ceiling{{Count: 9, Per: time.Hour}, {Count: 4, Per: time.Second}}, On403: collection.GapRecord}})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Provider()
	want := collection.Provider{
		Name: "acme", Party: "acme", Origins: []string{"https://api.test"}, Unpaced: true, StartPerSecond: 2, Forbidden: collection.GapRecord,
		Ceilings: []collection.Ceiling{
			{Count: 1, Per: 2*time.Second + 1}, {Count: 100, Per: time.Minute}, {Count: 5000, Per: time.Hour}, {Count: 100000, Per: 24 * time.Hour},
			{Count: 9, Per: time.Hour}, {Count: 4, Per: time.Second},
		},
		Limits: collection.Limits{
			Request: time.Minute, Header: 10 * time.Second, Body: 1 << 20, Record: 2000, Headers: 3, Cursor: 4096,
			PagesWithout: 7, Pages: 900, Attempts: 2, LongestWait: 24 * time.Hour,
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestRules(t *testing.T) {
	c, err := build(t, `
connector: test
provider:
  base_url: https://api.test
  throttle:
    - {status: [403], body: 'body.message contains "secondary rate limit"'}
    - {status: [403], header: {X-Left: "0", X-Kind: {when: 'value startsWith "core"'}}}
    - {body: 'status == 200 && header["x-cost"] == "9" && text contains "slow"'}
    - {body: 'body.code == 9007199254740993'}
defaults: {on: [{status: [404, 410], verdict: gone}, {status: [403], verdict: gap}]}
streams:
  things: {get: /x, key: id, page: {none: true}, on: [{status: [410], verdict: stop}, {status: [403], header: {X-Ok: "1"}, verdict: ok}]}
`, declarative.Options{})
	if err != nil {
		t.Fatal(err)
	}
	judge := c.Provider().Judge
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	tests := []struct {
		name string
		resp collection.Response
		want collection.Verdict
	}{
		{"a good page", collection.Response{Stream: "things", Status: 200, Body: []byte("[]")}, ""},
		{"the stream's first", collection.Response{Stream: "things", Status: 410}, collection.StopRun},
		{"the defaults behind", collection.Response{Stream: "things", Status: 404}, collection.IsGone},
		{"the first match wins", collection.Response{Stream: "things", Status: 403, Header: header("X-Ok", "1")}, collection.Accept},
		{"the stream before the provider", collection.Response{Stream: "things", Status: 403, Body: []byte(`{"message":"a secondary rate limit"}`)}, collection.OpenGap},
		{"the provider for no stream", collection.Response{Status: 403, Body: []byte(`{"message":"a secondary rate limit"}`)}, collection.Throttle},
		{"no match in the body", collection.Response{Status: 403, Body: []byte(`{"message":"go away"}`)}, ""},
		{"no message", collection.Response{Status: 403, Body: []byte(`{}`)}, ""},
		{"a message that is no text", collection.Response{Status: 403, Body: []byte(`{"message":7}`)}, ""},
		{"not JSON", collection.Response{Status: 403, Body: []byte(`secondary rate limit`)}, ""},
		{"both headers", collection.Response{Status: 403, Header: header("X-Left", "0", "X-Kind", "core-3")}, collection.Throttle},
		{"one header of two", collection.Response{Status: 403, Header: header("X-Left", "0")}, ""},
		{"one header wrong", collection.Response{Status: 403, Header: header("X-Left", "0", "X-Kind", "search")}, ""},
		{"text, header and status", collection.Response{Status: 200, Header: header("X-Cost", "9"), Body: []byte("too slow")}, collection.Throttle},
		{"a large number, exactly", collection.Response{Status: 200, Body: []byte(`{"code":9007199254740993}`)}, collection.Throttle},
		{"its neighbour", collection.Response{Status: 200, Body: []byte(`{"code":9007199254740992}`)}, ""},
	}
	for _, test := range tests {
		if got := judge(test.resp); got != test.want {
			t.Errorf("%s: verdict %q, want %q", test.name, got, test.want)
		}
	}
}

func TestPartition(t *testing.T) {
	c, err := build(t, `
connector: test
provider: {base_url: "https://api.test"}
defaults: {key: id, page: {none: true}}
streams:
  a: {get: /a}
  b: {each: {x: a.id, when: 'a.n > 1', changed: a.at}, get: "/b/${x}"}
  c: {each: {x: b.x, y: b.deep.er}, get: "/c/${x}/${y}", role: detail}
`, declarative.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		stream, of, data string
		want             string // partition and version; "" if not wanted
		reason           collection.Reason
	}{
		{"b", "", `{"id": 1.0, "n": 2, "at": "t"}`, `{"x":1.0} t`, ""},
		{"b", "", `{"id": "a\/b", "n": 2.5, "at": 7}`, `{"x":"a\/b"} 7`, ""},
		{"b", "", `{"id": 1, "n": 1, "at": 7}`, "", ""},
		{"b", "", `{"id": 1, "at": 7}`, "", collection.SchemaDrift},
		{"b", "", `{"id": 1, "n": "2", "at": 7}`, "", collection.SchemaDrift},
		{"b", "", `{"id": null, "n": 2, "at": 7}`, "", collection.SchemaDrift},
		{"b", "", `{"id": {}, "n": 2, "at": 7}`, "", collection.SchemaDrift},
		{"b", "", `{"id": 1, "n": 2}`, "", collection.SchemaDrift},
		{"c", `{"x":1.0}`, `{"x": 5, "deep": {"er": true}}`, `{"x":1.0,"y":true} `, ""},
		{"c", ``, `{"x": 5, "deep": {"er": true}}`, "", collection.SchemaDrift},
		{"c", `{"x":1}`, `{"deep": {}}`, "", collection.SchemaDrift},
	}
	for _, test := range tests {
		p, version, ok, err := c.Partition(test.stream, collection.Parent{Partition: collection.Partition(test.of), Record: collection.Record{Data: []byte(test.data)}})
		got := ""
		if ok {
			got = string(p) + " " + version
		}
		stop, _ := errors.AsType[*collection.Stop](err)
		if got != test.want || (stop != nil) != (test.reason != "") || stop != nil && stop.Reason != test.reason {
			t.Errorf("%s of %s: got %q, %v; want %q, %q", test.stream, test.data, got, err, test.want, test.reason)
		}
	}
}

// TestReference keeps docs/connectors.md true: its example is sound, and it
// names every key of the language.
func TestReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/connectors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := declarative.Parse("docs/connectors.md", []byte(example)); err != nil {
		t.Error(err)
	}
	keys := declarative.Keys()
	for _, key := range keys {
		if !strings.Contains(string(page), "`"+key+"`") && !strings.Contains(string(page), key+":") {
			t.Errorf("the reference does not name the key %s", key)
		}
	}
	if len(keys) < 60 {
		t.Errorf("only %d keys were looked for", len(keys))
	}
}
