package services

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // its own tables
)

// The rate limit of the tickets list while it is on: PocketBase counts in
// fixed windows of whole seconds, answers 429 and sends no Retry-After.
const (
	LimitRequests = 10
	LimitSeconds  = 2
)

// A PocketBase is a PocketBase with one collection, tickets, that a user's
// token opens.
type PocketBase struct {
	URL   string
	Token string // of a user, who may list tickets

	app       *core.BaseApp
	superuser string // the token of one, whom nothing limits
	server    *http.Server

	mu   sync.Mutex
	seen []Request
}

// A Request is a request that PocketBase answered to the user.
type Request struct {
	Time   time.Time
	Query  string
	Status int
}

// StartPocketBase serves tickets, all made in one transaction so that many
// share the millisecond of their update, from a new data folder.
func StartPocketBase(dir string, tickets int) (*PocketBase, error) {
	p := &PocketBase{app: core.NewBaseApp(core.BaseAppConfig{DataDir: dir})}
	if err := errors.Join(p.app.Bootstrap(), p.app.RunAllMigrations()); err != nil {
		return nil, fmt.Errorf("pocketbase: %w", err)
	}
	steps := []func() error{p.addTickets, p.addUsers, func() error { return p.Add(tickets) }, p.serve}
	for _, step := range steps {
		if err := step(); err != nil {
			p.app.ResetBootstrapState()
			return nil, fmt.Errorf("pocketbase: %w", err)
		}
	}
	return p, nil
}

// addTickets creates the collection.
func (p *PocketBase) addTickets() error {
	signedIn := `@request.auth.id != ""`
	c := core.NewBaseCollection("tickets")
	c.ListRule, c.ViewRule = &signedIn, &signedIn
	c.Fields.Add(
		&core.TextField{Name: "title"},
		&core.NumberField{Name: "price"},
		&core.SelectField{Name: "status", Values: []string{"open", "waiting", "closed"}},
		&core.JSONField{Name: "extra"},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	c.AddIndex("tickets_by_update", false, "updated,id", "")
	return p.app.Save(c)
}

// addUsers makes a user and a superuser, with a token each.
func (p *PocketBase) addUsers() error {
	for _, who := range []struct {
		collection string
		token      *string
	}{{"users", &p.Token}, {core.CollectionNameSuperusers, &p.superuser}} {
		c, err := p.app.FindCollectionByNameOrId(who.collection)
		if err != nil {
			return err
		}
		r := core.NewRecord(c)
		r.SetEmail("someone@example.test")
		r.SetRandomPassword()
		if err := p.app.Save(r); err != nil {
			return err
		}
		if *who.token, err = r.NewAuthToken(); err != nil {
			return err
		}
	}
	return nil
}

// Add makes n tickets in one transaction.
func (p *PocketBase) Add(n int) error {
	c, err := p.app.FindCollectionByNameOrId("tickets")
	if err != nil {
		return err
	}
	return p.app.RunInTransaction(func(tx core.App) error {
		for i := range n {
			r := core.NewRecord(c)
			r.Set("title", fmt.Sprintf("ticket %d: Łódź, 東京, \"quoted\" <&> 🦉", i))
			r.Set("price", float64(i)+0.25)
			r.Set("status", []string{"open", "waiting", "closed"}[i%3])
			r.Set("extra", map[string]any{"n": i, "tags": []string{"a", ""}, "none": nil})
			if err := tx.Save(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Touch updates the tickets with the ids, which moves them to the end of the
// order of updates.
func (p *PocketBase) Touch(ids ...string) error {
	return p.app.RunInTransaction(func(tx core.App) error {
		for _, id := range ids {
			r, err := tx.FindRecordById("tickets", id)
			if err != nil {
				return err
			}
			r.Set("title", "touched: "+r.GetString("title"))
			if err := tx.Save(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tie gives n tickets, from the i-th on, one time of update, behind the back
// of PocketBase as a migration would.
func (p *PocketBase) Tie(i, n int) error {
	_, err := p.app.DB().NewQuery(`
		UPDATE tickets SET updated = (SELECT updated FROM tickets ORDER BY updated, id LIMIT 1 OFFSET {:last})
		WHERE id IN (SELECT id FROM tickets ORDER BY updated, id LIMIT {:n} OFFSET {:i})`,
	).Bind(map[string]any{"i": i, "n": n, "last": i + n - 1}).Execute()
	return err
}

// Age spreads the updates of the tickets over the day before, two in each
// second, behind the back of PocketBase.
func (p *PocketBase) Age() error {
	_, err := p.app.DB().NewQuery(
		"UPDATE tickets SET updated = strftime('%Y-%m-%d %H:%M:%fZ', updated, '-1 day', '+' || (rowid / 2) || ' seconds')").Execute()
	return err
}

// Limit switches PocketBase's own rate limiter on or off for the list of
// tickets.
func (p *PocketBase) Limit(on bool) error {
	settings := p.app.Settings()
	settings.RateLimits.Enabled = on
	settings.RateLimits.Rules = []core.RateLimitRule{
		{Label: "tickets:list", MaxRequests: LimitRequests, Duration: LimitSeconds},
	}
	return p.app.Save(settings)
}

// serve answers on a free port.
func (p *PocketBase) serve() error {
	router, err := apis.NewRouter(p.app)
	if err != nil {
		return err
	}
	mux, err := router.BuildMux()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.URL = "http://" + l.Addr().String()
	p.server = &http.Server{Handler: p.watch(mux), ReadHeaderTimeout: 10 * time.Second}
	go p.server.Serve(l) // ends with Close
	return nil
}

// watch notes what the user asked for and got.
func (p *PocketBase) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, status := time.Now(), &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(status, r)
		if strings.Contains(r.Header.Get("Authorization"), p.superuser) {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = append(p.seen, Request{began, r.URL.RawQuery, status.status})
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Seen returns the requests of the user since the last call.
func (p *PocketBase) Seen() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

// Records returns all tickets as PocketBase serves them, byte for byte, in the
// order of their updates.
func (p *PocketBase) Records() ([]json.RawMessage, error) {
	var records []json.RawMessage
	for page := 1; ; page++ {
		var body struct {
			TotalPages int
			Items      []json.RawMessage
		}
		if err := p.fetch(fmt.Sprintf("?perPage=1000&sort=updated,id&page=%d", page), &body); err != nil {
			return nil, err
		}
		records = append(records, body.Items...)
		if page >= body.TotalPages {
			return records, nil
		}
	}
}

// fetch lists tickets as the superuser.
func (p *PocketBase) fetch(query string, into any) error {
	req, err := http.NewRequest(http.MethodGet, p.URL+"/api/collections/tickets/records"+query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", p.superuser)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("tickets: status %d", resp.StatusCode)
	}
	return json.Unmarshal(data, into)
}

// Close stops serving and closes the database.
func (p *PocketBase) Close() error {
	return errors.Join(p.server.Close(), p.app.ResetBootstrapState())
}
