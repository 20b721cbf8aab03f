package console

import (
	"log/slog"
	"net/http"
	"time"

	"collect/internal/words"
)

// logged writes a record for each request that next answered: of its query, where the
// links are that sign in, nothing. What was an error of ours is an error.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, path, answer := s.Now(), r.URL.Path, &answered{w, http.StatusOK}
		next.ServeHTTP(answer, r)
		level := slog.LevelDebug
		if answer.status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		s.Log.Log(r.Context(), level, "console.request", "method", words.Clean(r.Method), "path", words.Clean(path[:min(len(path), mostPath)]),
			"status", answer.status, "seconds", s.Now().Sub(began).Round(time.Microsecond).Seconds())
	})
}

// mostPath bounds how much of a path is logged: those of our pages are shorter.
const mostPath = 200

// An answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets live pages be flushed.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
