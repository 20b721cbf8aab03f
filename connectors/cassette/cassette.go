// Package cassette keeps what a provider answered, in files that people can read
// and write, and answers from them without a network.
//
// A cassette is a txtar archive. Each exchange is two parts: the request, whose
// name is its method and URL and whose data is its body, and the response, whose
// name is its status and whose data is its header, an empty line and its body:
//
//	-- GET https://api.acme.test/orders?limit=2 --
//	-- 200 --
//	Link: <https://api.acme.test/orders?limit=2&page=2>; rel="next"
//
//	[{"id": 1}, {"id": 2}]
//
// The line break at the end of a part is not part of its body. A body that is no
// text, or that has a line which would begin a part, stands in base64 below the
// header Content-Transfer-Encoding: base64.
package cassette

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// An Exchange is one request and its response.
type Exchange struct {
	Method string
	URL    string
	Sent   []byte // the body of the request
	Status int
	Header http.Header
	Body   []byte
}

// encoding is the header of a body that does not stand as it is.
const encoding = "Content-Transfer-Encoding"

// Parse reads a cassette.
func Parse(src []byte) ([]Exchange, error) {
	parts := txtar.Parse(src).Files
	if len(parts)%2 != 0 || len(parts) == 0 {
		return nil, errors.New("a cassette has two parts for each exchange: a request and its response")
	}
	var all []Exchange
	for pair := range slices.Chunk(parts, 2) {
		request, response := pair[0], pair[1]
		method, address, ok := strings.Cut(request.Name, " ")
		if u, err := url.Parse(address); !ok || err != nil || u.Host == "" {
			return nil, fmt.Errorf("%q is not a method and a URL", request.Name)
		}
		status, err := strconv.Atoi(response.Name)
		if err != nil || status < 200 || status > 599 {
			return nil, fmt.Errorf("%q, behind %q, is not a status from 200 to 599", response.Name, request.Name)
		}
		e := Exchange{Method: method, URL: address, Sent: withoutBreak(request.Data), Status: status}
		if e.Header, e.Body, err = readResponse(response.Data); err != nil {
			return nil, fmt.Errorf("the response to %q: %w", request.Name, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// readResponse splits the data of a response into its header and its body.
func readResponse(data []byte) (http.Header, []byte, error) {
	r := bufio.NewReader(bytes.NewReader(data))
	header, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("its header cannot be read: %w", err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	body = withoutBreak(body)
	if header.Get(encoding) == "base64" {
		header.Del(encoding)
		text := bytes.ReplaceAll(body, []byte("\n"), nil)
		if body, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
			return nil, nil, fmt.Errorf("its body is not base64: %w", err)
		}
	}
	return http.Header(header), body, nil
}

func withoutBreak(data []byte) []byte { return bytes.TrimSuffix(data, []byte("\n")) }

// Format returns a cassette of the exchanges, which [Parse] reads.
//
// A request with a body that is no text cannot be written.
func Format(exchanges []Exchange) ([]byte, error) {
	var a txtar.Archive
	for _, e := range exchanges {
		if !standsAsItIs(e.Sent) {
			return nil, fmt.Errorf("the body of %s %s is no text", e.Method, e.URL)
		}
		var sent []byte
		if len(e.Sent) > 0 {
			sent = append(slices.Clone(e.Sent), '\n')
		}
		var response bytes.Buffer
		header, body := e.Header.Clone(), e.Body
		if !standsAsItIs(body) {
			if header == nil {
				header = http.Header{}
			}
			header.Set(encoding, "base64")
			body = base64.StdEncoding.AppendEncode(nil, body)
		}
		if err := header.Write(&response); err != nil {
			return nil, err
		}
		text := bytes.ReplaceAll(response.Bytes(), []byte("\r\n"), []byte("\n"))
		text = append(append(append(text, '\n'), body...), '\n')
		a.Files = append(a.Files,
			txtar.File{Name: e.Method + " " + e.URL, Data: sent},
			txtar.File{Name: strconv.Itoa(e.Status), Data: text})
	}
	return txtar.Format(&a), nil
}

// standsAsItIs reports whether a body reads the same after it was written.
func standsAsItIs(body []byte) bool {
	return utf8.Valid(body) && !bytes.Contains(body, []byte("\r")) && len(txtar.Parse(body).Files) == 0
}

// A Player is an [http.RoundTripper] that answers from exchanges. A request that
// stands in them several times is answered by each in turn, and by the last one
// from then on. It is safe for concurrent use.
type Player struct {
	exchanges []Exchange

	mu   sync.Mutex
	asks map[string]int // how often each request was answered
}

// NewPlayer returns a player of the exchanges.
func NewPlayer(exchanges []Exchange) *Player {
	return &Player{exchanges: exchanges, asks: map[string]int{}}
}

// An UnrecordedError says that a request stands in no exchange.
type UnrecordedError struct{ Method, URL string }

func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("the cassette has no answer to %s %s", e.Method, e.URL)
}

// RoundTrip answers a request, or returns an [*UnrecordedError].
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var sent []byte
	if req.Body != nil {
		var err error
		if sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	key := keyOf(req.Method, req.URL, sent)
	var answers []Exchange
	for _, e := range p.exchanges {
		if e.key() == key {
			answers = append(answers, e)
		}
	}
	if len(answers) == 0 {
		return nil, &UnrecordedError{req.Method, req.URL.Redacted()}
	}
	p.mu.Lock()
	e := answers[min(p.asks[key], len(answers)-1)]
	p.asks[key]++
	p.mu.Unlock()
	return e.response(req), nil
}

// Unplayed returns the exchanges whose requests did not come.
func (p *Player) Unplayed() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.exchanges), func(e Exchange) bool { return p.asks[e.key()] > 0 })
}

// key returns what a request has in common with the one that was recorded; "" if
// its URL cannot be read.
func (e Exchange) key() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return keyOf(e.Method, u, e.Sent)
}

func (e Exchange) response(req *http.Request) *http.Response {
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)), StatusCode: e.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(e.Body)), Body: io.NopCloser(bytes.NewReader(e.Body)),
		Request: req,
	}
}

// keyOf returns what tells requests apart: the order of the parameters and the
// spaces of JSON do not.
func keyOf(method string, u *url.URL, sent []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, sent) == nil {
		sent = compact.Bytes()
	}
	return fmt.Sprintf("%s %s://%s%s?%s\n%s", method, u.Scheme, u.Host, u.EscapedPath(), u.Query().Encode(), sent)
}
