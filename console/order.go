package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"collect/internal/process"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// An order is what a person wants to be done. Its form shows what it would do as
// things stand; nothing is done before that form comes back.
type order interface {
	// review says what the order would do now.
	review(ctx context.Context, l lookup) (review, error)

	// give gives the order, and says what became of it.
	give(ctx context.Context, db store.Store, audit store.Audit) (done string, err error)
}

// A review is what an order would do.
type review struct {
	Means  string
	Idle   string // why it would change nothing; "": it would
	Type   string // what must be typed to agree; "": nothing
	Stands string // what it was made of: another text if that changes
	Fields []field
	Adds   string // what the command has beside the connector: 3/s --for 2h

	Unexplained bool // it may be given without a reason
}

// A field is a value of an order that is chosen before it is reviewed.
type field struct {
	Name, Label, Value, Hint string
	Wrong                    string // what is wrong with it: then there is nothing to agree to
	Options                  []option
}

// An option is one of the values that a field may have.
type option struct{ Value, Label string }

// Wanting reports whether a field must be chosen, or mended, before the order can be given.
func (r review) Wanting() bool {
	return slices.ContainsFunc(r.Fields, func(f field) bool { return f.Wrong != "" || f.Value == "" && f.Options == nil })
}

// token names what a form was made of, so that an order does not meet what its giver
// never saw.
func (r review) token() string {
	sum := sha256.Sum256([]byte(r.Stands))
	return hex.EncodeToString(sum[:8])
}

// An orderPage is the form of an order.
type orderPage struct {
	orderKind
	review
	Token  string
	ID     string // of this form: it is carried out once
	Reason string
	Typed  string
	Wrong  string  // what is wrong with what was typed
	Notice *notice // why it was not carried out
	Values url.Values
	Back   string
}

func (p orderPage) Title() string { return p.Name }

// results are what became of the forms that were carried out, by their ids.
type results struct {
	mu   sync.Mutex
	said map[string]string
	ids  []string // oldest first
}

// mostResults bounds what is remembered of orders.
const mostResults = 1000

func (r *results) of(id string) (said string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	said, ok = r.said[id]
	return said, ok
}

func (r *results) add(id, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said == nil {
		r.said = map[string]string{}
	}
	r.said[id] = said
	if r.ids = append(r.ids, id); len(r.ids) > mostResults {
		delete(r.said, r.ids[0])
		r.ids = r.ids[1:]
	}
}

// ordering keeps those from a form who may give no orders.
func (s *Server) ordering(next func(http.ResponseWriter, *http.Request, person)) http.HandlerFunc {
	return s.signedIn(func(w http.ResponseWriter, r *http.Request) {
		p, _ := s.sessions.of(r)
		refusal := notice{Headline: "You may look, and give no orders", Why: "This browser is signed in as a viewer. Nothing was changed.",
			Do: []step{{Say: "ask an operator, or sign in by the link for operators that collect serve printed"}}}
		switch {
		case s.ReadOnly:
			refusal.Headline, refusal.Why = "This console takes no orders", "It was started with --read-only. Nothing was changed."
			refusal.Do = []step{{Say: "the command line gives the same orders:", Command: "collect --help"}}
		case p.Orders():
			next(w, r, p)
			return
		}
		s.show(w, r, http.StatusForbidden, "notice", "Refused", refusal)
	})
}

// reviewOrder shows the form of an order.
func (s *Server) reviewOrder(w http.ResponseWriter, r *http.Request, _ person) {
	page, o, ok := s.orderOf(w, r)
	if !ok {
		return
	}
	err := s.look(r.Context(), func(db store.Reader) (err error) {
		page.review, err = o.review(r.Context(), lookup{r, s, db, s.frame(r, "").Now})
		return err
	})
	if err != nil {
		s.fail(w, r, "", err)
		return
	}
	s.showOrder(w, r, http.StatusOK, page)
}

// showOrder shows the form, for a new try.
func (s *Server) showOrder(w http.ResponseWriter, r *http.Request, status int, page orderPage) {
	page.ID, page.Token = rand.Text(), page.token()
	s.show(w, r, status, "order", page.Name, page)
}

// giveOrder carries an order out, once for each form: whoever sends the form again
// is shown what became of it.
func (s *Server) giveOrder(w http.ResponseWriter, r *http.Request, p person) {
	page, o, ok := s.orderOf(w, r)
	if !ok {
		return
	}
	id := cmp.Or(r.PostFormValue("id"), rand.Text())
	if _, done := s.results.of(id); done {
		s.done(w, r, page.Back, id)
		return
	}
	status, said := http.StatusOK, ""
	err := s.Library.Change(r.Context(), func(db store.Store) (err error) {
		if page.review, err = o.review(r.Context(), lookup{r, s, db, s.frame(r, "").Now}); err != nil {
			return err
		}
		if _, done := s.results.of(id); done {
			return nil
		}
		if status = page.check(r); status != http.StatusOK {
			return nil
		}
		said, err = o.give(r.Context(), db, store.Audit{Who: p.Name + " (console)", Why: words.Clean(page.Reason), Holder: process.This()})
		return err
	})
	switch {
	case err != nil:
		n := noticeOf(problem.Of(err, problem.Scene{Connector: page.Values.Get("connector"), State: s.State, Flags: s.Flags, ByHand: true}))
		page.Notice = &n
		if status = http.StatusConflict; problem.Damaged(err) || errors.Is(err, store.ErrMissing) {
			status = http.StatusServiceUnavailable
		}
		s.showOrder(w, r, status, page)
	case status != http.StatusOK:
		s.showOrder(w, r, status, page)
	default:
		if said != "" {
			s.results.add(id, said)
		}
		s.done(w, r, page.Back, id)
	}
}

// done goes back to where the order was asked for, which says what became of it.
func (s *Server) done(w http.ResponseWriter, r *http.Request, back, id string) {
	at, err := url.Parse(back)
	if err != nil || at.Host != "" || !strings.HasPrefix(at.Path, "/") {
		at = &url.URL{Path: "/"}
	}
	query := at.Query()
	query.Set("done", id)
	at.RawQuery = query.Encode()
	http.Redirect(w, r, s.prefix+at.String(), http.StatusSeeOther)
}

// Done says what became of the order that led to the page; "" if none did.
func (f frame) Done() string {
	at, err := url.Parse(f.Path)
	if err != nil {
		return ""
	}
	said, _ := f.Server.results.of(at.Query().Get("done"))
	return said
}

// check returns the status of a form: what is wrong with it is in the page then.
func (p *orderPage) check(r *http.Request) int {
	switch {
	case p.Idle != "":
		return http.StatusConflict
	case p.Wanting():
		return http.StatusUnprocessableEntity
	case r.PostFormValue("token") != p.token():
		p.Notice = &notice{
			Headline: "Things have changed since this form was made", Saved: "nothing was changed",
			Why:  "A run, time or another operator came first. Below is how it is now; what you typed is kept.",
			Next: "look at it again, and give the order anew if you still want it",
		}
		return http.StatusConflict
	case strings.TrimSpace(p.Reason) == "" && !p.Unexplained:
		p.Wrong = "say why: it is kept with your name"
		return http.StatusUnprocessableEntity
	case p.Type != "" && strings.TrimSpace(p.Typed) != p.Type:
		p.Wrong = fmt.Sprintf("type %s to agree", p.Type)
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// orderOf returns the order that an address is of, and what was typed. If there is
// none, it has said so.
func (s *Server) orderOf(w http.ResponseWriter, r *http.Request) (page orderPage, o order, ok bool) {
	_ = r.ParseForm() // what cannot be read is missing
	kind, known := orderKinds[r.PathValue("order")]
	if known {
		o, known = kind.of(s, r.Form)
	}
	if !known {
		s.notFound(w, r)
		return page, nil, false
	}
	values := url.Values{}
	for _, name := range []string{"connector", "gap", "per", "to", "for"} {
		values[name] = r.Form[name]
	}
	return orderPage{
		orderKind: kind, Reason: r.PostFormValue("reason"), Typed: r.PostFormValue("typed"), Values: values,
		Back: cmp.Or(r.FormValue("back"), "/connectors/"+url.PathEscape(values.Get("connector"))),
	}, o, true
}
