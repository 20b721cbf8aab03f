package pacing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"collect/collection"
)

// Why an attempt was given up by us.
var (
	errSilent = errors.New("no answer in time")
	errSlow   = errors.New("the answer did not end in time")
	errShort  = errors.New("the body ended early")
	errOver   = errors.New("the time of the run was up before there was a credential")
)

// NewTransport returns a transport that keeps as many connections as are
// used. It leaves inflating to us, who have limits for it.
func NewTransport(concurrency int, l collection.Limits) *http.Transport {
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

// userAgent names us and our version to the provider.
var userAgent = sync.OnceValue(func() string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = strings.Trim(info.Main.Version, "()v")
	}
	return "collect/" + version
})

// exchange sends out and reads the whole answer, within the limits of time and
// size. The response may be set beside an error.
func (g *Governor) exchange(out *http.Request) (*http.Response, []byte, error) {
	ctx, cancel := context.WithCancelCause(out.Context())
	defer cancel(nil)
	start := time.Now()
	var headed atomic.Bool
	timer := time.AfterFunc(min(g.limits.Header, g.limits.Request), func() {
		if headed.Load() {
			cancel(errSlow)
		} else {
			cancel(errSilent)
		}
	})
	defer timer.Stop()

	resp, err := g.base.RoundTrip(out.WithContext(ctx))
	if err != nil {
		return nil, nil, causeOf(ctx, err)
	}
	defer resp.Body.Close()
	headed.Store(true)
	timer.Reset(g.limits.Request - time.Since(start))

	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body is the connection itself, which net/http reads without the
		// context: nothing but its end would end that.
		return resp, nil, &collection.Stop{Reason: collection.BadPage, Detail: "it switched to another protocol, which was not asked for"}
	}
	if headerBytes(resp.Header) > g.limits.Headers {
		return resp, nil, &collection.Stop{Reason: collection.TooLarge, Detail: "the header is larger than " + size(g.limits.Headers)}
	}
	tenant := g.room.enter()
	var waited time.Duration // for room, which is no time of the provider
	body, err := readBody(resp, out.Method, g.limits.Body, func(n int64) error {
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
		body = nil
	}
	tenant.read(body)
	if err != nil {
		return resp, nil, causeOf(ctx, err)
	}
	return resp, body, nil
}

// causeOf prefers our own reason for giving up to what became of it.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause == errSilent || cause == errSlow {
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
// it takes more memory, which is at most that of limit.
func readBody(resp *http.Response, method string, limit int64, more func(bytes int64) error) ([]byte, error) {
	if method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		return nil, nil
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
			return nil, shortened(err)
		}
		defer gzipReaders.Put(inflate)
		from = inflate
	default:
		return nil, &collection.Stop{Reason: collection.BadPage, Detail: "the body has an encoding that was not asked for"}
	}
	inflated := from != io.Reader(resp.Body)

	expected := int64(smallBody)
	if resp.ContentLength > 0 && !inflated {
		if resp.ContentLength > limit {
			return nil, tooLarge(limit)
		}
		expected = min(resp.ContentLength, 1<<20) + 1 // a lie costs no more than this
	}
	var b []byte
	for {
		if len(b) == cap(b) {
			next := min(max(expected, 2*int64(cap(b))), limit+1) // one more byte tells that it is too large
			if grown := next - int64(cap(b)); next > smallBody {
				if err := more(grown); err != nil {
					return nil, err
				}
			}
			b = append(make([]byte, 0, next), b...)
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > limit:
			return nil, tooLarge(limit)
		case err == io.EOF && !inflated && !resp.Uncompressed && resp.ContentLength > int64(len(b)):
			return nil, errShort
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, shortened(err)
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

func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// complete returns resp with its body in memory, as the answer to the request
// of the caller, which has no credential.
func complete(resp *http.Response, req *http.Request, body []byte) *http.Response {
	if slices.Contains(resp.Header["Content-Encoding"], "gzip") || resp.Header.Get("Content-Encoding") == "x-gzip" {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.Uncompressed = true
	}
	resp.Request = req
	resp.Close = resp.Close && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 // the end of the connection alone ended the body
	resp.TransferEncoding = nil
	if req.Method != http.MethodHead {
		resp.ContentLength = int64(len(body))
	}
	resp.Body = whole{bytes.NewReader(body), body}
	return resp
}

// A whole is a body in memory, for readers that need no copy of it.
type whole struct {
	*bytes.Reader
	body []byte
}

func (whole) Close() error    { return nil }
func (w whole) Bytes() []byte { return w.body }

// describe says in a few fixed words why there is no usable answer. It quotes
// nothing: an error of the network may hold addresses and bytes of a body.
func describe(err error) string {
	if why := unconnected(err); why != "" {
		if proxied(err) {
			return "no connection to the proxy: " + why
		}
		return "no connection: " + why
	}
	switch {
	case errors.Is(err, errSilent), errors.Is(err, errSlow), errors.Is(err, errShort):
		return err.Error()
	case timedOut(err):
		return "timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed before the answer"
	case errors.As(err, new(textproto.ProtocolError)):
		return "its header is malformed, or was cut off"
	}
	return "the connection failed"
}

// timedOut reports whether an answer was waited for in vain.
func timedOut(err error) bool {
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return true
	}
	return errors.Is(err, errSilent) || errors.Is(err, errSlow)
}

// certificateFault says what is wrong with the certificate of a provider; "" if
// that is not why there was no connection.
func certificateFault(err error) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		return ""
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the TLS certificate is for another host"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the TLS certificate is signed by an authority that is not trusted here"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the TLS certificate has expired or is not valid yet, by the clock of this machine"
	}
	return "the TLS certificate is not valid"
}

// unconnected says why there was no connection; "" if there was one.
func unconnected(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "no such host"
		}
		return "the name cannot be looked up"
	}
	if fault := certificateFault(err); fault != "" {
		return fault
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "it does not speak TLS"
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return "TLS was refused"
	}
	op, ok := errors.AsType[*net.OpError](err)
	switch {
	case !ok || op.Op != "dial" && !proxied(err):
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case op.Timeout():
		return "timed out"
	}
	return "network unreachable"
}

// proxied reports whether it is the proxy that there was no connection to.
func proxied(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "proxyconnect"
}
