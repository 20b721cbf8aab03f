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

// TestJobOfChanges: the request that creates a job sends the mark, and the word null
// in a header ends the pages of its result.
func TestJobOfChanges(t *testing.T) {
	var asked, pages []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/jobs":
			asked = append(asked, string(body))
			fmt.Fprint(w, `{"id": "j"}`)
		case "/jobs/j":
			fmt.Fprint(w, `{"state": "done"}`)
		default:
			pages = append(pages, r.URL.Query().Get("at"))
			w.Header().Set("Next", map[string]string{"": "2", "2": "null"}[r.URL.Query().Get("at")])
			fmt.Fprintf(w, `[{"id": "%d", "changed": "2024-05-0%dT00:00:00Z"}]`, len(pages), len(pages))
		}
	}))
	defer srv.Close()
	c := open(t, srv, `
connector: exports
provider: {base_url: "`+srv.URL+`"}
streams:
  things:
    job: {post: /jobs, json: {changed_after: "${since}"}, id: id, poll: "/jobs/${job}", done: 'body.state == "done"'}
    get: "/jobs/${job}/result"
    key: id
    page: {cursor: {header: Next, param: at}}
    since: {field: changed, start: 2024-01-01, format: rfc3339, lookback: 24h}
`)
	var end collection.Cursor
	for range 2 {
		for slice, err := range c.Slices(t.Context(), srv.Client(), collection.Place{Stream: "things"}, end) {
			if err != nil {
				t.Fatal(err)
			}
			end = slice.Next
		}
	}
	if want := []string{`{"changed_after":"2024-01-01T00:00:00Z"}`, `{"changed_after":"2024-05-01T00:00:00Z"}`}; !slices.Equal(asked, want) {
		t.Errorf("the jobs were asked for with %v, want %v", asked, want)
	}
	if want := []string{"", "2", "", "2"}; !slices.Equal(pages, want) {
		t.Errorf("the pages at %v were asked for, want %v", pages, want)
	}
}
