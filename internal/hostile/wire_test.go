package hostile_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"time"

	"collect/collection"
)

func handshakes() []trial {
	return []trial{
		{name: "TLS", walk: "whole", tls: "good", sends: ok(three), want: all(3)},
		{name: "TLS: an expired certificate", walk: "whole", tls: "expired", sends: ok(three), want: owed(pressure, 0)},
		{name: "TLS: a certificate for another name", walk: "whole", tls: "another name", sends: ok(three), want: owed(pressure, 0)},
		{name: "TLS: a certificate that signs itself", walk: "whole", tls: "signs itself", sends: ok(three), want: owed(pressure, 0)},
		{name: "TLS: an old version", walk: "whole", tls: "old", sends: ok(three), want: owed(pressure, 0)},
		{name: "TLS: plain HTTP instead", walk: "whole", tls: "good", hello: says(head + "Content-Length: 28\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "TLS: an alert", walk: "whole", tls: "good", hello: says("\x15\x03\x01\x00\x02\x02\x28"), want: owed(pressure, 0)},
		{name: "TLS: garbage", walk: "whole", tls: "good", hello: says("\x16\x03\x03\xff\xff" + strings.Repeat("\x00", 20_000)), want: owed(pressure, 0)},
		{name: "TLS: closed at once", walk: "whole", tls: "good", hello: says(""), want: owed(pressure, 0)},
		{name: "TLS: silence", walk: "whole", tls: "good", hello: func(conn net.Conn) { io.Copy(io.Discard, conn) }, want: owed(pressure, 0)},
		{name: "TLS instead of HTTP", walk: "whole", hello: says("\x15\x03\x01\x00\x02\x02\x16"), want: owed(bad, 0).in(1).forGood()},
		{name: "TLS: cut off without a farewell", walk: "whole", tls: "good", sends: raw(head + "\r\n" + three[:20]), want: owed(bad, 0)},
	}
}

// says writes text to whoever connects, once they have said something.
func says(text string) greeting {
	return func(conn net.Conn) {
		conn.Read(make([]byte, 4096))
		io.WriteString(conn, text)
	}
}

// The types and flags of HTTP/2 frames (RFC 9113, section 6).
const (
	typeData, typeHeaders, typeReset, typeSettings, typePush, typePing, typeGoAway, typeWindow, typeContinuation = 0, 1, 3, 4, 5, 6, 7, 8, 9

	endStream, endHeaders = 1, 4
)

// frame is one HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return string(b) + payload
}

// HPACK (RFC 7541): status 200 and 103 as indexed or literal fields, and a
// literal field of the name "x".
const (
	status200 = "\x88"
	status103 = "\x08\x03103"
	literalX  = "\x00\x01x"
)

// settled answers the first request of an HTTP/2 connection with frames. What
// is behind the first request is read and let go.
func settled(frames ...string) greeting {
	return func(conn net.Conn) {
		go io.Copy(io.Discard, conn) // ends with the connection
		io.WriteString(conn, frame(typeSettings, 0, 0, ""))
		time.Sleep(100 * time.Millisecond) // the request is on its way
		for _, f := range frames {
			if _, err := io.WriteString(conn, f); err != nil {
				return
			}
		}
		time.Sleep(longest / 2) // the other side ends it, or runs out of patience
	}
}

// endlessly repeats a frame until the other side has enough.
func endlessly(first string, f string) greeting {
	return func(conn net.Conn) {
		go io.Copy(io.Discard, conn)
		io.WriteString(conn, frame(typeSettings, 0, 0, ""))
		time.Sleep(100 * time.Millisecond)
		_, err := io.WriteString(conn, first)
		for err == nil {
			_, err = io.WriteString(conn, f)
		}
	}
}

func frames() []trial {
	answer := frame(typeHeaders, endHeaders, 1, status200)
	body := frame(typeData, endStream, 1, three)
	word := func(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
	return []trial{
		{name: "h2", walk: "whole", tls: "h2", hello: settled(answer, body), want: all(3)},
		{name: "h2: a reset at once", walk: "whole", tls: "h2", hello: settled(frame(typeReset, 0, 1, word(2))), want: owed(pressure, 0)},
		{name: "h2: refused for ever", walk: "whole", tls: "h2", hello: settled(frame(typeReset, 0, 1, word(7))), want: owed(pressure, 0)},
		{name: "h2: a reset in the body", walk: "whole", tls: "h2", hello: settled(answer, frame(typeData, 0, 1, three[:9]), frame(typeReset, 0, 1, word(2))), want: owed(pressure, 0)},
		{name: "h2: a reset without an error in the body", walk: "whole", tls: "h2", hello: settled(answer, frame(typeData, 0, 1, three[:9]), frame(typeReset, 0, 1, word(0))), want: owed(pressure, 0)},
		{name: "h2: goes away at once", walk: "whole", tls: "h2", hello: settled(frame(typeGoAway, 0, 0, word(0)+word(0))), want: owed(pressure, 0)},
		{name: "h2: goes away in the body", walk: "whole", tls: "h2", hello: settled(answer, frame(typeGoAway, 0, 0, word(0)+word(2)+"$SECRET")), want: owed(pressure, 0)},
		{name: "h2: goes away behind the answer", walk: "whole", tls: "h2", hello: settled(frame(typeGoAway, 0, 0, word(1)+word(0)), answer, body), want: all(3)},
		{name: "h2: no status", walk: "whole", tls: "h2", hello: settled(frame(typeHeaders, endHeaders, 1, literalX+"\x01y"), body), want: owed(pressure, 0)},
		{name: "h2: a header that cannot be read", walk: "whole", tls: "h2", hello: settled(frame(typeHeaders, endHeaders, 1, "\xff\xff\xff\xff\xff\xff\xff")), want: owed(pressure, 0)},
		{name: "h2: a length too long", walk: "whole", tls: "h2", hello: settled(frame(typeHeaders, endHeaders, 1, status200+"\x0f\x0d\x03100"), body), want: owed(pressure, 0)},
		{name: "h2: a length too short", walk: "whole", tls: "h2", hello: settled(frame(typeHeaders, endHeaders, 1, status200+"\x0f\x0d\x015"), body), want: owed(pressure, 0)},
		{name: "h2: a frame that is too large", walk: "whole", tls: "h2", hello: settled(answer, frame(typeData, endStream, 1, strings.Repeat(" ", 1<<20))), want: owed(pressure, 0)},
		{name: "h2: more than the window", walk: "whole", tls: "h2", hello: endlessly(answer, frame(typeData, 0, 1, strings.Repeat(" ", 16<<10))), want: owed(large, 0)},
		{name: "h2: endless continuations", walk: "whole", tls: "h2", hello: endlessly(frame(typeHeaders, 0, 1, status200), frame(typeContinuation, 0, 1, literalX+"\x01y")), want: owed(pressure, 0)},
		{name: "h2: endless early hints", walk: "whole", tls: "h2", hello: endlessly("", frame(typeHeaders, endHeaders, 1, status103)), want: owed(pressure, 0)},
		{name: "h2: endless pings", walk: "whole", tls: "h2", hello: endlessly("", frame(typePing, 0, 0, "12345678")), want: owed(pressure, 0)},
		{name: "h2: endless settings", walk: "whole", tls: "h2", hello: endlessly("", frame(typeSettings, 0, 0, "")), want: owed(pressure, 0)},
		{name: "h2: endless empty data", walk: "whole", tls: "h2", hello: endlessly(answer, frame(typeData, 0, 1, "")), want: owed(pressure, 0)},
		{name: "h2: a push", walk: "whole", tls: "h2", hello: settled(frame(typePush, endHeaders, 1, word(2)+status200)), want: owed(pressure, 0)},
		{name: "h2: a stream that nobody opened", walk: "whole", tls: "h2", hello: settled(frame(typeHeaders, endHeaders, 9, status200)), want: owed(pressure, 0)},
		{name: "h2: a window of nothing", walk: "whole", tls: "h2", hello: settled(frame(typeWindow, 0, 0, word(0))), want: owed(pressure, 0)},
		{name: "h2: HTTP/1 instead", walk: "whole", tls: "h2", hello: says(head + "Content-Length: 28\r\n\r\n" + three), want: owed(pressure, 0)},
		{name: "h2: a throttle", walk: "whole", tls: "h2", hello: settled(frame(typeHeaders, endHeaders|endStream, 1, "\x08\x03429\x0f\x26\x043600")), want: owed(collection.RetryAfter, 0)},
	}
}
