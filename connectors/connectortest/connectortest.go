// Package connectortest is the conformance suite of the port in package
// connectors: what every connector promises, as a test.
//
// A connector passes its suite against a provider that is at rest: one that
// answers the same request in the same way each time. [Test] walks every stream
// and, for streams with parents, the partitions that the first records of
// their parents stand for.
package connectortest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"collect/collection"
	"collect/connectors"
)

// The suite looks at this many partitions of a stream, and follows this many
// slices of a walk; a walk that is longer has no end that a test could see.
const (
	mostPartitions = 3
	mostSlices     = 1000
)

// Test checks c against a provider at rest that client leads to.
func Test(t *testing.T, c connectors.Connector, client *http.Client) {
	t.Helper()
	undated := *client
	undated.Transport = timeless{transport(client)}
	client = &undated
	s := suite{c: c, client: client}
	t.Run("describes", s.describes)
	places := s.places(t)
	if len(places) == 0 {
		t.Fatal("there is nothing to walk")
	}
	for _, at := range places {
		t.Run(at.Stream+"/"+at.Partition.String(), func(t *testing.T) {
			whole := s.walk(t, client, at, collection.Cursor{})
			s.chains(t, at, collection.Cursor{}, whole)
			t.Run("resumes anywhere", func(t *testing.T) { s.resumes(t, at, whole) })
			t.Run("repeats", func(t *testing.T) { s.repeats(t, at, whole) })
			t.Run("fetches on demand", func(t *testing.T) { s.onDemand(t, at, whole) })
			t.Run("keeps errors", func(t *testing.T) { s.keepsErrors(t, at, whole) })
			t.Run("carries the version", func(t *testing.T) { s.carriesVersion(t, at) })
			t.Run("walks again", func(t *testing.T) { s.walksAgain(t, at, whole) })
			t.Run("names cursors ahead", func(t *testing.T) { s.ahead(t, at, whole) })
		})
	}
	t.Run("several at once", func(t *testing.T) { s.severalAtOnce(t, places) })
}

type suite struct {
	c      connectors.Connector
	client *http.Client
}

// describes checks what can be said without a request.
func (s suite) describes(t *testing.T) {
	p := s.c.Provider()
	if p.Name == "" {
		t.Error("the provider has no name")
	}
	for _, o := range p.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme+"://"+u.Host != o || u.Host == "" {
			t.Errorf("origin %q is not scheme://host[:port]", o)
		}
	}
	if p.Authorize != nil && len(p.Origins) == 0 {
		t.Error("there is a credential, and no origin that may see it")
	}
	var before []string
	for _, st := range s.c.Streams() {
		if st.Name == "" || slices.Contains(before, st.Name) {
			t.Errorf("stream %q: the name is empty, or there twice", st.Name)
		}
		if st.Parent != "" && !slices.Contains(before, st.Parent) {
			t.Errorf("stream %q comes before its parent %q", st.Name, st.Parent)
		}
		if st.Role != collection.List && st.Role != collection.Detail {
			t.Errorf("stream %q: role %q", st.Name, st.Role)
		}
		if (st.Refresh != "") != (st.Parent != "") {
			t.Errorf("stream %q: refresh %q with parent %q", st.Name, st.Refresh, st.Parent)
		}
		before = append(before, st.Name)
	}
	if !reflect.DeepEqual(s.c.Streams(), s.c.Streams()) {
		t.Error("Streams is not constant")
	}
}

// places finds what can be walked: parents first, since partitions come out
// of records.
func (s suite) places(t *testing.T) []collection.Place {
	t.Helper()
	var places []collection.Place
	parents := map[string][]collection.Parent{}
	for _, st := range s.c.Streams() {
		var here []collection.Place
		if st.Parent == "" {
			here = append(here, collection.Place{Stream: st.Name, Lane: collection.Incremental})
		}
		for _, parent := range parents[st.Parent] {
			p, version, ok, err := s.c.Partition(st.Name, parent)
			if err != nil {
				t.Fatalf("Partition(%q): %v", st.Name, err)
			}
			if again, v, ok2, _ := s.c.Partition(st.Name, parent); again != p || v != version || ok2 != ok {
				t.Errorf("Partition(%q) is not constant", st.Name)
			}
			if ok && len(here) < mostPartitions {
				here = append(here, collection.Place{Stream: st.Name, Partition: p, Lane: collection.Incremental})
			}
		}
		for _, at := range here {
			for _, slice := range s.walk(t, s.client, at, collection.Cursor{}) {
				for _, r := range slice.Records {
					parents[st.Name] = append(parents[st.Name], collection.Parent{Partition: at.Partition, Record: r})
				}
			}
		}
		places = append(places, here...)
	}
	return places
}

// walk returns all slices from from on, and fails the test on an error.
func (s suite) walk(t *testing.T, client *http.Client, at collection.Place, from collection.Cursor) []collection.Slice {
	t.Helper()
	got, err := collect(t.Context(), s.c, client, at, from)
	if err != nil {
		t.Fatalf("%s: %v after %d slices", at.Stream, err, len(got))
	}
	return got
}

func collect(ctx context.Context, c connectors.Connector, client *http.Client, at collection.Place, from collection.Cursor) ([]collection.Slice, error) {
	var got []collection.Slice
	for slice, err := range c.Slices(ctx, client, at, from) {
		if err != nil {
			return got, err
		}
		got = append(got, slice)
		if len(got) > mostSlices {
			return got, errors.New("the walk does not end")
		}
	}
	return got, nil
}

// chains checks that each slice begins where the one before it ended, that
// the last one and no other is done, and that records are what they must be.
func (s suite) chains(t *testing.T, at collection.Place, from collection.Cursor, whole []collection.Slice) {
	t.Helper()
	if len(whole) == 0 {
		t.Fatal("a walk without slices: not even the end is told")
	}
	for i, slice := range whole {
		if slice.Place != at {
			t.Errorf("slice %d is of %v, want %v", i, slice.Place, at)
		}
		if slice.From != from {
			t.Errorf("slice %d is from %+v, want %+v", i, slice.From, from)
		}
		if last := i == len(whole)-1; slice.Next.Done != last {
			t.Errorf("slice %d of %d: Done = %t", i, len(whole), slice.Next.Done)
		}
		if slice.Next.Done && slice.Next.Token != "" {
			t.Errorf("slice %d is done, and has a token", i)
		}
		if got := throughJSON(t, slice.Next); got != slice.Next {
			t.Errorf("slice %d: Next is %+v, after JSON %+v", i, slice.Next, got)
		}
		for _, r := range slice.Records {
			var object map[string]json.RawMessage
			if r.Key == "" || json.Unmarshal(r.Data, &object) != nil {
				t.Errorf("slice %d: record %q is not a JSON object with a key", i, r.Key)
			}
		}
		from = slice.Next
	}
}

// resumes checks that from the cursor of any slice, as an earlier process may
// have stored it, the same slices follow.
func (s suite) resumes(t *testing.T, at collection.Place, whole []collection.Slice) {
	for i := range whole {
		from := throughJSON(t, whole[i].From)
		got, err := collect(t.Context(), s.c, s.client, at, from)
		if stop, ok := errors.AsType[*collection.Stop](err); ok && i > 0 && len(got) == 0 && stop.Reason == collection.CursorExpired {
			continue // the walk begins anew
		}
		if err != nil {
			t.Fatalf("from slice %d: %v after %d slices", i, err, len(got))
		}
		if !same(got, whole[i:]) {
			t.Errorf("from slice %d: %d slices, not the %d that followed before", i, len(got), len(whole)-i)
		}
	}
}

// repeats checks that a sequence can be ranged over more than once.
func (s suite) repeats(t *testing.T, at collection.Place, whole []collection.Slice) {
	seq := s.c.Slices(t.Context(), s.client, at, collection.Cursor{})
	for range 2 {
		var got []collection.Slice
		for slice, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, slice)
		}
		if !same(got, whole) {
			t.Errorf("%d slices, not the same %d", len(got), len(whole))
		}
	}
}

// onDemand checks that nothing is sent before a slice is asked for, and
// nothing after the last one that was.
func (s suite) onDemand(t *testing.T, at collection.Place, whole []collection.Slice) {
	all := &wire{next: transport(s.client), fail: -1}
	s.walk(t, all.client(s.client), at, collection.Cursor{})
	counter := &wire{next: transport(s.client), fail: -1}
	seq := s.c.Slices(t.Context(), counter.client(s.client), at, collection.Cursor{})
	if n := counter.sent(); n != 0 {
		t.Errorf("%d requests before the first slice was asked for", n)
	}
	next, stop := iter.Pull2(seq)
	defer stop()
	before := 0
	for i := range whole {
		if _, err, ok := next(); err != nil || !ok {
			t.Fatalf("slice %d: %v, %t", i, err, ok)
		}
		now := counter.sent()
		if i < len(whole)-1 && now >= all.sent() {
			t.Errorf("slice %d of %d: all %d requests were sent by then", i, len(whole), now)
		}
		before = now
		if i == len(whole)/2 {
			break
		}
	}
	stop()
	if n := counter.sent(); n != before {
		t.Errorf("%d requests after the consumer had enough", n-before)
	}
	for _, stream := range counter.streams() {
		if stream != at.Stream {
			t.Errorf("a request on behalf of stream %q, want %q", stream, at.Stream)
		}
	}
}

// keepsErrors makes each request fail in turn, and checks that the slices
// before it are the same, and that the client's error comes back and is last.
func (s suite) keepsErrors(t *testing.T, at collection.Place, whole []collection.Slice) {
	counter := &wire{next: transport(s.client), fail: -1}
	s.walk(t, counter.client(s.client), at, collection.Cursor{})
	for fail := range counter.sent() {
		stop := &collection.Stop{Reason: collection.RequestCap}
		broken := &wire{next: transport(s.client), fail: fail, err: stop}
		var got []collection.Slice
		var last error
		for slice, err := range s.c.Slices(t.Context(), broken.client(s.client), at, collection.Cursor{}) {
			if last != nil {
				t.Fatalf("request %d failed, and after the error came more", fail)
			}
			if last = err; err == nil {
				got = append(got, slice)
			}
		}
		if kept, ok := errors.AsType[*collection.Stop](last); !ok || kept != stop {
			t.Errorf("request %d failed: got error %v, want the client's", fail, last)
		}
		if last != nil && strings.Contains(last.Error(), "://") {
			t.Errorf("request %d failed: the error shows a URL", fail)
		}
		if len(got) > len(whole) || !same(got, whole[:len(got)]) {
			t.Errorf("request %d failed: the %d slices before it differ", fail, len(got))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := collect(ctx, s.c, s.client, at, collection.Cursor{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got error %v, want one that is context.Canceled", err)
	}
}

// carriesVersion checks that the version of the parent stays in every cursor.
func (s suite) carriesVersion(t *testing.T, at collection.Place) {
	const version = "v 1"
	for i, slice := range s.walk(t, s.client, at, collection.Cursor{Version: version}) {
		if slice.Next.Version != version {
			t.Errorf("slice %d: version %q, want %q", i, slice.Next.Version, version)
		}
	}
}

// walksAgain checks the next walk, from what the mark has become: it too
// begins where it is told, and ends.
func (s suite) walksAgain(t *testing.T, at collection.Place, whole []collection.Slice) {
	from := collection.Cursor{Since: whole[len(whole)-1].Next.Since}
	s.chains(t, at, from, s.walk(t, s.client, at, from))
}

// ahead checks that the cursors named ahead are those that follow.
func (s suite) ahead(t *testing.T, at collection.Place, whole []collection.Slice) {
	a, ok := s.c.(connectors.Aheader)
	if !ok {
		t.Skip("the connector names none")
	}
	for i, slice := range whole {
		cursors := a.Ahead(at, slice.From, len(whole))
		if len(cursors) > len(whole) {
			t.Errorf("asked for %d cursors, got %d", len(whole), len(cursors))
		}
		// The last full page is not known, so that only its predecessors count.
		for j, got := range cursors {
			if i+j+2 < len(whole) && got != whole[i+j].Next {
				t.Errorf("%d ahead of slice %d: cursor %+v, want %+v", j+1, i, got, whole[i+j].Next)
			}
		}
	}
}

func (s suite) severalAtOnce(t *testing.T, places []collection.Place) {
	var group sync.WaitGroup
	for _, at := range slices.Repeat(places, 2) {
		want := s.walk(t, s.client, at, collection.Cursor{})
		group.Go(func() {
			got, err := collect(t.Context(), s.c, s.client, at, collection.Cursor{})
			if err != nil || !same(got, want) {
				t.Errorf("%s: %d slices and error %v beside others, want the same %d", at.Stream, len(got), err, len(want))
			}
		})
	}
	group.Wait()
}

// same compares slices by the parts of them that are stored.
func same(a, b []collection.Slice) bool {
	return slices.EqualFunc(a, b, func(a, b collection.Slice) bool {
		return a.Place == b.Place && a.From == b.From && a.Next == b.Next &&
			slices.EqualFunc(a.Records, b.Records, func(a, b collection.Record) bool {
				return a.Key == b.Key && string(a.Data) == string(b.Data)
			}) &&
			slices.EqualFunc(a.Rejected, b.Rejected, func(a, b collection.Rejected) bool {
				return a.Reason == b.Reason && string(a.Data) == string(b.Data)
			})
	})
}

func throughJSON(t *testing.T, c collection.Cursor) collection.Cursor {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back collection.Cursor
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
