package provider

import (
	"cmp"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Mode is a way to misbehave: it stands in front of next, and lets through
// what it does not care about. It is called once per server, so what it counts
// belongs to that server.
type Mode func(s *Server, next http.Handler) http.Handler

// A When confines a mode. Its zero fields confine nothing. It counts the
// requests to Path that reach it, which those refused further out do not.
type When struct {
	Path  string        // a pattern of path.Match, such as /tickets/*
	From  int           // the first of the requests, counted from 1
	To    int           // the last of them
	After time.Duration // since request From
	Until time.Duration // since request From
}

// During confines modes, the outermost first, to when. Outside of it a
// request goes past all of them.
func During(when When, modes ...Mode) Mode {
	when.From = max(when.From, 1)
	return func(s *Server, next http.Handler) http.Handler {
		inside := next
		for i := len(modes) - 1; i >= 0; i-- {
			inside = modes[i](s, inside)
		}
		var mu sync.Mutex
		var n int
		var from time.Time
		applies := func(now time.Time) bool {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == when.From {
				from = now
			}
			return when.holds(n, now.Sub(from))
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ok, _ := path.Match(when.Path, r.URL.Path); !ok && when.Path != "" || !applies(time.Now()) {
				next.ServeHTTP(w, r)
				return
			}
			inside.ServeHTTP(w, r)
		})
	}
}

// holds reports whether request n, at age after request From, is inside w.
func (w When) holds(n int, age time.Duration) bool {
	return n >= w.From && (w.To == 0 || n <= w.To) &&
		age >= w.After && (w.Until == 0 || age < w.Until)
}

// InTurn hands each of its modes that many requests, and the last one all that
// are left.
func InTurn(each int, modes ...Mode) Mode {
	return func(s *Server, next http.Handler) http.Handler {
		turns := make([]http.Handler, len(modes))
		for i, m := range modes {
			turns[i] = m(s, next)
		}
		var n atomic.Int64
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			turn := int(n.Add(1)-1) / each
			turns[min(turn, len(turns)-1)].ServeHTTP(w, r)
		})
	}
}

// A Refusal is an answer to a client that asks for too much.
type Refusal struct {
	Status     int           // 429 if it is 0
	RetryAfter time.Duration // in the header Retry-After, in whole seconds, rounded up; 0: no header
	HTML       bool          // the body is HTML, as from a proxy, and not JSON
}

// refuse answers and says so in the log.
func (f Refusal) refuse(w http.ResponseWriter, r *http.Request) {
	mark(r, strconv.Itoa(f.status()))
	f.ServeHTTP(w, r)
}

func (f Refusal) status() int { return cmp.Or(f.Status, http.StatusTooManyRequests) }

// ServeHTTP refuses.
func (f Refusal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	status := f.status()
	if f.RetryAfter > 0 {
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	if f.HTML {
		writeHTML(w, status)
		return
	}
	answer(w, status, `{"message":"`+strings.ToLower(http.StatusText(status))+`"}`)
}

// writeHTML answers like a proxy in front of an API that is down.
func writeHTML(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	text := strconv.Itoa(status) + " " + http.StatusText(status)
	w.Write([]byte("<html>\r\n<head><title>" + text + "</title></head>\r\n<body><h1>" + text + "</h1></body>\r\n</html>\r\n"))
}

// Limit is a token bucket: it fills at rate tokens a second up to burst, each
// request takes one, and without one it gets the refusal. With rate and burst
// 0 it refuses everything.
func Limit(rate float64, burst int, refusal Refusal) Mode {
	return func(_ *Server, next http.Handler) http.Handler {
		var mu sync.Mutex
		var last time.Time
		tokens := float64(burst)
		take := func(now time.Time) bool {
			mu.Lock()
			defer mu.Unlock()
			if !last.IsZero() {
				tokens = min(float64(burst), tokens+now.Sub(last).Seconds()*rate)
			}
			last = now
			if tokens < 1 {
				return false
			}
			tokens--
			return true
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !take(time.Now()) {
				refusal.refuse(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// SlowDown refuses nothing: it serves rate requests a second, one after the
// other, and lets the rest queue, each for at most longest.
func SlowDown(rate float64, longest time.Duration) Mode {
	return func(_ *Server, next http.Handler) http.Handler {
		var mu sync.Mutex
		var free time.Time // when the queue is empty
		enqueue := func(now time.Time) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			if free.Before(now) {
				free = now
			}
			free = free.Add(time.Duration(float64(time.Second) / rate))
			return min(free.Sub(now), longest)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mark(r, "slow")
			if !pause(r, enqueue(time.Now())) {
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Latency delays every request by d.
func Latency(d time.Duration) Mode {
	return func(_ *Server, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mark(r, "slow")
			if pause(r, d) {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// pause waits for d. It returns false if the client went away.
func pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Refuse answers with status for single records: /tickets/{id} and
// /parents/{id}/children with one of the ids. Without ids it answers so to all
// requests.
func Refuse(status int, ids ...int) Mode {
	return func(_ *Server, next http.Handler) http.Handler {
		refused := make(map[string]bool, len(ids))
		for _, id := range ids {
			refused[strconv.Itoa(id)] = true
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// "/tickets/7" is "", "tickets", "7".
			if parts := strings.Split(r.URL.Path, "/"); len(ids) == 0 || len(parts) > 2 && refused[parts[2]] {
				Refusal{Status: status}.refuse(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
