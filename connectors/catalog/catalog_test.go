package catalog_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/cassette"
	"collect/connectors/catalog"
	"collect/connectors/connectortest"
	"collect/connectors/declarative"
	"collect/pacing/response"
)

func TestOpen(t *testing.T) {
	if _, err := catalog.Open("githbu"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a name that is not there: %v, want fs.ErrNotExist", err)
	}
	if len(catalog.List()) == 0 {
		t.Error("the catalogue is empty")
	}
}

// TestWalks walks each connector against the answers in testdata/walk.txtar of its
// folder. Lines before the first exchange say what the walk is given, and what it
// finds:
//
//	param org=acme
//	records repos 2
func TestWalks(t *testing.T) {
	for _, name := range catalog.List() {
		t.Run(name, func(t *testing.T) {
			src := read(t, name, "walk.txtar")
			params, want := settings(t, src)
			exchanges, err := cassette.Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			player := cassette.NewPlayer(exchanges)
			client := &http.Client{Transport: player}
			c := build(t, name, params)
			connectortest.Test(t, c, client)
			for _, e := range player.Unplayed() {
				t.Errorf("no walk asked for %s %s", e.Method, e.URL)
			}
			got := count(t, c, client)
			for _, st := range c.Streams() {
				if got[st.Name] != want[st.Name] || want[st.Name] == 0 {
					t.Errorf("%s has %d records, want %d and at least 1", st.Name, got[st.Name], want[st.Name])
				}
			}
		})
	}
}

// TestRefusals reads the refusals in testdata/refusals.txtar of each folder. Read-As
// in the header of each says what it means: a verdict of the file, or a class of
// package response; Of, the stream that met it.
func TestRefusals(t *testing.T) {
	for _, name := range catalog.List() {
		src := read(t, name, "refusals.txtar")
		exchanges, err := cassette.Parse(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		params, _ := settings(t, src)
		judge := build(t, name, params).Provider().Judge
		for _, e := range exchanges {
			want, stream := e.Header.Get("Read-As"), e.Header.Get("Of")
			e.Header.Del("Read-As")
			e.Header.Del("Of")
			got := string(response.Read(time.Now(), e.Status, e.Header, e.Body).Class)
			if judge != nil {
				if v := judge(collection.Response{Stream: stream, Status: e.Status, Header: e.Header, Body: e.Body}); v != collection.NoVerdict && got != string(response.QuotaUsed) {
					got = string(v)
				}
			}
			if got != want {
				t.Errorf("%s: %d to %s is read as %q, want %q", name, e.Status, e.URL, got, want)
			}
		}
	}
}

func read(t *testing.T, name, file string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(name, "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// settings reads the lines before the first exchange of a cassette.
func settings(t *testing.T, src []byte) (params map[string]string, records map[string]int) {
	t.Helper()
	params, records = map[string]string{}, map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(txtar.Parse(src).Comment))
	for lines.Scan() {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "param":
			key, value, _ := strings.Cut(rest, "=")
			params[key] = value
		case "records":
			stream, number, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			records[stream] = n
		case "#", "":
		default:
			t.Fatalf("%q is neither a param, nor records, nor a comment", lines.Text())
		}
	}
	return params, records
}

func build(t *testing.T, name string, params map[string]string) connectors.Connector {
	t.Helper()
	src, err := catalog.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := declarative.Parse(name+"/connector.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Name() != name {
		t.Errorf("the folder %s has the connector %s", name, spec.Name())
	}
	secrets := map[string]declarative.SecretValue{}
	for _, s := range spec.Secrets() {
		secrets[s.Name] = declarative.SecretValue{
			Value:   "t0k",
			Replace: func(context.Context, func(string) (string, error)) error { return nil },
		}
	}
	c, err := spec.Build(declarative.Options{Params: params, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// count walks everything, and returns how many records each stream has.
func count(t *testing.T, c connectors.Connector, client *http.Client) map[string]int {
	t.Helper()
	had := map[string][]collection.Parent{}
	n := map[string]int{}
	seen := map[[3]string]bool{} // one that comes again is no other record
	for _, st := range c.Streams() {
		places := []collection.Place{{Stream: st.Name, Lane: collection.Incremental}}
		if st.Parent != "" {
			places = nil
			for _, parent := range had[st.Parent] {
				if p, _, ok, err := c.Partition(st.Name, parent); err != nil {
					t.Fatal(err)
				} else if ok {
					places = append(places, collection.Place{Stream: st.Name, Partition: p, Lane: collection.Incremental})
				}
			}
		}
		for _, at := range places {
			for slice, err := range c.Slices(context.Background(), client, at, collection.Cursor{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range slice.Records {
					id := [3]string{st.Name, at.Partition.String(), r.Key}
					if seen[id] {
						continue
					}
					seen[id] = true
					n[st.Name]++
					had[st.Name] = append(had[st.Name], collection.Parent{Partition: at.Partition, Record: r})
				}
			}
		}
	}
	return n
}

// TestNoAvatars: WordPress makes up another address each time it is asked for a comment
// without an e-mail address.
func TestNoAvatars(t *testing.T) {
	src := read(t, "wordpress", "walk.txtar")
	params, _ := settings(t, src)
	exchanges, err := cassette.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	at := collection.Place{Stream: "comments", Lane: collection.Incremental}
	c, n := build(t, "wordpress", params), 0
	for slice, err := range c.Slices(t.Context(), &http.Client{Transport: cassette.NewPlayer(exchanges)}, at, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range slice.Records {
			if n++; bytes.Contains(r.Data, []byte("avatar")) {
				t.Errorf("stored: %s", r.Data)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d comments, want 1", n)
	}
}
