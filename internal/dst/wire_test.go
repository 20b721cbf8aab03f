package dst_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A fault is what can become of a request.
type fault string

const (
	lostRequest  fault = "request lost"
	lostResponse fault = "response lost"
	truncated    fault = "truncated"
	silent       fault = "silent"    // no answer in the time that a client waits
	throttled    fault = "throttled" // 429
	asked        fault = "asked"     // 429 with Retry-After
	busy         fault = "busy"      // 503, with Retry-After or without
	broken       fault = "broken"    // 500
	refused      fault = "refused"   // 403
	unknownKey   fault = "401"
	missing      fault = "missing" // 404, of a detail or notes
	html         fault = "html"
	notJSON      fault = "not JSON"
	repeated     fault = "repeated" // the page before, once more
	circle       fault = "circle"   // the cursor that was asked for
)

var faultOrder = []fault{lostRequest, lostResponse, truncated, silent, throttled, asked, busy, broken, refused,
	unknownKey, missing, html, notJSON, repeated, circle}

// A wire is the network and the provider at the end of it, and keeps the log
// by which the provider judges its client.
type wire struct {
	h *history

	mu       sync.Mutex
	world    *world
	calm     bool           // no faults, no changes
	arrivals int            // of all processes
	times    map[string]int // arrivals, by what was asked for
	leads    map[string]string
	holds    []hold
	strikes  int // refusals of the account in a row

	forgotten forgotten
}

// A hold is a time of silence that the provider asked for. It binds the
// process that was told; later processes are bound if it was saved, which is
// what must happen before anything else leaves.
type hold struct {
	told, until time.Time
	stored      time.Time // its end as it was saved, for other processes: less if the clock was set forward
	by          *process
	saved       bool
	freeze      bool
}

// end returns when the silence ends for a process.
func (h hold) end(p *process) time.Time {
	if h.by == p {
		return h.until
	}
	return h.stored
}

// A conn is the wire as one process has it.
type conn struct {
	*wire
	p *process
}

var errLost = &netError{errors.New("connection reset")}

type netError struct{ error }

func (e *netError) Unwrap() error { return syscall.ECONNRESET }

// RoundTrip carries a request to the provider and back, or not.
func (c conn) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.p.isDead() {
		return nil, errKilled
	}
	left := time.Now()
	c.p.wait("sends ", req.URL.Path, "?", req.URL.RawQuery)
	if c.p.isDead() {
		return nil, errKilled
	}
	what, n, f := c.arrive(req.URL, left)
	delay := time.Duration(20+400*c.h.plan.chance(n, "delay ", what)) * time.Millisecond
	if f == silent {
		delay = time.Duration(35+60*c.h.plan.chance(n, "silent ", what)) * time.Second
	}
	if f == lostRequest {
		return nil, errLost
	}
	status, header, body := c.serve(req.URL, what, n, f)
	select {
	case <-time.After(delay):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	c.p.awake("hears of ", what)
	if c.p.isDead() {
		return nil, errKilled
	}
	if f == lostResponse {
		return nil, errLost
	}
	c.delivered(what, req.Context().Value(pageKey{}) == what, status, header, f != truncated)
	resp := &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Request: req, ContentLength: int64(len(body)),
	}
	if f == truncated {
		body = body[:len(body)*2/3]
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// arrive logs a request at the moment it leaves, and draws what becomes of it.
func (c conn) arrive(u *url.URL, left time.Time) (what string, n int, f fault) {
	now := time.Now()
	c.mu.Lock()
	c.arrivals++
	at := c.arrivals
	what = u.Path + "?" + u.RawQuery
	c.times[what]++
	n = c.times[what]
	c.checkHolds(left, what)
	if !c.calm {
		f = c.h.plan.faultFor(what, n)
		if c.h.plan.chance(at, "change") < c.h.plan.changes {
			c.world.change(now)
		}
		if o := c.h.plan.outage; o[0] < at && at <= o[1] {
			f = busy
		}
	}
	if f != "" {
		c.h.count(string(f))
	}
	c.mu.Unlock()
	c.h.note("%s -> %s #%d %s", c.p.name, what, n, f)
	c.p.onRequest()
	return what, n, f
}

// checkHolds is I12 and the freeze: no request leaves before the end of a
// silence that its process knows of.
func (c conn) checkHolds(now time.Time, what string) {
	for _, h := range c.holds {
		knows := h.by == c.p || h.saved
		if knows && now.After(h.told) && now.Before(h.end(c.p)) && !c.p.isFenced() {
			name := "I12: asked to wait"
			if h.freeze {
				name = "I12: frozen"
			}
			c.h.violate("%s until %s, %s sent %s", name, clock(h.end(c.p)), c.p.name, what)
		}
	}
	if c.p.cap() > 0 && c.p.sent() >= c.p.cap() {
		c.h.violate("I10: %s has a cap of %d and sent one more", c.p.name, c.p.cap())
	}
}

// serve answers a request as the provider does at this moment.
func (c conn) serve(u *url.URL, what string, n int, f fault) (status int, header http.Header, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	header = http.Header{"Content-Type": {"application/json"}}
	if c.h.plan.dated() {
		header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	list := u.Path == "/items"
	switch f {
	case throttled:
		return 429, header, []byte(`{}`)
	case asked:
		header.Set("Retry-After", c.h.plan.retryAfter(what, n))
		return 429, header, []byte(`{}`)
	case busy:
		if c.h.plan.chance(n, "busy ", what) < 0.3 {
			header.Set("Retry-After", c.h.plan.retryAfter(what, n))
		}
		return 503, header, []byte(`{}`)
	case broken:
		return 500, header, []byte(`{}`)
	case refused:
		return 403, header, []byte(`{}`)
	case unknownKey:
		return 401, header, []byte(`{}`)
	case html:
		return 200, http.Header{"Content-Type": {"text/html"}}, []byte("<html><body>Sign in</body></html>")
	case missing:
		if !list {
			return 404, header, []byte(`{}`)
		}
	}
	asks, q := u.RawQuery, u.Query()
	token := q.Get("cursor")
	if c.forgot(u.Path, token, what, n) {
		return 404, header, []byte(`{}`)
	}
	if f == repeated && token != "" {
		if before, ok := c.leads[u.Path+token]; ok && !c.h.plan.kind.ordered(list) {
			asks = before
			q, _ = url.ParseQuery(asks)
		}
	}
	if id, ok := strings.CutPrefix(u.Path, "/items/"); ok && !strings.Contains(id, "/") && c.world.byID[id].gone {
		return 410, header, []byte(`{}`)
	}
	body, next, ok := c.world.answer(u.Path, q)
	if !ok {
		c.h.violate("I5: %s sent a cursor for %s that it was never given", c.p.name, u.Path)
		return 400, header, []byte(`{}`)
	}
	if next != "" {
		c.leads[u.Path+next] = asks
		c.givesOut(u.Path, next)
		if f == circle && token != "" {
			body = []byte(strings.Replace(string(body), quoted(next), quoted(token), 1))
		}
	}
	if f == notJSON {
		body = body[:len(body)*2/3]
	}
	return 200, header, body
}

// ordered reports whether the list of items is asked for by marks that move,
// so that a page has no page before it.
func (k kind) ordered(list bool) bool { return list && (k == after || k == from) }

// retryAfter draws what the provider asks for, in seconds.
func (p plan) retryAfter(what string, n int) string {
	seconds := []int{1, 5, 30, 120, 290, 400, 1800}
	return fmt.Sprint(seconds[int(p.chance(n, "retry-after ", what)*float64(len(seconds)))])
}

// delivered logs what the client was told at this moment of what it asked for. A
// refusal of one piece, after another was readable, freezes nothing yet: the
// client asks once more for the latest that was, its witness, and a refusal of
// that freezes. Own says that the connector asked for it, and no refusal did.
func (c conn) delivered(what string, own bool, status int, header http.Header, whole bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if after := header.Get("Retry-After"); after != "" {
		d, _ := time.ParseDuration(after + "s")
		c.holds = append(c.holds, hold{told: now, until: now.Add(d), stored: now.Add(d), by: c.p})
		c.h.count("hold")
	}
	switch {
	case status != 200 || !whole:
	case c.astray(what, header):
		status = http.StatusBadGateway // it is no better than that
		c.h.count("web page instead")
	default:
		c.p.readable = what
	}
	switch {
	case what == c.p.witness && !own:
		c.p.witness = ""
	case status == 403 && strings.HasPrefix(what, "/items/") && c.p.readable != "" && c.p.readable != what:
		c.p.witness = cmp.Or(c.p.witness, c.p.readable)
		c.h.count("refused, and asked for another")
		return
	}
	if status != 403 {
		if status < 400 || status == http.StatusNotFound || status == http.StatusGone {
			c.strikes = 0 // the account was let in
		}
		return
	}
	for _, h := range c.holds {
		if h.freeze && !now.After(h.end(c.p)) {
			return // it had left before the freeze, and is the same refusal
		}
	}
	if c.p.lostLease() {
		return // it cannot be saved, so that no other process knows of it
	}
	c.strikes++
	until := now.Add(15 * time.Minute << min(c.strikes-1, 2))
	if c.strikes >= 3 {
		until = now.AddDate(100, 0, 0)
	}
	c.holds = append(c.holds, hold{told: now, until: until, stored: until, by: c.p, freeze: true})
	c.h.count("freeze")
}

// astray reports whether a web page came for a stream that was answered with none in this process, but with
// something else, and notes what came if not. The wire is locked.
func (c conn) astray(what string, header http.Header) bool {
	stream, page := "items", header.Get("Content-Type") == "text/html"
	if path, _, _ := strings.Cut(what, "?"); path != "/items" {
		stream = path[strings.LastIndexByte(path, '/')+1:]
		if stream != "notes" {
			stream = "details"
		}
	}
	had, known := c.p.answered[stream]
	if page && known && !had {
		return true
	}
	if c.p.answered == nil {
		c.p.answered = map[string]bool{}
	}
	c.p.answered[stream] = had || page
	return false
}

// savedUntil notes which silences a process has saved.
func (w *wire) savedUntil(p *process, hold time.Time, frozen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.holds {
		h := &w.holds[i]
		if h.by == p && (h.freeze && frozen || !h.freeze && !hold.Before(h.until)) {
			h.saved, h.stored = true, h.until
		}
	}
}

// arrived returns the number of requests so far.
func (w *wire) arrived() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arrivals
}

// holding reports whether a silence that another process was told of is not
// over.
func (w *wire) holding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.holds, func(h hold) bool { return h.saved && time.Now().Before(h.stored) })
}

// released forgets the freezes: an operator has settled it.
func (w *wire) released() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.strikes = 0
	for i := range w.holds {
		if w.holds[i].freeze {
			w.holds[i].until, w.holds[i].stored = time.Now(), time.Now()
		}
	}
}
