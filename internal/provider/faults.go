package provider

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
)

// A Fault is an answer that no honest provider gives. Each has a path,
// /bad/{fault}, and [Instead] puts it anywhere.
type Fault string

// The faults.
const (
	Freeze      Fault = "freeze"       // 403, with nothing that says why
	Outage      Fault = "outage"       // 503 with an HTML body and no Retry-After
	HTML        Fault = "html"         // a log-in page in HTML, with 200
	Truncated   Fault = "truncated"    // half of what Content-Length announced, then the end
	NotJSON     Fault = "not-json"     // JSON with a comma too many
	Trailing    Fault = "trailing"     // a page, and something behind it
	NoKey       Fault = "no-key"       // three records, the second without its id
	SameCursor  Fault = "same-cursor"  // a page whose next cursor is always the same
	SamePage    Fault = "same-page"    // a full page of the same records, whatever page is asked for
	EmptyPages  Fault = "empty-pages"  // pages without records, each with a new next cursor, for ever
	Redirect    Fault = "redirect"     // 302 to another host, where the same provider listens
	Elsewhere   Fault = "elsewhere"    // a page whose next URL is on another host
	Gzip        Fault = "gzip"         // what would be served, compressed, asked for or not
	Bomb        Fault = "bomb"         // 100 KiB that inflate to 100 MiB
	Stuck       Fault = "stuck"        // hangs until released, then serves
	Drop        Fault = "drop"         // the connection ends without an answer
	Unsupported Fault = "http-version" // 505, a 5xx that no retry can mend
)

// Instead answers with f. An unknown fault answers 500.
func Instead(f Fault) Mode {
	return func(s *Server, next http.Handler) http.Handler {
		h := f.handler(s, next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mark(r, string(f))
			h.ServeHTTP(w, r)
		})
	}
}

// addFaults gives every fault its path. What a fault only changes is the first
// page of tickets there.
func (s *Server) addFaults() {
	page := s.tickets(byCursor)
	for _, f := range Faults() {
		s.routes.Handle("GET /bad/"+string(f), Instead(f)(s, page))
	}
}

// Faults lists all faults.
func Faults() []Fault {
	return []Fault{Freeze, Outage, HTML, Truncated, NotJSON, Trailing, NoKey, SameCursor, SamePage,
		EmptyPages, Redirect, Elsewhere, Gzip, Bomb, Stuck, Drop, Unsupported}
}

// handler returns what answers for f.
func (f Fault) handler(s *Server, next http.Handler) http.Handler {
	switch f {
	case Freeze:
		return Refusal{Status: http.StatusForbidden}
	case Outage:
		return Refusal{Status: http.StatusServiceUnavailable, HTML: true}
	case Unsupported:
		return Refusal{Status: http.StatusHTTPVersionNotSupported}
	case HTML:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writeHTML(w, http.StatusOK)
		})
	case Truncated:
		return http.HandlerFunc(truncated)
	case NotJSON:
		return body(`{"items":[{"id":1,}],"next_cursor":null}`)
	case Trailing:
		return body(`{"items":[{"id":1}],"next_cursor":null}{"items":[{"id":2}]}`)
	case NoKey:
		return body(`{"items":[{"id":1},{"title":"who am I"},{"id":3}],"page":1,"total_pages":1,"total":3,"next_cursor":null,"next":null,"has_more":false}`)
	case SameCursor:
		return body(`{"items":[{"id":1}],"next_cursor":"again"}`)
	case SamePage:
		return samePage(s)
	case EmptyPages:
		return emptyPages()
	case Redirect:
		return http.HandlerFunc(redirect)
	case Elsewhere:
		return http.HandlerFunc(elsewhere)
	case Gzip:
		return compressed(next)
	case Bomb:
		return http.HandlerFunc(bomb)
	case Stuck:
		return stuck(s, next)
	case Drop:
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler) // the documented way to end a connection
		})
	}
	return Refusal{Status: http.StatusInternalServerError}
}

// body always answers 200 with text.
func body(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, text)
	})
}

// truncated announces more than it sends; the server then has to end the
// connection.
func truncated(w http.ResponseWriter, _ *http.Request) {
	const text = `{"items":[{"id":1},{"id":2`
	w.Header().Set("Content-Length", strconv.Itoa(2*len(text)))
	answer(w, http.StatusOK, text)
}

// samePage ignores the page it is asked for, in all the envelopes.
func samePage(s *Server) http.Handler {
	records := s.Records("tickets")
	text := string(appendItems([]byte("{"), cut(records, 0, pageSize))) + "}"
	return body(text)
}

// emptyPages numbers its cursors, so that none comes twice.
func emptyPages() http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, fmt.Sprintf(`{"items":[],"next_cursor":"empty %d"}`, n.Add(1)))
	})
}

// otherHost names the same server by another host: localhost for 127.0.0.1,
// and the other way round. To a browser, and to an origin guard, they differ.
func otherHost(host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return "localhost"
	}
	if name == "localhost" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return net.JoinHostPort("localhost", port)
}

func redirect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", "http://"+otherHost(r.Host)+"/cursor/tickets")
	answer(w, http.StatusFound, `{}`)
}

func elsewhere(w http.ResponseWriter, r *http.Request) {
	next := "http://" + otherHost(r.Host) + "/next/tickets?per_page=100"
	w.Header().Set("Link", "<"+next+`>; rel="next"`)
	answer(w, http.StatusOK, fmt.Sprintf(`{"items":[],"next":%q}`, next))
}

// compressed sends what next serves through gzip.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		next.ServeHTTP(&zipWriter{ResponseWriter: w, body: z}, r)
		z.Close() // the client may have gone away, and cannot be told of an error
	})
}

// A zipWriter sends the body through another writer than the header.
type zipWriter struct {
	http.ResponseWriter
	body io.Writer
}

func (w *zipWriter) WriteHeader(status int) {
	w.Header().Del("Content-Length") // that of the plain body
	w.ResponseWriter.WriteHeader(status)
}

func (w *zipWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

// bomb sends 100 MiB of white space, compressed to a thousandth: a hundred
// times the same member of a gzip file, which may have many (RFC 1952, 2.2).
func bomb(w http.ResponseWriter, _ *http.Request) {
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	z.Write(bytes.Repeat([]byte(" "), 1<<20)) // to a buffer: it cannot fail
	z.Close()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	w.Write(bytes.Repeat(member.Bytes(), 100))
}

// stuck hangs until the server releases it or the client goes away. The
// server notices the latter within a second or so.
func stuck(s *Server, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stuck.pass(r.Context()) == nil {
			next.ServeHTTP(w, r)
		}
	})
}
