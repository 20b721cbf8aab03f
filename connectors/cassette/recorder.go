package cassette

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A Recorder is an [http.RoundTripper] that passes requests on and notes each
// exchange. It is safe for concurrent use.
type Recorder struct {
	Next http.RoundTripper
	Most int64 // bytes of a body that are noted; a longer one is passed on, and noted without

	mu    sync.Mutex
	noted []Noted
}

// A Noted is an exchange as it was made, with its secrets: see [Scrubber].
type Noted struct {
	Exchange
	Asked http.Header // of the request
}

// RoundTrip passes a request on.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	n := Noted{Exchange: Exchange{Method: req.Method, URL: req.URL.String()}, Asked: req.Header.Clone()}
	maps.DeleteFunc(n.Asked, func(_ string, values []string) bool { return len(values) == 0 }) // a note to the client, which is not sent
	if req.Body != nil {
		sent, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		n.Sent, req = sent, req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := r.Next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	n.Status, n.Header = resp.StatusCode, resp.Header.Clone()
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection
		body, err := io.ReadAll(io.LimitReader(resp.Body, r.Most+1))
		if err == nil && int64(len(body)) <= r.Most {
			n.Body = inflated(resp.Header.Get("Content-Encoding"), body, r.Most)
		}
		resp.Body = again{io.MultiReader(bytes.NewReader(body), failing{err}, resp.Body), resp.Body}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noted = append(r.noted, n)
	return resp, nil
}

// Noted returns what was noted so far.
func (r *Recorder) Noted() []Noted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.noted)
}

// again is a body whose first part was read before.
type again struct {
	io.Reader
	io.Closer
}

// failing ends a body with the error that reading it met; without one it is empty.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// inflated returns a body as text, where it came packed.
func inflated(packed string, body []byte, most int64) []byte {
	if !strings.HasSuffix(strings.ToLower(packed), "gzip") {
		return body
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	plain, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return body
	}
	return plain
}
