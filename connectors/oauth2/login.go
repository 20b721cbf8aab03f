package oauth2

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	lib "golang.org/x/oauth2"

	"collect/connectors/renewal"
)

// A Login gets the first refresh token: a person signs in at the provider and agrees,
// in a browser on this machine (RFC 6749, section 4.1, with RFC 7636 and RFC 8252), or
// on any device (RFC 8628).
type Login struct {
	Config              // of the token endpoint; its Refresh and Assertion are not used
	Scope        string // what to ask for; "": what the provider gives to those who do not ask
	AuthorizeURL string // where a browser begins; "": it cannot
	DeviceURL    string // where a device begins; "": it cannot
	RevokeURL    string // where a refresh token is taken back (RFC 7009); "": nowhere
	Redirect     string // where the browser comes back, on this machine; without a port any free one is taken; "": DefaultRedirect
	Plain        bool   // the provider knows no PKCE
}

// DefaultRedirect is where the browser comes back.
const DefaultRedirect = "http://127.0.0.1/callback"

// A SignInError says why there is no refresh token after a person signed in, or did
// not.
type SignInError struct{ Detail string }

func (e *SignInError) Error() string { return e.Detail }

// A DeviceCode is what a person types, and where.
type DeviceCode struct {
	Code     string    // as the provider sent it
	Address  string    // where to type it
	Complete string    // the address with the code in it; "": there is none
	Ends     time.Time // when it is no longer valid; zero: the provider does not say
}

// ask returns what a library needs to ask for tokens by c.
func (l Login) ask() *lib.Config {
	c := &lib.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret,
		Endpoint: lib.Endpoint{AuthURL: l.AuthorizeURL, DeviceAuthURL: l.DeviceURL, TokenURL: l.URL, AuthStyle: lib.AuthStyleInHeader}}
	if l.InBody || l.ClientSecret == "" {
		c.Endpoint.AuthStyle = lib.AuthStyleInParams
	}
	if l.Scope != "" {
		c.Scopes = []string{l.Scope} // the library puts spaces between several
	}
	return c
}

// further returns the further fields of each request for a token.
func (l Login) further() (options []lib.AuthCodeOption) {
	for _, field := range l.Fields {
		options = append(options, lib.SetAuthURLParam(field[0], field[1]))
	}
	return options
}

// Browser waits for a person to sign in with a browser on this machine, shows them
// the address to open, and returns the refresh token. The way back is a listener on
// the loopback address, which takes one answer: that of the request it was begun
// with.
func (l Login) Browser(ctx context.Context, client *http.Client, show func(address string)) (refresh string, err error) {
	back, err := url.Parse(l.redirect())
	if err != nil {
		return "", errors.New("`redirect` is no address") // the checker refuses it
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listenAddress(back))
	if err != nil {
		return "", fmt.Errorf("the browser could not come back to %s: %w", back.Host, err)
	}
	if back.Port() == "" {
		_, port, _ := net.SplitHostPort(listener.Addr().String()) // it listens on TCP
		back.Host = net.JoinHostPort(back.Hostname(), port)
	}
	state, verifier := rand.Text(), lib.GenerateVerifier()
	config := l.ask()
	config.RedirectURL = back.String()
	asked, redeemed := []lib.AuthCodeOption{}, l.further()
	if !l.Plain {
		asked, redeemed = append(asked, lib.S256ChallengeOption(verifier)), append(redeemed, lib.VerifierOption(verifier))
	}

	came := make(chan returned, 1)
	server := &http.Server{Handler: wayBack(back.Path, state, came), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = server.Serve(listener) }() // it ends with the server
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // for the page that the browser gets
		defer cancel()
		_ = server.Shutdown(end)
		_ = server.Close()
	}()

	show(config.AuthCodeURL(state, asked...))
	var r returned
	select {
	case r = <-came:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if r.refusal != "" {
		return "", signInError(r.refusal, 0)
	}
	token, err := config.Exchange(context.WithValue(ctx, lib.HTTPClient, client), r.code, redeemed...)
	return refreshOf(ctx, token, err)
}

func (l Login) redirect() string {
	if l.Redirect == "" {
		return DefaultRedirect
	}
	return l.Redirect
}

// listenAddress returns where to listen for a browser that comes back to u. It is
// never another address than the loopback one, whatever the name stands for.
func listenAddress(u *url.URL) string {
	host := "127.0.0.1"
	if u.Hostname() == "::1" {
		host = "::1"
	}
	port := u.Port()
	if port == "" {
		port = "0"
	}
	return net.JoinHostPort(host, port)
}

// A returned is what a browser brought back: a code, or why there is none.
type returned struct{ code, refusal string }

// wayBack serves the address that a browser comes back to. What has not the state
// that the request was begun with is not taken: any page in the browser could have
// sent it.
func wayBack(path, state string, came chan<- returned) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		q := r.URL.Query()
		switch {
		case r.Method != http.MethodGet || strings.Trim(r.URL.Path, "/") != strings.Trim(path, "/"):
			http.Error(w, "there is nothing here", http.StatusNotFound)
			return
		case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1:
			http.Error(w, "this is not the answer that collect waits for", http.StatusBadRequest)
			return
		}
		answer := returned{code: q.Get("code"), refusal: q.Get("error")}
		if answer.code == "" && answer.refusal == "" {
			http.Error(w, "this answer has no code", http.StatusBadRequest)
			return
		}
		select {
		case came <- answer:
			fmt.Fprintln(w, "collect has the answer. You can close this window and look at the terminal.")
		default:
			http.Error(w, "collect has an answer already", http.StatusConflict)
		}
	})
}

// Device waits for a person to sign in on any device, shows them the code to type,
// and returns the refresh token.
func (l Login) Device(ctx context.Context, client *http.Client, show func(DeviceCode)) (refresh string, err error) {
	config := l.ask()
	within := context.WithValue(ctx, lib.HTTPClient, client)
	code, err := config.DeviceAuth(within)
	if err != nil {
		return "", refused(ctx, err)
	}
	address := web(code.VerificationURI)
	if code.DeviceCode == "" || code.UserCode == "" || address == "" {
		return "", &SignInError{"its answer holds no code to type, or no address to type it at"}
	}
	code.Interval = max(0, code.Interval) // 0 is the default, 5 seconds
	show(DeviceCode{code.UserCode, address, web(code.VerificationURIComplete), code.Expiry})
	token, err := config.DeviceAccessToken(within, code, l.further()...)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && !code.Expiry.IsZero() && !time.Now().Before(code.Expiry) {
		return "", signInError("expired_token", 0)
	}
	return refreshOf(ctx, token, err)
}

// web returns an address of the provider as it can be shown; "" if it is none of the
// web.
func web(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsFunc(u.Host, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return ""
	}
	u.User = nil
	return u.String()
}

// refreshOf returns the refresh token of an answer.
func refreshOf(ctx context.Context, token *lib.Token, err error) (string, error) {
	switch {
	case err != nil:
		return "", refused(ctx, err)
	case token.RefreshToken == "":
		return "", &SignInError{"it granted an access token, and no refresh token, without which nothing can be collected later: " +
			"many providers want to be asked for one, by a scope such as offline_access, or by access_type=offline in `authorize_url`"}
	case !renewal.Sendable(token.RefreshToken):
		return "", &SignInError{"its answer holds a token that cannot be sent"}
	}
	return token.RefreshToken, nil
}

// refused returns what an error of the library says, without the words of the
// provider, which may hold anything.
func refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*lib.RetrieveError](err); ok {
		status := 0
		if e.Response != nil {
			status = e.Response.StatusCode
		}
		return signInError(e.ErrorCode, status)
	}
	if quoted, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("the provider cannot be asked for a token: %w", quoted.Err) // without the address around it
	}
	return &SignInError{"its answer holds no access token"}
}

// signIns are the errors of the standards in the words of a person who signs in.
// Those of [refusals] hold for the rest.
var signIns = map[string]string{
	"access_denied":             "the sign-in was refused, or was given up",
	"expired_token":             "the code was not typed in time",
	"invalid_grant":             "the code is no longer valid, or is for another request",
	"login_required":            "nobody is signed in there",
	"consent_required":          "nobody agreed there",
	"temporarily_unavailable":   "it cannot do that now",
	"server_error":              "it failed",
	"unsupported_response_type": "it does not grant codes in this way",
}

func signInError(code string, status int) error {
	why, known := signIns[code]
	if !known {
		why, known = refusals[code]
	}
	if !known {
		why = "it does not say why in words of the standard"
	}
	if status != 0 {
		why += fmt.Sprintf(" (%d)", status)
	}
	return &SignInError{why}
}

// Revoke takes a refresh token back at the provider (RFC 7009). One that it does not
// know is taken back already.
func (l Login) Revoke(ctx context.Context, client *http.Client, refresh string) error {
	form := url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}}
	basic := l.ClientSecret != "" && !l.InBody
	if !basic {
		form.Set("client_id", l.ClientID)
		if l.ClientSecret != "" {
			form.Set("client_secret", l.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("`revoke_url` is no address") // the cause would show it
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return refused(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &SignInError{fmt.Sprintf("it did not take the token back (%d)", resp.StatusCode)}
	}
	return nil
}
