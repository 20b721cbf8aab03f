// Package author tries a connector file for the person who writes it: it asks for
// pages as a run would, records what is answered, and plays that to the runner with
// faults in it. Nothing of it is stored where runs store.
package author

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/cassette"
	"collect/engine"
	"collect/engine/har"
	"collect/engine/registry"
	"collect/pacing"
	"collect/pacing/share"
	"collect/store"
)

// A Config says what to try, and how. Zero fields mean what their comments say.
type Config struct {
	Target   registry.Target
	Known    []byte        // what the database remembers of the account; nil: nothing
	Meeting  string        // the folder where the runs of this user share their pace; "": this one paces itself alone
	Requests int64         // at most; 0: as many as it takes
	Patience time.Duration // for all of it; 0: a minute
	Attempts int           // of each request; 0: one
	Base     http.RoundTripper
	Trace    *har.File // of the requests; nil: none is written
}

// A Trial asks a provider for pages, in the line of the runs that use the account,
// and under all that they know of it. It stores no record and moves no checkpoint.
type Trial struct {
	connector connectors.Connector
	client    *http.Client
	governor  *pacing.Governor
	budget    *pacing.Budget
	line      *share.Desk
	recorder  *cassette.Recorder
	secrets   []string
	parents   map[string][]collection.Parent  // the records of the first page of each stream that was asked for
	of        map[string]collection.Partition // of the parent that was asked for, by stream

	mu     sync.Mutex
	limits []collection.LimitInfo
}

// Begin opens a trial.
func Begin(ctx context.Context, c Config) (*Trial, error) {
	provider := c.Target.Connector.Provider()
	provider.Limits.Attempts = max(1, c.Attempts)
	limits := provider.Limits.WithDefaults()
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	if c.Base == nil {
		c.Base = pacing.NewTransport(provider, 1)
	}
	if c.Trace != nil {
		c.Base = c.Trace.Transport(c.Base, c.Target.Hidden)
	}
	t := &Trial{
		connector: c.Target.Connector, recorder: &cassette.Recorder{Next: c.Base, Most: limits.Body}, secrets: c.Target.Secrets,
		budget: pacing.NewBudget(pacing.BudgetLimits{MaxRequests: c.Requests, MaxTime: c.Patience}), parents: map[string][]collection.Parent{}, of: map[string]collection.Partition{},
	}
	config := pacing.Config{Provider: provider, Budget: t.budget, Base: t.recorder, Restore: c.Known, Concurrency: 1, Observe: t.observe}
	var err error
	if t.line, err = engine.Join(ctx, engine.Place{Dir: c.Meeting}, provider, share.Config{Known: c.Known, Concurrency: 1}, t.observe); err != nil {
		return nil, fmt.Errorf("it cannot take turns with the runs of this account: %w", err)
	}
	if t.line != nil {
		config.Desk = t.line
	}
	if t.governor, err = pacing.New(config); err != nil {
		return nil, err
	}
	t.client = t.governor.Client()
	return t, nil
}

// Close ends the trial. What was heard of the account is kept for the runs that
// share it.
func (t *Trial) Close(ctx context.Context) {
	_ = t.governor.Flush(context.WithoutCancel(ctx)) // nothing depends on it
	t.governor.Close()
	if t.line != nil {
		_ = t.line.Close()
	}
}

// observe notes the limits that the provider announces.
func (t *Trial) observe(e collection.Event) {
	if e.Limit == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.ContainsFunc(t.limits, func(l collection.LimitInfo) bool { return l.Name == e.Limit.Name && l.Unit == e.Limit.Unit }) {
		t.limits = append(t.limits, *e.Limit)
	}
}

// Limits returns the limits that the provider announced. All of them are known
// once the trial is closed.
func (t *Trial) Limits() []collection.LimitInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.limits)
}

// Requests returns how many requests left.
func (t *Trial) Requests() int64 { return t.budget.Tally().Requests }

// scrubber takes the secrets out of what is shown, those that were granted
// meanwhile, too.
func (t *Trial) scrubber() *cassette.Scrubber {
	return scrubberOf(t.connector.Provider(), t.secrets, 0)
}

// scrubberOf returns a scrubber of the secrets that have at least that many bytes.
func scrubberOf(p collection.Provider, secrets []string, least int) *cassette.Scrubber {
	return cassette.NewScrubber(slices.DeleteFunc(append(slices.Clone(secrets), p.Hidden()...), func(secret string) bool {
		return len(secret) < least
	})...)
}

// A Page is a page of a stream as it was asked for and answered. It holds no
// secret but those that the provider has put into records.
type Page struct {
	Stream    string               `json:"stream"`
	Partition collection.Partition `json:"-"`
	Parent    string               `json:"parent"` // the values that the parent binds, for people; "" for none

	Method string      `json:"method"`
	URL    string      `json:"url"` // "": no request left
	Header http.Header `json:"headers"`
	Body   string      `json:"body"`

	Status   int                   `json:"status"`  // 0: there was no answer
	Verdict  string                `json:"verdict"` // ok, or the reason why it is no page
	Why      string                `json:"why"`
	Seconds  float64               `json:"seconds"`
	Records  []collection.Record   `json:"-"`
	Rejected []collection.Rejected `json:"-"`
	Next     string                `json:"next"` // the token of the page behind it
	Done     bool                  `json:"done"` // it is the last one
	Mark     string                `json:"mark"` // the high-water mark so far
	Total    *int64                `json:"total"`
	Warnings []string              `json:"warnings"`

	Err error `json:"-"`
}

// Keys returns the keys of the records.
func (p *Page) Keys() []string {
	keys := make([]string, len(p.Records))
	for i, r := range p.Records {
		keys[i] = r.Key
	}
	return keys
}

// okVerdict is that of a page that a run would save.
const okVerdict = "ok"

// Account asks for what only the right account may see, if the file names
// something.
func (t *Trial) Account(ctx context.Context) error {
	if prober, ok := t.connector.(connectors.Prober); ok {
		return prober.Probe(ctx, t.client)
	}
	return nil
}

// Try asks for as little as shows that the credential is accepted: the probe, or else
// a page of the first stream that needs no parent. It returns what it asked for.
func (t *Trial) Try(ctx context.Context) (asked string, err error) {
	if err := t.Account(ctx); err != nil || t.Requests() > 0 {
		return "the probe", err
	}
	for _, stream := range t.connector.Streams() {
		if stream.Parent == "" {
			return stream.Name, t.Pages(ctx, stream.Name, 1)[0].Err
		}
	}
	return "", nil // the language has no such connector
}

// Pages returns the first n pages of a stream. The pages of a stream with a parent
// are those of the first parent that it wants, for which the first page of the
// parent is asked. The last page has an Err if there was none.
func (t *Trial) Pages(ctx context.Context, stream string, n int) []Page {
	at, from, err := t.place(ctx, stream)
	if err != nil {
		return []Page{t.failed(at, Page{}, err)}
	}
	var pages []Page
	begun := time.Now()
	before := len(t.recorder.Noted())
	for slice, err := range t.connector.Slices(ctx, t.client, at, from) {
		page := t.answered(before)
		page.Seconds = time.Since(begun).Seconds()
		if err != nil {
			return append(pages, t.failed(at, page, err))
		}
		page.take(slice, t.scrubber())
		pages = append(pages, page)
		if len(pages) == 1 {
			for _, r := range slice.Records {
				t.parents[stream] = append(t.parents[stream], collection.Parent{Partition: at.Partition, Record: r})
			}
		}
		if len(pages) == n {
			break
		}
		begun, before = time.Now(), len(t.recorder.Noted())
	}
	return pages
}

// place returns where the walk of a stream begins: for one with a parent, that of
// the first parent that it wants.
func (t *Trial) place(ctx context.Context, stream string) (collection.Place, collection.Cursor, error) {
	at := collection.Place{Stream: stream, Lane: collection.Incremental}
	streams := t.connector.Streams()
	i := slices.IndexFunc(streams, func(s collection.Stream) bool { return s.Name == stream })
	if i < 0 {
		unknown := &connectors.UnknownStreamError{Stream: stream}
		for _, s := range streams {
			unknown.Known = append(unknown.Known, s.Name)
		}
		return at, collection.Cursor{}, unknown
	}
	parent := streams[i].Parent
	if parent == "" {
		return at, collection.Cursor{}, nil
	}
	if _, asked := t.parents[parent]; !asked {
		pages := t.Pages(ctx, parent, 1)
		if err := pages[len(pages)-1].Err; err != nil {
			return at, collection.Cursor{}, &ParentError{Stream: stream, Parent: parent, Err: err}
		}
	}
	var last error
	for _, record := range t.parents[parent] {
		partition, version, wanted, err := t.connector.Partition(stream, record)
		if err == nil && wanted {
			at.Partition, t.of[stream] = partition, partition
			return at, collection.Cursor{Version: version}, nil
		}
		last = err
	}
	return at, collection.Cursor{}, &ParentError{Stream: stream, Parent: parent, Err: last}
}

// A ParentError says that a stream was not asked for, since there was no parent to
// ask it of.
type ParentError struct {
	Stream, Parent string
	Err            error // why; nil: the first page of the parent has none that the stream wants
}

func (e *ParentError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s was not asked for: the first page of %s has no record that it wants", e.Stream, e.Parent)
	}
	return fmt.Sprintf("%s was not asked for: there is no record of %s: %v", e.Stream, e.Parent, e.Err)
}

func (e *ParentError) Unwrap() error { return e.Err }

// answered returns the page that the last exchange since before was about.
func (t *Trial) answered(before int) Page {
	noted := t.recorder.Noted()
	if len(noted) == before {
		return Page{}
	}
	n := t.scrubber().Scrub(noted[len(noted)-1])
	return Page{Method: n.Method, URL: n.URL, Header: n.Asked, Body: string(n.Sent), Status: n.Status}
}

// take notes what a run would save.
func (p *Page) take(s collection.Slice, scrubber *cassette.Scrubber) {
	p.Stream, p.Partition, p.Parent = s.Stream, s.Partition, s.Partition.String()
	p.Verdict, p.Records, p.Rejected = okVerdict, s.Records, s.Rejected
	p.Next, p.Done, p.Mark = scrubber.Text(s.Next.Token), s.Next.Done, s.Next.Since
	if s.Told.By != "" {
		p.Total = &s.Told.Total
	}
	for _, w := range s.Warnings {
		p.Warnings = append(p.Warnings, strings.TrimSpace(string(w.Code)+" "+w.Text))
	}
}

func (t *Trial) failed(at collection.Place, p Page, err error) Page {
	p.Stream, p.Partition, p.Parent, p.Err = at.Stream, at.Partition, at.Partition.String(), err
	p.Verdict, p.Why = "not asked", err.Error()
	_, skipped := errors.AsType[*ParentError](err)
	if stop, ok := errors.AsType[*collection.Stop](err); ok && !skipped {
		p.Verdict, p.Why = string(stop.Reason), stop.Detail
		if p.Status == 0 {
			p.Status = stop.Status
		}
	}
	p.Why = t.scrubber().Text(p.Why)
	return p
}

// Known returns what a database remembers of the account of a target; nil for
// nothing.
func Known(ctx context.Context, db store.Reader, target registry.Target) ([]byte, error) {
	salt, err := db.Salt(ctx)
	if err != nil {
		return nil, err
	}
	provider := target.Connector.Provider()
	return db.Provider(ctx, pacing.DomainOf(provider, salt))
}
