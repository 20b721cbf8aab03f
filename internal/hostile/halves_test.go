package hostile_test

import (
	"strconv"
	"strings"
)

// halves are answers that look whole, each of them valid, and are not: what
// they leave out has to be owed, or asked for.
func halves() []trial {
	n := func(first, last int, more ...string) answer { return ok(page(first, last, more...)) }
	over := owed(bad, 3).forGood()
	link := func(link string) answer { return inTurn(ok(things(1, 2), "Link: "+link), ok(things(3, 3))) }
	return []trial{
		{name: "no content with a next link", walk: "link", sends: inTurn(reply(204, "", `Link: </things?page=2>; rel="next"`), ok(things(1, 3))), want: all(3).in(2)},
		{name: "no content with a next link where there should be one page", walk: "whole", sends: reply(204, "", `Link: </things?page=2>; rel="next"`), want: owed(bad, 0)},
		{name: "part of a whole, called whole", walk: "whole", sends: ok(three, "Content-Range: items 0-2/10"), want: owed(bad, 0)},
		{name: "part of a whole, counted from one", walk: "whole", sends: ok(three, "Content-Range: items 1-3/4"), want: owed(bad, 0)},
		{name: "a whole with its range", walk: "whole", sends: ok(three, "Content-Range: items 1-3/3"), want: all(3)},
		{name: "a range of nothing known", walk: "whole", sends: ok(three, "Content-Range: items 0-2/*"), want: all(3)},
		{name: "a part of a page by cursor", walk: "cursor", sends: inTurn(reply(206, page(1, 2, `"next":"a"`), "Content-Range: items 0-1/3"), n(3, 3, `"next":null`)), want: all(3).in(2)},
		{name: "not modified, unasked, behind a page", walk: "cursor", sends: inTurn(n(1, 2, `"next":"a"`), reply(304, "")), want: owed(bad, 2)},

		{name: "Link: in single quotes", walk: "link", sends: link(`</things?page=2>; rel='next'`), want: all(3).in(2)},
		{name: "Link: without brackets", walk: "link", sends: link(`/things?page=2; rel="next"`), want: owed(bad, 0)},
		{name: "Link: with escaped brackets", walk: "link", sends: link(`&lt;/things?page=2&gt;; rel="next"`), want: owed(bad, 0)},
		{name: "Link: next and prev in one", walk: "link", sends: link(`</things?page=2>; rel="prev next"`), want: all(3).in(2)},
		{name: "Link: next of something else", walk: "link", sends: at("/other", reply(400, ""), link(`</other>; rel="next"; anchor="/x", </things?page=2>; rel="next"`)), want: all(3).in(2)},

		{name: "pages: the first page for all of them", walk: "pages", sends: n(1, 3, `"pages":3`), then: numbered, want: over},
		{name: "pages: the first page for both of them", walk: "pages", sends: n(1, 3, `"pages":2`), want: over},
		{name: "pages: the second page again", walk: "pages", sends: at("page=1", n(1, 3, `"pages":3`), n(4, 6, `"pages":3`)), then: numbered, want: owed(bad, 6).forGood()},
		{name: "pages: one page twice, then the rest", walk: "pages", sends: at("page=3", n(7, 9, `"pages":3`), n(1, 3, `"pages":3`)), then: numbered, want: over},
		{name: "pages: the first page for all of them, several at once", walk: "pages", flags: aside, sends: n(1, 3, `"pages":3`), then: numbered, want: over},
		{name: "pages: a redirect that forgets the page", walk: "pages", sends: at("page", to("/all"), n(1, 3, `"pages":3`)), then: numbered, want: over},
		{name: "number: the first page for ever, then as it should be", walk: "number", sends: n(1, 3), then: numbered, want: over},
		{name: "number: the first page for ever, several at once", walk: "number", flags: aside, sends: n(1, 3), then: numbered, want: over},
		{name: "number: the last page for ever", walk: "number", sends: at("page=1", n(1, 10), n(11, 20)), want: owed(bad, 20).forGood()},
		{name: "number: fewer than asked for", walk: "sized", sends: at("page=2", n(16, 17), at("page=1", n(1, 15), n(1, 0))), want: all(17).in(3)},
		{name: "offset: the first page for all offsets", walk: "offset", sends: n(1, 3, `"total":9`), want: over},
		{name: "offset: the first page for all offsets, an odd total", walk: "offset", sends: n(1, 3, `"total":4`), want: over},
		{name: "offset: a total that is of this page", walk: "offset", sends: at("offset=10", n(11, 12, `"total":2`), at("offset=12", n(1, 0, `"total":0`), n(1, 10, `"total":10`))), want: all(12).in(3)},
		{name: "offset: a total that is zero", walk: "offset", sends: at("offset=3", n(4, 4, `"total":4`), n(1, 3, `"total":0`)), want: all(4).in(2)},
		{name: "pages: a total that is zero", walk: "pages", sends: at("page=2", n(4, 4, `"pages":2`), n(1, 3, `"pages":0`)), want: all(4).in(2)},

		{name: "a cursor that is missing from a full page of fifteen", walk: "cursor", sends: n(1, 15), want: owed(bad, 0).in(1)},
		{name: "next: the same page with its parameters in another order", walk: "url", sends: at("a=1&b=2", n(1, 3, `"next":"/things?b=2&a=1"`), n(1, 3, `"next":"/things?a=1&b=2"`)), want: owed(bad, 3)},
		{name: "an empty page with more behind it", walk: "more", sends: inTurn(n(1, 0, `"more":true,"next":"a"`), n(1, 3, `"more":false,"next":null`)), want: all(3).in(2)},
		{name: "the last record again", walk: "cursor", sends: inTurn(n(1, 2, `"next":"a"`), n(2, 3, `"next":"b"`), n(3, 3, `"next":null`)), want: all(3).in(3)},
		{name: "keys that are numbers, then text", walk: "cursor", sends: inTurn(n(1, 3, `"next":"a"`), ok(`{"items":[{"id":"3"},{"id":"4"}],"next":null}`)), want: all(4)},

		{name: "trailers that lie", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\nTrailer: Link\r\n\r\n" + strings.TrimSuffix(chunked(three), "\r\n") + "Link: </x>; rel=\"next\"\r\n\r\n"), want: all(3)},
		{name: "a trailer that is a length", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n" + strings.TrimSuffix(chunked(three), "\r\n") + "Content-Length: 7\r\n\r\n"), want: owed(pressure, 0)},
		{name: "half a surrogate in a record", walk: "whole", sends: ok(`[{"id":1,"s":"\ud83d"},{"id":2,"s":"\ude00\ud83d"},{"id":3}]`), want: all(3)},
		{name: "two byte order marks", walk: "whole", sends: ok("\xef\xbb\xbf\xef\xbb\xbf" + three), want: owed(bad, 0)},
		{name: "JSON and garbage", walk: "whole", sends: ok(three + "<!-- generated in 0.3 s -->"), want: owed(bad, 0)},
		{name: "numbers of huge exponents as keys", walk: "whole", sends: ok(`[{"id":1e400},{"id":1e-400},{"id":-0},{"id":0}]`), want: keyed("-0", "0", "1e-400", "1e400")},
		{name: "gzip under gzip, said once", walk: "whole", sends: ok(gzipped(gzipped(three)), "Content-Encoding: gzip"), want: owed(bad, 0)},
	}
}

// aside is for runs that ask for several pages at once.
var aside = []string{"--concurrency", "4"}

// numbered serves the records 1 to 9, three on a page, by the number of the
// page that is asked for.
func numbered(c call) bool {
	number, err := strconv.Atoi(c.URL.Query().Get("page"))
	if err != nil || number > 3 {
		return ok(page(1, 0, `"pages":3`))(c)
	}
	return ok(page(3*number-2, 3*number, `"pages":3`))(c)
}
