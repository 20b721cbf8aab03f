package pacing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/pacing"
)

// post returns a request that only reads, as a connector marks it.
func post(ctx context.Context, address, body string) *http.Request {
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	req.Header["Idempotency-Key"] = nil
	req.Header.Set("Content-Type", "application/json")
	return req
}

// TestRedirectsOfAPost: what keeps the method keeps the body. A 301 or a 302
// would become a GET without it, which is another question; a 303 says that the
// answer is to be had by one.
func TestRedirectsOfAPost(t *testing.T) {
	for _, tc := range []struct {
		status int
		second string // "": there is none
	}{
		{307, "POST /new application/json question"}, {308, "POST /new application/json question"},
		{301, ""}, {302, ""}, {303, "GET /new  "},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				var body []byte
				kind := ""
				if r.Body != nil { // of a GET the kind of the body may be left
					body, _ = io.ReadAll(r.Body)
					kind = r.Header.Get("Content-Type")
				}
				asked = append(asked, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, kind, body))
				if r.URL.Path == "/old" {
					w.Header().Set("Location", "/new")
					w.WriteHeader(tc.status)
				}
			})
			resp, err := govern(t, pacing.Config{Base: m}).Client().Do(post(t.Context(), acme+"/old", "question"))
			if err == nil {
				resp.Body.Close()
			}
			want := []string{"POST /old application/json question"}
			if tc.second != "" {
				want = append(want, tc.second)
			}
			if !slices.Equal(asked, want) || (err == nil) != (tc.second != "") {
				t.Errorf("%d: asked %q, %v, want %q", tc.status, asked, err, want)
			}
			if stop := asStop(err); err != nil && (stop == nil || stop.Reason != collection.BadPage || !strings.Contains(stop.Detail, fmt.Sprint(tc.status))) {
				t.Errorf("%d: %v, want a bad_page that names it", tc.status, err)
			}
		})
	}
}

// TestAPostIsAWitness: whether a 403 is about one record can be asked by a POST
// that only reads, with its body.
func TestAPostIsAWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked = append(asked, r.URL.Path+" "+string(body))
			if r.URL.Path == "/2" {
				w.WriteHeader(403)
			}
		})
		g := govern(t, pacing.Config{Base: m})
		var err error
		for _, path := range []string{"/1", "/2"} {
			ctx := collection.WithPlace(t.Context(), collection.Place{Stream: "records", Partition: collection.Partition(fmt.Sprintf("{%q:1}", path))})
			var resp *http.Response
			if resp, err = g.Client().Do(post(ctx, acme+path, "question "+path)); err == nil {
				resp.Body.Close()
			}
		}
		if want := []string{"/1 question /1", "/2 question /2", "/1 question /1"}; !slices.Equal(asked, want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
		if stop := asStop(err); stop == nil || stop.Reason != collection.Forbidden {
			t.Errorf("got %v, want the gap of one record", err)
		}
	})
}

// TestACursorIsNotTold, wherever it was sent: the words of a refusal may repeat it.
func TestACursorIsNotTold(t *testing.T) {
	const cursor = "eyJhZnRlciI6NDJ9eyJhZnRl"
	for name, req := range map[string]*http.Request{
		"json":   post(t.Context(), acme, `{"query":"{ issues }","variables":{"first":100,"after":["`+cursor+`"]}}`),
		"form":   post(t.Context(), acme, `a=1&cursor=`+cursor),
		"path":   post(t.Context(), acme+"/things/"+cursor, ""),
		"header": post(t.Context(), acme, ""),
	} {
		synctest.Test(t, func(t *testing.T) {
			req := req.Clone(t.Context())
			switch name {
			case "form":
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			case "header":
				req.Header.Set("X-After", cursor)
			}
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(400)
				io.WriteString(w, `{"message":"unknown cursor `+cursor+` among issues, application/json"}`)
			})
			_, err := govern(t, pacing.Config{Base: m}).Client().Do(req)
			stop, _ := errors.AsType[*collection.Stop](err)
			if want := "it said: unknown cursor … among issues, application/json"; stop == nil || stop.Detail != want {
				t.Errorf("%s: %v, want the detail %q", name, err, want)
			}
		})
	}
}
