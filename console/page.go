package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"collect/internal/words"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
	"collect/store"
)

// parseTemplates reads the pages and their parts: audit.html is the main part of the page
// audit, base.html is around it.
func parseTemplates() (*template.Template, error) {
	all, err := template.New("").Funcs(functions).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	// A template is escaped when it is first executed, whatever becomes of that. Here, what
	// this makes is not in the same blocks of memory as what a look leaves behind.
	for _, t := range all.Templates() {
		_ = t.Execute(io.Discard, nil)
	}
	return all, nil
}

var functions = template.FuncMap{
	"clean": words.Clean,
	"count": func(n any) string {
		switch n := n.(type) {
		case int:
			return words.Count(int64(n))
		case int64:
			return words.Count(n)
		}
		return fmt.Sprint(n)
	},
	"span":  func(d time.Duration) string { return words.Span(d) },
	"size":  words.Size,
	"gap":   words.GapName,
	"rate":  func(perSecond float64) string { return words.Rate(perSecond) },
	"title": func(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] },
}

// A frame is what every page has.
type frame struct {
	Server  *Server
	Person  *person // nil: a stranger
	Title   string
	Section string // of the navigation
	Now     time.Time
	Theme   string // light, dark, or "" for that of the system
	Keys    bool   // single keys are shortcuts
	Path    string // of the page, to come back to
	Live    bool   // parts of it follow the store
	Data    any
	Main    template.HTML // what is between header and footer
}

// URL returns the path of a page, of its parts.
func (f frame) URL(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return f.Server.path(strings.Join(parts, "/"))
}

// Orders reports whether the page has forms for orders.
func (f frame) Orders() bool { return f.Person != nil && f.Person.Orders() && !f.Server.ReadOnly }

// At returns a time as a person reads it: near ones without their date. Beside it,
// the exact time in UTC and how long ago it was.
func (f frame) At(t any) template.HTML {
	at, ok := t.(time.Time)
	if !ok || at.IsZero() {
		return `<span class="unknown">never</span>`
	}
	return timeTag(at, words.At(at, f.Now), f.Now)
}

// Ago returns how long ago a time was, with the exact time beside it.
func (f frame) Ago(at time.Time) template.HTML {
	if at.IsZero() {
		return `<span class="unknown">never</span>`
	}
	return timeTag(at, words.Ago(at, f.Now), f.Now)
}

func timeTag(at time.Time, text string, now time.Time) template.HTML {
	exact := at.UTC().Format("2006-01-02 15:04:05 UTC")
	if zone := at.In(now.Location()).Format("2006-01-02 15:04:05 MST"); zone != exact {
		exact += " · " + zone
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s · %s">%s</time>`, // #nosec G203 -- texts are escaped
		at.UTC().Format(time.RFC3339), template.HTMLEscapeString(exact), words.Ago(at, now), template.HTMLEscapeString(text)))
}

// Back returns the path of the page without the prefix, for a form to come back to.
func (f frame) Back() string { return strings.TrimPrefix(f.Path, f.Server.prefix) }

// Order returns the address of the form of an order, which comes back to the page.
func (f frame) Order(name, connector string) string {
	return f.Server.path("orders/"+name) + "?" + url.Values{"connector": {connector}, "back": {f.here()}}.Encode()
}

// BudgetOrder returns the address of the form of an order on a budget.
func (f frame) BudgetOrder(name, connector string, window time.Duration) string {
	return f.Order("budget-"+name, connector) + "&" + url.Values{"per": {report.WindowWords(window)}}.Encode()
}

// here returns the path of the page without the prefix, and without what became of an
// order.
func (f frame) here() string {
	at, err := url.Parse(f.Back())
	if err != nil {
		return "/"
	}
	query := at.Query()
	query.Del("done")
	at.RawQuery = query.Encode()
	return at.String()
}

// To returns the address of a path of the console.
func (f frame) To(path string) string { return f.Server.prefix + path }

// A link leads to a page of the navigation.
type link struct {
	Href, Text string
	Here       bool
}

// sections are the pages of the navigation.
var sections = []struct{ name, page string }{
	{"Overview", ""}, {"Connectors", "connectors"}, {"Providers", "providers"}, {"Runs", "runs"}, {"Gaps", "gaps"}, {"Fleet", "fleet"},
	{"Audit", "audit"}, {"Settings", "settings"},
}

// Sections returns the links of the navigation.
func (f frame) Sections() (links []link) {
	for _, s := range sections {
		if s.page == "fleet" && !f.Server.fleet.Load() {
			continue
		}
		links = append(links, link{f.Server.path(s.page), s.name, f.Section == s.name})
	}
	return links
}

// Owed counts what a connector owes.
func (f frame) Owed(s report.Status) int { return report.OwedCount(s.Owed) }

// Yours returns what a person has to do, without "you" in front.
func (f frame) Yours(next string) string {
	return strings.TrimPrefix(strings.TrimPrefix(next, "you: "), "you; ")
}

// A listing is rows for a template, with the frame of the page.
type listing struct {
	Frame frame
	Rows  any
	Named bool // each row says its connector
}

// Rows returns connectors for a table.
func (f frame) Rows(all []report.Stood) listing { return listing{Frame: f, Rows: all} }

// Runs returns runs for a table.
func (f frame) Runs(named bool, all []runRow) listing { return listing{f, all, named} }

// Gaps returns gaps for a table.
func (f frame) Gaps(name string, all []store.OwnedGap) listing {
	return listing{Frame: f, Rows: f.gapRows(name, all)}
}

// With returns the frame with other data.
func (f frame) With(data any) struct {
	Frame frame
	Data  any
} {
	return struct {
		Frame frame
		Data  any
	}{f, data}
}

// Command returns a command on a connector, to be copied.
func (f frame) Command(verb, name string) string { return problem.Command(verb, name, f.Server.Flags) }

// StoreCommand returns a command on the store, to be copied.
func (f frame) StoreCommand(command string) string { return "collect " + command + f.Server.Flags }

// Limit says what limits the pace with an account.
func (f frame) Limit(a *report.Account) string { return limit.AtWork(&a.Pace, f.Now) }

// Clock returns a time of day with its second.
func (f frame) Clock(at time.Time) template.HTML {
	return timeTag(at, at.In(f.Now.Location()).Format("2006-01-02 15:04:05"), f.Now)
}

// More returns the address of the page with one value of its query changed.
func (f frame) More(key string, value any) string {
	at, err := url.Parse(f.Path)
	if err != nil {
		return f.Path
	}
	query := at.Query()
	query.Set(key, fmt.Sprint(value))
	at.RawQuery = query.Encode()
	return at.String()
}

// Stamp is the time of the page, with its zone.
func (f frame) Stamp() string { return f.Now.Format("15:04:05 MST") }

// themes are the values of the cookie.
var themes = []string{"", "light", "dark"}

// frame returns what every page has.
func (s *Server) frame(r *http.Request, title string) frame {
	f := frame{Server: s, Title: title, Now: s.Now().In(s.Zone), Path: r.URL.RequestURI(), Keys: true}
	if p, ok := s.sessions.of(r); ok {
		f.Person = &p
	}
	if c, err := r.Cookie("collect_theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	if c, err := r.Cookie("collect_keys"); err == nil && c.Value == "off" {
		f.Keys = false
	}
	if c, err := r.Cookie("collect_zone"); err == nil {
		if zone, err := time.LoadLocation(c.Value); err == nil && c.Value != "" {
			f.Now = f.Now.In(zone)
		}
	}
	return f
}

// show writes a page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, name, title string, data any) {
	f := s.frame(r, title)
	f.Data = data
	s.write(w, status, name, f)
}

func (s *Server) write(w http.ResponseWriter, status int, name string, f frame) {
	var page bytes.Buffer
	if err := s.pages.ExecuteTemplate(&page, name+".html", f); err != nil {
		panic(err)
	}
	f.Main = template.HTML(page.String()) // #nosec G203 -- made by a template
	page.Reset()
	if err := s.pages.ExecuteTemplate(&page, "base.html", f); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // whoever asked is gone
}

// A notice is a page that says what went wrong, or what is missing, and what to do.
type notice struct {
	Headline string
	At, By   string
	Why      string
	Note     string
	Saved    string
	Next     string
	Do       []step
}

// A step is one thing to do: words, a command to copy, or a page to go to.
type step struct{ Say, Command, Href string }

// noticeOf returns a problem as a page.
func noticeOf(p problem.Problem) notice {
	n := notice{Headline: p.Headline, At: p.At, By: p.By, Why: p.Why, Note: p.Note, Saved: p.Saved, Next: p.Next}
	for _, do := range p.Do {
		n.Do = append(n.Do, step{Say: do.Say, Command: do.Command})
	}
	return n
}

// A lookup is one request for a page with facts of the store.
type lookup struct {
	*http.Request
	server *Server
	db     store.Reader // nil: there is no store yet
	now    time.Time
}

// An unknownError says that there is no page for what was asked for.
type unknownError struct {
	What string // no connector named "x"
	Why  string
	Do   []step
}

func (e *unknownError) Error() string { return e.What }

// page returns the handler of a page with facts of the store, for those who are
// signed in. Its title is the section, unless what is gathered has one.
func (s *Server) page(name, section string, gather func(context.Context, lookup) (any, error)) http.HandlerFunc {
	return s.signedIn(func(w http.ResponseWriter, r *http.Request) {
		f := s.frame(r, section)
		f.Section, f.Live = section, true
		err := s.look(r.Context(), func(db store.Reader) (err error) {
			if err := s.hasFleet(r.Context(), db); err != nil {
				return err
			}
			f.Data, err = gather(r.Context(), lookup{r, s, db, f.Now})
			return err
		})
		if titled, ok := f.Data.(interface{ Title() string }); ok && err == nil {
			f.Title = titled.Title()
		}
		if err != nil {
			s.fail(w, r, section, err)
			return
		}
		s.write(w, http.StatusOK, name, f)
	})
}

// look calls do with the store; with nil if there is none at the usual place yet.
func (s *Server) look(ctx context.Context, do func(store.Reader) error) error {
	err := s.Library.Look(ctx, do)
	if errors.Is(err, store.ErrMissing) && !s.Named {
		return do(nil)
	}
	return err
}

// signedIn keeps a page from strangers.
func (s *Server) signedIn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.sessions.of(r); ok {
			next(w, r)
			return
		}
		s.show(w, r, http.StatusUnauthorized, "notice", "Sign in", notice{
			Headline: "You are not signed in",
			Why:      "This console shows its pages only to who has a session. A session begins with a link that works once, lasts 30 days, and ends with the console.",
			Do: []step{
				{Say: "open the link that collect serve printed when it started"},
				{Say: "if it was used, start the console again:", Command: "collect serve" + s.Flags},
			},
		})
	}
}

// fail shows a page of what went wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, section string, err error) {
	f := s.frame(r, "Not shown")
	f.Section = section
	status, n := http.StatusServiceUnavailable, notice{}
	if unknown, ok := errors.AsType[*unknownError](err); ok {
		status, n = http.StatusNotFound, notice{Headline: unknown.What, Why: unknown.Why, Do: unknown.Do}
		f.Title = "Not found"
	} else {
		n = noticeOf(problem.Of(err, problem.Scene{State: s.State, Flags: s.Flags, Usual: !s.Named, ByHand: true, Now: f.Now}))
		if _, ok := errors.AsType[*problem.UsageError](err); ok {
			status = http.StatusBadRequest
		}
		if errors.Is(err, store.ErrLocked) {
			w.Header().Set("Retry-After", "5")
			n.Next = "load this page again in 5 s"
			f.Live = false
		}
	}
	f.Data = n
	s.write(w, status, "notice", f)
}

// notFound is the page for all other addresses.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, "", &unknownError{
		What: "There is no page here",
		Why:  "The address " + words.Clean(r.URL.Path) + " leads nowhere.",
		Do:   []step{{Say: "go on with the overview", Href: s.path("")}},
	})
}
