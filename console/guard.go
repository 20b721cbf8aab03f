package console

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"

	"collect/report/problem"
)

// policy lets a page use nothing but the files of the console: no script or style
// inside a page, no frame around it, no form that leads elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// mostForm bounds the bytes of an order.
const mostForm = 64 << 10

// guard is around every page: it refuses requests that come by way of a stranger,
// and makes a page of a panic.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(s.refuseOrigin))
	next = origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers would hide the origin of an order, too
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		defer s.catch(w, r)
		r.URL.Path, r.URL.RawPath = s.inside(r.URL.Path), s.inside(r.URL.RawPath)
		if r.URL.Path != "/healthz" && !s.hosts[hostOf(r)] {
			s.refuseHost(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// inside returns a path without that of the console: a proxy may take it away, or
// leave it.
func (s *Server) inside(path string) string {
	if path == s.prefix && path != "" {
		return "/"
	}
	if rest, ok := strings.CutPrefix(path, s.prefix+"/"); ok {
		return "/" + rest
	}
	return path
}

// hostOf returns the host that a request is for, without its port: a tunnel changes
// that.
func hostOf(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func (s *Server) refuseHost(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusMisdirectedRequest, "notice", "Wrong address", notice{
		Headline: fmt.Sprintf("This console does not answer to the name %q", hostOf(r)),
		Why:      "A page of a stranger could give this machine a name of its own, and read with your eyes. So only the names that the console knows are answered.",
		Do: []step{
			{Say: "use the address that collect serve printed"},
			{Say: "behind a proxy, name the address that people type:", Command: "collect serve --url https://HOST/PATH" + s.Flags},
		},
	})
}

func (s *Server) refuseOrigin(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusForbidden, "notice", "Refused", notice{
		Headline: "This order came from a page of another site, so it was not carried out",
		Why:      "Nothing was changed. Orders are taken only from pages of this console.",
		Do:       []step{{Say: "open the console, and give the order there", Href: s.path("")}},
	})
}

// catch makes a page of a panic. It shows no stack: whoever runs the console is told
// that.
func (s *Server) catch(w http.ResponseWriter, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	bug := &problem.PanicError{Value: value, Stack: debug.Stack()}
	if s.Bug != nil {
		s.Bug(bug)
	}
	s.show(w, r, http.StatusInternalServerError, "notice", "A bug", notice{
		Headline: "This page has a bug",
		Why:      "Nothing was changed by it. What is known of it was written to where the console runs.",
		Do:       []step{{Say: "the command line may still show it:", Command: "collect status" + s.Flags}},
	})
}
