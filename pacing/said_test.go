package pacing_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/pacing"
)

// TestWhatARefusalSays: the words of a provider are the only clue to a request
// that it refuses, so they are kept, in one line, and without what is secret.
func TestWhatARefusalSays(t *testing.T) {
	const token = "tok_9f8e7d6c5b4a"
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + token))
	codes := map[string]string{ // where the words begin with one
		"with its code": "body.code", "with its code, of Stripe": "body.error.code", "with its code, in a list": "body.errors[0].code", "with two codes": "body.code",
	}
	for _, tc := range []struct {
		name, kind, body, want string
		status                 int
	}{
		{"message", "", `{"message": "per_page is at most 50"}`, "it said: per_page is at most 50", 400},
		{"nested", "", `{"error": {"code": 17, "message": "no such field: naem"}}`, "it said: no such field: naem", 400},
		{"OData", "", `{"error": {"code": "x", "message": {"lang": "en", "value": "Syntax error at position 4"}}}`, "it said: Syntax error at position 4", 400},
		{"Stack Exchange", "", `{"error_id": 403, "error_message": "key is not valid", "error_name": "access_denied"}`, "it said: key is not valid", 400},
		{"OAuth", "", `{"error": "invalid_scope", "error_description": "read is needed"}`, "it said: read is needed", 401},
		{"a word", "", `{"error": "invalid_scope"}`, "it said: invalid_scope", 400},
		{"problem details", "", `{"type": "about:blank", "title": "Bad Request", "detail": "sort is unknown"}`, "it said: sort is unknown", 422},
		{"a list", "", `{"errors": [{"message": "first"}, {"message": "second"}]}`, "it said: first", 404},
		{"plain text", "text/plain; charset=utf-8", "Bad filter\n", "it said: Bad filter", 400},
		{"a web page", "text/html", "<h1>Bad filter</h1>", "", 400},
		{"nothing", "", `{"ok": false, "items": ["a"]}`, "", 400},
		{"not JSON", "", `{"message": `, "", 400},
		{"escapes", "", `{"message": "a\u001b[31mred\u001b[0m\u0007 b\r\nc\u202e d"}`, "it said: ared b c d", 400},
		{"long", "", `{"message": "` + strings.Repeat("ä", 400) + `"}`, "it said: " + strings.Repeat("ä", 148) + "…", 400},
		{"the token", "", `{"message": "token ` + token + ` is not valid"}`, "it said: token … is not valid", 401},
		{"half the token", "", `{"message": "token tok_9***5b4a, tok_9f8e is not valid"}`, "it said: token …, … is not valid", 401},
		{"the header", "", `{"message": "bad header: Basic ` + basic + `"}`, "it said: bad header: Basic …", 400},
		{"a query", "", `{"message": "see https://api.test/things?cursor=abc&x=1 for more"}`, "it said: see https://api.test/things?… for more", 400},
		{"with its code", "", `{"code": "rest_post_invalid_page_number", "message": "The page number is too large."}`, "it said: rest_post_invalid_page_number: The page number is too large.", 400},
		{"with its code, of Stripe", "", `{"error": {"code": "resource_missing", "message": "No such charge: 'ch_1'"}}`, "it said: resource_missing: No such charge: 'ch_1'", 400},
		{"with its code, in a list", "", `{"errors": [{"code": "INVALID_CURSOR", "detail": "it is too old"}]}`, "it said: INVALID_CURSOR: it is too old", 400},
		{"with two codes", "", `{"code": "bad_request", "error": {"code": "too_old", "message": "no such cursor"}}`, "it said: bad_request: too_old: no such cursor", 400},
		{"with a code that the words have", "", `{"error": {"code": "too_old", "message": "Cursor: too_old"}}`, "it said: Cursor: too_old", 400},
		{"a code that is a sentence", "", `{"code": "no such page", "message": "none"}`, "it said: none", 400},
		{"429 to the end", "", `{"message": "slow down, ` + token + `"}`, "it said: slow down, …", 429},
		{"503 to the end", "text/plain", "the index is rebuilt until noon", "it said: the index is rebuilt until noon", 503},
		{"a cursor", "", `{"message": "unknown cursor eyJhZnRlciI6NDJ9"}`, "it said: unknown cursor …", 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := collection.Provider{
					Name: "test", Origins: []string{"http://provider.test"}, Credential: "user:" + token, Unpaced: true,
					Authorize: func(r *http.Request) { r.SetBasicAuth("user", token) },
				}
				base := answers(func(*http.Request) *http.Response {
					return &http.Response{StatusCode: tc.status, Header: http.Header{"Content-Type": {tc.kind}}, Body: io.NopCloser(strings.NewReader(tc.body))}
				})
				g, err := pacing.New(pacing.Config{Provider: p, Base: base, Budget: pacing.NewBudget(pacing.BudgetLimits{})})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				_, err = g.Client().Get("http://provider.test/things?cursor=eyJhZnRlciI6NDJ9")
				stop, ok := errors.AsType[*collection.Stop](err)
				if !ok || stop.Detail != tc.want {
					t.Errorf("got %v, want the detail %q", err, tc.want)
				}
				if ok && stop.CodeAt != codes[tc.name] {
					t.Errorf("the code is at %q, want %q", stop.CodeAt, codes[tc.name])
				}
			})
		})
	}
}

type answers func(*http.Request) *http.Response

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r), nil }
