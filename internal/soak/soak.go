// Package soak has four providers that are asked at 80 % of what they allow, for hours,
// while everything goes wrong with them now and then.
//
// Their ceilings are those that CoinGecko, Etherscan, mempool.space and exchangerate.host
// are said to have. Each enforces its own by 429, and has troubles by the clock: see
// [Trouble]. What they serve follows from the time alone: a list of items, and each item
// by itself, as many as make up 80 % of the ceiling.
package soak

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Window allows at most Count requests in any Per.
type Window struct {
	Count int
	Per   time.Duration
}

// A Spec describes a provider.
type Spec struct {
	Name     string
	Ceilings []Window
}

// Specs are the four providers.
func Specs() []Spec {
	return []Spec{
		{"coingecko", []Window{{5, time.Second}, {30, time.Minute}}},
		{"etherscan", []Window{{5, time.Second}, {100_000, 24 * time.Hour}}},
		{"mempool", []Window{{1, time.Second}}},
		{"fx", []Window{{10, time.Minute}}},
	}
}

// Load is the share of its strictest ceiling that a provider is asked at.
const Load = 0.8

// listRequests are those that a walk of the list takes: a page, and the empty one behind.
const listRequests = 2

// ItemsPerMinute returns how many items are added in a minute.
func (s Spec) ItemsPerMinute() float64 {
	least := 0.0
	for _, w := range s.Ceilings {
		if rate := float64(w.Count) / w.Per.Minutes(); least == 0 || rate < least {
			least = rate
		}
	}
	return Load*least - listRequests
}

// A Trouble is what is wrong with a provider at a time.
type Trouble string

// The troubles. In each cycle a provider has one after the other, with peace between
// them.
const (
	Peace  Trouble = ""
	Storm  Trouble = "storm"  // everything is answered 429, in every other cycle without Retry-After
	Outage Trouble = "outage" // everything is answered 502
	Slow   Trouble = "slow"   // every answer takes 3 s
	Cut    Trouble = "cut"    // the connection ends without an answer
	Ban    Trouble = "ban"    // everything is answered 403; in the first cycle only
)

// troubles are the shares of a cycle that have a trouble.
var troubles = []struct {
	from, to float64
	what     Trouble
}{
	{0.10, 0.12, Storm},
	{0.30, 0.37, Outage},
	{0.55, 0.60, Slow},
	{0.80, 0.81, Cut},
}

// Cycle is the time after which a provider's troubles come again: each about once an
// hour. It is no multiple of the time between runs, so that a trouble does not always
// meet the same minute of a run.
const Cycle = 61 * time.Minute

// A Server is one provider at work. It is an http.Handler, and safe for concurrent use.
type Server struct {
	Spec
	cycle  time.Duration
	offset time.Duration // of the cycle, so that not all have a trouble at once
	banned bool          // it answers 403 for two minutes, two minutes after its start
	start  time.Time

	mu       sync.Mutex
	ended    time.Time // from when on there are no troubles, and no new items
	sent     []time.Time
	statuses map[int]int
	early    int // requests inside a Retry-After
	until    time.Time
}

// NewServer returns a provider whose troubles come again after each cycle. The third
// one is banned once.
func NewServer(spec Spec, place int, cycle time.Duration) *Server {
	return &Server{
		Spec: spec, cycle: cycle, offset: cycle * time.Duration(place) / 4, banned: place == 2, start: time.Now(), statuses: map[int]int{},
	}
}

// Calm ends all troubles, and the growth of the list.
func (s *Server) Calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = time.Now()
}

// Statuses returns how many requests were answered with which status, 0 for none, and
// how many came before the end of a Retry-After.
func (s *Server) Statuses() (statuses map[int]int, early int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.statuses), s.early
}

// trouble returns what is wrong at a time after the start.
func (s *Server) trouble(age time.Duration) (what Trouble, bare bool) {
	if s.banned && age >= 2*time.Minute && age < 4*time.Minute {
		return Ban, false
	}
	in := float64((age+s.offset)%s.cycle) / float64(s.cycle)
	for _, t := range troubles {
		if in >= t.from && in < t.to {
			return t.what, (age+s.offset)/s.cycle%2 == 1
		}
	}
	return Peace, false
}

// Items returns how many items there are at a time.
func (s *Server) Items(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended.IsZero() {
		now = s.ended
	}
	return int(now.Sub(s.start).Minutes() * s.ItemsPerMinute())
}

// mostListed is how many items a page of the list has at most.
const mostListed = 1000

// ServeHTTP answers /list?since=N with the ids behind N, and /items/N with an item.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	trouble, bare, allowed := s.admit(now)
	if trouble == Slow {
		select {
		case <-time.After(3 * time.Second):
		case <-r.Context().Done():
			return
		}
	}
	status, retry := http.StatusOK, 0
	switch {
	case trouble == Cut:
		s.answered(0, now, 0)
		panic(http.ErrAbortHandler)
	case trouble == Ban:
		status = http.StatusForbidden
	case trouble == Outage:
		status = http.StatusBadGateway
	case trouble == Storm && bare:
		status = http.StatusTooManyRequests
	case trouble == Storm:
		status, retry = http.StatusTooManyRequests, 15
	case !allowed:
		status, retry = http.StatusTooManyRequests, 2
	}
	s.answered(status, now, retry)
	if retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retry))
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if id, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/items/")); err == nil {
		_ = json.NewEncoder(w).Encode(ItemOf(id))
		return
	}
	_ = json.NewEncoder(w).Encode(s.list(r.URL.Query().Get("since"), now))
}

// An Item is what a provider serves.
type Item struct {
	ID   int    `json:"id"`
	Text string `json:"text,omitempty"`
}

// ItemOf returns the item with an id.
func ItemOf(id int) Item { return Item{id, fmt.Sprintf("item %d, Łódź", id)} }

// A page is one of the list.
type page struct {
	Results []Item `json:"results"`
	Last    string `json:"last_seq"`
}

// list returns the page behind a token.
func (s *Server) list(since string, now time.Time) page {
	at, _ := strconv.Atoi(since)
	p := page{Results: []Item{}}
	for all := s.Items(now); at < all && len(p.Results) < mostListed; {
		at++
		p.Results = append(p.Results, Item{ID: at})
	}
	p.Last = strconv.Itoa(at)
	return p
}

// admit notes a request, and returns the trouble of the moment and whether the ceilings
// allow for it.
func (s *Server) admit(now time.Time) (trouble Trouble, bare, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.until) {
		s.early++
	}
	if s.ended.IsZero() {
		trouble, bare = s.trouble(now.Sub(s.start))
	}
	allowed = true
	for _, w := range s.Ceilings {
		if n := len(s.sent) - w.Count; n >= 0 && now.Sub(s.sent[n]) < w.Per {
			allowed = false
		}
	}
	if allowed {
		s.sent = append(s.sent, now)
	}
	return trouble, bare, allowed
}

func (s *Server) answered(status int, now time.Time, retry int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[status]++
	if until := now.Add(time.Duration(retry) * time.Second); retry > 0 && until.After(s.until) {
		s.until = until
	}
}
