package oauth2

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"collect/connectors/renewal"
)

// ask sends the request for a token and reads the answer. The tokens in it are
// known as secrets before it returns.
func (s *Source) ask(ctx context.Context, refresh string, send func(*http.Request) (*http.Response, error)) (grant, error) {
	s.Hide(refresh)
	req, err := s.request(ctx, refresh)
	if err != nil {
		return grant{}, err
	}
	resp, err := send(req)
	if err != nil {
		return grant{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return grant{}, err
	}
	g, err := read(resp.StatusCode, body)
	s.Hide(g.access, g.refresh)
	switch {
	case err != nil || g.refresh == refresh:
	case g.refresh == "" || s.config.Refresh == "":
		g.refresh = refresh // it goes on; or the file declares none
	case s.config.Replace == nil:
		return grant{}, stop(resp.StatusCode, "the provider replaces the refresh token, and the connector file does not say where to keep the new one: "+
			"keep it in a file, and declare that with rotate: true")
	}
	return g, err
}

// request returns the request for a token.
func (s *Source) request(ctx context.Context, refresh string) (*http.Request, error) {
	c := &s.config
	form := url.Values{"grant_type": {"client_credentials"}}
	if c.Refresh != "" {
		form = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	}
	if c.Assertion != nil {
		assertion, err := c.Assertion()
		if err != nil {
			return nil, errors.New("the token that is asked with cannot be signed")
		}
		s.Hide(assertion)
		form = url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	}
	for _, field := range c.Fields {
		form.Set(field[0], field[1])
	}
	basic := c.ClientSecret != "" && !c.InBody
	if !basic && c.ClientID != "" {
		form.Set("client_id", c.ClientID)
		if c.ClientSecret != "" {
			form.Set("client_secret", c.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the request for a token cannot be written") // the cause would show the URL
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if basic {
		req.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(c.ClientSecret)) // RFC 6749, section 2.3.1
	}
	return req, nil
}

// A grant is what a token endpoint gives.
type grant struct {
	access, refresh string
	life            time.Duration // 0: not said
}

// refusals are the errors of RFC 6749, section 5.2, in words for the person who has to
// act. Others are not quoted: they may hold anything.
var refusals = map[string]string{
	"invalid_grant":          "the refresh token is no longer valid: it was used before, has expired, or was revoked",
	"invalid_client":         "the client id or the client secret is not accepted",
	"invalid_request":        "it does not understand the request for a token",
	"invalid_scope":          "it does not know the scope, or does not grant it",
	"unauthorized_client":    "this client may not ask for tokens in this way",
	"unsupported_grant_type": "it does not grant tokens in this way",
}

// read reads the answer of a token endpoint.
func read(status int, body []byte) (grant, error) {
	var answer struct {
		Access  string          `json:"access_token"`
		Refresh string          `json:"refresh_token"`
		Life    json.RawMessage `json:"expires_in"`
		Error   json.RawMessage `json:"error"`
	}
	err := json.Unmarshal(body, &answer)
	var code string
	_ = json.Unmarshal(answer.Error, &code) // another shape of an error is another error
	switch why, known := refusals[code]; {
	case known:
		return grant{}, stop(status, why)
	case status < 200 || status > 299 || code != "":
		return grant{}, stop(status, "it grants no token, and does not say why in words of the standard")
	case err != nil || answer.Access == "":
		return grant{}, stop(status, "its answer holds no access token")
	case !renewal.Sendable(answer.Access) || !renewal.Sendable(answer.Refresh):
		return grant{}, stop(status, "its answer holds a token that cannot be sent")
	}
	return grant{answer.Access, answer.Refresh, lifetime(answer.Life)}, nil
}

// lifetime reads expires_in: seconds, which some providers write as text. What
// is none says nothing.
func lifetime(written json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(written), `"`), 64)
	if err != nil || !(seconds > 0) {
		return 0
	}
	const year = 365 * 24 * time.Hour
	return time.Duration(math.Min(seconds, year.Seconds()) * float64(time.Second))
}

// The margin: a token is renewed while a minute of its life is left. That is the
// default of the longest time for a request, so that no request reaches the provider
// with a token that expired on the way. Of a short life it is a fifth.
const (
	margin = time.Minute
	part   = 5
)

// renewAt returns when a token that was asked for at a time is renewed; the
// zero time if the provider did not say how long it lives. The clock starts when it was asked for, which is
// before the provider's does.
func (g grant) renewAt(asked time.Time) time.Time {
	if g.life == 0 {
		return time.Time{}
	}
	return asked.Round(0).Add(g.life - min(margin, g.life/part))
}
