package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A selection is the tickets that a request asks for, in its order.
type selection struct {
	tickets []ticket
	order   order
}

// An order is how a list is sorted and filtered. It travels in the cursor, so
// that a cursor alone continues a walk.
type order struct {
	ByUpdate  bool   `json:"u,omitempty"`
	Since     string `json:"s,omitempty"`
	Exclusive bool   `json:"x,omitempty"`
	AfterAt   string `json:"a,omitempty"` // the update of the last ticket sent
	AfterID   int    `json:"i,omitempty"` // its id; 0 at the start
}

// A flavour answers with one page of a selection, its way.
type flavour func(w http.ResponseWriter, r *http.Request, all selection)

// tickets lists tickets in a flavour.
func (s *Server) tickets(answerPage flavour) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		o := order{
			ByUpdate:  q.Get("sort") == "updated" || q.Get("updated_since") != "",
			Since:     q.Get("updated_since"),
			Exclusive: q.Get("exclusive") == "1",
		}
		if token := q.Get("cursor"); token != "" {
			var ok bool
			if o, ok = parseCursor(token); !ok {
				answer(w, http.StatusBadRequest, `{"message":"this is not a cursor of mine"}`)
				return
			}
		}
		all, err := s.data.choose(o)
		if err != nil {
			answer(w, http.StatusBadRequest, `{"message":"updated_since is not a time"}`)
			return
		}
		answerPage(w, r, all)
	}
}

// choose returns the tickets that o lets through and that follow its cursor.
func (d *dataset) choose(o order) (selection, error) {
	var since, after time.Time
	var err error
	if o.Since != "" {
		if since, err = time.Parse(time.RFC3339, o.Since); err != nil {
			return selection{}, err
		}
	}
	if o.AfterAt != "" {
		if after, err = time.Parse(time.RFC3339, o.AfterAt); err != nil {
			return selection{}, err
		}
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := selection{order: o}
	if !o.ByUpdate {
		all.tickets = append(all.tickets, d.tickets[min(o.AfterID, len(d.tickets)):]...)
		return all, nil
	}
	for _, i := range d.updated {
		t := d.tickets[i]
		switch c := t.updated.Compare(since); {
		case c < 0, c == 0 && o.Exclusive:
			continue
		}
		if c := t.updated.Compare(after); o.AfterID > 0 && (c < 0 || c == 0 && t.id <= o.AfterID) {
			continue
		}
		all.tickets = append(all.tickets, t)
	}
	return all, nil
}

// records returns up to n records of the selection from i on.
func (s selection) records(i, n int) [][]byte {
	var records [][]byte
	for _, t := range cut(s.tickets, i, n) {
		records = append(records, t.record)
	}
	return records
}

// next returns the cursor behind the first n tickets, "" at the end.
func (s selection) next(n int) string {
	if len(s.tickets) <= n {
		return ""
	}
	o := s.order
	o.AfterID = s.tickets[n-1].id
	if o.ByUpdate {
		o.AfterAt = stamp(s.tickets[n-1].updated)
	}
	return o.cursor()
}

// cursor renders o as a token. The alphabet has "+", "/" and "=" in it, and a
// check sum guards it: a client that decodes, trims or rebuilds it is refused.
func (o order) cursor() string {
	text, _ := json.Marshal(o) // booleans, strings and numbers always marshal
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(append(sum[:7], text...))
}

// parseCursor reads a token that cursor made.
func parseCursor(token string) (o order, ok bool) {
	raw, err := base64.StdEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < 7 {
		return order{}, false
	}
	sum := sha256.Sum256(raw[7:])
	if !bytes.Equal(sum[:7], raw[:7]) {
		return order{}, false
	}
	return o, json.Unmarshal(raw[7:], &o) == nil
}

// numbered answers with page numbers.
func numbered(w http.ResponseWriter, r *http.Request, all selection) {
	writePage(w, r, all.records(0, len(all.tickets)))
}

// byOffset answers with an offset and a limit.
func byOffset(w http.ResponseWriter, r *http.Request, all selection) {
	offset, okOffset := number(r, "offset", 0)
	limit, okLimit := number(r, "limit", pageSize)
	if !okOffset || !okLimit || offset < 0 || limit < 1 {
		answer(w, http.StatusBadRequest, `{"message":"offset and limit are numbers"}`)
		return
	}
	body := appendItems([]byte("{"), all.records(offset, min(limit, pageSize)))
	answer(w, http.StatusOK, string(fmt.Appendf(body, `,"total":%d}`, len(all.tickets))))
}

// byCursor answers with a cursor in the body.
func byCursor(w http.ResponseWriter, r *http.Request, all selection) {
	_, per, ok := pageAsked(r)
	if !ok {
		answer(w, http.StatusBadRequest, `{"message":"per_page is a number from 1"}`)
		return
	}
	next := "null"
	if token := all.next(per); token != "" {
		next = strconv.Quote(token)
	}
	body := appendItems([]byte("{"), all.records(0, per))
	answer(w, http.StatusOK, string(fmt.Appendf(body, `,"next_cursor":%s}`, next)))
}

// byLink answers with a Link header (RFC 8288), in the order and with the
// spacing that GitHub uses.
func byLink(w http.ResponseWriter, r *http.Request, all selection) {
	_, per, ok := pageAsked(r)
	if !ok {
		answer(w, http.StatusBadRequest, `{"message":"per_page is a number from 1"}`)
		return
	}
	if next := nextURL(r, all, per); next != "" {
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next", <http://%s/link/tickets>; rel="first"`, next, r.Host))
	}
	body := append([]byte("["), bytes.Join(all.records(0, per), []byte(","))...)
	answer(w, http.StatusOK, string(append(body, ']')))
}

// byNext answers with the URL of the next page in the body. As in many APIs
// the encoder writes its "&" as \u0026.
func byNext(w http.ResponseWriter, r *http.Request, all selection) {
	_, per, ok := pageAsked(r)
	if !ok {
		answer(w, http.StatusBadRequest, `{"message":"per_page is a number from 1"}`)
		return
	}
	next := []byte("null")
	if link := nextURL(r, all, per); link != "" {
		if r.URL.Query().Get("relative") == "1" {
			link = strings.TrimPrefix(link, "http://"+r.Host) + "&relative=1"
		}
		next, _ = json.Marshal(link) // a string always marshals
	}
	body := appendItems([]byte("{"), all.records(0, per))
	answer(w, http.StatusOK, string(fmt.Appendf(body, `,"next":%s}`, next)))
}

// byLast answers a client that continues after the id of the last record.
func byLast(w http.ResponseWriter, r *http.Request, all selection) {
	_, per, okPer := pageAsked(r)
	after, okAfter := number(r, "starting_after", 0)
	if !okPer || !okAfter || after < 0 {
		answer(w, http.StatusBadRequest, `{"message":"starting_after is an id"}`)
		return
	}
	rest := selection{}
	for i, t := range all.tickets {
		if t.id == after {
			rest.tickets = all.tickets[i+1:]
		}
	}
	if after == 0 {
		rest = all
	}
	body := appendItems([]byte("{"), rest.records(0, per))
	answer(w, http.StatusOK, string(fmt.Appendf(body, `,"has_more":%t}`, len(rest.tickets) > per)))
}

// nextURL returns the URL of the page after the first per tickets, "" at the
// end.
func nextURL(r *http.Request, all selection, per int) string {
	token := all.next(per)
	if token == "" {
		return ""
	}
	q := url.Values{"cursor": {token}, "per_page": {strconv.Itoa(per)}}
	return "http://" + r.Host + r.URL.Path + "?" + q.Encode()
}
