package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"

	"collect/internal/picture"
	"collect/store"
)

// routes says which page is where.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page("overview", "Overview", overview))
	mux.HandleFunc("GET /connectors", s.page("connectors", "Connectors", connectors))
	mux.HandleFunc("GET /connectors/{name}", s.page("connector", "Connectors", connector))
	mux.HandleFunc("GET /providers", s.page("providers", "Providers", providers))
	mux.HandleFunc("GET /providers/{domain}", s.page("provider", "Providers", provider))
	mux.HandleFunc("GET /runs", s.page("runs", "Runs", runs))
	mux.HandleFunc("GET /runs/{id}", s.page("run", "Runs", run))
	mux.HandleFunc("GET /gaps", s.page("gaps", "Gaps", gaps))
	mux.HandleFunc("GET /gaps/{id}", s.page("gap", "Gaps", gap))
	mux.HandleFunc("GET /fleet", s.page("fleet", "Fleet", workers))

	mux.HandleFunc("GET /audit", s.page("audit", "Audit", audit))
	mux.HandleFunc("GET /settings", s.page("settings", "Settings", settings))
	mux.HandleFunc("POST /settings", s.signedIn(s.setSettings))
	mux.HandleFunc("POST /links", s.ordering(s.makeLink))

	mux.HandleFunc("GET /orders/{order}", s.ordering(s.reviewOrder))
	mux.HandleFunc("POST /orders/{order}", s.ordering(s.giveOrder))

	mux.HandleFunc("GET /login", s.showLogin)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.signedIn(s.logout))
	mux.HandleFunc("POST /theme", s.setTheme)
	mux.HandleFunc("GET /live", s.signedIn(s.follow))

	mux.Handle("GET /assets/{version}/", s.assets())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	mux.HandleFunc("/", s.notFound)
	return mux
}

// ready says whether the store can be read. It says no more: who asks has no session.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	err := s.look(r.Context(), func(db store.Reader) error {
		if db == nil {
			return nil
		}
		_, err := db.Connectors(context.WithoutCancel(r.Context()))
		return err
	})
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the store cannot be read\n")
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}

// assetVersion is in the path of the assets, so that a browser may keep them for good.
var assetVersion = func() string {
	h := sha256.New()
	_, _ = io.WriteString(h, picture.CSS)
	_ = fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := files.ReadFile(name)
			h.Write(text)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:12]
}()

// Asset returns the path of a file of the console.
func (f frame) Asset(name string) string { return f.Server.path("assets/" + assetVersion + "/" + name) }

func (s *Server) assets() http.Handler {
	sub, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err)
	}
	serve := http.FileServerFS(sub)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("version") == assetVersion {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		if path.Base(r.URL.Path) == "picture.css" {
			pictureCSS(w)
			return
		}
		http.StripPrefix("/assets/"+r.PathValue("version"), serve).ServeHTTP(w, r)
	})
}
