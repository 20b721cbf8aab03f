package collection

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// A Provider is the third party a connector talks to, as far as a client has
// to know it.
type Provider struct {
	Name string

	// Origins lists the origins (scheme://host[:port]) that may be sent the
	// credential. Requests to other origins are sent without it.
	Origins []string

	// Hosts lists hosts, beside those of Origins, that whoever wrote the
	// connector or runs it named themselves. Requests to any other host come
	// out of a response, and do not reach private addresses (of this machine,
	// of networks near it) unless AllowPrivate says so.
	Hosts        []string
	AllowPrivate bool

	// Authorize attaches the credential to a request to a listed origin. It is
	// nil if there is none.
	Authorize func(*http.Request)

	// Credential is the whole secret. It identifies the account, by a salted
	// hash, and is used for nothing else. CredentialFrom says where it came
	// from, for people: "env ACME_TOKEN".
	Credential     string
	CredentialFrom string

	// Judge applies the connector's own rules to a response, before the
	// client's: see [Verdict]. It is nil if there are none.
	Judge func(Response) Verdict

	Ceilings       []Ceiling
	StartPerSecond float64 // the pace of the first run; 0: the client's default
	Unpaced        bool    // the user owns the server: no pacing
	Forbidden      ForbiddenPolicy
	Limits         Limits
}

// A Response is what rules may look at.
type Response struct {
	Stream string // "" if the request belongs to none
	Status int
	Header http.Header
	Body   []byte
}

// A Ceiling is the owner's limit: at most Count requests in any Per.
type Ceiling struct {
	Count int
	Per   time.Duration
}

// A ForbiddenPolicy says what a 403 means that is not a throttle and that no
// rule of the connector explains.
type ForbiddenPolicy string

// The policies for a 403.
const (
	Freeze    ForbiddenPolicy = "freeze" // stop all calls; one test request after 15 min, doubling
	Hold      ForbiddenPolicy = "hold"   // stop all calls until an operator releases them
	GapRecord ForbiddenPolicy = "gap"    // the provider uses 403 for single records
)

// Limits bounds what one response may cost. A zero field selects its default,
// which Defaults documents.
type Limits struct {
	Request      time.Duration // one attempt, body included
	Header       time.Duration // until the first byte of the response
	Body         int64         // bytes of a body, inflated
	Record       int64         // bytes of one record
	Headers      int64         // bytes of the response's header
	Cursor       int           // bytes of a cursor
	PagesWithout int           // pages in a row without a new record
	Attempts     int           // attempts per request
	LongestWait  time.Duration // longest Retry-After that is waited for inside a run
}

// WithDefaults returns l with each zero field replaced by its default: 60 s a
// request, 30 s to the header, 64 MiB a body, 8 MiB a record, 1 MiB of header,
// 16 KiB a cursor, 3 pages without a new record, 5 attempts, 5 min of
// Retry-After.
func (l Limits) WithDefaults() Limits {
	def := Limits{
		Request: 60 * time.Second, Header: 30 * time.Second,
		Body: 64 << 20, Record: 8 << 20, Headers: 1 << 20, Cursor: 16 << 10,
		PagesWithout: 3, Attempts: 5, LongestWait: 5 * time.Minute,
	}
	l.Request = cmp.Or(l.Request, def.Request)
	l.Header = cmp.Or(l.Header, def.Header)
	l.Body = cmp.Or(l.Body, def.Body)
	l.Record = cmp.Or(l.Record, def.Record)
	l.Headers = cmp.Or(l.Headers, def.Headers)
	l.Cursor = cmp.Or(l.Cursor, def.Cursor)
	l.PagesWithout = cmp.Or(l.PagesWithout, def.PagesWithout)
	l.Attempts = cmp.Or(l.Attempts, def.Attempts)
	l.LongestWait = cmp.Or(l.LongestWait, def.LongestWait)
	return l
}

type streamKey struct{}

// WithStream returns a context for requests on behalf of stream, for the
// rules and events of the client.
func WithStream(ctx context.Context, stream string) context.Context {
	return context.WithValue(ctx, streamKey{}, stream)
}

// StreamOf returns the stream that ctx was made for, or "".
func StreamOf(ctx context.Context) string {
	stream, _ := ctx.Value(streamKey{}).(string)
	return stream
}
