// Package oauth2 gets the access tokens of a connector, by client credentials,
// by a refresh token (RFC 6749, sections 4.4 and 6), or by an assertion (RFC 7523).
//
// It sends nothing by itself: the client that governs all requests gives it
// the means to send one, and so decides when it leaves and what a passing
// refusal costs. Tokens are in memory only, with one exception: a refresh token
// that the provider replaces is handed to [Config.Replace], which keeps it
// before the access token that came with it is used.
//
//	         Renew                       a fifth of its life, or a minute, is left
//	none ───────────→ access token ─────────────────────────────────────────────→ none
//	  │                    └── Refused ──→ none
//	  └── refused for good: every Renew from then on says so, and sends nothing
package oauth2

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"collect/collection"
)

// ErrRefused is the cause of a stop for a token that is not granted, which a
// person has to see to.
var ErrRefused = errors.New("the provider grants no access token")

// Config says who asks for tokens, and where.
type Config struct {
	URL          string // of the token endpoint
	ClientID     string
	ClientSecret string      // "": a public client, which only names itself
	InBody       bool        // the client's id and secret are sent as fields, and not by HTTP Basic
	Fields       [][2]string // further fields of the request: scope, audience

	// Assertion returns a token that is signed for each request, and that the
	// access token is granted for (RFC 7523). nil: none.
	Assertion func() (string, error)

	// Refresh is the refresh token; "": the client's own credentials are
	// enough.
	Refresh string

	// Replace calls spend with the refresh token as it is kept now, while no
	// other process spends it, and keeps what spend returns before it returns.
	// nil: the refresh token stays the same, and another one is refused.
	Replace func(ctx context.Context, spend func(refresh string) (next string, err error)) error
}

// A Source has the access token of an account: see [collection.Renewal].
type Source struct {
	config Config
	turn   chan struct{} // holds one while somebody renews

	mu      sync.Mutex
	token   string
	expires time.Time // when it is renewed, by the wall clock: a machine may sleep; zero: when it is refused
	refused error     // for good
	secrets []string
}

// New returns a source that has no token yet.
func New(c Config) *Source {
	s := &Source{config: c, turn: make(chan struct{}, 1)}
	s.hide(c.ClientSecret, c.Refresh)
	return s
}

// Authorize attaches the access token.
func (s *Source) Authorize(req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Header.Set("Authorization", "Bearer "+s.token)
}

// Refused drops the token that req carried, unless there is another already.
func (s *Source) Refused(req *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Header.Get("Authorization") == "Bearer "+s.token {
		s.token = ""
	}
	return true
}

// mostSecrets is how many secrets are known as such: those that still count,
// and some that were replaced.
const mostSecrets = 16

// Secrets returns the secret of the client and the latest tokens.
func (s *Source) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.secrets)
}

// hide notes secrets. The first is that of the client, and stays. s.mu is held,
// or s is new.
func (s *Source) hide(secrets ...string) {
	for _, secret := range secrets {
		if secret != "" && !slices.Contains(s.secrets, secret) {
			s.secrets = append(s.secrets, secret)
		}
	}
	if over := len(s.secrets) - mostSecrets; over > 0 {
		s.secrets = slices.Delete(s.secrets, 1, 1+over)
	}
}

// Renew gets an access token if there is none. Of several that ask at once, one
// does, and the others wait for what it gets.
func (s *Source) Renew(ctx context.Context, send func(*http.Request) (*http.Response, error)) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ok, err := s.ready(time.Now()); ok || err != nil {
		return err
	}
	asked := time.Now()
	var g grant
	spend := func(refresh string) (next string, err error) {
		g, err = s.ask(ctx, refresh, send)
		return g.refresh, err
	}
	var err error
	if s.config.Replace != nil {
		err = s.config.Replace(ctx, spend)
	} else {
		_, err = spend(s.config.Refresh)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, ErrRefused) {
		s.refused = err
	}
	if err != nil {
		return err
	}
	s.token, s.expires = g.access, g.renewAt(asked)
	return nil
}

// ready reports whether there is a token that serves at now, or that there will
// be none.
func (s *Source) ready(now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token != "" && (s.expires.IsZero() || now.Round(0).Before(s.expires)), s.refused
}

// stop is a refusal that time does not mend.
func stop(status int, detail string) error {
	return &collection.Stop{Reason: collection.Auth, Status: status, Detail: detail, Err: ErrRefused}
}
