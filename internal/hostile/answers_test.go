package hostile_test

import (
	"fmt"
	"strings"
	"time"

	"collect/collection"
)

// Shorthand for the tables.
const (
	pressure = collection.UpstreamPressure
	bad      = collection.BadPage
	large    = collection.TooLarge
	three    = `[{"id":1},{"id":2},{"id":3}]`
	head     = "HTTP/1.1 200 OK\r\n"
	login    = "<!DOCTYPE html><html><title>Sign in</title></html>"
)

// fatal are statuses with the reason that each leaves behind.
func statuses() []trial {
	var trials []trial
	for status, reason := range map[int]collection.Reason{
		304: bad, 305: bad, 400: bad, 401: collection.Auth, 402: bad, 403: collection.Frozen, 404: collection.NotFound,
		405: bad, 407: collection.Auth, 409: pressure, 410: collection.NotFound, 412: bad, 413: large, 418: bad, 422: bad, 423: pressure, 425: pressure, 451: bad,
		500: pressure, 501: bad, 502: pressure, 504: pressure, 505: bad, 522: pressure, 599: pressure, 600: pressure, 999: pressure,
	} {
		w := owed(reason, 0)
		if reason == collection.Gone { // declared by the provider: shown, and not owed
			w.exit = []int{0}
		}
		trials = append(trials, trial{name: fmt.Sprintf("status %d", status), walk: "whole", sends: reply(status, `{"message":"no"}`), want: w})
	}
	return append(trials,
		trial{name: "status 000", walk: "whole", sends: raw("HTTP/1.1 000 x\r\n\r\n"), want: owed(bad, 0)},
		trial{name: "status of two digits", walk: "whole", sends: raw("HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\n[]"), want: owed(bad, 0).in(1)},
		trial{name: "status that is a word", walk: "whole", sends: raw("HTTP/1.1 OK 200\r\nContent-Length: 2\r\n\r\n[]"), want: owed(bad, 0).in(1)},
		trial{name: "status below zero", walk: "whole", sends: raw("HTTP/1.1 -20 OK\r\nContent-Length: 2\r\n\r\n[]"), want: owed(bad, 0).in(1)},
		trial{name: "not ready yet", walk: "whole", sends: reply(202, "[]"), want: owed(pressure, 0)},
		trial{name: "ready later", walk: "whole", sends: inTurn(reply(202, "{}"), ok(three)), want: owed(pressure, 0)},
		trial{name: "part of a whole", walk: "whole", sends: reply(206, `[{"id":1}]`, "Content-Range: items 0-0/3"), want: owed(bad, 0)},
		trial{name: "no content", walk: "whole", sends: reply(204, ""), want: all(0)},
		trial{name: "no content behind a page", walk: "cursor", sends: inTurn(ok(page(1, 2, `"next":"a"`)), reply(204, "")), want: owed(bad, 2)},
		trial{name: "reset content", walk: "whole", sends: reply(205, ""), want: owed(bad, 0)},
		trial{name: "a refusal that echoes the credential", walk: "whole", sends: reply(401, `{"message":"bad token $SECRET"}`, "X-Echo: $SECRET", `WWW-Authenticate: Bearer error="$SECRET"`), want: owed(collection.Auth, 0).in(1)},
		trial{name: "an error that echoes the credential", walk: "whole", sends: reply(400, "$SECRET"), want: owed(bad, 0)},
		trial{name: "a throttle that echoes the credential", walk: "whole", sends: reply(429, `{"error":{"code":"$SECRET","message":"$SECRET"}}`, "Retry-After: 9", "X-RateLimit-Resource: $SECRET", "Ratelimit-Reason: $SECRET"), want: owed(collection.RetryAfter, 0).in(1)},
		trial{name: "terminal escapes in an error", walk: "whole", sends: reply(400, "\x1b]0;owned\x07\x1b[2J\u202e"), want: owed(bad, 0)},
	)
}

func framing() []trial {
	const promise = head + "Content-Length: 100\r\n\r\n"
	return []trial{
		{name: "nothing", walk: "whole", sends: raw(""), want: owed(pressure, 0)},
		{name: "a reset", walk: "whole", sends: reset(""), want: owed(pressure, 0)},
		{name: "garbage", walk: "whole", sends: raw("\x00\x01\x02 garbage\r\n\r\n"), want: owed(bad, 0).in(1)},
		{name: "another protocol", walk: "whole", sends: raw("SSH-2.0-OpenSSH_9.9\r\n"), want: owed(bad, 0).in(1)},
		{name: "HTTP/0.9", walk: "whole", sends: raw(three), want: owed(bad, 0).in(1)},
		{name: "HTTP/1.0 to its end", walk: "whole", sends: raw("HTTP/1.0 200 OK\r\n\r\n" + three), want: all(3)},
		{name: "HTTP/9.9", walk: "whole", sends: raw("HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n[]"), want: all(0)},
		{name: "no length, cut off", walk: "whole", sends: raw(head + "Connection: close\r\n\r\n" + three[:20]), want: owed(bad, 0)},
		{name: "no length, reset", walk: "whole", sends: reset(head + "Connection: close\r\n\r\n" + three[:20]), want: owed(pressure, 0)},
		{name: "half a header", walk: "whole", sends: raw(head + "Content-Le"), want: owed(pressure, 0)},
		{name: "half a header, then silence", walk: "whole", sends: silent(head + "Content-Le"), want: owed(pressure, 0)},
		{name: "only a status line", walk: "whole", sends: raw("HTTP/1.1 200"), want: owed(pressure, 0)},
		{name: "silence", walk: "whole", sends: silent(""), want: owed(pressure, 0)},
		{name: "silence behind the header", walk: "whole", sends: silent(promise), want: owed(pressure, 0)},
		{name: "silence in the body", walk: "whole", sends: silent(promise + three[:5]), want: owed(pressure, 0)},
		{name: "a header that drips", walk: "whole", sends: dripping(200*time.Millisecond, promise), want: owed(pressure, 0)},
		{name: "a body that drips", walk: "whole", sends: dripping(50*time.Millisecond, promise+strings.Repeat(" ", 100)), want: owed(pressure, 0)},
		{name: "a length too long", walk: "whole", sends: raw(promise + three), want: owed(pressure, 0)},
		{name: "a length too long, reset", walk: "whole", sends: reset(promise + three), want: owed(pressure, 0)},
		{name: "a length too short", walk: "whole", sends: raw(head + "Content-Length: 10\r\n\r\n" + three), want: owed(bad, 0)},
		{name: "a length that fits half the page", walk: "cursor", sends: raw(head + "Content-Length: 21\r\n\r\n" + page(1, 1) + page(2, 3)), want: owed(bad, 0)},
		{name: "a length below zero", walk: "whole", sends: raw(head + "Content-Length: -5\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "a length that is huge", walk: "whole", sends: silent(head + "Content-Length: 9223372036854775807\r\n\r\n["), want: owed(large, 0)},
		{name: "a length that overflows", walk: "whole", sends: raw(head + "Content-Length: 99999999999999999999\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "a length in hexadecimal", walk: "whole", sends: raw(head + "Content-Length: 0x1c\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "two lengths", walk: "whole", sends: raw(head + "Content-Length: 2\r\nContent-Length: 28\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "a length and chunks", walk: "whole", sends: raw(head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(three)), want: all(3)},
		{name: "chunks", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(three[:9], three[9:])), want: all(3)},
		{name: "chunks without an end", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(chunked(three), "0\r\n\r\n")), want: owed(pressure, 0)},
		{name: "a chunk cut off", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\n\r\n1c\r\n" + three[:10]), want: owed(pressure, 0)},
		{name: "a chunk of a size that is none", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + three), want: owed(pressure, 0)},
		{name: "a chunk of a size that overflows", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + three), want: owed(pressure, 0)},
		{name: "a chunk longer than it says", walk: "whole", sends: raw(head + "Transfer-Encoding: chunked\r\n\r\n5\r\n" + three + "\r\n0\r\n\r\n"), want: owed(pressure, 0)},
		{name: "endless chunk extensions", walk: "whole", sends: endless(head+"Transfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("x", 4096)), want: owed(pressure, 0)},
		{name: "endless trailers", walk: "whole", sends: endless(head+"Transfer-Encoding: chunked\r\n\r\n1c\r\n"+three+"\r\n0\r\n", "X-Trailer: "+strings.Repeat("x", 1000)+"\r\n"), want: owed(pressure, 0)},
		{name: "an encoding of transfer that is unknown", walk: "whole", sends: raw(head + "Transfer-Encoding: gzip\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "an endless body", walk: "whole", sends: endless(head+"\r\n[", strings.Repeat(`{"id":1},`, 500)), want: owed(large, 0)},
		{name: "endless chunks", walk: "whole", sends: endless(head+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 4096)+"\r\n"), want: owed(large, 0)},
		{name: "an endless header", walk: "whole", sends: endless(head, "X-Header: "+strings.Repeat("x", 1000)+"\r\n"), want: owed(large, 0).in(1)},
		{name: "an endless line", walk: "whole", sends: endless(head+"X-Header: ", strings.Repeat("x", 4096)), want: owed(large, 0).in(1)},
		{name: "an endless status line", walk: "whole", sends: endless("HTTP/1.1 200 ", strings.Repeat("x", 4096)), want: owed(large, 0).in(1)},
		{name: "a header over the limit", walk: "whole", sends: ok(three, "X-Padding: "+strings.Repeat("x", 20<<10)), want: owed(large, 0)},
		{name: "many headers", walk: "whole", sends: ok(three, strings.Split(strings.Repeat("X-A: b\n", 5000)+"X-A: b", "\n")...), want: owed(large, 0).in(1)},
		{name: "a header without a colon", walk: "whole", sends: ok(three, "no colon"), want: owed(pressure, 0)},
		{name: "a header with a zero byte", walk: "whole", sends: ok(three, "X-Zero: a\x00b"), want: owed(pressure, 0)},
		{name: "a header that is folded", walk: "whole", sends: ok(three, "X-Folded: a\r\n b"), want: all(3)},
		{name: "lines that end in LF", walk: "whole", sends: raw("HTTP/1.1 200 OK\nContent-Length: 28\n\n" + three), want: all(3)},
		{name: "a few early hints", walk: "whole", sends: raw(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 3) + head + "Content-Length: 28\r\n\r\n" + three), want: all(3)},
		{name: "endless early hints", walk: "whole", sends: endless("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), want: owed(large, 0).in(1)},
		{name: "endless continues", walk: "whole", sends: endless("", "HTTP/1.1 100 Continue\r\n\r\n"), want: owed(large, 0).in(1)},
		{name: "another protocol agreed on", walk: "whole", sends: raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n" + three), want: owed(bad, 0).in(1)},
		{name: "another protocol agreed on, and silence", walk: "whole", sends: silent("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), want: owed(bad, 0).in(1)},
		{name: "two answers to one request", walk: "cursor", sends: inTurn(raw(pipelined(page(1, 1, `"next":"a"`), page(8, 9, `"next":null`))), ok(page(2, 3, `"next":null`))), want: all(3)},
		{name: "a body with no content", walk: "whole", sends: raw("HTTP/1.1 204 No Content\r\nContent-Length: 28\r\n\r\n" + three), want: all(0)},
	}
}

// pipelined is several responses, one behind the other.
func pipelined(bodies ...string) string {
	var b strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&b, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
	return b.String()
}

func compression() []trial {
	const z, zip = "Content-Encoding: gzip", "Content-Encoding: "
	return []trial{
		{name: "gzip", walk: "whole", sends: ok(gzipped(three), z), want: all(3)},
		{name: "gzip, shouted", walk: "whole", sends: ok(gzipped(three), zip+"GZIP"), want: all(3)},
		{name: "gzip, empty", walk: "whole", sends: ok("", z), want: owed(bad, 0)},
		{name: "gzip in two members", walk: "whole", sends: ok(gzipped(three[:9])+gzipped(three[9:]), z), want: all(3)},
		{name: "gzip, cut off", walk: "whole", sends: ok(gzipped(three)[:15], z), want: owed(pressure, 0)},
		{name: "gzip without its sum", walk: "whole", sends: ok(gzipped(three)[:len(gzipped(three))-8], z), want: owed(pressure, 0)},
		{name: "gzip with a wrong sum", walk: "whole", sends: ok(gzipped(three)[:len(gzipped(three))-8]+"01234567", z), want: owed(bad, 0).in(1)},
		{name: "gzip and garbage", walk: "whole", sends: ok(gzipped(three)+"garbage", z), want: owed(pressure, 0)},
		{name: "gzip that is none", walk: "whole", sends: ok(three, z), want: owed(bad, 0).in(1)},
		{name: "gzip unsaid", walk: "whole", sends: ok(gzipped(three)), want: owed(bad, 0)},
		{name: "gzip twice", walk: "whole", sends: ok(gzipped(gzipped(three)), zip+"gzip, gzip"), want: owed(bad, 0)},
		{name: "a bomb", walk: "whole", sends: ok(bomb(256), z), want: owed(large, 0)},
		{name: "a bomb in chunks", walk: "whole", sends: raw(head + z + "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(bomb(128))), want: owed(large, 0)},
		{name: "a bomb behind an error", walk: "whole", sends: reply(400, bomb(256), z), want: owed(large, 0)},
		{name: "a bomb of empty members", walk: "whole", sends: ok(strings.Repeat(gzipped(""), 10_000), z), want: owed(bad, 0)},
		{name: "a bomb as a page", walk: "whole", sends: ok(gzipped("["+strings.Repeat(" ", 1<<20)+"]"), z), want: owed(large, 0)},
		{name: "brotli", walk: "whole", sends: ok("\x0b\x0d\x80[]\x03", zip+"br"), want: owed(bad, 0)},
		{name: "deflate", walk: "whole", sends: ok("x\x9c", zip+"deflate"), want: owed(bad, 0)},
		{name: "an encoding that is unknown", walk: "whole", sends: ok(three, zip+"\x7f"), want: owed(pressure, 0)},
		{name: "an encoding of two headers", walk: "whole", sends: ok(gzipped(three), zip+"identity", z), want: owed(bad, 0)},
		{name: "an encoding that changes nothing", walk: "whole", sends: ok(three, zip+"identity"), want: all(3)},
	}
}

// documents are bodies that are no page.
func documents() []trial {
	wide := `[` + strings.Repeat(`{"id":1,"n":[0]},`, 12_000) + `{"id":1,"n":[0]}]`
	return []trial{
		{name: "HTML", walk: "whole", sends: ok(login, "Content-Type: text/html"), want: owed(bad, 0)},
		{name: "HTML called JSON", walk: "cursor", sends: ok(login, "Content-Type: application/json"), want: owed(bad, 0)},
		{name: "HTML behind a page", walk: "cursor", sends: inTurn(ok(page(1, 2, `"next":"a"`)), ok(login)), want: owed(bad, 2)},
		{name: "a web page behind a page", walk: "cursor", sends: inTurn(ok(page(1, 2, `"next":"a"`)), ok(login, "Content-Type: text/html")), want: owed(pressure, 2)},
		{name: "a web page for a moment", walk: "cursor", sends: inTurn(ok(page(1, 2, `"next":"a"`)), ok(login, "Content-Type: text/html"), ok(page(3, 3, `"next":null`))), want: all(3)},
		{name: "XML", walk: "whole", sends: ok(`<?xml version="1.0"?><items/>`), want: owed(bad, 0)},
		{name: "text", walk: "whole", sends: ok("Service temporarily unavailable"), want: owed(bad, 0)},
		{name: "an empty body", walk: "whole", sends: ok(""), want: owed(bad, 0)},
		{name: "blanks", walk: "whole", sends: ok(" \n\t "), want: owed(bad, 0)},
		{name: "null", walk: "whole", sends: ok("null"), want: owed(bad, 0)},
		{name: "true", walk: "whole", sends: ok("true"), want: owed(bad, 0)},
		{name: "a number", walk: "cursor", sends: ok("3"), want: owed(bad, 0)},
		{name: "a string", walk: "whole", sends: ok(`"$SECRET"`), want: owed(bad, 0)},
		{name: "an object where an array belongs", walk: "whole", sends: ok(`{"id":1}`), want: owed(bad, 0)},
		{name: "an array where an object belongs", walk: "cursor", sends: ok(three), want: owed(bad, 0)},
		{name: "JSON, cut off", walk: "whole", sends: ok(three[:len(three)-1]), want: owed(bad, 0)},
		{name: "JSON, twice", walk: "whole", sends: ok(three + three), want: owed(bad, 0)},
		{name: "JSON in lines", walk: "whole", sends: ok("{\"id\":1}\n{\"id\":2}"), want: owed(bad, 0)},
		{name: "JSON and a comma", walk: "whole", sends: ok(`[{"id":1},]`), want: owed(bad, 0)},
		{name: "JSON with a comment", walk: "whole", sends: ok(`[{"id":1} /* x */]`), want: owed(bad, 0)},
		{name: "JSON with single quotes", walk: "whole", sends: ok(`[{'id':1}]`), want: owed(bad, 0)},
		{name: "JSON behind a guard", walk: "whole", sends: ok(")]}',\n" + three), want: owed(bad, 0)},
		{name: "JSON in a call", walk: "whole", sends: ok("callback(" + three + ")"), want: owed(bad, 0)},
		{name: "NaN", walk: "whole", sends: ok(`[{"id":NaN}]`), want: owed(bad, 0)},
		{name: "Infinity", walk: "whole", sends: ok(`[{"id":1,"n":-Infinity}]`), want: owed(bad, 0)},
		{name: "a byte order mark", walk: "whole", sends: ok("\xef\xbb\xbf" + three), want: all(3)},
		{name: "UTF-16", walk: "whole", sends: ok("\xff\xfe[\x00]\x00"), want: owed(bad, 0)},
		{name: "bytes that are not UTF-8", walk: "whole", sends: ok("[{\"id\":1,\"s\":\"\xff\xfe\"}]"), want: owed(bad, 0)},
		{name: "UTF-8 longer than needed", walk: "whole", sends: ok("[{\"id\":1,\"s\":\"\xc0\xaf\"}]"), want: owed(bad, 0)},
		{name: "a control character in a string", walk: "whole", sends: ok("[{\"id\":1,\"s\":\"\x1b[2J\"}]"), want: owed(bad, 0)},
		{name: "too deep", walk: "whole", sends: ok(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), want: owed(bad, 0)},
		{name: "too deep, and not closed", walk: "whole", sends: ok(strings.Repeat(`[{"id":`, 30_000)), want: owed(bad, 0)},
		{name: "wide", walk: "whole", sends: ok(wide), want: owed(large, 0).forGood()},
		{name: "too wide", walk: "whole", sends: ok(wide + wide), want: owed(large, 0)},
		{name: "the records are missing", walk: "cursor", sends: ok(`{"next":null}`), want: owed(bad, 0)},
		{name: "the records are null", walk: "cursor", sends: ok(`{"items":null,"next":null}`), want: owed(bad, 0)},
		{name: "the records are an object", walk: "cursor", sends: ok(`{"items":{"1":{"id":1}},"next":null}`), want: owed(bad, 0)},
		{name: "the records are a string", walk: "cursor", sends: ok(`{"items":"[]","next":null}`), want: owed(bad, 0)},
		{name: "the records have another name", walk: "cursor", sends: ok(`{"Items":[{"id":1}],"next":null}`), want: owed(bad, 0)},
		{name: "the records twice", walk: "cursor", sends: ok(`{"items":[{"id":1}],"items":[{"id":2},{"id":3}],"next":null}`), want: owed(bad, 0)},
		{name: "the records twice, once escaped", walk: "cursor", sends: ok(`{"items":[],"\u0069tems":[{"id":2}],"next":null}`), want: owed(bad, 0)},
		{name: "the cursor twice", walk: "cursor", sends: ok(`{"items":[{"id":1}],"next":null,"next":"a"}`), want: owed(bad, 0)},
		{name: "the end and more", walk: "more", sends: ok(`{"items":[{"id":1}],"next":"a","more":false,"more":true}`), want: owed(bad, 0)},
		{name: "no records", walk: "whole", sends: ok(`[]`), want: all(0)},
		{name: "an error with status 200", walk: "cursor", sends: ok(`{"error":{"message":"expired"}}`), want: owed(bad, 0)},
		{name: "a throttle with status 200", walk: "cursor", sends: ok(`{"ok":false,"error":"ratelimited"}`, "Retry-After: 60"), want: owed(collection.RetryAfter, 0).in(1)},
		{name: "a day's quota with status 200, told by a number", walk: "cursor", sends: ok(`{"success":false,"errors":[{"code":"607","message":"Daily quota reached"}]}`), want: owed(collection.RetryAfter, 0).in(1)},
		{name: "a page that asks to wait", walk: "cursor", sends: ok(`{"items":[{"id":1}],"next":null}`, "Retry-After: 60", "X-RateLimit-Delay: 2.5", "X-RateLimit-Remaining: 0"), want: all(1)},
		{name: "a resource with an error of its own", walk: "cursor", sends: ok(`{"id":7,"items":[{"id":1}],"next":null,"error":{"code":"rate_limit_exceeded"}}`), want: all(1)},
	}
}

// records are pages with records that cannot be stored as they are.
func records() []trial {
	whole := func(records ...string) answer { return ok("[" + strings.Join(records, ",") + "]") }
	return []trial{
		{name: "integers over 2^53", walk: "whole", sends: whole(`{"id":9007199254740993}`, `{"id":9007199254740992}`, `{"id":9223372036854775807}`), want: keyed("9007199254740993", "9007199254740992", "9223372036854775807")},
		{name: "a number of a thousand digits", walk: "whole", sends: whole(`{"id":1` + strings.Repeat("0", 999) + `}`), want: keyed("1" + strings.Repeat("0", 999))},
		{name: "a number out of range", walk: "whole", sends: whole(`{"id":1,"n":1e999999}`, `{"id":2}`), want: all(2)},
		{name: "numbers that a float takes for one", walk: "whole", sends: whole(`{"id":1.0}`, `{"id":1}`, `{"id":1e0}`), want: keyed("1", "1.0", "1e0")},
		{name: "a key that is null", walk: "whole", sends: whole(`{"id":null}`, `{"id":1}`), want: rejected(1, "1")},
		{name: "a key that is missing", walk: "whole", sends: whole(`{}`, `{"id":1}`, `{"ID":2}`), want: rejected(2, "1")},
		{name: "a key that is empty", walk: "whole", sends: whole(`{"id":""}`, `{"id":1}`), want: rejected(1, "1")},
		{name: "a key that is an object", walk: "whole", sends: whole(`{"id":{"a":1}}`, `{"id":[2]}`, `{"id":1}`), want: rejected(2, "1")},
		{name: "a key with a zero byte", walk: "whole", sends: whole(`{"id":"a\u0000b"}`, `{"id":1}`), want: rejected(1, "1")},
		{name: "a key with half a surrogate", walk: "whole", sends: whole(`{"id":"\ud800"}`, `{"id":"\udfff"}`, `{"id":1}`), want: rejected(2, "1")},
		{name: "a key that is too long", walk: "whole", sends: whole(`{"id":"`+strings.Repeat("k", 5000)+`"}`, `{"id":1}`), want: rejected(1, "1")},
		{name: "a key twice", walk: "whole", sends: whole(`{"id":1,"id":2}`, `{"id":1,"id":3}`, `{"id":1}`), want: rejected(2, "1")},
		{name: "a key twice, once escaped", walk: "whole", sends: whole(`{"id":1,"\u0069d":2}`, `{"id":1}`), want: rejected(1, "1")},
		{name: "a key that is SQL", walk: "whole", sends: whole(`{"id":"'; DROP TABLE records; --"}`, `{"id":1}`), want: keyed("'; DROP TABLE records; --", "1")},
		{name: "fields that are SQL", walk: "whole", sends: whole(`{"id":1,"a\"b":1,"x'); DROP TABLE records; --":2,"":3,"Ünï":4,"id ":5,"ID":6}`, `{"id":2}`), want: all(2)},
		{name: "a thousand fields", walk: "whole", sends: whole(`{"id":1`+fields(1000)+`}`, `{"id":2}`), want: all(2)},
		{name: "records that are none", walk: "whole", sends: whole(`null`, `7`, `"x"`, `[]`, `{"id":1}`), want: rejected(4, "1")},
		{name: "a record that is too large", walk: "whole", sends: whole(`{"id":2,"s":"`+strings.Repeat("x", 17<<10)+`"}`, `{"id":1}`), want: rejected(1, "1")},
		{name: "a record that is deep", walk: "whole", sends: whole(`{"id":1,"d":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`, `{"id":2}`), want: rejected(1, "2")},
		{name: "a record that changes on the page", walk: "whole", sends: whole(`{"id":1,"v":1}`, `{"id":1,"v":2}`), want: rejected(1, "1")},
		{name: "a record twice on the page", walk: "whole", sends: whole(`{"id":1,"v":1}`, `{"id":2}`, `{"id":1,"v":1}`), want: all(2)},
		{name: "records that share a key", walk: "whole", sends: whole(`{"id":1,"n":1}`, `{"id":1,"n":2}`, `{"id":1,"n":1}`, `{"id":2}`), want: rejected(2, "1", "2")},
		{name: "a record with terminal escapes", walk: "whole", sends: whole(`{"id":"\u001b]0;owned\u0007"}`, `{"id":1}`), want: keyed("\x1b]0;owned\a", "1")},
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"f%d":%d`, i, i)
	}
	return b.String()
}
