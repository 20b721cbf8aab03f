package cassette_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"collect/connectors/cassette"
)

var exchanges = []cassette.Exchange{
	{Method: "GET", URL: "https://api.acme.test/orders?limit=2", Status: 200, Header: http.Header{"Link": {`<x>; rel="next"`}}, Body: []byte(`[{"id": 1}]`)},
	{Method: "GET", URL: "https://api.acme.test/orders?limit=2", Status: 429, Header: http.Header{"Retry-After": {"3"}}, Body: []byte("slow\ndown\n")},
	{Method: "POST", URL: "https://api.acme.test/search", Sent: []byte(`{"page": 1}`), Status: 200, Header: http.Header{}, Body: []byte("\x1f\x8b\x00\xff")},
	{Method: "GET", URL: "https://api.acme.test/text", Status: 200, Header: http.Header{}, Body: []byte("a\n-- b --\nc")},
	{Method: "GET", URL: "https://api.acme.test/lines", Status: 200, Header: http.Header{}, Body: []byte("a\r\nb\r\n")},
	{Method: "GET", URL: "https://api.acme.test/none", Status: 204, Header: http.Header{}},
}

func TestRoundTrip(t *testing.T) {
	src, err := cassette.Format(exchanges)
	if err != nil {
		t.Fatal(err)
	}
	got, err := cassette.Parse(src)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if len(got) != len(exchanges) {
		t.Fatalf("%d exchanges, want %d\n%s", len(got), len(exchanges), src)
	}
	for i, want := range exchanges {
		e := got[i]
		if !bytes.Equal(e.Body, want.Body) || !bytes.Equal(e.Sent, want.Sent) {
			t.Errorf("%d: bodies %q and %q, want %q and %q", i, e.Sent, e.Body, want.Sent, want.Body)
		}
		e.Body, e.Sent, want.Body, want.Sent = nil, nil, nil, nil
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%d: %+v, want %+v", i, e, want)
		}
	}
}

func TestPlayer(t *testing.T) {
	player := cassette.NewPlayer(exchanges)
	client := &http.Client{Transport: player}
	get := func(method, url, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(got)
	}
	for i, want := range []int{200, 429, 429} {
		if status, _ := get("GET", "https://api.acme.test/orders?limit=2", ""); status != want {
			t.Errorf("answer %d has the status %d, want %d", i, status, want)
		}
	}
	if unplayed := player.Unplayed(); len(unplayed) != 4 || unplayed[0].Method != "POST" {
		t.Errorf("unplayed: %+v, want all but those of the orders", unplayed)
	}
	if _, body := get("POST", "https://api.acme.test/search", `{"page":1}`); body != "\x1f\x8b\x00\xff" {
		t.Errorf("the JSON with other spaces got %q", body)
	}
	_, err := client.Post("https://api.acme.test/search", "application/json", strings.NewReader(`{"page":2}`))
	if unrecorded, ok := errors.AsType[*cassette.UnrecordedError](err); !ok || unrecorded.Method != "POST" {
		t.Errorf("a request that was not recorded: %v", err)
	}
}

func TestWhatIsNoCassette(t *testing.T) {
	for name, src := range map[string]string{
		"nothing":         "",
		"no response":     "-- GET https://a.test/ --\n",
		"no URL":          "-- GET --\n-- 200 --\n\n",
		"no status":       "-- GET https://a.test/ --\n-- fine --\n\n",
		"no header":       "-- GET https://a.test/ --\n-- 200 --\n[1, 2]\n",
		"no base64":       "-- GET https://a.test/ --\n-- 200 --\nContent-Transfer-Encoding: base64\n\n%%%\n",
		"odd parts":       "-- GET https://a.test/ --\n-- 200 --\n\n-- GET https://a.test/b --\n",
		"informational":   "-- GET https://a.test/ --\n-- 100 --\n\n",
		"a relative path": "-- GET /orders --\n-- 200 --\n\n[]\n",
	} {
		if got, err := cassette.Parse([]byte(src)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
