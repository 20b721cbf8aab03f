package declarative

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/renewal"
)

// ErrLogin is the cause of a stop for a login that gives no session, which a person
// has to see to.
var ErrLogin = errors.New("the provider opens no session")

// login fills in a credential that is the token of a session. The account is
// named by what the login sends.
func (c *connector) login(s *language.SessionSpec, values notation.Scope) error {
	u, err := c.spec.Login.URL(c.baseURL, values, nil)
	if err == nil {
		_, err = compile.BaseAddress(collection.Origin(u))
	}
	if err != nil {
		return &BadParamError{Name: "post", Problem: "of the session makes no address"}
	}
	secrets := slices.Sorted(maps.Values(values.Secrets))
	source := renewal.New(renewal.Config{
		Sent: sentAs(s), Secrets: findable(slices.Clone(secrets)),
		Ask: func(ctx context.Context, send renewal.Send) (renewal.Token, error) {
			req, err := c.spec.Login.New(ctx, u, values)
			if err != nil {
				return renewal.Token{}, err
			}
			asked := time.Now()
			resp, err := send(req)
			if err != nil {
				return renewal.Token{}, err
			}
			defer resp.Body.Close()
			token, err := tokenOf(s, resp)
			if err != nil {
				return renewal.Token{}, err
			}
			granted := renewal.Token{Value: token}
			if s.Lifetime.Value > 0 {
				granted.Expires = asked.Round(0).Add(s.Lifetime.Value)
			}
			return granted, nil
		},
	})
	p := &c.provider
	p.Authorize, p.Renewal = source.Authorize, source
	p.Credential = strings.Join(append([]string{"session", u.String()}, secrets...), "\n")
	c.secrets.renewed = source.Secrets
	return nil
}

// sentAs returns where the token of a session stands in a request.
func sentAs(s *language.SessionSpec) renewal.Place {
	switch send := s.Send; {
	case send.Header.Text != "":
		return renewal.Place{Header: send.Header.Text, Prefix: send.Prefix.Text}
	case send.Cookie.Text != "":
		return renewal.Place{Cookie: send.Cookie.Text}
	case s.Cookie.Text != "" && send.Word.Text != language.SendBearer:
		return renewal.Place{Cookie: s.Cookie.Text}
	}
	return renewal.Bearer
}

// tokenOf returns the token that the answer to a login has. A login that is not
// accepted, and an answer without a token, are no matter of time.
func tokenOf(s *language.SessionSpec, resp *http.Response) (string, error) {
	refused := func(why string) error {
		return &collection.Stop{Reason: collection.Auth, Status: resp.StatusCode, Detail: why, Err: ErrLogin}
	}
	if resp.StatusCode >= 400 {
		return "", refused("the login was refused")
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	token, where := "", ""
	switch {
	case s.Header.Text != "":
		token, where = resp.Header.Get(s.Header.Text), "the header "+s.Header.Text
	case s.Cookie.Text != "":
		where = "the cookie " + s.Cookie.Text
		for _, cookie := range resp.Cookies() {
			if cookie.Name == s.Cookie.Text && cookie.MaxAge >= 0 { // below that it is deleted
				token = cookie.Value
			}
		}
	default:
		where = "a token at " + s.Token.Text
		if gjson.ValidBytes(body) {
			token, _ = notation.TextOf(s.Token.In(body))
		}
	}
	switch {
	case token == "":
		return "", refused("its answer to the login has not " + where)
	case !renewal.Sendable(token):
		return "", refused("its answer to the login holds a token that cannot be sent")
	}
	return token, nil
}
