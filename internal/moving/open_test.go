package moving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"collect/collection"
	"collect/report"
)

// TestRowsWithoutALength: where nothing but the end of the connection tells where rows
// end, nobody can know that all came. A walk says so, and marks nothing as deleted.
func TestRowsWithoutALength(t *testing.T) {
	rows, told := 10, true
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var body strings.Builder
		body.WriteString("id\n")
		for id := range rows {
			body.WriteString(fmt.Sprintln(id))
		}
		if told {
			fmt.Fprint(w, body.String())
			return
		}
		conn, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(buffer, "HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nConnection: close\r\n\r\n%s", body.String())
		_ = buffer.Flush()
		_ = conn.Close()
	}))
	defer web.Close()
	c, db := openFile(t, fmt.Sprintf(`
connector: moving
provider: {base_url: %q, pace: off}
streams:
  items: {get: /items, format: csv, key: id, deletes: sweep, page: {none: true}}
`, web.URL))
	for n, want := range []struct {
		rows    int
		told    bool
		deleted int64
		doubt   string
	}{
		{10, true, 0, ""},
		{8, false, 0, "does not say where it ends"}, // two rows are cut off, after a whole line
		{8, true, 2, ""},
	} {
		rows, told = want.rows, want.told
		run(t, db, c, fmt.Sprint("run-", n))
		states, err := db.Streams(t.Context(), "moving")
		if err != nil {
			t.Fatal(err)
		}
		if got := states[0].Deleted; got != want.deleted {
			t.Errorf("run %d: %d records are marked as deleted, want %d", n, got, want.deleted)
		}
		if doubt := report.Doubts(states, collection.Incremental); (doubt == "") != (want.doubt == "") || !strings.Contains(doubt, want.doubt) {
			t.Errorf("run %d: its doubt is %q, want %q", n, doubt, want.doubt)
		}
	}
}
