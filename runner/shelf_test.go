package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"collect/collection"
)

// shelf is the connector of these tests: items in pages of 3, a detail for
// each item, and notes of each item that are walked anew by every run.
type shelf struct {
	limits  collection.Limits
	ahead   bool // items can be asked for by page number, ahead of their turn
	unbound bool // no partition can be made of one item
	pairs   bool // every two items share one partition
	counted bool // the pages of notes are numbered, and nothing tells how many there are
}

func (shelf) Streams() []collection.Stream {
	return []collection.Stream{
		{Name: "items", Role: collection.List},
		{Name: "details", Role: collection.Detail, Parent: "items", Refresh: collection.Once},
		{Name: "notes", Role: collection.List, Parent: "items", Refresh: collection.EachRun},
	}
}

func (s shelf) Provider() collection.Provider {
	return collection.Provider{Name: "shelf.test", Origins: []string{"http://shelf.test"}, Unpaced: true, Forbidden: collection.GapRecord, Limits: s.limits}
}

func (s shelf) Partition(_ string, parent collection.Parent) (collection.Partition, string, bool, error) {
	name := parent.Key
	if s.unbound && name == unbound {
		return "", "", false, errUnbound
	}
	if s.pairs {
		name = name[:len(name)-1] + string('0'+(name[len(name)-1]-'0')/2*2)
	}
	key, err := json.Marshal(name)
	return collection.NewPartition(map[string]json.RawMessage{"item": key}), "", true, err
}

// unbound is the key of an item that no partition can be made of.
const unbound = "item-005"

var errUnbound = errors.New("an item has no id")

type page struct {
	Keys []string
	Next string
}

func (s shelf) Slices(ctx context.Context, client *http.Client, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	return func(yield func(collection.Slice, error) bool) {
		for {
			got, err := get(ctx, client, urlOf(at, from))
			if err != nil {
				yield(collection.Slice{}, err)
				return
			}
			slice := collection.Slice{Place: at, From: from}
			slice.Told = collection.Told{First: from.Token == "", Counted: s.counted && at.Stream == "notes"}
			if got.Next == "" {
				slice.Told.End = collection.EndMark
			}
			slice.Next = collection.Cursor{Token: got.Next, Version: from.Version, Done: got.Next == ""}
			for _, key := range got.Keys {
				slice.Records = append(slice.Records, collection.Record{Key: key, Data: fmt.Appendf(nil, `{"key":%q}`, key)})
			}
			if !yield(slice, nil) || slice.Next.Done {
				return
			}
			from = slice.Next
		}
	}
}

func (s shelf) Ahead(at collection.Place, from collection.Cursor, n int) []collection.Cursor {
	if !s.ahead || at.Stream != "items" {
		return nil
	}
	page, _ := strconv.Atoi(from.Token)
	var next []collection.Cursor
	for i := range n {
		next = append(next, collection.Cursor{Token: strconv.Itoa(page + i + 1), Version: from.Version})
	}
	return next
}

func (s shelf) Before(at collection.Place, from collection.Cursor) (collection.Cursor, bool) {
	page, _ := strconv.Atoi(from.Token)
	if !s.ahead || at.Stream != "items" || page == 0 {
		return collection.Cursor{}, false
	}
	from.Token = strconv.Itoa(page - 1)
	return from, true
}

func urlOf(at collection.Place, from collection.Cursor) string {
	vars, _ := at.Partition.Vars()
	var item string
	_ = json.Unmarshal(vars["item"], &item)
	return "http://shelf.test/" + at.Stream + "/" + item + "?page=" + from.Token
}

func get(ctx context.Context, client *http.Client, url string) (page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return page{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	var got page
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return page{}, &collection.Stop{Reason: collection.BadPage, Detail: "not JSON"}
	}
	return got, nil
}

// provider serves a shelf of n items, without a network.
type provider struct {
	n       int
	mu      sync.Mutex
	asked   []string                  // path?query of every request, in order
	answer  map[string]*http.Response // what to answer instead, by path?query
	before  func(asked int)           // called before each answer, outside the lock
	refuses int                       // from which request on the credential is refused; 0: never
	repeat  bool                      // every page of items is the first page, for ever,
	begins  int                       // which begins with this item
	jump    bool                      // page 1 of items names page 3 as the next
	bare    bool                      // the first item has no notes
}

func (p *provider) RoundTrip(req *http.Request) (*http.Response, error) {
	at := req.URL.Path + "?" + req.URL.RawQuery
	p.mu.Lock()
	p.asked = append(p.asked, at)
	n, answer := len(p.asked), p.answer[at]
	p.mu.Unlock()
	if p.before != nil {
		p.before(n)
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if p.refuses != 0 && n >= p.refuses {
		answer = &http.Response{StatusCode: 401, Header: http.Header{}}
	}
	if answer != nil {
		copied := *answer
		copied.Body, copied.Request = io.NopCloser(strings.NewReader("{not json")), req
		return &copied, nil
	}
	body, _ := json.Marshal(p.page(req))
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
}

func (p *provider) page(req *http.Request) page {
	stream, item, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/")
	number, _ := strconv.Atoi(req.URL.Query().Get("page"))
	switch stream {
	case "details":
		return page{Keys: []string{"detail of " + item}}
	case "notes":
		if p.bare && item == p.items()[0] {
			return page{}
		}
		if number == 0 {
			return page{Keys: []string{"note 1 on " + item, "note 2 on " + item}, Next: "1"}
		}
		return page{Keys: []string{"note 3 on " + item}}
	}
	all := p.items()
	if p.repeat {
		return page{Keys: all[p.begins : p.begins+3], Next: strconv.Itoa(number + 1)}
	}
	got := page{Keys: all[min(3*number, p.n):min(3*number+3, p.n)]}
	if 3*number+3 < p.n {
		got.Next = strconv.Itoa(number + 1)
	}
	if p.jump && number == 1 {
		got.Next = "3"
	}
	return got
}

func (p *provider) items() []string {
	keys := make([]string, p.n)
	for i := range keys {
		keys[i] = fmt.Sprintf("item-%03d", i)
	}
	return keys
}

// want returns the sorted keys of everything the provider serves of a stream.
func (p *provider) want(stream string) []string {
	var keys []string
	for _, item := range p.items() {
		switch stream {
		case "items":
			keys = append(keys, item)
		case "details":
			keys = append(keys, "detail of "+item)
		case "notes":
			keys = append(keys, "note 1 on "+item, "note 2 on "+item, "note 3 on "+item)
		}
	}
	slices.Sort(keys)
	return keys
}

// askedFor returns how often one path?query was asked for.
func (p *provider) askedFor(at string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		if asked == at {
			n++
		}
	}
	return n
}

func (p *provider) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func (p *provider) fail(at string, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer == nil {
		p.answer = map[string]*http.Response{}
	}
	p.answer[at] = &http.Response{StatusCode: status, Header: http.Header{}}
}

func (p *provider) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = nil
}
