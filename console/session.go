package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// A Role says what a person may do.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // looks
	Operator Role = "operator" // looks, and gives orders
)

const (
	sessionLasts = 30 * 24 * time.Hour
	mostSessions = 1000 // at once; the oldest ends for a new one
	mostLinks    = 100  // unused, at once
)

// A person is who a session belongs to.
type person struct {
	Name  string
	Role  Role
	since time.Time
}

// Orders reports whether the person may give orders.
func (p person) Orders() bool { return p.Role == Operator }

// sessions are who is signed in, and who may sign in. Secrets are kept as their
// hashes only, in memory only.
type sessions struct {
	name string // of the cookie: browsers do not tell ports apart, so it has the port in it

	mu    sync.Mutex
	links map[[sha256.Size]byte]person
	open  map[[sha256.Size]byte]person
}

// link returns a new secret that signs a person in once.
func (s *sessions) link(name string, role Role) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return add(&s.links, person{name, role, time.Now()}, mostLinks)
}

// signIn takes a link for a session, and returns its secret; ok is false if there is
// no such link any more.
func (s *sessions) signIn(link string) (secret string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(link))
	p, ok := s.links[key]
	if !ok {
		return "", false
	}
	delete(s.links, key)
	p.since = time.Now()
	return add(&s.open, p, mostSessions), true
}

// unused returns who a link is for that was not used yet.
func (s *sessions) unused(link string) (p person, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok = s.links[sha256.Sum256([]byte(link))]
	return p, ok
}

// add makes a secret for a person, and forgets the oldest of more than most.
func add(all *map[[sha256.Size]byte]person, p person, most int) string {
	if *all == nil {
		*all = map[[sha256.Size]byte]person{}
	}
	if len(*all) >= most {
		var oldest [sha256.Size]byte
		first := time.Time{}
		for key, other := range *all {
			if first.IsZero() || other.since.Before(first) {
				oldest, first = key, other.since
			}
		}
		delete(*all, oldest)
	}
	var secret [32]byte
	rand.Read(secret[:])
	text := base64.RawURLEncoding.EncodeToString(secret[:])
	(*all)[sha256.Sum256([]byte(text))] = p
	return text
}

// of returns who sends a request; ok is false for a stranger.
func (s *sessions) of(r *http.Request) (p person, ok bool) {
	cookie, err := r.Cookie(s.name)
	if err != nil {
		return person{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok = s.open[sha256.Sum256([]byte(cookie.Value))]
	return p, ok && time.Since(p.since) < sessionLasts
}

// end signs the sender of a request out.
func (s *sessions) end(r *http.Request) {
	if cookie, err := r.Cookie(s.name); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, sha256.Sum256([]byte(cookie.Value)))
	}
}

// cookie returns a cookie for all pages of the console.
func (s *Server) cookie(name, value string, lasts time.Duration) *http.Cookie {
	return &http.Cookie{ // #nosec G124 -- on loopback the console has no TLS, and Secure would keep the cookie away
		Name: name, Value: value, Path: cmp.Or(s.prefix, "/"), MaxAge: int(lasts.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.URL != nil && s.URL.Scheme == "https",
	}
}

// showLogin shows what a link is for. It does not use the link up: programs that
// show a preview of links open them, too.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) {
	p, ok := s.sessions.unused(r.FormValue("link"))
	if !ok {
		s.refuseLink(w, r)
		return
	}
	s.show(w, r, http.StatusOK, "login", "Sign in", p)
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	secret, ok := s.sessions.signIn(r.FormValue("link"))
	if !ok {
		s.refuseLink(w, r)
		return
	}
	http.SetCookie(w, s.cookie(s.sessions.name, secret, sessionLasts))
	http.Redirect(w, r, s.path(""), http.StatusSeeOther)
}

func (s *Server) refuseLink(w http.ResponseWriter, r *http.Request) {
	notice := notice{
		Headline: "This link does not sign in",
		Why:      "A link works once. This one was used before, or belongs to a console that has ended since.",
		Do: []step{
			{Say: "start the console again, which prints new links:", Command: "collect serve" + s.Flags},
			{Say: "or let an operator who is signed in make a link for you, on the page Settings"},
		},
	}
	if _, ok := s.sessions.of(r); ok {
		notice.Do = append(notice.Do, step{Say: "you are signed in already: go on with the overview", Href: s.path("")})
	}
	s.show(w, r, http.StatusForbidden, "notice", "Sign in", notice)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(r)
	http.SetCookie(w, s.cookie(s.sessions.name, "", -time.Second))
	http.Redirect(w, r, s.path(""), http.StatusSeeOther)
}
