package pacing

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// idleLeast is how long a connection must have been unused for its end to say nothing of the provider. Servers
// close such connections after 2 s (gunicorn), 5 s (Node.js, uvicorn, Apache) or more, by their own documentation.
const idleLeast = 1500 * time.Millisecond

// An idleError is why there is no answer to a request that was sent by a connection which had been unused for a while:
// the server was closing it at that moment.
type idleError struct{ error }

func (e idleError) Unwrap() error { return e.error }

// A once transport sends each request once. If a server closes a connection that was used before, without an answer,
// [http.Transport] sends the request again by itself: the server would get requests that no ceiling, no budget and no pace
// knows of. By HTTP/2 it does so only if the server says that it did not look at the request.
type once struct {
	next  http.RoundTripper
	http1 atomic.Bool // the latest answer came by HTTP/1
}

func (t *once) RoundTrip(req *http.Request) (*http.Response, error) {
	for {
		var sent, answered atomic.Bool
		var idle atomic.Int64 // nanoseconds; negative: the connection is new
		idle.Store(-1)
		ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(c httptrace.GotConnInfo) {
				if c.Reused {
					idle.Store(int64(c.IdleTime))
				}
			},
			WroteRequest:         func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) },
			GotFirstResponseByte: func() { answered.Store(true) },
		})
		out, unique, err := t.unique(req.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		resp, err := t.next.RoundTrip(out)
		if err == nil {
			t.http1.Store(resp.ProtoMajor == 1)
			return resp, nil
		}
		unused := time.Duration(idle.Load())
		if !unique || unused < 0 || answered.Load() || ctx.Err() != nil {
			return nil, err
		}
		if !sent.Load() { // the connection was closed before, and another one is used now
			continue
		}
		if unused >= idleLeast {
			err = idleError{fmt.Errorf("a connection that was not used for %v: %w", unused.Round(time.Millisecond), err)}
		}
		return nil, err
	}
}

// unique returns req as [http.Transport] does not send it twice, and whether it is one: that is so if it has a body
// which cannot be had again. An empty one of unknown length is left out by HTTP/1, and would be a frame of its own in HTTP/2.
func (t *once) unique(req *http.Request) (*http.Request, bool, error) {
	switch {
	case req.URL.Scheme != "http" && !t.http1.Load():
		return req, false, nil
	case req.Body != nil && req.Body != http.NoBody:
		if req.GetBody == nil {
			return req, false, nil
		}
		body, err := req.GetBody()
		if err != nil {
			return nil, false, err
		}
		req.Body = body
	case req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions:
		req.Body = io.NopCloser(strings.NewReader(""))
	default:
		return req, false, nil
	}
	req.GetBody = nil
	return req, true, nil
}

// CloseIdleConnections closes the connections that no request uses.
func (t *once) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
