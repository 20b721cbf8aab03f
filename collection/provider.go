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

	// Party is what ThirdParty returns. "": Name.
	Party string

	// Origins lists the origins (scheme://host[:port]) that may be sent the
	// credential.
	Origins []string

	// Others lists further origins that are asked, without the credential:
	// those that the connector itself names. Any other origin comes out of a
	// response, and no request goes there: see [UnlistedError].
	Others []string

	// Authorize attaches the credential to a request to a listed origin. It is
	// nil if there is none.
	Authorize func(*http.Request)

	// Renewal keeps what Authorize attaches valid, if it does not last. nil: it
	// lasts.
	Renewal Renewal

	// Credential is the whole secret, unless that is a client certificate; with a Renewal, whose secrets change, it
	// is what names the account instead. It identifies the account, by a
	// salted hash, and what holds it does not go to another origin.
	// CredentialFrom says where it came from, for people: "env ACME_TOKEN".
	Credential     string
	CredentialFrom string

	// Secrets are parts of the credential that must not be shown either, each by
	// itself: the password of a user, the keys of several.
	Secrets []string

	// More are further accounts of the same user, whose requests take turns with those of the
	// account that the fields above describe. KeepsAccount reports that all requests
	// of a walk must have one account, because the provider binds cursors to it.
	More         []Account
	KeepsAccount bool

	// TLS is what connections need beside what this machine has, such as a client
	// certificate. nil: nothing.
	TLS *TLS

	// Judge applies the connector's own rules to a response, before the
	// client's: see [Verdict]. It is nil if there are none.
	Judge func(Response) Verdict

	Ceilings       []Ceiling
	Law            string           // of the pace; "": the client's default
	StartPerSecond float64          // the pace of the first run; 0: the client's default
	Concurrency    Concurrency      // requests in flight
	Clamp          Clamp            // of the ceilings
	Reserve        float64          // the share of a long limit that is left for people, from 0 to 1
	Routes         map[string]Route // by stream; a stream without one has the route of all
	Unpaced        bool             // the user owns the server: no pacing
	Forbidden      ForbiddenPolicy
	Limits         Limits
}

// An Account is what is an account's own; its fields are those of a [Provider].
type Account struct {
	Authorize      func(*http.Request)
	Renewal        Renewal
	Credential     string
	CredentialFrom string
	Secrets        []string
}

// ThirdParty names whom the pace, the breaker and the freeze belong to, beside the account:
// connectors whose providers have the same share them, by whatever Name they call it.
func (p *Provider) ThirdParty() string { return cmp.Or(p.Party, p.Name) }

// Each returns p once for each account, and for no other one.
func (p Provider) Each() []Provider {
	first, more := p, p.More
	first.More = nil
	all := []Provider{first}
	for _, a := range more {
		one := first
		one.Authorize, one.Renewal = a.Authorize, a.Renewal
		one.Credential, one.CredentialFrom, one.Secrets = a.Credential, a.CredentialFrom, a.Secrets
		all = append(all, one)
	}
	return all
}

// UndeclaredInFlight is how many requests are in flight at most if neither the
// connector nor the user says anything. A server that is not paced gets one.
const UndeclaredInFlight = 8

// Undeclared reports whether nothing was said of the requests in flight by a user
// who asks for n, 0 for nothing in particular: then the pace decides.
func (p *Provider) Undeclared(n int) bool {
	return p.Concurrency.Max <= 0 && n <= 0 && !p.Unpaced
}

// InFlight returns how many requests of one account may be in flight for a user who asks for n.
func (p *Provider) InFlight(n int) int {
	if p.Undeclared(n) {
		return UndeclaredInFlight
	}
	return p.Concurrency.Of(n)
}

// Hidden returns the secrets of p that must not be in what is written, as of now.
func (p Provider) Hidden() (secrets []string) {
	for _, one := range p.Each() {
		secrets = append(secrets, one.Secrets...)
		if one.Renewal != nil {
			secrets = append(secrets, one.Renewal.Secrets()...) // its Credential is only the name of the account
		} else {
			secrets = append(secrets, one.Credential)
		}
	}
	return secrets
}

// A Renewal gets credentials that do not last, such as access tokens. It is
// safe for concurrent use.
type Renewal interface {
	// Renew returns at once while there is a credential to attach. Else it
	// asks for one with send, once. Send returns the whole answer, or an error
	// for one that may be better later, which Renew wraps; an answer that time
	// does not mend ends in a *[Stop] for [Auth], now and each time after.
	Renew(ctx context.Context, send func(*http.Request) (*http.Response, error)) error

	// Refused notes that a request was answered 401, and reports whether
	// another attempt would carry another credential.
	Refused(*http.Request) bool

	// Secrets returns what must not be shown, stored or sent to an origin that
	// is not listed, as of now.
	Secrets() []string
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

// PerSecond returns the ceiling of a rate. One that is not whole allows one
// request in the time that it takes, never more.
func PerSecond(rate float64) Ceiling {
	if whole := int(rate); float64(whole) == rate {
		return Ceiling{Count: whole, Per: time.Second}
	}
	return Ceiling{Count: 1, Per: time.Duration(float64(time.Second)/rate) + 1}
}

// A Concurrency bounds the requests in flight.
type Concurrency struct {
	Max int    // 0: as many as the user asks for; see Of
	Law string // how the bound moves below it; "": the client's default
}

// Of returns how many requests may be in flight for a user who asks for n, or
// for nothing in particular if n is 0. A user may ask for less than c allows,
// and for anything if c is silent.
func (c Concurrency) Of(n int) int {
	switch {
	case c.Max <= 0:
		return max(1, n)
	case n <= 0:
		return c.Max
	}
	return min(n, c.Max)
}

// A Clamp lowers the strictest ceiling that is a pace, for as long as too many
// requests are refused under it. A zero field selects its default.
type Clamp struct {
	Off      bool
	Burn     float64       // lower it above this share of refusals: 0.05
	Least    float64       // the lowest share of the ceiling: 0.5
	Step     float64       // by how much it moves: 0.1
	Cooldown time.Duration // between two moves, at least: 60 s
}

// A Route is a class of requests that the provider counts apart.
type Route struct {
	Name   string  // "": the route of all requests that have no other
	Weight float64 // how many requests one of them counts as; 0: one
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
	Pages        int           // pages of one walk in one run; 0: any number
	Attempts     int           // attempts per request
	LongestWait  time.Duration // longest Retry-After that is waited for inside a run
}

// WithDefaults returns l with each zero field replaced by its default: 60 s a
// request, 30 s to the header, 64 MiB a body, 8 MiB a record, 1 MiB of header,
// 16 KiB a cursor, 3 pages without a new record, 5 attempts, 5 min of
// Retry-After.
func (l Limits) WithDefaults() Limits {
	l.Request = cmp.Or(l.Request, 60*time.Second)
	l.Header = cmp.Or(l.Header, 30*time.Second)
	l.Body = cmp.Or(l.Body, 64<<20)
	l.Record = cmp.Or(l.Record, 8<<20)
	l.Headers = cmp.Or(l.Headers, 1<<20)
	l.Cursor = cmp.Or(l.Cursor, 16<<10)
	l.PagesWithout = cmp.Or(l.PagesWithout, 3)
	l.Attempts = cmp.Or(l.Attempts, 5)
	l.LongestWait = cmp.Or(l.LongestWait, 5*time.Minute)
	return l
}

type notBeforeKey struct{}

// WithNotBefore returns a context for a request that leaves at t at the earliest.
func WithNotBefore(ctx context.Context, t time.Time) context.Context {
	return context.WithValue(ctx, notBeforeKey{}, t)
}

// NotBefore returns when a request may leave at the earliest; the zero time: now.
func NotBefore(ctx context.Context) time.Time {
	t, _ := ctx.Value(notBeforeKey{}).(time.Time)
	return t
}

type smallerKey struct{}

// WithSmaller returns a context for a request that its caller can make smaller: one
// that took the provider too long ([ErrLate], or a 504) is not sent again as it is.
func WithSmaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, smallerKey{}, true)
}

// HasSmaller reports whether ctx is one of [WithSmaller].
func HasSmaller(ctx context.Context) bool { return ctx.Value(smallerKey{}) != nil }

type placeKey struct{}

// WithPlace returns a context for requests on behalf of a place, for the rules
// and events of the client.
func WithPlace(ctx context.Context, at Place) context.Context {
	return context.WithValue(ctx, placeKey{}, at)
}

// PlaceOf returns the place that ctx was made for; the zero place if for none.
func PlaceOf(ctx context.Context) Place {
	at, _ := ctx.Value(placeKey{}).(Place)
	return at
}

type forbiddenKey struct{}

// WithForbidden returns a context for requests for what the provider forbade before, while
// others were readable: that it still does says nothing of the account.
func WithForbidden(ctx context.Context) context.Context {
	return context.WithValue(ctx, forbiddenKey{}, true)
}

// WasForbidden reports whether ctx is of [WithForbidden].
func WasForbidden(ctx context.Context) bool { return ctx.Value(forbiddenKey{}) != nil }

type spillKey struct{}

// WithSpill returns a context for requests whose answer may lie in a file instead
// of memory if it is large: its body is then an [io.ReaderAt] with a Size, and must
// be closed. Rules see the first part of such an answer.
func WithSpill(ctx context.Context) context.Context {
	return context.WithValue(ctx, spillKey{}, true)
}

// Spills reports whether ctx was made by [WithSpill].
func Spills(ctx context.Context) bool { return ctx.Value(spillKey{}) != nil }

// StreamOf returns the stream that ctx was made for, or "".
func StreamOf(ctx context.Context) string { return PlaceOf(ctx).Stream }
