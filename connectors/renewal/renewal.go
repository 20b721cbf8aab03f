// Package renewal keeps a token that does not last: an access token, or that of
// a session. How one is asked for is the business of who makes a [Source]; when it is
// asked for, how often, and what is attached to a request is decided here.
//
// It sends nothing by itself: the client that governs all requests gives it
// the means to send one, and so decides when it leaves and what a passing
// refusal costs. The token is in memory only.
//
//	     Renew                       it expires
//	none ───────────→ token ────────────────────→ none
//	  │                 └── Refused ──→ none
//	  └── refused for good: every Renew from then on says so, and sends nothing
package renewal

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"collect/collection"
)

// Send sends the request for a token; see [collection.Renewal].
type Send = func(*http.Request) (*http.Response, error)

// A Token is what was granted.
type Token struct {
	Value   string
	Expires time.Time // when it is renewed, by the wall clock: a machine may sleep; zero: when it is refused
}

// A Config says how a token is got, and how it is sent.
type Config struct {
	Ask  func(ctx context.Context, send Send) (Token, error)
	Sent Place

	// Secrets are those that a token is asked for with, each of which stays known
	// as a secret for as long as the source is there. None is empty.
	Secrets []string
}

// A Place is where a token stands in a request: in a header, or in a cookie.
type Place struct{ Header, Prefix, Cookie string }

// Bearer is the place of the access tokens of RFC 6750.
var Bearer = Place{Header: "Authorization", Prefix: "Bearer "}

func (p Place) set(req *http.Request, token string) {
	if p.Cookie != "" {
		req.AddCookie(&http.Cookie{Name: p.Cookie, Value: token}) // #nosec G124 -- a request has no attributes of cookies
		return
	}
	req.Header.Set(p.Header, p.Prefix+token)
}

// holds reports whether a request carries a token.
func (p Place) holds(req *http.Request, token string) bool {
	if p.Cookie == "" {
		return req.Header.Get(p.Header) == p.Prefix+token
	}
	carrier, _ := http.NewRequest(http.MethodGet, "/", nil) // these values always make a request
	p.set(carrier, token)
	sent, _ := carrier.Cookie(p.Cookie)
	return slices.ContainsFunc(req.CookiesNamed(p.Cookie), func(c *http.Cookie) bool { return sent != nil && c.Value == sent.Value })
}

// A Source has the token of an account: see [collection.Renewal].
type Source struct {
	config Config
	turn   chan struct{} // holds one while a token is asked for

	mu      sync.Mutex
	token   Token
	refused error // for good
	secrets []string
}

// New returns a source that has no token yet.
func New(c Config) *Source {
	s := &Source{config: c, turn: make(chan struct{}, 1)}
	s.Hide(c.Secrets...)
	return s
}

// Authorize attaches the token.
func (s *Source) Authorize(req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Sent.set(req, s.token.Value)
}

// Refused drops the token that req carried, unless there is another already.
func (s *Source) Refused(req *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Sent.holds(req, s.token.Value) {
		s.token = Token{}
	}
	return true
}

// mostSecrets is how many secrets are known as such: those of the configuration,
// and the latest of the others, of which most were replaced.
const mostSecrets = 16

// Secrets returns the secrets that tokens are asked for with, and the latest
// tokens.
func (s *Source) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secrets)
}

// Hide notes secrets that came up on the way.
func (s *Source) Hide(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		if secret != "" && !slices.Contains(s.secrets, secret) {
			s.secrets = append(s.secrets, secret)
		}
	}
	kept := len(s.config.Secrets)
	if over := len(s.secrets) - max(mostSecrets, 2*kept); over > 0 {
		s.secrets = slices.Delete(s.secrets, kept, kept+over)
	}
}

// Renew gets a token if there is none. Of several that ask at once, one
// does, and the others wait for what it gets.
func (s *Source) Renew(ctx context.Context, send Send) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ok, err := s.ready(time.Now()); ok || err != nil {
		return err
	}
	token, err := s.config.Ask(ctx, send)
	if err == nil {
		s.Hide(token.Value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop, ok := errors.AsType[*collection.Stop](err); ok && stop.Reason == collection.Auth {
		s.refused = err
	}
	if err != nil {
		return err
	}
	s.token = token
	return nil
}

// ready reports whether there is a token that serves at now, or that there will
// be none.
func (s *Source) ready(now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token.Value != "" && (s.token.Expires.IsZero() || now.Round(0).Before(s.token.Expires)), s.refused
}

// Sendable reports whether a token has only characters that one may have
// (RFC 6749, appendix A).
func Sendable(token string) bool {
	for _, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
