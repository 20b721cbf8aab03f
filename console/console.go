// Package console is the web console: pages that show what [report] says, and forms
// that give the orders of [engine]. It decides nothing.
//
// # Who may look
//
// A page is shown to who has a session, and a session begins with a link that works
// once. The links are printed by "collect serve": one for an operator, who may give
// orders, and one for a viewer, who may not. Sessions end with the process.
//
// A request for another host than the console's own names is refused: a page of a
// stranger could have its name point to this machine. So is an order that comes from
// the page of another origin, by [http.CrossOriginProtection].
//
// # What a page costs
//
// A GET changes no byte of the store. The store is open only while somebody looks, so
// that between two pages it can be restored or replaced; see [Library]. Pages work
// without JavaScript; with it, their live parts follow the store, see live.go.
package console

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"collect/engine"
	"collect/report/problem"
)

// A Config says what a console shows, and to whom. Zero fields select the
// documented default.
type Config struct {
	Library *Library
	Meeting engine.Meeting // where runs share their pace, and which connectors there are
	State   string         // where the store is, as a person writes it
	Named   bool           // somebody named that place; else it need not exist yet

	URL      *url.URL // the address that people type: its host is allowed, its path is before every path; nil: the host of the listener, and no path
	ReadOnly bool     // no orders, by anybody
	User     string   // who started it, for the audit trail
	Zone     *time.Location
	Version  string
	Flags    string                    // what commands to copy must repeat
	Metrics  http.Handler              // for /metrics; nil: there is no such page
	Bug      func(*problem.PanicError) // reports a bug that a page met; nil: it is not reported
	Idle     func()                    // called when there was no request for a minute; nil: nothing is done then
	Now      func() time.Time          // nil: time.Now
	Log      *slog.Logger              // has each request; nil: none has
}

// A Server is the console.
type Server struct {
	Config
	prefix   string // of every path; "" or as /collect
	hosts    map[string]bool
	sessions sessions
	pages    *template.Template
	results  results
	facts    facts
	live     hub
	fleet    atomic.Bool // there is one beside the store
	handler  http.Handler
}

//go:embed templates assets
var files embed.FS

// New returns the console that is reached at the address of a listener.
func New(c Config, listener net.Addr) (*Server, error) {
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{Config: c, hosts: map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true}}
	if c.URL != nil {
		s.prefix = strings.TrimSuffix(c.URL.Path, "/")
		s.hosts[strings.ToLower(c.URL.Hostname())] = true
	}
	s.sessions.name = "collect_" + portOf(listener)
	s.live.changed = c.Library.Stamp
	var err error
	if s.pages, err = parseTemplates(); err != nil {
		return nil, err
	}
	s.handler = s.guard(s.routes())
	if c.Log != nil {
		s.handler = s.logged(s.handler)
	}
	if c.Idle != nil {
		s.handler = idling(s.handler, func() { s.facts.forget(); c.Idle() })
	}
	return s, nil
}

func portOf(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve serves until ctx ends, and then lets the pages that are under way come to
// their end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	live, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return live },
	}
	server.RegisterOnShutdown(end) // the live parts have no end of their own
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		_ = server.Close() // a reader that is slower than that asks again
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Link returns an address that signs in once.
func (s *Server) Link(base string, name string, role Role) string {
	if s.URL != nil {
		base = s.URL.Scheme + "://" + s.URL.Host
	}
	return base + s.path("login") + "?link=" + s.sessions.link(name, role)
}

// path returns the path of a page of the console.
func (s *Server) path(page string) string { return s.prefix + "/" + page }
