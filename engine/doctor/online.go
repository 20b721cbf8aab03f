package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/engine"
	"collect/engine/registry"
	"collect/internal/words"
	"collect/pacing"
	"collect/pacing/share"
	"collect/report/problem"
)

// onlinePatience is how long the request of --online may wait for its turn: a
// provider that asked for a longer silence is not asked.
const onlinePatience = 30 * time.Second

// A probed is what a request of --online is sent with: that of a connector
// and of all others that share it.
type probed struct {
	connector string
	target    registry.Target
	domain    string
	what      string // is checked
}

// noteAccount notes the accounts of a connector that can be built.
func (d *Diagnosis) noteAccount(name string, t registry.Target) {
	each := t.Each()
	for _, one := range each {
		provider := one.Connector.Provider()
		a := probed{connector: name, target: one, domain: pacing.DomainOf(provider, d.salt), what: "online " + provider.Name}
		if len(each) > 1 {
			a.what += " with " + provider.CredentialFrom
		}
		if !slices.ContainsFunc(d.accounts, func(b probed) bool { return b.domain == a.domain }) {
			d.accounts = append(d.accounts, a)
		}
	}
}

// checkOnline sends one request with each account: for the first page of a
// stream that needs no parent, in the line of all runs that use it, and under
// all that is remembered of the provider. Of the answer nothing is stored; what
// it says of the account is, as a run does. An account that a run of this
// database uses is left to it.
func (d *Diagnosis) checkOnline(ctx context.Context) {
	for _, a := range d.accounts {
		what := a.what
		user := ""
		for _, run := range d.runs {
			if engine.Uses(run, a.domain) {
				user = run.ID
			}
		}
		switch {
		case user != "":
			d.add(NotChecked, what, fmt.Sprintf("not asked: run %s is asking it", user))
		case d.unread:
			d.add(NotChecked, what, "not asked: the state of the account in the database cannot be read")
		default:
			d.visit(ctx, what, a)
		}
	}
}

// visit takes part in an account for the time of one request. Without a place
// in its line it is not asked: what an answer says of the account could be
// forgotten, or would not be known to a run that asks at the same time.
func (d *Diagnosis) visit(ctx context.Context, what string, a probed) {
	notAsked := func(why string) { d.add(Look, what, "not asked: "+why) }
	known, err := d.openMemory(ctx, a)
	if err != nil {
		notAsked("the state of the account after the answer could not be saved: " + problem.Of(err, problem.Scene{}).Headline)
		return
	}
	defer known.close()
	provider := a.target.Connector.Provider()
	wire := &watch{trouble: "a passing fault"}
	line, err := engine.Join(ctx, engine.Place{Dir: d.Meeting, Store: known.db}, provider, share.Config{Known: d.learned[a.domain], Concurrency: 1}, wire.observe)
	switch {
	case err != nil:
		notAsked("it cannot take turns with the runs of this account: " + words.Cause(err))
		return
	case line == nil:
		notAsked("there is no folder where the runs of this account meet: set HOME, or XDG_STATE_HOME")
		return
	}
	defer func() { _ = line.Close() }() // what it saves is in the database as well
	d.ask(ctx, what, a, wire, pacing.Config{Provider: provider, Desk: line, Save: known.save, Concurrency: 1, Observe: wire.observe, Trace: true})
}

// ask sends the request of an account, and tells what came of it.
func (d *Diagnosis) ask(ctx context.Context, what string, a probed, wire *watch, c pacing.Config) {
	streams := a.target.Connector.Streams()
	i := slices.IndexFunc(streams, func(s collection.Stream) bool { return s.Parent == "" })
	if i < 0 {
		return // the language has no such connector
	}
	at := collection.Place{Stream: streams[i].Name, Lane: collection.Incremental}
	requests := int64(1)
	if c.Provider.Renewal != nil {
		requests = 2 // the first is for an access token
	}
	c.Budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: requests, MaxTime: onlinePatience})
	governor, err := pacing.New(c)
	if err != nil {
		d.fail(what, err, problem.Scene{Connector: a.connector})
		return
	}
	client := *governor.Client()
	wire.next, client.Transport = client.Transport, wire
	answered := at.Stream
	if prober, ok := a.target.Connector.(connectors.Prober); ok {
		err = prober.Probe(ctx, &client) // it tells more than a page, which strangers may see
	}
	if err == nil && c.Budget.Tally().Requests == 0 {
		for _, err = range a.target.Connector.Slices(ctx, &client, at, collection.Cursor{}) {
			break // one page
		}
	} else {
		answered, at.Stream = "its probe of the account", ""
	}
	if kept := governor.Flush(ctx); err == nil {
		err = kept
	}
	governor.Close() // now the watch has seen everything
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		d.add(Well, what, fmt.Sprintf("answered for %s in %s; 1 request, no record stored", answered, max(time.Millisecond, wire.took.Round(time.Millisecond))))
		d.compareClocks(a, wire)
		return
	}
	d.refused(what, a, at, err, c.Budget.Tally().Requests > 0, wire)
}

// refused tells why there was no page, after a request or without one.
func (d *Diagnosis) refused(what string, a probed, place collection.Place, err error, asked bool, wire *watch) {
	provider := a.target.Connector.Provider()
	stop, _ := errors.AsType[*collection.Stop](err)
	until := ""
	if stop != nil && !stop.NotBefore.IsZero() {
		until = " until " + words.At(stop.NotBefore, d.Now)
	}
	passes := stop != nil && stop.Reason.Kind() != collection.Stuck && !problem.Unreachable(stop)
	switch {
	case passes && asked:
		d.add(Look, what, "no page now: "+wire.trouble+until+"; no record was stored")
	case passes:
		d.add(Look, what, "not asked: it would have to wait"+until+". See: collect explain "+a.connector+d.Flags)
	case stop != nil && stop.Reason == collection.Frozen:
		text := "answered 403, which can mean a ban: frozen for every run of this account"
		if !asked {
			text = "frozen, not asked: " + stop.Detail
		}
		if until != "" {
			text += "; one test request may leave after " + words.At(stop.NotBefore, d.Now)
		}
		do := "check the account at " + provider.Name
		if _, ran := d.runs[a.connector]; ran { // and so there is something to release
			do += ", then: collect freeze release " + a.connector + d.Flags + " --reason WHY"
		}
		d.note(Finding{Mark: Broken, What: what, Exit: problem.ExitRefused, quotes: true, Text: text, Do: do})
	default:
		d.fail(what, err, problem.Scene{Connector: a.connector, Provider: provider.Name,
			Stream: place.Stream, Credential: provider.CredentialFrom, Now: d.Now})
	}
}

// A watch sees the answer of the one request: when it came, and by which clock.
type watch struct {
	next    http.RoundTripper
	asked   time.Time
	took    time.Duration // without the wait for its turn
	date    time.Time     // zero: the answer had none
	trouble string        // what stood in the way
}

func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err == nil {
		w.date, _ = http.ParseTime(resp.Header.Get("Date"))
	}
	return resp, err
}

// observe notes when a request left and how long it took, or why it did not get
// through.
func (w *watch) observe(e collection.Event) {
	if e.Request != nil && e.Request.Latency != nil {
		w.took = time.Duration(*e.Request.Latency * float64(time.Second))
		w.asked = e.Time.Add(-w.took)
	}
	if e.Throttle != nil {
		w.trouble = "it asks for a pause (" + e.Throttle.Signal + ")"
	}
}

// clockTolerance is how far two clocks may be apart without a word.
const clockTolerance = 2 * time.Second

// compareClocks compares our clock with the provider's. A date has whole
// seconds, and is of some moment between the question and the answer: only what
// lies outside of all that is a difference.
func (d *Diagnosis) compareClocks(a probed, w *watch) {
	name := a.target.Connector.Provider().Name
	if w.date.IsZero() {
		d.add(NotChecked, "clock", name+" sends no Date header")
		return
	}
	ahead := w.asked.Sub(w.date.Add(time.Second)) // at least
	behind := w.date.Sub(w.asked.Add(w.took))     // at least
	switch {
	case ahead > clockTolerance:
		d.add(Look, "clock", fmt.Sprintf("%s ahead of that of %s; times to wait until may be off", ahead.Round(time.Second), name))
	case behind > clockTolerance:
		d.add(Look, "clock", fmt.Sprintf("%s behind that of %s; times to wait until may be off", behind.Round(time.Second), name))
	default:
		d.add(Well, "clock", "agrees with that of "+name)
	}
}

// checkClock looks for times in the database that have not come: the clock was
// ahead when they were written, or is behind now. What was learned by one clock
// is then read by another.
func (d *Diagnosis) checkClock() {
	var newest time.Time
	for _, run := range d.recent {
		newest = slices.MaxFunc([]time.Time{newest, run.SeenAt(), run.EndedAt}, time.Time.Compare)
	}
	for _, e := range d.events {
		newest = slices.MaxFunc([]time.Time{newest, e.Time}, time.Time.Compare)
	}
	if ahead := newest.Sub(d.Now); ahead > clockTolerance {
		d.note(Finding{Mark: Look, What: "clock", Text: fmt.Sprintf("the database has times up to %s, which is %s ahead",
			newest.In(d.Now.Location()).Format(time.DateTime), ahead.Round(time.Second)),
			Do: "set the clock: every wait goes by this one"})
	}
}
