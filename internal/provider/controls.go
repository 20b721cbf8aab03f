package provider

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

const controls = "/_provider/"

// isControl reports whether r steers the provider rather than using it.
func isControl(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, controls) }

// addControls registers the paths that scripts read and steer by.
func (s *Server) addControls() {
	handle := func(name string, h http.HandlerFunc) { s.routes.HandleFunc(controls+name, h) }
	handle("log", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		enc := json.NewEncoder(w)
		for _, e := range s.Log() {
			enc.Encode(e)
		}
	})
	handle("stats", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s.Stats())
	})
	handle("records", func(w http.ResponseWriter, r *http.Request) {
		records := s.Records(r.URL.Query().Get("stream"))
		if records == nil {
			answer(w, http.StatusNotFound, `{"message":"no such stream"}`)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, record := range records {
			w.Write(append(record, '\n'))
		}
	})
	handle("await-stuck", func(w http.ResponseWriter, r *http.Request) {
		if s.AwaitStuck(r.Context()) == nil {
			answer(w, http.StatusOK, `{}`)
		}
	})
	handle("release", func(w http.ResponseWriter, _ *http.Request) {
		s.Release()
		answer(w, http.StatusOK, `{}`)
	})
	handle("touch", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.URL.Query().Get("id"))
		if err != nil {
			answer(w, http.StatusBadRequest, `{"message":"id is a number"}`)
			return
		}
		s.Touch(id)
		answer(w, http.StatusOK, `{}`)
	})
	handle("revoke", func(w http.ResponseWriter, r *http.Request) {
		s.Revoke(r.URL.Query().Get("all") == "true")
		answer(w, http.StatusOK, `{}`)
	})
	handle("sign-in", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(s.SignIn() + "\n"))
	})
	handle("mode", func(w http.ResponseWriter, r *http.Request) {
		modes, err := ParseModes(r.URL.Query().Get("set"))
		if err != nil {
			text, _ := json.Marshal(map[string]string{"message": err.Error()}) // a string always marshals
			answer(w, http.StatusBadRequest, string(text))
			return
		}
		s.SetModes(modes...)
		answer(w, http.StatusOK, `{}`)
	})
}
