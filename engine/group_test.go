package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/report/problem"
	"collect/store/sqlite"
)

// A crowd is connectors of one server, which answers each with two records on two
// pages, at the path of its name.
type crowd struct {
	*testing.T
	config engine.GroupConfig
	group  *engine.Group
	before func(name string) // a page is answered

	mu     sync.Mutex
	url    string
	dir    string
	asked  map[string]int
	moves  []string
	most   int            // members at work at the same time
	mostOf map[string]int // the same by provider
	atWork map[string]int
}

const crowdFile = `connector: %s
provider: {name: %s, base_url: %q, pace: off}
streams:
  things:
    get: /%s
    records: items
    key: id
    page: {cursor: {from: next, param: cursor}}
`

func newCrowd(t *testing.T) *crowd {
	c := &crowd{T: t, dir: t.TempDir(), asked: map[string]int{}, mostOf: map[string]int{}, atWork: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(r.URL.Path, "/")
		c.mu.Lock()
		c.asked[name]++
		c.mu.Unlock()
		if c.before != nil {
			c.before(name)
		}
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"items":[{"id":1}],"next":"2"}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"id":2}],"next":null}`)
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	db, err := sqlite.Open(t.Context(), filepath.Join(c.dir, "state.db"), sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c.config = engine.GroupConfig{
		Registry: &registry.Registry{Env: func(string) string { return "" }},
		Each: engine.Config{Store: db, Options: engine.Options{Mode: collection.Forward, Lane: collection.Incremental},
			Signal: func() int { return problem.ExitTerminated }},
		Observe: func(*engine.Member, collection.Event) {},
		Moved:   c.moved,
	}
	return c
}

// add adds a connector of a provider.
func (c *crowd) add(name, provider string) {
	c.Helper()
	path := filepath.Join(c.dir, name+".yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, crowdFile, name, provider, c.url, name), 0o600); err != nil {
		c.Fatal(err)
	}
	c.config.Names = append(c.config.Names, path)
}

func (c *crowd) moved(m *engine.Member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moves = append(c.moves, fmt.Sprintf("%s %d", m.Name, m.State))
	change := 0
	switch m.State {
	case engine.Starting:
		change = 1
	case engine.Over:
		change = -1
	}
	provider := m.Target.Connector.Provider().Name
	for _, of := range []string{"", provider} {
		c.atWork[of] += change
		c.mostOf[of] = max(c.mostOf[of], c.atWork[of])
	}
	c.most = c.mostOf[""]
	return nil
}

// do runs the group.
func (c *crowd) do() {
	c.Helper()
	c.moves, c.asked = nil, map[string]int{}
	var err error
	if c.group, err = engine.NewGroup(c.Context(), c.config); err == nil {
		err = c.group.Do(c.Context())
	}
	if err != nil {
		c.Fatal(err)
	}
}

// begun returns the members in the order in which they began.
func (c *crowd) begun() (names []string) {
	for _, move := range c.moves {
		if name, ok := strings.CutSuffix(move, fmt.Sprintf(" %d", engine.Starting)); ok {
			names = append(names, name)
		}
	}
	return names
}

// TestGroupPlaces: there are eight places, which go to accounts before they go to a
// second run of an account.
func TestGroupPlaces(t *testing.T) {
	c := newCrowd(t)
	c.config.Each.Meeting = filepath.Join(c.dir, "pace")
	for i := range 9 {
		c.add(fmt.Sprintf("s%d", i), "shared")
	}
	c.add("own1", "one")
	c.add("own2", "two")
	full := make(chan struct{}) // until all places are taken, no run ends
	open := full
	c.before = func(string) { <-open }
	c.config.Moved = func(m *engine.Member) error {
		err := c.moved(m)
		if c.mu.Lock(); c.most == engine.AtOnce && full != nil {
			close(full)
			full = nil
		}
		c.mu.Unlock()
		return err
	}
	c.do()
	if c.most != engine.AtOnce {
		t.Errorf("%d at work at once, want %d", c.most, engine.AtOnce)
	}
	var queued []string
	for _, move := range c.moves {
		if name, ok := strings.CutSuffix(move, fmt.Sprintf(" %d", engine.Queued)); ok {
			queued = append(queued, name)
		}
	}
	if want := []string{"s6", "s7", "s8"}; !slices.Equal(queued, want) {
		t.Errorf("queued: %v, want %v", queued, want)
	}
	for _, m := range c.group.Members() {
		if end := c.group.End(m); !end.Began || end.Summary.Outcome != collection.Complete || end.Summary.This.Records != 2 {
			t.Errorf("%s: %s, %d records, %v", m.Name, end.Words(), end.Summary.This.Records, m.Err)
		}
	}
}

// TestGroupWithoutMeeting: where runs cannot share the pace of their account, they
// come one after the other, the one that was not asked for the longest time first.
func TestGroupWithoutMeeting(t *testing.T) {
	c := newCrowd(t)
	c.add("a", "acme")
	c.add("b", "acme")
	c.do()
	if want := []string{"a", "b"}; !slices.Equal(c.begun(), want) || c.mostOf["acme"] != 1 {
		t.Errorf("began %v with %d at once, want %v one by one", c.begun(), c.mostOf["acme"], want)
	}
	c.config.Names = c.config.Names[:1]
	c.do()
	c.add("b", "acme")
	c.add("c", "acme")
	c.do()
	if want := []string{"c", "b", "a"}; !slices.Equal(c.begun(), want) {
		t.Errorf("began %v, want %v", c.begun(), want)
	}
}

// TestGroupTimeLimit: the time limit is that of all runs. One that gets its place
// after it asks for nothing, and is a planned pause; next time it comes first.
func TestGroupTimeLimit(t *testing.T) {
	c := newCrowd(t)
	c.add("a", "acme")
	c.add("b", "acme")
	c.config.Each.Options.MaxTime = time.Second
	c.before = func(string) { time.Sleep(c.config.Each.Options.MaxTime) } // until it is up
	c.do()
	end := c.group.End(c.group.Members()[1])
	if s := end.Summary; c.asked["b"] != 0 || !end.Began || s.Outcome != collection.Deferred || s.Reason != collection.WallClock || s.ExitCode != problem.ExitOK {
		t.Errorf("b sent %d requests, %s because of %s with exit code %d", c.asked["b"], end.Words(), s.Reason, s.ExitCode)
	}
	c.before, c.config.Each.Options.MaxTime = nil, 0
	c.do()
	if want := []string{"b", "a"}; !slices.Equal(c.begun(), want) {
		t.Errorf("began %v, want %v", c.begun(), want)
	}
}

// TestGroupIsInterrupted: the page in flight is saved, and what waits for its turn
// does not begin.
func TestGroupIsInterrupted(t *testing.T) {
	c := newCrowd(t)
	c.add("a", "acme")
	c.add("b", "acme")
	c.before = func(string) { c.group.Interrupt() }
	c.do()
	a, b := c.group.End(c.group.Members()[0]), c.group.End(c.group.Members()[1])
	if s := a.Summary; s.Outcome != collection.RunInterrupted || s.This.Records != 1 || s.ExitCode != problem.ExitTerminated {
		t.Errorf("a: %s with %d records, exit code %d", a.Words(), s.This.Records, s.ExitCode)
	}
	if b.Began || b.Words() != "not begun" || b.Summary.ExitCode != problem.ExitTerminated || c.asked["b"] != 0 {
		t.Errorf("b: %s, began %t, exit code %d", b.Words(), b.Began, b.Summary.ExitCode)
	}
}

// TestGroupMemberFails: whatever happens to one of them, the others run.
func TestGroupMemberFails(t *testing.T) {
	c := newCrowd(t)
	c.add("good", "one")
	c.add("bug", "two")
	c.add("held", "three")
	c.add("refused", "four")
	c.config.Names = append(c.config.Names, c.config.Names[0], "nowhere")
	c.config.Observe = func(m *engine.Member, e collection.Event) {
		if m.Name == "bug" {
			panic("a bug")
		}
	}
	refused := errors.New("it cannot be shown")
	c.config.Moved = func(m *engine.Member) error {
		if m.Name == "refused" && m.State == engine.Working {
			return refused
		}
		return nil
	}
	held, err := c.config.Each.Store.Begin(t.Context(), collection.Run{ID: "other", Connector: "held", StartedAt: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.do()
	if err := held.Finish(context.Background(), collection.Run{ID: "other", Outcome: collection.Complete}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range c.group.Members() {
		end := c.group.End(m)
		got = append(got, fmt.Sprintf("%s %s %d", end.Summary.Connector, end.Words(), end.Summary.ExitCode))
	}
	want := []string{"good complete 0", "bug failed 70", "held waiting 75", "refused failed 1", "good failed 2", "nowhere failed 78"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
