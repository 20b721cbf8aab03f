// Package provider is a third party to practise on: an HTTP API that serves
// known records and misbehaves by script.
//
// What it serves follows from [Script.Seed] alone, so that a test can compare
// a store with [Server.Records], record by record and byte by byte. The
// records are awkward on purpose: integers above 2^53, decimals with trailing
// zeros, escapes that a re-encoder would change, odd white space, ties in the
// time of update.
//
// Streams and where they are:
//
//	/tickets?page=&per_page=           {"items":[…],"page":1,"total_pages":20,"total":2000}
//	/offset/tickets?offset=&limit=     {"items":[…],"total":2000}
//	/cursor/tickets?cursor=            {"items":[…],"next_cursor":"…"}, null at the end
//	/link/tickets                      […] and a Link header with rel="next"
//	/next/tickets                      {"items":[…],"next":"http://…"}; relative=1 for a path only
//	/last/tickets?starting_after=      {"items":[…],"has_more":true}
//	/tickets/{id}                      the detail of one ticket, an object
//	/parents?page=                     {"items":[…],"page":1,"total_pages":1,"total":25}
//	/parents/{id}/children?page=       likewise; some parents have none, some fill their last page
//	/flat?page=&per_page=              likewise; 20,000 small records, rendered before they are asked for
//	/oauth/token                       access tokens, if the script has an [Issuer]
//	/oauth/authorize, device, revoke   where a person signs in and out, if the issuer has one
//
// A page holds 100 records unless per_page (or limit) asks for fewer. The
// ticket lists take updated_since=TIME, which returns tickets updated at that
// time or later, oldest first, and exclusive=1 with it, which leaves out the
// time itself. sort=updated gives the same order without a filter.
//
// # Misbehaviour
//
// A [Mode] stands between the client and the records: [Limit] refuses requests that
// come too fast, [SlowDown] queues them, [Refuse] singles out records, [Instead]
// answers with one of the named [Faults]. [During] confines modes to paths,
// to a range of requests, or to a span of time. The same faults can be asked
// for by name at /bad/{fault}. [ParseMode] reads a mode from text.
//
// # What it saw
//
// Every request is in the log, with its status, whether it carried a
// credential, and whether it came inside a Retry-After that had been sent.
// Judge a client by this log and not by its own counters. Go code calls
// [Server.Log] and [Server.Stats]; scripts read and steer over HTTP, and such
// requests are neither logged nor delayed:
//
//	/_provider/log               the log, one JSON object a line
//	/_provider/stats             the counters
//	/_provider/records?stream=   what Records returns, one record a line
//	/_provider/await-stuck       answers when a request hangs in the fault "stuck"
//	/_provider/release           lets stuck requests go on, from now on
//	/_provider/touch?id=         updates a ticket
//	/_provider/mode?set=         replaces the modes; empty: none
//	/_provider/revoke?all=true   takes access tokens back; with all, the refresh token as well
//	/_provider/sign-in           answers with a new refresh token
package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Script says what a provider serves and how it misbehaves. The zero Script
// serves 2,000 tickets to everyone, at any speed.
type Script struct {
	Seed    uint64
	Tickets int     // how many tickets there are (2,000)
	Parents int     // how many parents there are (25)
	Flat    int     // how many flat records there are (20,000)
	Token   string  // the bearer token to ask for; "": none is needed
	Issuer  *Issuer // grants the tokens to ask for; nil: none are granted
	Modes   []Mode  // the outermost first
}

// A Server is a provider at work. It is an http.Handler; [Server.Start] gives
// it a port of its own. It is safe for concurrent use.
type Server struct {
	script Script
	data   *dataset
	log    journal
	stuck  gate
	routes *http.ServeMux

	mu      sync.Mutex
	handler http.Handler // the modes around the routes
	tokens  *tokens      // nil: none are granted
	server  *http.Server
	url     string

	connections atomic.Int64 // are open
}

// New returns a provider that follows script.
func New(script Script) *Server {
	script.Tickets = cmp.Or(script.Tickets, 2000)
	script.Parents = cmp.Or(script.Parents, 25)
	script.Flat = cmp.Or(script.Flat, 20_000)
	s := &Server{
		script: script,
		data:   newDataset(script),
		stuck:  newGate(),
		routes: http.NewServeMux(),
	}
	s.addStreams()
	s.addFaults()
	s.addControls()
	s.Issue(script.Issuer)
	s.SetModes(script.Modes...)
	return s
}

// SetModes replaces the modes, the outermost first. What the old ones had
// counted is forgotten; requests that are inside them stay there.
func (s *Server) SetModes(modes ...Mode) {
	h := s.authorize(s.routes)
	for i := len(modes) - 1; i >= 0; i-- {
		h = modes[i](s, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// ServeHTTP answers a request as the script says, and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isControl(r) {
		s.routes.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	h := s.handler
	s.mu.Unlock()
	s.log.record(w, r, h)
}

// authorize asks for the script's token, or for one that was granted, if there
// is need of one.
func (s *Server) authorize(next http.Handler) http.Handler {
	accepts := func(bearer string) bool { return s.script.Token == "" || bearer == "Bearer "+s.script.Token }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepts, tokens := accepts, s.issuer()
		if tokens != nil {
			accepts = tokens.serves
		}
		if tokens != nil && r.URL.Path == "/oauth/token" {
			tokens.grant(w, r)
			return
		}
		if tokens != nil && tokens.Person != "" && tokens.signIn(w, r) {
			return
		}
		if !accepts(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="provider"`)
			answer(w, http.StatusUnauthorized, `{"message":"bad credentials"}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Start serves on a free port of 127.0.0.1 until Close, and returns the URL,
// without a slash at its end.
func (s *Server) Start() (url string, err error) {
	return s.StartAt("127.0.0.1:0")
}

// StartAt is Start at an address of the caller's choice.
func (s *Server) StartAt(addr string) (url string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil {
		return "", errors.New("provider: already started")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("provider: %w", err)
	}
	// A client that never finishes its header must not hold a connection for
	// longer than a test may take.
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ConnState: s.count}
	s.url = "http://" + l.Addr().String()
	go s.server.Serve(l) // ends with Close
	return s.url, nil
}

// count keeps the number of open connections.
func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.connections.Add(-1)
	}
}

// URL returns where the provider serves; "" if it was never started.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close lets stuck requests go, and ends all connections at once.
func (s *Server) Close() error {
	s.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil {
		return nil
	}
	return s.server.Close()
}

// answer writes a JSON body with a status.
func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write([]byte(body))
}
