package declarative_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
)

const polledByPost = `
connector: exports
provider: {base_url: "https://export.test"}
streams:
  things:
    job: {post: /exports, id: id, poll: {post: /status, json: {export: "${job}"}}, done: 'body.state == "done"', every: 30s}
    post: /result
    json: {export: "${job}"}
    key: id
    page: {none: true}
`

// TestJobPolledByPost: the poll names the job in its body, and may be repeated; each
// waits for `every`, or for as long as the answer before asks to wait.
func TestJobPolledByPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, &httptest.Server{}, polledByPost)
		answers := []string{"0", "90", time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat), "soon", "done"}
		var waits []time.Duration
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			rec := httptest.NewRecorder()
			body, _ := io.ReadAll(r.Body)
			_, repeats := r.Header["Idempotency-Key"]
			switch r.URL.Path {
			case "/exports":
				fmt.Fprint(rec, `{"id": "j 1"}`)
			case "/status":
				if string(body) != `{"export":"j 1"}` || !repeats {
					t.Errorf("a poll sends %s, and may be repeated: %t", body, repeats)
				}
				waits = append(waits, max(0, time.Until(collection.NotBefore(r.Context()))))
				rec.Header().Set("Retry-After", answers[len(waits)-1])
				state := "running"
				if answers[len(waits)-1] == "done" {
					state = "done"
				}
				fmt.Fprintf(rec, `{"state": %q}`, state)
			default:
				fmt.Fprint(rec, things(1, 2))
			}
			resp := rec.Result()
			resp.Request = r
			return resp, nil
		})}
		records := 0
		for slice, err := range c.Slices(t.Context(), client, collection.Place{Stream: "things"}, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			records += len(slice.Records)
		}
		second := time.Second
		if want := []time.Duration{30 * second, 30 * second, 90 * second, 300 * second, 30 * second}; !slices.Equal(waits, want) || records != 2 {
			t.Errorf("polls waited for %v, and %d records came, want %v and 2", waits, records, want)
		}
	})
}
