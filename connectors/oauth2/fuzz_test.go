package oauth2_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/oauth2"
)

// FuzzAnswer lets an endpoint answer anything: there is a token that can be
// sent, or a refusal that quotes none of it and is the last word.
func FuzzAnswer(f *testing.F) {
	f.Add(200, `{"access_token":"a","expires_in":3600,"refresh_token":"r"}`)
	f.Add(200, `{"access_token":"a\u000d\u000ab","expires_in":"1e9"}`)
	f.Add(400, `{"error":"invalid_grant","error_description":"c4nary"}`)
	f.Add(200, `{"error":{"code":7},"access_token":"ä"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		sent := 0
		send := func(*http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		s := oauth2.New(oauth2.Config{ClientSecret: "p"})
		err := s.Renew(t.Context(), send)
		if err == nil {
			req := carried(s)
			token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
			if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Fatalf("%d %q: %q is attached", status, body, token)
			}
			return
		}
		stop, ok := errors.AsType[*collection.Stop](err)
		if !ok || stop.Reason != collection.Auth || s.Renew(t.Context(), send) != err || sent != 1 {
			t.Fatalf("%d %q: %v after %d requests, want one refusal for good", status, body, err, sent)
		}
		if len(body) > 40 && strings.Contains(fmt.Sprint(err), body[:40]) {
			t.Fatalf("%d %q is quoted: %v", status, body, err)
		}
	})
}
