package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"collect/internal/provider"
)

// TestIssuer plays the life of tokens: each is good for its uses, and a refresh
// token until the next one was used, or, if the issuer is strict, once.
func TestIssuer(t *testing.T) {
	for _, strict := range []bool{false, true} {
		is, err := provider.ParseIssuer(fmt.Sprintf("client=app:s3cret refresh=zero uses=2 life=1h strict=%t", strict))
		if err != nil {
			t.Fatal(err)
		}
		s := provider.New(provider.Script{Tickets: 1, Issuer: is})
		ask := func(secret, refresh string) string {
			form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
			r := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.SetBasicAuth("app", secret)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return fmt.Sprint(w.Code, " ", w.Body)
		}
		use := func(access string) int {
			r := httptest.NewRequest(http.MethodGet, "/cursor/tickets", nil)
			r.Header.Set("Authorization", "Bearer "+access)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Code
		}
		grant := func(n int) string {
			return fmt.Sprintf(`200 {"access_token":"access-%d","expires_in":3600,"refresh_token":"refresh-%[1]d","token_type":"Bearer"}`, n)
		}
		const refused = `400 {"error":"invalid_grant"}`
		old, again := grant(2), grant(3)
		if strict {
			old, again = refused, refused
		}
		for i, step := range []struct{ got, want string }{
			{ask("wrong", "zero"), `401 {"error":"invalid_client"}`},
			{ask("s3cret", "other"), refused},
			{ask("s3cret", "zero"), grant(1)},
			{ask("s3cret", "zero"), old},
			{ask("s3cret", "zero"), again},
			{ask("s3cret", "refresh-1"), map[bool]string{false: refused, true: grant(2)}[strict]},
			{fmt.Sprint(s.Relied()), "false"},
			{fmt.Sprint(use("access-1"), use("access-1"), use("access-1"), use("none")), "200 200 401 401"},
		} {
			if step.got != step.want {
				t.Errorf("strict %t, step %d: %s, want %s", strict, i+1, step.got, step.want)
			}
		}
		use(map[bool]string{false: "access-3", true: "access-2"}[strict])
		if !s.Relied() {
			t.Errorf("strict %t: the latest token was used", strict)
		}
		if token := s.SignIn(); !s.Refreshes(token) {
			t.Errorf("strict %t: %s does not count after signing in", strict, token)
		}
		s.Revoke(true)
		if s.Refreshes("refresh-4") || use("access-2") != http.StatusUnauthorized {
			t.Errorf("strict %t: tokens count that were taken back", strict)
		}
	}
	for _, text := range []string{"uses=many", "life=1", "strict=ish", "x=y"} {
		if _, err := provider.ParseIssuer(text); err == nil {
			t.Errorf("%q was taken for an issuer", text)
		}
	}
}
