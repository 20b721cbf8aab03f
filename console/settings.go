package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"collect/engine"
	"collect/engine/storage"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// choiceLasts is how long a browser keeps what a person chose.
const choiceLasts = 365 * 24 * time.Hour

// zones are offered; any other one of the system may be typed.
var zones = []string{"UTC", "America/Los_Angeles", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Europe/Berlin", "Europe/London"}

// A settingsPage is what a person may choose, and how the store is kept.
type settingsPage struct {
	Zones []string
	Store report.Care
	Prune prunePage
	Link  string // that was just made
	For   person
}

// care returns how the store is looked after.
func (l lookup) care(ctx context.Context) (report.Care, error) {
	return storage.CareOf(ctx, l.server.Library.name, l.db)
}

func settings(ctx context.Context, l lookup) (any, error) {
	care, err := l.care(ctx)
	if err != nil {
		return nil, err
	}
	page := settingsPage{Zones: zones, Store: care}
	page.Prune, err = pruning(ctx, l)
	return page, err
}

// A prunePage is what would be removed of the past: collect prune --dry-run.
type prunePage struct {
	Days    int // older than; 0: it was not asked for
	Found   []pruned
	Sum     store.Pruned
	Command string
}

// A pruned says what would go of one connector.
type pruned struct {
	Connector string
	store.Pruned
}

func pruning(ctx context.Context, l lookup) (page prunePage, err error) {
	days, err := strconv.Atoi(l.FormValue("days"))
	if err != nil || days <= 0 || days > 36500 || l.db == nil {
		return page, nil
	}
	page.Days = days
	page.Command = "collect prune --all --events " + strconv.Itoa(days) + "d --runs " + strconv.Itoa(days) + "d --quarantine " + strconv.Itoa(days) + "d" + l.server.Flags + " --reason WHY"
	names, err := l.db.Connectors(ctx)
	if err != nil {
		return page, err
	}
	before := l.now.AddDate(0, 0, -days)
	found, err := engine.Prunable(ctx, l.db, names, store.Prune{Events: before, Runs: before, Quarantine: before})
	for i, n := range found {
		page.Sum = page.Sum.Add(n)
		if n.Rows() > 0 {
			page.Found = append(page.Found, pruned{names[i], n})
		}
	}
	return page, err
}

// setSettings keeps what a person chose, in cookies of their browser.
func (s *Server) setSettings(w http.ResponseWriter, r *http.Request) {
	zone := r.FormValue("zone")
	if _, err := time.LoadLocation(zone); err != nil {
		s.fail(w, r, "Settings", problem.Usage("there is no time zone %q; they are named as Europe/Berlin", zone))
		return
	}
	keys := "off"
	if r.FormValue("keys") != "" {
		keys = "on"
	}
	http.SetCookie(w, s.cookie("collect_zone", zone, choiceLasts))
	http.SetCookie(w, s.cookie("collect_keys", keys, choiceLasts))
	http.Redirect(w, r, s.path("settings"), http.StatusSeeOther)
}

// makeLink makes a link for another person, which is shown once.
func (s *Server) makeLink(w http.ResponseWriter, r *http.Request, _ person) {
	p := person{Name: strings.TrimSpace(r.FormValue("name")), Role: Viewer}
	if r.FormValue("role") == string(Operator) {
		p.Role = Operator
	}
	if p.Name == "" || len(p.Name) > 60 {
		s.fail(w, r, "Settings", problem.Usage("say whom the link is for, in at most 60 letters: the audit trail has that name"))
		return
	}
	f := s.frame(r, "Settings")
	f.Section, f.Data = "Settings", settingsPage{Link: s.Link("http://"+r.Host, p.Name, p.Role), For: p}
	s.write(w, http.StatusOK, "link", f)
}

// setTheme keeps the theme that a person chose, or the next one.
func (s *Server) setTheme(w http.ResponseWriter, r *http.Request) {
	theme := r.FormValue("theme")
	if !slices.Contains(themes, theme) {
		theme = ""
	}
	http.SetCookie(w, s.cookie("collect_theme", theme, choiceLasts))
	s.back(w, r)
}

// NextTheme is the theme that comes after the one of the page.
func (f frame) NextTheme() string {
	return themes[(slices.Index(themes, f.Theme)+1)%len(themes)]
}

// ThemeWords names a theme.
func (f frame) ThemeWords() string {
	if f.Theme == "" {
		return "system"
	}
	return f.Theme
}

// back goes to the page that a form was on. Only a path of the console is one.
func (s *Server) back(w http.ResponseWriter, r *http.Request) {
	to := r.FormValue("back")
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\n\r") {
		to = "/"
	}
	http.Redirect(w, r, s.prefix+to, http.StatusSeeOther)
}
