package hostile_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A provider answers each request with bytes of the table's choice, on a
// socket of its own. Nothing of net/http's server stands in between, so that
// it can send what that one would refuse to.
type provider struct {
	base  string // scheme://host:port
	words *strings.Replacer

	mu       sync.Mutex
	answer   answer
	requests int
	seen     bytes.Buffer // the requests, as they came
}

// A call is one request with the connection that it came on.
type call struct {
	*http.Request
	conn  net.Conn
	n     int // of the provider's requests, from 1
	words *strings.Replacer
}

// An answer answers one request. It returns false if the connection ends with
// it.
type answer func(c call) (keep bool)

// A greeting speaks first on a connection, below HTTP/1.
type greeting func(conn net.Conn)

// longest bounds how long a provider keeps anything up: longer than the
// patience that its connector has, and not for ever.
const longest = 10 * time.Second

// listen starts a provider on loopback, until the test ends. With certificates
// it speaks TLS; with a greeting it speaks nothing else, below TLS unless that
// chooses a protocol.
func listen(t *testing.T, certificates *tls.Config, hello greeting, a answer) *provider {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{base: "http://" + l.Addr().String(), answer: a, words: strings.NewReplacer()}
	if certificates != nil {
		p.base = "https://" + l.Addr().String()
		if hello == nil || certificates.NextProtos != nil {
			l = tls.NewListener(l, certificates)
		}
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(longest))
				if hello != nil {
					p.count()
					hello(conn)
					return
				}
				p.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return p
}

func (p *provider) serve(conn net.Conn) {
	in := bufio.NewReader(io.TeeReader(conn, p))
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		p.mu.Lock()
		a, words := p.answer, p.words
		p.mu.Unlock()
		if !a(call{Request: req, conn: conn, n: p.count(), words: words}) {
			return
		}
	}
}

// Write notes what came in.
func (p *provider) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	return p.requests
}

func (p *provider) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *provider) heard() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.seen.Bytes())
}

// restart makes the provider begin anew, with other words for its answers.
func (p *provider) restart(words *strings.Replacer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words, p.requests = words, 0
}

// become makes the provider answer in another way from now on.
func (p *provider) become(a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = a
}

// raw sends text as it is and ends the connection. In it $BASE is the
// provider, $OTHER one at another port, and $LOCAL that one under another name.
func raw(text string) answer {
	return func(c call) bool {
		io.WriteString(c.conn, c.words.Replace(text))
		return false
	}
}

// reply is a well-formed response, with its length. Header lines are written
// "Name: value".
func reply(status int, body string, header ...string) answer {
	return func(c call) bool {
		body := c.words.Replace(body)
		var b strings.Builder
		fmt.Fprintf(&b, "HTTP/1.1 %d x\r\nContent-Length: %d\r\n", status, len(body))
		for _, line := range header {
			b.WriteString(c.words.Replace(line) + "\r\n")
		}
		b.WriteString("\r\n")
		if status != http.StatusNoContent && status != http.StatusNotModified {
			b.WriteString(body)
		}
		_, err := io.WriteString(c.conn, b.String())
		return err == nil
	}
}

// ok is a reply with 200.
func ok(body string, header ...string) answer { return reply(200, body, header...) }

// inTurn gives each request the answer of its turn, and the last one to all
// that are left.
func inTurn(answers ...answer) answer {
	return func(c call) bool { return answers[min(c.n, len(answers))-1](c) }
}

// at gives requests whose URI contains a text an answer of their own.
func at(text string, then, otherwise answer) answer {
	return func(c call) bool {
		if strings.Contains(c.RequestURI, text) {
			return then(c)
		}
		return otherwise(c)
	}
}

// following answers with a text made for request n.
func following(body func(n int) string, header ...string) answer {
	return func(c call) bool { return ok(body(c.n), header...)(c) }
}

// endless sends head, and then text until the other side has enough or the
// connection's time is up.
func endless(head, text string) answer {
	return func(c call) bool {
		_, err := io.WriteString(c.conn, head)
		for err == nil {
			_, err = io.WriteString(c.conn, text)
		}
		return false
	}
}

// dripping sends text a byte at a time.
func dripping(every time.Duration, text string) answer {
	return func(c call) bool {
		for i := range len(text) {
			if _, err := io.WriteString(c.conn, text[i:i+1]); err != nil {
				return false
			}
			time.Sleep(every)
		}
		return false
	}
}

// silent reads and says nothing more than head.
func silent(head string) answer {
	return func(c call) bool {
		io.WriteString(c.conn, head)
		io.Copy(io.Discard, c.conn) // until the other side gives up
		return false
	}
}

// reset ends the connection after head with a TCP reset.
func reset(head string) answer {
	return func(c call) bool {
		io.WriteString(c.conn, head)
		if tcp, ok := c.conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		return false
	}
}

// chunked frames parts as chunks; each part is one.
func chunked(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.FormatInt(int64(len(part)), 16) + "\r\n" + part + "\r\n")
	}
	return b.String() + "0\r\n\r\n"
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// bomb is n MiB of zeros, compressed; it never stands in memory inflated.
func bomb(n int) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	block := make([]byte, 1<<20)
	for range n {
		z.Write(block)
	}
	z.Close()
	return b.String()
}

// things is a JSON array of the records first to last.
func things(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		b.WriteByte("[,"[min(i-first, 1)])
		fmt.Fprintf(&b, `{"id":%d}`, i)
	}
	if first > last {
		b.WriteByte('[')
	}
	return b.String() + "]"
}

// page is an object with the records first to last, and more fields.
func page(first, last int, more ...string) string {
	var text strings.Builder
	text.WriteString(`{"items":` + things(first, last))
	for _, field := range more {
		text.WriteString("," + field)
	}
	return text.String() + "}"
}
