package provider

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// pageSize is how many records a page holds unless fewer are asked for: the
// maximum of many public APIs (GitHub, GitLab and Stripe among them).
const pageSize = 100

// addStreams registers the paths of all streams.
func (s *Server) addStreams() {
	d := s.data
	s.routes.HandleFunc("GET /tickets", s.tickets(numbered))
	s.routes.HandleFunc("GET /offset/tickets", s.tickets(byOffset))
	s.routes.HandleFunc("GET /cursor/tickets", s.tickets(byCursor))
	s.routes.HandleFunc("GET /link/tickets", s.tickets(byLink))
	s.routes.HandleFunc("GET /next/tickets", s.tickets(byNext))
	s.routes.HandleFunc("GET /last/tickets", s.tickets(byLast))
	s.routes.HandleFunc("GET /tickets/{id}", func(w http.ResponseWriter, r *http.Request) {
		t, ok := d.ticket(r.PathValue("id"))
		if !ok {
			answer(w, http.StatusNotFound, `{"message":"no such ticket"}`)
			return
		}
		answer(w, http.StatusOK, string(t.detail))
	})
	s.routes.HandleFunc("GET /parents", func(w http.ResponseWriter, r *http.Request) {
		writePage(w, r, d.parents)
	})
	s.routes.HandleFunc("GET /parents/{id}/children", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || id < 1 || id > len(d.children) {
			answer(w, http.StatusNotFound, `{"message":"no such parent"}`)
			return
		}
		writePage(w, r, d.children[id-1])
	})
	s.addFlat()
}

// addFlat registers the flat stream, whose pages of the usual size are
// rendered once: benchmarks must measure the client.
func (s *Server) addFlat() {
	rendered := sync.OnceValue(func() [][]byte {
		flat := s.data.flat()
		pages := make([][]byte, pagesOf(len(flat), pageSize))
		for i := range pages {
			pages[i] = page(flat, i+1, pageSize)
		}
		return pages
	})
	s.routes.HandleFunc("GET /flat", func(w http.ResponseWriter, r *http.Request) {
		n, per, ok := pageAsked(r)
		pages := rendered()
		if !ok || per != pageSize || n > len(pages) {
			writePage(w, r, s.data.flat())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(pages[n-1])))
		w.Write(pages[n-1])
	})
}

// pageAsked reads page and per_page. ok is false if they make no sense.
func pageAsked(r *http.Request) (n, per int, ok bool) {
	n, okPage := number(r, "page", 1)
	per, okPer := number(r, "per_page", pageSize)
	return n, min(per, pageSize), okPage && okPer && n >= 1 && per >= 1
}

// number reads a decimal query parameter; missing, it is def.
func number(r *http.Request, name string, def int) (n int, ok bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// writePage answers with the page of records that r asks for by number.
func writePage(w http.ResponseWriter, r *http.Request, records [][]byte) {
	n, per, ok := pageAsked(r)
	if !ok {
		answer(w, http.StatusBadRequest, `{"message":"page and per_page are numbers from 1"}`)
		return
	}
	answer(w, http.StatusOK, string(page(records, n, per)))
}

// page renders page n of records. A page behind the last is empty.
func page(records [][]byte, n, per int) []byte {
	body := appendItems([]byte("{"), cut(records, (n-1)*per, per))
	return fmt.Appendf(body, `,"page":%d,"total_pages":%d,"total":%d}`,
		n, pagesOf(len(records), per), len(records))
}

// pagesOf returns how many pages n records fill.
func pagesOf(n, per int) int { return (n + per - 1) / per }

// cut returns up to n elements of s from i on, none if i is behind its end.
func cut[T any](s []T, i, n int) []T {
	i = min(i, len(s))
	return s[i:min(i+n, len(s))]
}

// appendItems appends records as the member items of an object.
func appendItems(body []byte, records [][]byte) []byte {
	body = append(body, `"items":[`...)
	body = append(body, bytes.Join(records, []byte(","))...)
	return append(body, ']')
}
