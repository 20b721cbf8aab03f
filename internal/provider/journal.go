package provider

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// onTheWire is how long after a Retry-After went out a request may still
// arrive and count as sent before it: a generous round trip on loopback, also
// on a machine that is busy with a test run.
const onTheWire = 50 * time.Millisecond

// An Entry is one request as the provider saw it.
type Entry struct {
	N          int       `json:"n"` // from 1, in the order of arrival
	Time       time.Time `json:"time"`
	Path       string    `json:"path"`
	Query      string    `json:"query,omitempty"`
	Status     int       `json:"status"`         // 0: none was sent
	Credential bool      `json:"credential"`     // an Authorization header or cookie came with it
	Early      bool      `json:"early"`          // it came inside a Retry-After that had been sent
	Mode       string    `json:"mode,omitempty"` // what misbehaved, if anything did
}

// Stats counts what the log holds.
type Stats struct {
	Requests    int            `json:"requests"`
	ByStatus    map[int]int    `json:"by_status"` // 0: none was sent
	ByMode      map[string]int `json:"by_mode"`
	Credentials int            `json:"credentials"`
	Early       int            `json:"early"` // came inside a Retry-After that had been sent
	InFlight    int            `json:"in_flight"`
	MaxInFlight int            `json:"max_in_flight"`
	Stuck       int            `json:"stuck"`       // hang now in the fault "stuck"
	Connections int            `json:"connections"` // are open now: a killed client's stay so until its last request is logged
}

// A journal keeps every request. It grows without bound, as a provider serves
// a test or a demo and not a month.
type journal struct {
	mu          sync.Mutex
	entries     []*Entry
	inFlight    int
	maxInFlight int
	asked       time.Time // when the hold began
	until       time.Time // when it ends
}

type entryKey struct{}

// record lets h answer r and logs it.
func (j *journal) record(w http.ResponseWriter, r *http.Request, h http.Handler) {
	e := j.arrive(r)
	// Deferred, as a handler that drops the connection panics.
	defer j.leave()
	h.ServeHTTP(&recorder{ResponseWriter: w, journal: j, entry: e},
		r.WithContext(context.WithValue(r.Context(), entryKey{}, markFunc(func(mode string) {
			j.mu.Lock()
			defer j.mu.Unlock()
			e.Mode = mode
		}))))
}

// arrive opens an entry for r.
func (j *journal) arrive(r *http.Request) *Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	e := &Entry{
		N:          len(j.entries) + 1,
		Time:       now,
		Path:       r.URL.Path,
		Query:      r.URL.RawQuery,
		Credential: r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "",
		Early:      now.After(j.asked.Add(onTheWire)) && now.Before(j.until),
	}
	j.entries = append(j.entries, e)
	j.inFlight++
	j.maxInFlight = max(j.maxInFlight, j.inFlight)
	return e
}

func (j *journal) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inFlight--
}

// sent notes the status of e, and a Retry-After that went with it.
func (j *journal) sent(e *Entry, status int, retryAfter string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Status = status
	seconds, err := strconv.Atoi(retryAfter)
	if err != nil {
		return
	}
	now := time.Now()
	if !now.Before(j.until) {
		j.asked = now // a new hold; otherwise the one that lasts is extended
	}
	if end := now.Add(time.Duration(seconds) * time.Second); end.After(j.until) {
		j.until = end
	}
}

type markFunc func(mode string)

// mark says in the log of r which mode misbehaved.
func mark(r *http.Request, mode string) {
	if m, ok := r.Context().Value(entryKey{}).(markFunc); ok {
		m(mode)
	}
}

// A recorder tells the journal which status went out.
type recorder struct {
	http.ResponseWriter
	journal *journal
	entry   *Entry
	done    bool
}

func (w *recorder) WriteHeader(status int) {
	if !w.done {
		w.done = true
		w.journal.sent(w.entry, status, w.Header().Get("Retry-After"))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Log returns a copy of the log, in the order of arrival.
func (s *Server) Log() []Entry {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	entries := make([]Entry, len(s.log.entries))
	for i, e := range s.log.entries {
		entries[i] = *e
	}
	return entries
}

// Stats counts the log as it is now.
func (s *Server) Stats() Stats {
	stats := Stats{ByStatus: map[int]int{}, ByMode: map[string]int{}, Stuck: s.stuck.count(), Connections: int(s.connections.Load())}
	for _, e := range s.Log() {
		stats.Requests++
		stats.ByStatus[e.Status]++
		if e.Mode != "" {
			stats.ByMode[e.Mode]++
		}
		if e.Credential {
			stats.Credentials++
		}
		if e.Early {
			stats.Early++
		}
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	stats.InFlight, stats.MaxInFlight = s.log.inFlight, s.log.maxInFlight
	return stats
}

// Forget empties the log. Holds that were asked for stay.
func (s *Server) Forget() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.entries = nil
	s.log.maxInFlight = s.log.inFlight
}
