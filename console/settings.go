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
	"collect/internal/words"
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
	Days, MB    int // older than, or more than; 0: it was not asked for
	Connectors  int // that have some of it
	Sum         store.Pruned
	Free, Taken int64 // bytes of the file that are free, and all; 0: not measured
	Command     string
	Shrink      string // the command that gives the free bytes back
}

// Words says what would go: 1,200 events, 3 runs, about 1.2 MB, of 2 connectors.
func (p prunePage) Words() string {
	return report.PrunedWords(p.Sum) + ", of " + words.Counted(int64(p.Connectors), "connector", "connectors")
}

// mostPruned bounds what a person may ask for, in days or MB.
const mostPruned = 36500

// pruning counts what an order for all connectors would remove.
func pruning(ctx context.Context, l lookup) (page prunePage, err error) {
	if l.db == nil {
		return page, nil
	}
	if free, taken, ok := storage.SpareOf(ctx, l.db, l.server.Library.name); ok {
		page.Free, page.Taken, page.Shrink = free, taken, "collect prune --shrink"+l.server.Flags
	}
	asked := func(name string) int {
		n, err := strconv.Atoi(l.FormValue(name))
		if err != nil || n < 0 || n > mostPruned {
			return 0
		}
		return n
	}
	var what store.Prune
	bound := ""
	if page.Days = asked("days"); page.Days > 0 {
		before := l.now.Add(-time.Duration(page.Days) * 24 * time.Hour)
		what, bound = store.Prune{Events: before, Runs: before, Slices: before, Quarantine: before}, strconv.Itoa(page.Days)+"d"
	} else if page.MB = asked("mb"); page.MB > 0 {
		room := int64(page.MB) * 1_000_000
		what, bound = store.Prune{EventsRoom: room, RunsRoom: room, SlicesRoom: room, Room: room}, strconv.Itoa(page.MB)+"MB"
	} else {
		return page, nil
	}
	page.Command = "collect prune --all --events " + bound + " --runs " + bound + " --slices " + bound + " --quarantine " + bound + l.server.Flags + " --reason WHY"
	names, err := l.db.Connectors(ctx)
	if err != nil {
		return page, err
	}
	found, err := engine.Prunable(ctx, l.db, names, what)
	for _, n := range found {
		page.Sum = page.Sum.Add(n)
		if n.Rows() > 0 {
			page.Connectors++
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
