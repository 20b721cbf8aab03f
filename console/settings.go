package console

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// choiceLasts is how long a browser keeps what a person chose.
const choiceLasts = 365 * 24 * time.Hour

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
