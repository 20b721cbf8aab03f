package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// How a person signs in at an issuer. It follows the standards to the letter, so that
// a client that does not is refused: RFC 6749 (section 4.1), RFC 7636 with S256 only,
// RFC 8252 (a loopback address, at any port), RFC 8628 and RFC 7009. The person is
// played by the settings: they agree, deny, or never come.

// What the person does.
const (
	agrees = "agrees"
	denies = "denies"
	stays  = "stays" // away, so that a code of a device expires
)

// A code is what a browser brings back, and what a token is granted for.
type code struct {
	redirect  string
	challenge string
}

// A device waits for a person.
type device struct {
	polls    int
	asked    time.Time
	interval time.Duration
	ends     time.Time
}

const (
	deviceInterval = 5 * time.Second
	deviceLife     = 10 * time.Minute
)

// signIn answers what a person and their client ask for before there is a token. It
// reports whether the path is one of those.
func (t *tokens) signIn(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/oauth/authorize":
		t.authorize(w, r)
	case "/oauth/device":
		t.startDevice(w, r)
	case "/oauth/revoke":
		t.revoke(w, r)
	default:
		return false
	}
	return true
}

// authorize is where a browser begins. What is wrong with the client or with the way
// back is said to the person, and goes nowhere.
func (t *tokens) authorize(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := r.URL.Query()
	id, _, _ := strings.Cut(t.Client, ":")
	back, err := url.Parse(q.Get("redirect_uri"))
	switch {
	case q.Get("client_id") != id:
		http.Error(w, "no such client", http.StatusBadRequest)
		return
	case err != nil || back.Scheme != "http" || back.Hostname() != "127.0.0.1" || back.Port() == "" || back.Path != "/callback" || back.RawQuery != "":
		http.Error(w, "not a redirect_uri of this client", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	switch {
	case q.Get("response_type") != "code" || len(q.Get("state")) < 8 || len(q.Get("code_challenge")) != 43 || q.Get("code_challenge_method") != "S256":
		answer.Set("error", "invalid_request")
	case t.Person == denies:
		answer.Set("error", "access_denied")
	default:
		t.granted++
		name := fmt.Sprint("code-", t.granted)
		t.codes[name] = code{back.String(), q.Get("code_challenge")}
		answer.Set("code", name)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// redeem grants a token for a code, once. t.mu is held.
func (t *tokens) redeem(w http.ResponseWriter, r *http.Request) {
	name := r.PostFormValue("code")
	c, ok := t.codes[name]
	delete(t.codes, name)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || r.PostFormValue("redirect_uri") != c.redirect || base64.RawURLEncoding.EncodeToString(sum[:]) != c.challenge {
		answer(w, http.StatusBadRequest, `{"error":"invalid_grant"}`)
		return
	}
	t.first(w)
}

// first grants the first tokens to a person who signed in.
func (t *tokens) first(w http.ResponseWriter) {
	t.before, t.refresh = "", fmt.Sprint("refresh-", t.granted+1)
	t.write(w, t.refresh)
}

func (t *tokens) startDevice(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, _, _ := strings.Cut(t.Client, ":")
	if r.Method != http.MethodPost || r.PostFormValue("client_id") != id {
		answer(w, http.StatusUnauthorized, `{"error":"invalid_client"}`)
		return
	}
	t.granted++
	name := fmt.Sprint("device-", t.granted)
	now := time.Now()
	interval := deviceInterval
	if t.Poll > 0 {
		interval = t.Poll
	}
	t.devices[name] = &device{asked: now, interval: interval, ends: now.Add(deviceLife)}
	body, _ := json.Marshal(map[string]any{ // texts and numbers always encode
		"device_code": name, "user_code": "WDJB-MJHT", "verification_uri": "http://" + r.Host + "/device",
		"verification_uri_complete": "http://" + r.Host + "/device?user_code=WDJB-MJHT",
		"expires_in":                int(deviceLife.Seconds()), "interval": int(interval.Seconds()),
	})
	answer(w, http.StatusOK, string(body))
}

// poll answers who asks whether the person has come: they do after two polls. Who
// asks too early has to be slower from then on. t.mu is held.
func (t *tokens) poll(w http.ResponseWriter, r *http.Request) {
	d, ok := t.devices[r.PostFormValue("device_code")]
	now := time.Now()
	refuse := func(code string) { answer(w, http.StatusBadRequest, fmt.Sprintf(`{"error":%q}`, code)) }
	switch {
	case !ok:
		refuse("invalid_grant")
		return
	case now.After(d.ends):
		refuse("expired_token")
		return
	case now.Sub(d.asked) < d.interval-d.interval/50: // a clock may be a little off
		d.interval += 5 * time.Second
		d.asked = now
		refuse("slow_down")
		return
	}
	d.asked = now
	d.polls++
	switch {
	case t.Slow > 0 && d.polls == 1: // one that wants less, whatever was agreed
		d.interval += t.Slow
		refuse("slow_down")
	case t.Person == stays, d.polls < 3 && t.Person != denies:
		refuse("authorization_pending")
	case t.Person == denies:
		refuse("access_denied")
	default:
		delete(t.devices, r.PostFormValue("device_code"))
		t.first(w)
	}
}

// revoke takes a token back (RFC 7009). One that is not known is no mistake.
func (t *tokens) revoke(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isClient(r) {
		answer(w, http.StatusUnauthorized, `{"error":"invalid_client"}`)
		return
	}
	if t.refreshes(r.PostFormValue("token")) {
		t.refresh, t.before, t.access = "", "", map[string]int{}
	}
	w.WriteHeader(http.StatusOK)
}

// isClient reports whether a request shows the id and the secret of the client.
func (t *tokens) isClient(r *http.Request) bool {
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	return t.Client == "" || t.Client == id+":"+secret
}
