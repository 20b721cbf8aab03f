package moving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"collect/collection"
)

// TestForgottenToken: when a provider no longer knows the token that it gave for the
// next walk, that one reads everything again, and is complete.
func TestForgottenToken(t *testing.T) {
	var asked []string
	made, forgot := 5, false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var since int
		token := r.URL.Query().Get("since")
		asked = append(asked, token)
		if _, err := fmt.Sscanf(token, "t%d", &since); err == nil && forgot {
			w.WriteHeader(http.StatusGone)
			forgot = false
			return
		}
		var list []string
		end := min(since+3, made)
		for id := since; id < end; id++ {
			list = append(list, fmt.Sprintf(`{"id":%d,"v":1}`, id+1))
		}
		fmt.Fprintf(w, `{"items":[%s],"last_seq":"t%d"}`, strings.Join(list, ","), end)
	}))
	defer web.Close()
	c, db := openFile(t, fmt.Sprintf(`
connector: moving
provider: {base_url: %q, pace: off}
streams:
  items: {get: /items, records: items, key: id, page: {delta: {param: since, resume: last_seq}}}
`, web.URL))
	for n, want := range []struct {
		made    int
		forgot  bool
		outcome collection.Outcome
		asked   string
	}{
		{5, false, collection.Complete, ",t3,t5"},
		{5, false, collection.NothingNew, "t5"},
		{7, false, collection.Complete, "t5,t7"},
		{8, true, collection.Complete, "t7,,t3,t6,t8"},
		{8, false, collection.NothingNew, "t8"},
	} {
		made, forgot, asked = want.made, want.forgot, nil
		outcome, _ := run(t, db, c, fmt.Sprint("run-", n))
		if got := strings.Join(asked, ","); outcome != want.outcome || got != want.asked {
			t.Errorf("run %d is %s and asked for %q, want %s and %q", n, outcome, got, want.outcome, want.asked)
		}
		if got := len(contents(t, db)); got != made {
			t.Errorf("after run %d there are %d records, want %d", n, got, made)
		}
	}
}

// TestDeletedWhileForgotten: what the provider deleted while it no longer knew the
// token is told by no tombstone. The walk that reads everything again lacks it.
func TestDeletedWhileForgotten(t *testing.T) {
	gone, forgot := 0, false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("since")
		switch {
		case token != "" && forgot:
			forgot = false
			w.WriteHeader(http.StatusGone)
		case token == "":
			var list []string
			for id := gone; id < 10; id++ {
				list = append(list, fmt.Sprintf(`{"id":%d}`, id))
			}
			fmt.Fprintf(w, `{"items":[%s],"last_seq":"t"}`, strings.Join(list, ","))
		default:
			fmt.Fprint(w, `{"items":[],"last_seq":"t"}`)
		}
	}))
	defer web.Close()
	c, db := openFile(t, fmt.Sprintf(`
connector: moving
provider: {base_url: %q, pace: off}
streams:
  items: {get: /items, records: items, key: id, deleted: record.gone == true, page: {delta: {param: since, resume: last_seq}}}
`, web.URL))
	run(t, db, c, "run-1")
	gone, forgot = 2, true
	run(t, db, c, "run-2")
	states, err := db.Streams(t.Context(), "moving")
	if err != nil {
		t.Fatal(err)
	}
	if got := states[0].Deleted; got != 2 {
		t.Errorf("%d records are marked as deleted, want the 2 that are gone", got)
	}
}
