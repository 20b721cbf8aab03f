package har

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"collect/collection"
)

// Transport returns a transport that sends with next, and writes each request that it
// sends, retries and requests for a credential included. secrets returns what must not
// be in the file, as of now; it may be called from several goroutines.
func (f *File) Transport(next http.RoundTripper, secrets func() []string) http.RoundTripper {
	return &transport{file: f, next: next, scrubbed: scrubbed{secrets: secrets}}
}

type transport struct {
	file *File
	next http.RoundTripper
	scrubbed
}

// RoundTrip sends a request. It is written when its answer was read, or closed.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := &exchange{transport: t, req: req, begun: time.Now()}
	resp, err := t.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { x.mark(&x.connected) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { x.mark(&x.sent) },
		GotFirstResponseByte: func() { x.mark(&x.answered) },
	})))
	if err != nil {
		x.end(nil, 0, whyNone(req.Context(), err))
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body is the connection
		x.end(resp, 0, "")
		return resp, nil
	}
	resp.Body = &counted{ReadCloser: resp.Body, exchange: x, resp: resp}
	return resp, nil
}

// CloseIdleConnections closes those of the transport that sends.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// whyNone says why there was no answer, in our own words: those of an error may hold
// an address, and that of a proxy has its password in it.
func whyNone(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "no answer: it was given up"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no answer: it took too long"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "no answer: the name of the host was not found"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "no answer: the certificate was not accepted"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return "no answer: there was no connection"
	}
	return "no answer"
}

// An exchange is a request that is under way.
type exchange struct {
	*transport
	req   *http.Request
	begun time.Time

	mu                        sync.Mutex // the hooks of a request may still run when it has ended
	connected, sent, answered time.Time
	over                      bool
}

func (x *exchange) mark(at *time.Time) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	*at = now
}

// end writes the exchange, once.
func (x *exchange) end(resp *http.Response, bytes int64, comment string) {
	now := time.Now()
	x.mu.Lock()
	if x.over {
		x.mu.Unlock()
		return
	}
	x.over = true
	connected, sent, answered := x.connected, x.sent, x.answered
	x.mu.Unlock()

	s := x.scrubber()
	e := entry{
		Started: x.begun.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Time: milliseconds(now.Sub(x.begun)),
		Stream: collection.StreamOf(x.req.Context()), Comment: comment,
		Request: request{
			Method: x.req.Method, URL: urlOf(x.req.URL, s), HTTPVersion: "HTTP/1.1", Cookies: []pair{}, Headers: headers(x.req.Header, true, s),
			Query: query(x.req.URL, s), HeadersSize: -1, BodySize: max(0, x.req.ContentLength),
		},
		Response: response{Cookies: []pair{}, Headers: []pair{}, HeadersSize: -1, BodySize: -1, Content: content{MimeType: ""}},
		Timings:  steps(x.begun, connected, sent, answered, now),
	}
	if resp != nil {
		e.Request.HTTPVersion = resp.Proto
		e.Response = response{
			Status: resp.StatusCode, StatusText: http.StatusText(resp.StatusCode), HTTPVersion: resp.Proto, Cookies: []pair{}, Headers: headers(resp.Header, false, s),
			Content: content{Size: bytes, MimeType: s.Text(resp.Header.Get("Content-Type"))}, HeadersSize: -1, BodySize: bytes,
		}
		if resp.Header.Get("Content-Encoding") != "" {
			e.Response.Content.Size = -1
		}
		if to := resp.Header.Get("Location"); to != "" {
			e.Response.RedirectURL = address(to, s)
		}
	}
	x.file.add(e)
}

// steps returns how long each step took. A step that was not seen took no time: it
// counts for the one behind it.
func steps(begun, connected, sent, answered, ended time.Time) timings {
	t, at := timings{Blocked: -1}, begun
	since := func(until time.Time) float64 {
		d := max(0, until.Sub(at))
		at = at.Add(d)
		return milliseconds(d)
	}
	if !connected.IsZero() {
		t.Blocked = since(connected)
	}
	if !sent.IsZero() {
		t.Send = since(sent)
	}
	if !answered.IsZero() {
		t.Wait, t.Receive = since(answered), since(ended)
		return t
	}
	t.Wait = since(ended)
	return t
}

// A counted body ends its exchange with its own end.
type counted struct {
	io.ReadCloser
	*exchange
	resp  *http.Response
	bytes int64 // only its reader uses it
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes += int64(n)
	switch {
	case err == io.EOF:
		c.end(c.resp, c.bytes, "")
	case err != nil:
		c.end(c.resp, c.bytes, "the answer ended before its end")
	}
	return n, err
}

func (c *counted) Close() error {
	err := c.ReadCloser.Close()
	c.end(c.resp, c.bytes, "the answer was not read to its end")
	return err
}
