package pacing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"collect/collection"
)

// newTransport returns a transport that keeps as many connections as are
// used. It leaves inflating to us, who have limits for it.
func newTransport(concurrency int, l collection.Limits) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    max(concurrency, http.DefaultMaxIdleConnsPerHost),
		DisableCompression:     true,
		MaxResponseHeaderBytes: 2 * l.Headers, // up to here it is counted and told; see exchange
	}
}

// exchange sends out and reads the whole answer, within the limits of time and
// size, and within wait for the first byte. The response may be set beside an error.
func (g *Governor) exchange(out *http.Request, wait time.Duration) (*http.Response, content, error) {
	ctx, cancel := context.WithCancelCause(out.Context())
	defer cancel(nil)
	start := time.Now()
	silent := errSilent
	if wait < g.headerWait() {
		silent = errSoon
	}
	var headed atomic.Bool
	timer := time.AfterFunc(wait, func() {
		if headed.Load() {
			cancel(errSlow)
		} else {
			cancel(silent)
		}
	})
	defer timer.Stop()

	resp, err := g.base.RoundTrip(out.WithContext(ctx))
	if err != nil {
		return nil, content{}, causeOf(ctx, err)
	}
	defer resp.Body.Close()
	headed.Store(true)
	g.patience.answered(time.Since(start), time.Now())
	timer.Reset(g.limits.Request - time.Since(start))

	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the connection itself, which net/http reads without the
		// context: nothing but its end would end that.
		return resp, content{}, &collection.Stop{Reason: collection.BadPage, Detail: "it switched to another protocol, which was not asked for"}
	}
	if headerBytes(resp.Header) > g.limits.Headers {
		return resp, content{}, &collection.Stop{Reason: collection.TooLarge, Detail: "the header is larger than " + size(g.limits.Headers)}
	}
	tenant := g.room.enter()
	var waited time.Duration // for room, which is no time of the provider
	spill := g.spill
	if !collection.Spills(ctx) || resp.StatusCode < 200 || resp.StatusCode > 299 {
		spill = nil
	}
	body, err := readBody(resp, out.Method, g.limits.Body, spill, func(n int64) error {
		if tenant.grow(n, time.Now()) {
			return nil
		}
		timer.Stop()
		begun := time.Now()
		err := tenant.wait(ctx, n)
		waited += time.Since(begun)
		timer.Reset(g.limits.Request + waited - time.Since(start))
		return err
	})
	if err != nil {
		body.discard()
		body = content{}
	}
	tenant.read(body.head)
	if err != nil {
		return resp, content{}, causeOf(ctx, err)
	}
	return resp, body, nil
}

// headerWait returns how long the header of an answer is waited for at most.
func (g *Governor) headerWait() time.Duration { return min(g.limits.Header, g.limits.Request) }

// soonWait returns that for the nth attempt: less where another one may follow, see [patience].
func (g *Governor) soonWait(req *http.Request, n int, now time.Time) time.Duration {
	most := g.headerWait()
	wait := g.patience.wait(n, most)
	end := g.budget.deadline(now)
	if !repeatable(req) || n >= g.limits.Attempts || !end.IsZero() && !now.Add(wait).Before(end) {
		return most
	}
	return wait
}

// causeOf prefers our own reason for giving up to what became of it.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == errSoon || errors.Is(cause, collection.ErrLate) {
		return cause
	}
	return err
}

func headerBytes(h http.Header) int64 {
	var n int
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return int64(n)
}

var gzipReaders sync.Pool

// smallBody is the room for most bodies, which is not counted.
const smallBody = 16 << 10

// readBody reads the body of resp to its end, inflated. It returns a stop if
// that is over limit, and an error if the body is not all there. It asks before
// it takes more memory, which is at most that of limit, or of spillAt with a spill.
func readBody(resp *http.Response, method string, limit int64, spill func() (Spill, error), more func(bytes int64) error) (content, error) {
	if method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		return content{}, nil
	}
	var from io.Reader = resp.Body
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); {
	case resp.Uncompressed || encoding == "" || encoding == "identity":
	case encoding == "gzip" || encoding == "x-gzip":
		if resp.ContentLength == 0 {
			break
		}
		inflate, err := newGzipReader(resp.Body)
		if err != nil {
			return content{}, shortened(err)
		}
		defer gzipReaders.Put(inflate)
		from = inflate
	default:
		return content{}, &collection.Stop{Reason: collection.BadPage, Detail: "the body has an encoding that was not asked for"}
	}
	inflated := from != io.Reader(resp.Body)

	expected := int64(smallBody)
	if resp.ContentLength > 0 && !inflated {
		if resp.ContentLength > limit {
			return content{}, tooLarge(limit)
		}
		expected = min(resp.ContentLength, 1<<20) + 1 // a lie costs no more than this
	}
	var b []byte
	for {
		if len(b) == cap(b) && len(b) >= spillAt && spill != nil {
			return spillRest(resp, b, from, !inflated && !resp.Uncompressed, limit, spill)
		}
		if len(b) == cap(b) {
			next := min(max(expected, 2*int64(cap(b))), limit+1) // one more byte tells that it is too large
			if spill != nil {
				next = min(next, spillAt)
			}
			if grown := next - int64(cap(b)); next > smallBody {
				if err := more(grown); err != nil {
					return content{}, err
				}
			}
			b = append(make([]byte, 0, next), b...)
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > limit:
			return content{}, tooLarge(limit)
		case err == io.EOF && !inflated && !resp.Uncompressed && resp.ContentLength > int64(len(b)):
			return content{}, errShort
		case err == io.EOF:
			return content{head: b}, nil
		case err != nil:
			return content{}, shortened(err)
		}
	}
}

func newGzipReader(r io.Reader) (*gzip.Reader, error) {
	if z, ok := gzipReaders.Get().(*gzip.Reader); ok {
		return z, z.Reset(r)
	}
	return gzip.NewReader(r)
}

func shortened(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errShort
	}
	return err
}

func tooLarge(limit int64) error {
	return &collection.Stop{Reason: collection.TooLarge, Detail: "the body is larger than " + size(limit)}
}

// complete returns resp with its whole body, as the answer to the request
// of the caller, which has no credential.
func complete(resp *http.Response, req *http.Request, body content) *http.Response {
	if slices.Contains(resp.Header["Content-Encoding"], "gzip") || resp.Header.Get("Content-Encoding") == "x-gzip" {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.Uncompressed = true
	}
	resp.Request = req
	resp.Close = resp.Close && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 // the end of the connection alone ended the body
	resp.TransferEncoding = nil
	if req.Method != http.MethodHead {
		resp.ContentLength = body.size()
	}
	if resp.Body = (whole{bytes.NewReader(body.head), body.head}); body.spill != nil {
		resp.Body = spilled{io.NewSectionReader(body.spill, 0, body.length), body.spill}
	}
	return resp
}

// A whole is a body in memory, for readers that need no copy of it.
type whole struct {
	*bytes.Reader
	body []byte
}

func (whole) Close() error    { return nil }
func (w whole) Bytes() []byte { return w.body }
