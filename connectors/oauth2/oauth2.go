// Package oauth2 gets the access tokens of a connector, by client credentials,
// by a refresh token (RFC 6749, sections 4.4 and 6), or by an assertion (RFC 7523).
//
// Package renewal says when one is got. A token is renewed while a fifth of its
// life, or a minute, is left. Tokens are in memory only, with one exception: a
// refresh token that the provider replaces is handed to [Config.Replace], which
// keeps it before the access token that came with it is used.
package oauth2

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collect/collection"
	"collect/connectors/renewal"
)

// ErrRefused is the cause of a stop for a token that is not granted, which a
// person has to see to. It is ErrSignIn where signing in again may help, and is
// something that collect can do.
var (
	ErrRefused = errors.New("the provider grants no access token")
	ErrSignIn  = fmt.Errorf("%w: sign in again", ErrRefused)
)

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

	// SignsIn: a person can get another refresh token by a [Login].
	SignsIn bool

	// Replace calls spend with the refresh token as it is kept now, while no
	// other process spends it, and keeps what spend returns before it returns.
	// nil: the refresh token stays the same, and another one is refused.
	Replace func(ctx context.Context, spend func(refresh string) (next string, err error)) error
}

// A Source has the access token of an account: see [collection.Renewal].
type Source struct {
	*renewal.Source
	config Config
}

// New returns a source that has no token yet.
func New(c Config) *Source {
	s := &Source{config: c}
	config := renewal.Config{Ask: s.grant, Sent: renewal.Bearer}
	if c.ClientSecret != "" {
		config.Secrets = []string{c.ClientSecret}
	}
	s.Source = renewal.New(config)
	s.Hide(c.Refresh)
	return s
}

// grant gets an access token, and keeps the refresh token that came with it.
func (s *Source) grant(ctx context.Context, send renewal.Send) (renewal.Token, error) {
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
	if stop, ok := errors.AsType[*collection.Stop](err); ok && stop.Err == ErrRefused && s.config.SignsIn {
		stop.Err = ErrSignIn
	}
	if err != nil {
		return renewal.Token{}, err
	}
	return renewal.Token{Value: g.access, Expires: g.renewAt(asked)}, nil
}

// stop is a refusal that time does not mend.
func stop(status int, detail string) error {
	return &collection.Stop{Reason: collection.Auth, Status: status, Detail: detail, Err: ErrRefused}
}
