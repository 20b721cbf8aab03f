package hostile_test

import (
	"fmt"
	"strings"

	"collect/collection"
)

// to is a redirect.
func to(location string) answer { return reply(302, "", "Location: "+location) }

func redirects() []trial {
	return []trial{
		{name: "redirected once", walk: "whole", sends: at("/moved", ok(three), to("/moved")), want: all(3).in(2)},
		{name: "redirected for ever", walk: "whole", sends: to("/things"), want: owed(bad, 0)},
		{name: "redirected in a circle", walk: "whole", sends: at("/a", to("/b"), to("/a")), want: owed(bad, 0)},
		{name: "redirected ever deeper", walk: "whole", sends: func(c call) bool { return to(fmt.Sprint("/", c.n))(c) }, want: owed(bad, 0)},
		{name: "redirected to another origin", walk: "cursor", sends: to("$OTHER/x"), want: owed(bad, 0).in(1)},
		{name: "redirected to another host", walk: "cursor", sends: to("http://public.example/x"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine by name", walk: "cursor", sends: to("$LOCAL/x"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine by IPv6", walk: "whole", sends: to("http://[::1]:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine in disguise", walk: "whole", sends: to("http://[::ffff:127.0.0.1]:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine by another address", walk: "whole", sends: to("http://127.0.0.2:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to no address", walk: "whole", sends: to("http://0.0.0.0:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine as one number", walk: "whole", sends: to("http://2130706433:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine in octal", walk: "whole", sends: to("http://0177.0.0.1:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to this machine in hexadecimal", walk: "whole", sends: to("http://0x7f.1:1/"), want: owed(bad, 0).in(1)},
		{name: "redirected through a proxy", walk: "cursor", env: []string{"HTTP_PROXY=$OTHER"}, sends: to("http://public.example/x"), want: owed(bad, 0).in(1)},
		{name: "redirected through a proxy to a number", walk: "cursor", env: []string{"HTTP_PROXY=$OTHER"}, sends: to("http://0x7f000001/x"), want: owed(bad, 0).in(1)},
		{name: "redirected through a proxy to this machine", walk: "cursor", env: []string{"HTTP_PROXY=$OTHER"}, sends: to("http://db.localhost/x"), want: owed(bad, 0).in(1)},
		{name: "redirected to a file", walk: "whole", sends: to("file:///etc/passwd"), want: owed(bad, 0).in(1)},
		{name: "redirected to gopher", walk: "whole", sends: to("gopher://127.0.0.1:6379/_FLUSHALL"), want: owed(bad, 0).in(1)},
		{name: "redirected to a script", walk: "whole", sends: to("javascript:alert(1)"), want: owed(bad, 0).in(1)},
		{name: "redirected to nowhere", walk: "whole", sends: reply(302, ""), want: owed(bad, 0).in(1)},
		{name: "redirected to what is no URL", walk: "whole", sends: to("http://[::1"), want: owed(bad, 0).in(1)},
		{name: "redirected to a URL with control characters", walk: "whole", sends: to("/\x01\x1b[2J"), want: owed(pressure, 0)},
		{name: "redirected to a URL with the credential", walk: "whole", sends: to("$OTHER/?token=$SECRET"), want: owed(bad, 0).in(1)},
		{name: "redirected to a URL with a user", walk: "cursor", sends: to("http://me:$SECRET@127.0.0.1/"), want: owed(bad, 0).in(1)},
		{name: "redirected to a port that is none", walk: "whole", sends: to("http://127.0.0.1:99999/"), want: owed(bad, 0).in(1)},
		{name: "redirected to a very long URL", walk: "whole", sends: to("/" + strings.Repeat("a", 12<<10)), want: owed(bad, 0)},
		{name: "redirected with a method that must stay", walk: "whole", sends: at("/moved", ok(three), reply(307, "", "Location: /moved")), want: all(3)},
		{name: "redirected from https to http", walk: "whole", tls: "good", sends: to("$OTHER/x"), want: owed(bad, 0).in(1)},
		{name: "several choices", walk: "whole", sends: reply(300, login), want: owed(bad, 0)},
	}
}

// links are the ways to the next page that a response names.
func links() []trial {
	url := func(next string) answer {
		return inTurn(ok(page(1, 2, `"next":"`+next+`"`)), ok(page(3, 3, `"next":null`)))
	}
	header := func(link string) answer { return inTurn(ok(things(1, 2), "Link: "+link), ok(things(3, 3))) }
	return []trial{
		{name: "next: a path", walk: "url", sends: url("/things?page=2"), want: all(3).in(2)},
		{name: "next: a query", walk: "url", sends: url("?page=2"), want: all(3).in(2)},
		{name: "next: another origin", walk: "url", sends: url("$OTHER/x"), want: owed(bad, 0).in(1)},
		{name: "next: another host", walk: "url", sends: url("http://public.example/x"), want: owed(bad, 0).in(1)},
		{name: "next: another origin, without a scheme", walk: "url", sends: at("/x", ok(page(3, 3, `"next":null`)), url("//127.0.0.1:1/x")), want: owed(bad, 0).in(1)},
		{name: "next: this machine by name", walk: "url", sends: url("$LOCAL/x"), want: owed(bad, 0).in(1)},
		{name: "next: this machine by IPv6", walk: "url", sends: url("http://[::1]:1/"), want: owed(bad, 0).in(1)},
		{name: "next: this machine by another address", walk: "url", sends: url("//127.0.0.2:1/x"), want: owed(bad, 0).in(1)},
		{name: "next: a script", walk: "url", sends: url("javascript:alert(1)"), want: owed(bad, 0).in(1)},
		{name: "next: a file", walk: "url", sends: url("file:///etc/passwd"), want: owed(bad, 0).in(1)},
		{name: "next: data", walk: "url", sends: url("data:application/json,{}"), want: owed(bad, 0).in(1)},
		{name: "next: a user", walk: "url", sends: url("http://me:pass@127.0.0.1/x"), want: owed(bad, 0).in(1)},
		{name: "next: no URL", walk: "url", sends: url("http://[::1"), want: owed(bad, 0).in(1)},
		{name: "next: no host", walk: "url", sends: url("http:///x"), want: owed(bad, 0).in(1)},
		{name: "next: a line break", walk: "url", sends: url(`/x\r\nX-Injected: 1`), want: owed(bad, 0).in(1)},
		{name: "next: the same page", walk: "url", sends: ok(page(1, 2, `"next":"/things"`)), want: owed(bad, 2)},
		{name: "next: two pages in a circle", walk: "url", sends: at("page=2", ok(page(2, 2, `"next":"/things?page=1"`)), ok(page(1, 1, `"next":"/things?page=2"`))), want: owed(bad, 2)},
		{name: "next: very long", walk: "url", sends: url("/" + strings.Repeat("a", 2000)), want: owed(large, 0)},
		{name: "next: an object", walk: "url", sends: ok(`{"items":[{"id":1}],"next":{"href":"/x"}}`), want: owed(bad, 0).in(1)},
		{name: "next: a number", walk: "url", sends: inTurn(ok(`{"items":[{"id":1}],"next":2}`), ok(page(2, 3, `"next":null`))), want: all(3)},
		{name: "next: the credential", walk: "url", sends: url("/things?page=2&access_token=$SECRET"), want: all(3).in(2)},
		{name: "next: the credential for another origin", walk: "url", sends: url("$OTHER/x?page=2&access_token=$SECRET"), want: owed(bad, 0).in(1)},
		{name: "next: the credential in the path", walk: "url", sends: url("$OTHER/$SECRET/x"), want: owed(bad, 0).in(1)},
		{name: "next: from https to http", walk: "url", tls: "good", sends: url("$OTHER/x"), want: owed(bad, 0).in(1)},
		{name: "Link: next", walk: "link", sends: header(`</things?page=2>; rel="next"`), want: all(3).in(2)},
		{name: "Link: several", walk: "link", sends: header(`</a,b>; rel="prev", </things?page=2>; title="x, y"; rel="last NEXT"`), want: all(3).in(2)},
		{name: "Link: two next", walk: "link", sends: header(`</things?page=2>; rel="next", </things?page=9>; rel="next"`), want: all(3).in(2)},
		{name: "Link: another origin", walk: "link", sends: header(`<$OTHER/plain-text>; rel="next"`), want: owed(bad, 0).in(1)},
		{name: "Link: a file", walk: "link", sends: header(`<file:///etc/passwd>; rel="next"`), want: owed(bad, 0)},
		{name: "Link: not closed", walk: "link", sends: header(`</things?page=2; rel="next"`), want: owed(bad, 0)},
		{name: "Link: nothing but commas", walk: "link", sends: header(strings.Repeat(",;", 5000)), want: all(2)},
		{name: "Link: quotes that do not end", walk: "link", sends: header(`</x>; title="` + strings.Repeat(`\"`, 3000)), want: owed(bad, 0)},
		{name: "Link: next where there should be one page", walk: "whole", sends: header(`</things?page=2>; rel="next"`), want: owed(bad, 0)},
		{name: "a cookie", walk: "url", sends: inTurn(ok(page(1, 2, `"next":"/things?page=2"`), "Set-Cookie: session="+strings.Repeat("x", 4000)+"; Domain=.test"),
			func(c call) bool {
				if c.Header.Get("Cookie") != "" {
					return reply(400, "")(c)
				}
				return ok(page(3, 3, `"next":null`))(c)
			}), want: all(3)},
	}
}

func paging() []trial {
	fresh := func(first, last func(n int) int) answer {
		return following(func(n int) string { return page(first(n), last(n), fmt.Sprintf(`"next":"c%d"`, n)) })
	}
	n := func(n int) int { return n }
	constant := func(k int) func(int) int { return func(int) int { return k } }
	return []trial{
		{name: "the same cursor", walk: "cursor", sends: ok(page(1, 3, `"next":"a"`)), want: owed(bad, 3)},
		{name: "cursors in a circle", walk: "cursor", sends: following(func(n int) string { return page(1+n%3, 1+n%3, fmt.Sprintf(`"next":"c%d"`, n%7)) }), want: owed(bad, 3)},
		{name: "empty pages for ever", walk: "cursor", sends: fresh(constant(1), constant(0)), want: owed(bad, 0)},
		{name: "one page for ever", walk: "cursor", sends: fresh(constant(1), constant(3)), want: owed(bad, 3)},
		{name: "two pages for ever", walk: "cursor", sends: fresh(func(n int) int { return 1 + n%2 }, func(n int) int { return 2 + n%2 }), want: owed(bad, 3)},
		{name: "five pages for ever", walk: "cursor", sends: fresh(func(n int) int { return 1 + n%5 }, func(n int) int { return 1 + n%5 }), want: owed(bad, 5).forGood()},
		{name: "one page for ever, always different", walk: "cursor", sends: following(func(n int) string {
			return fmt.Sprintf(`{"items":[{"id":1,"t":%d},{"id":2},{"id":3}],"next":"c%d"}`, n, n)
		}), want: owed(bad, 3)},
		{name: "two pages for ever, always different", walk: "cursor", sends: following(func(n int) string {
			return fmt.Sprintf(`{"items":[{"id":%d,"t":%d},{"id":3}],"next":"c%d"}`, 1+n%2, n, n)
		}), want: owed(bad, 3)},
		{name: "records for ever", walk: "cursor", sends: fresh(n, n), flags: []string{"--max-requests", "20"}, want: owed(collection.RequestCap, 20)},
		{name: "pages that shrink", walk: "cursor", sends: following(func(n int) string { return page(1, 4-n, fmt.Sprintf(`"next":"c%d"`, n)) }), want: owed(bad, 3)},
		{name: "a cursor that is null at once", walk: "cursor", sends: ok(page(1, 3, `"next":null`)), want: all(3).in(1)},
		{name: "a cursor that is missing from a full page", walk: "cursor", sends: ok(page(1, 10)), want: owed(bad, 0).in(1)},
		{name: "a cursor that is an array", walk: "cursor", sends: ok(page(1, 3, `"next":[1]`)), want: owed(bad, 0).in(1)},
		{name: "a cursor that is true", walk: "cursor", sends: ok(page(1, 3, `"next":true`)), want: owed(bad, 0).in(1)},
		{name: "a cursor over 2^53", walk: "cursor", sends: at("c=9007199254740993", ok(page(3, 3, `"next":null`)), at("c=", reply(400, ""), ok(page(1, 2, `"next":9007199254740993`)))), want: all(3).in(2)},
		{name: "a cursor with half a surrogate", walk: "cursor", sends: ok(page(1, 3, `"next":"\ud800"`)), want: owed(bad, 0).in(1)},
		{name: "a cursor that is too long", walk: "cursor", sends: ok(page(1, 3, `"next":"`+strings.Repeat("c", 2000)+`"`)), want: owed(large, 0).in(1)},
		{name: "a cursor of control characters", walk: "cursor", sends: at("c=%00%0D%0A%26", ok(page(3, 3, `"next":null`)), ok(page(1, 2, `"next":"\u0000\r\n&"`))), want: all(3).in(2)},
		{name: "a cursor that is the credential", walk: "cursor", sends: ok(page(1, 3, `"next":"$SECRET"`)), want: owed(bad, 0).in(1)},
		{name: "more without a cursor", walk: "more", sends: ok(page(1, 3, `"more":true`)), want: owed(bad, 0).in(1)},
		{name: "more that is a word", walk: "more", sends: ok(page(1, 3, `"more":"yes","next":"a"`)), want: owed(bad, 0).in(1)},
		{name: "more that is missing", walk: "more", sends: ok(page(1, 3, `"next":"a"`)), want: owed(bad, 0).in(1)},
		{name: "more that is null", walk: "more", sends: ok(page(1, 3, `"more":null,"next":"a"`)), want: owed(bad, 0).in(1)},
		{name: "page numbers: the first page for ever", walk: "number", sends: ok(page(1, 10)), want: owed(bad, 10).in(2).forGood()},
		{name: "page numbers: every other page is none", walk: "pages", sends: func(c call) bool {
			if c.n%2 == 0 {
				return ok(login)(c)
			}
			return ok(page(1, 3, `"pages":1000000`))(c)
		}, want: owed(bad, 3).forGood()},
		{name: "page numbers: empty pages at once", walk: "number", sends: ok(page(1, 0)), want: all(0).in(1)},
		{name: "pages: a total that grows", walk: "pages", sends: following(func(n int) string { return page(n, n, fmt.Sprintf(`"pages":%d`, n+1)) }), flags: []string{"--max-requests", "20"}, want: owed(collection.RequestCap, 20)},
		{name: "pages: a total that is missing", walk: "pages", sends: ok(page(1, 3)), want: owed(bad, 0).forGood()},
		{name: "pages: a total below zero", walk: "pages", sends: ok(page(1, 3, `"pages":-1`)), want: owed(bad, 0).forGood()},
		{name: "pages: a total over 2^63", walk: "pages", sends: ok(page(1, 3, `"pages":99999999999999999999`)), want: owed(bad, 0).forGood()},
		{name: "pages: a total that is a fraction", walk: "pages", sends: ok(page(1, 3, `"pages":1.5`)), want: owed(bad, 0).forGood()},
		{name: "pages: a total that shrinks", walk: "pages", sends: following(func(n int) string { return page(n, n, fmt.Sprintf(`"pages":%d`, max(1, 4-n))) }), want: all(3)},
		{name: "offset: a total over what there is", walk: "offset", sends: inTurn(ok(page(1, 2, `"total":9`)), ok(page(1, 0, `"total":9`))), want: owed(bad, 2).forGood()},
		{name: "offset: a total that is huge", walk: "offset", sends: inTurn(ok(page(1, 2, `"total":9223372036854775807`)), ok(page(1, 0, `"total":9223372036854775807`))), want: owed(bad, 2).forGood()},
		{name: "last: the same last record", walk: "last", sends: ok(page(1, 3, `"more":true`)), want: owed(bad, 3)},
		{name: "last: more behind an empty page", walk: "last", sends: ok(page(1, 0, `"more":true`)), want: owed(bad, 0)},
		{name: "last: a last record without its field", walk: "last", sends: ok(`{"items":[{"id":1},{"x":2}],"more":true}`), want: owed(bad, 0)},
		{name: "since: the field is missing", walk: "since", sends: ok(page(1, 3, `"next":null`)), want: owed(bad, 0).forGood()},
		{name: "since: a mark that never moves", walk: "since", sends: following(func(n int) string {
			return fmt.Sprintf(`{"items":[{"id":%d,"at":"2026-01-01T00:00:00Z"}],"next":"c%d"}`, n, n)
		}), flags: []string{"--max-requests", "20"}, want: owed(collection.RequestCap, 20)},
		{name: "since: marks at the end of time", walk: "since", sends: ok(`{"items":[{"id":1,"at":"9999-12-31T23:59:59Z"},{"id":2,"at":"99999999999999999999"}],"next":null}`), want: all(2)},
	}
}

// headers are answers that say when to come again, and lie about it.
func headers() []trial {
	later := func(after ...string) answer { return reply(429, "{}", after...) }
	once := func(a answer) answer { return inTurn(a, ok(three)) }
	const after = "Retry-After: "
	asked := owed(collection.RetryAfter, 0).in(1)
	throttled := owed(collection.RateLimited, 0).in(2)
	return []trial{
		{name: "Retry-After: nothing", walk: "whole", sends: later(after), want: throttled},
		{name: "Retry-After: 0", walk: "whole", sends: later(after + "0"), want: throttled},
		{name: "Retry-After: 1, kept", walk: "whole", sends: once(later(after + "1")), want: all(3).in(2)},
		{name: "Retry-After: 2", walk: "whole", sends: later(after + "2"), want: asked},
		{name: "Retry-After: 1.5", walk: "whole", sends: later(after + "1.5"), want: asked},
		{name: "Retry-After: a year", walk: "whole", sends: later(after + "31536000"), want: asked},
		{name: "Retry-After: over 2^31", walk: "whole", sends: later(after + "9999999999"), want: asked},
		{name: "Retry-After: over 2^63", walk: "whole", sends: later(after + "99999999999999999999999"), want: asked},
		{name: "Retry-After: overflows when multiplied", walk: "whole", sends: later(after + "9223372037"), want: asked},
		{name: "Retry-After: a thousand digits", walk: "whole", sends: later(after + strings.Repeat("9", 1000)), want: asked},
		{name: "Retry-After: below zero", walk: "whole", sends: later(after + "-1"), want: throttled},
		{name: "Retry-After: NaN", walk: "whole", sends: later(after + "NaN"), want: throttled},
		{name: "Retry-After: 1e9", walk: "whole", sends: later(after + "1e9"), want: throttled},
		{name: "Retry-After: a word", walk: "whole", sends: later(after + "soon"), want: throttled},
		{name: "Retry-After: a date", walk: "whole", sends: later(after + "Fri, 31 Dec 9999 23:59:59 GMT"), want: asked},
		{name: "Retry-After: a date that has passed", walk: "whole", sends: later(after + "Thu, 01 Jan 1970 00:00:00 GMT"), want: throttled},
		{name: "Retry-After: a date that is none", walk: "whole", sends: later(after + "Fri, 99 Dec 2026 25:61:61 GMT"), want: throttled},
		{name: "Retry-After: two that differ", walk: "whole", sends: later(after+"0", after+"3600"), want: asked},
		{name: "Retry-After: two in one", walk: "whole", sends: later(after + "0, 3600"), want: asked},
		{name: "Retry-After: seconds and milliseconds", walk: "whole", sends: later(after+"0", "Retry-After-Ms: 3600000"), want: asked},
		{name: "Retry-After: with 503", walk: "whole", sends: reply(503, login, after+"3600"), want: asked},
		{name: "Retry-After: with 403", walk: "whole", sends: reply(403, "{}", after+"3600"), want: asked},
		{name: "Retry-After: with 200", walk: "whole", sends: ok(three, after+"3600"), want: all(3).in(1)},
		{name: "Retry-After: in the body", walk: "whole", sends: reply(429, `{"retry_after":1e300}`), want: asked},
		{name: "RateLimit: nothing left for an hour", walk: "cursor", sends: inTurn(ok(page(1, 2, `"next":"a"`), "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 3600"), ok(page(3, 3, `"next":null`))), want: owed(collection.RetryAfter, 2).in(1)},
		{name: "RateLimit: nothing left behind the last page", walk: "whole", sends: ok(three, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 99999999999"), want: all(3).in(1)},
		{name: "RateLimit: numbers that are none", walk: "whole", sends: ok(three, "X-RateLimit-Limit: NaN", "X-RateLimit-Remaining: -1", "X-RateLimit-Reset: Infinity", `RateLimit: "x";r=1e9;t=-1`, `RateLimit-Policy: ";;;"`), want: all(3).in(1)},
		{name: "RateLimit: contradicting", walk: "whole", sends: ok(three, "X-RateLimit-Limit: 0", "X-RateLimit-Limit: 99999999999999999999", `RateLimit: "a";r=0;t=0, "a";r=9;t=9`, "RateLimit-Policy: a;q=0;w=0"), want: all(3).in(1)},
		{name: "RateLimit: a thousand windows", walk: "whole", sends: ok(three, "RateLimit: "+strings.TrimSuffix(strings.Repeat(`"w";r=1;t=1,`, 1000), ",")), want: all(3).in(1)},
		{name: "Date: another century", walk: "whole", sends: once(later("Date: Thu, 01 Jan 1970 00:00:00 GMT", after+"Thu, 01 Jan 1970 00:00:01 GMT")), want: all(3).in(2)},
		{name: "a header called like ours", walk: "whole", sends: ok(three, "Authorization: Bearer $SECRET", "Cookie: a=b", "Host: evil.test"), want: all(3).in(1)},
		{name: "terminal escapes in the name of a limit", walk: "whole", flags: []string{"--json", "--trace"}, sends: later(after+"3600", "X-RateLimit-Limit: 9", "X-RateLimit-Remaining: 0", "X-RateLimit-Resource: \u009b2J\u202eowned"), want: asked},
		{name: "terminal escapes in a header", walk: "whole", sends: later(after+"3600", "Ratelimit-Reason: \u009b2J\u202e"), want: asked},
	}
}
