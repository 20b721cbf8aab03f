package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Issuer grants the access tokens that the provider then asks for, at
// /oauth/token (RFC 6749). Its tokens are numbered, so that a test knows each:
// access-1, refresh-1 and so on. The zero Issuer grants tokens without end to
// everybody who asks with client credentials.
type Issuer struct {
	Client  string        // the client's id and secret, app:s3cret; "": anybody
	Refresh string        // the first refresh token; "": there are none
	Strict  bool          // a refresh token is dead when it was used, and not when the one after it was
	Life    time.Duration // what expires_in says; 0: nothing
	Uses    int           // requests that an access token is good for; 0: any number

	Person string        // what a person does who should sign in: agrees, denies or stays away; "": nobody can sign in
	Poll   time.Duration // between two polls of a device; 0: 5 s
	Slow   time.Duration // by which the first poll of a device is told to slow down; 0: it is not
}

// ParseIssuer reads an issuer from settings, separated by spaces:
//
//	client=app:s3cret refresh=r0 strict=true life=1h uses=3 person=agrees poll=1s
func ParseIssuer(text string) (*Issuer, error) {
	is := &Issuer{}
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		var err error
		switch name {
		case "client":
			is.Client = value
		case "refresh":
			is.Refresh = value
		case "strict":
			is.Strict, err = strconv.ParseBool(value)
		case "life":
			is.Life, err = time.ParseDuration(value)
		case "person":
			is.Person = value
		case "poll":
			is.Poll, err = time.ParseDuration(value)
		case "uses":
			is.Uses, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("there is no such setting")
		}
		if err != nil {
			return nil, fmt.Errorf("provider: issuer: %s: %w", field, err)
		}
	}
	return is, nil
}

// tokens are what an issuer has granted.
type tokens struct {
	Issuer

	mu      sync.Mutex
	granted int
	refresh string         // the latest refresh token
	before  string         // the one before, until the latest was used; "": there is none
	access  map[string]int // uses of each
	latest  string         // of them
	relied  bool           // the latest was used

	codes   map[string]code    // of browsers
	devices map[string]*device // that wait
}

// Issue grants tokens from now on as the issuer says; nil: none, and none is
// asked for. What was granted before does not count any more.
func (s *Server) Issue(is *Issuer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens = nil; is != nil {
		s.tokens = &tokens{Issuer: *is, refresh: is.Refresh, access: map[string]int{}, codes: map[string]code{}, devices: map[string]*device{}}
	}
}

// Revoke takes all access tokens back; with all, the refresh token as well.
func (s *Server) Revoke(all bool) {
	t := s.issuer()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.access = map[string]int{}
	if all {
		t.refresh, t.before = "", ""
	}
}

// SignIn returns a new refresh token, as if its owner had signed in again.
func (s *Server) SignIn() string {
	t := s.issuer()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.granted++
	t.refresh, t.before = fmt.Sprint("refresh-", t.granted), ""
	return t.refresh
}

// Refreshes reports whether token is a refresh token that is granted for.
func (s *Server) Refreshes(token string) bool {
	t := s.issuer()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refreshes(token)
}

// Relied reports whether the latest access token was used: the client that did that
// should have kept the refresh token that came with it.
func (s *Server) Relied() bool {
	t := s.issuer()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.relied
}

func (s *Server) issuer() *tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}

// serves reports whether an access token counts, and counts its use.
func (t *tokens) serves(bearer string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, _ := strings.CutPrefix(bearer, "Bearer ")
	used, ok := t.access[token]
	t.access[token] = used + 1
	t.relied = t.relied || token == t.latest
	if !ok || t.Uses > 0 && used >= t.Uses {
		delete(t.access, token)
		return false
	}
	return true
}

func (t *tokens) refreshes(token string) bool {
	return token != "" && (token == t.refresh || token == t.before)
}

// grant answers a request for a token.
func (t *tokens) grant(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	grant := r.PostFormValue("grant_type")
	switch presented := r.PostFormValue("refresh_token"); {
	case !t.isClient(r):
		answer(w, http.StatusUnauthorized, `{"error":"invalid_client"}`)
	case t.Person != "" && grant == "authorization_code":
		t.redeem(w, r)
	case t.Person != "" && grant == "urn:ietf:params:oauth:grant-type:device_code":
		t.poll(w, r)
	case t.Refresh == "" && grant == "client_credentials":
		t.write(w, "")
	case t.Refresh == "" && t.Person == "" || grant != "refresh_token":
		answer(w, http.StatusBadRequest, `{"error":"unsupported_grant_type"}`)
	case !t.refreshes(presented):
		answer(w, http.StatusBadRequest, `{"error":"invalid_grant"}`)
	default:
		t.before = presented
		if t.Strict {
			t.before = ""
		}
		t.refresh = fmt.Sprint("refresh-", t.granted+1)
		t.write(w, t.refresh)
	}
}

// write grants the next token.
func (t *tokens) write(w http.ResponseWriter, refresh string) {
	t.granted++
	access := fmt.Sprint("access-", t.granted)
	t.access[access], t.latest, t.relied = 0, access, false
	body := map[string]any{"access_token": access, "token_type": "Bearer"}
	if refresh != "" {
		body["refresh_token"] = refresh
	}
	if t.Life > 0 {
		body["expires_in"] = int(t.Life.Seconds())
	}
	text, _ := json.Marshal(body) // texts and numbers always encode
	answer(w, http.StatusOK, string(text))
}
