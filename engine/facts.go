package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report"
	"collect/report/limit"
	"collect/store"
)

// historyEvents is how far back an explanation reads events.
const historyEvents = 500

// Statuses returns how a connector stands (all, if it is ""), by what the store knows and
// by what the runs that share its accounts left since. One that never ran has none.
func (m Meeting) Statuses(ctx context.Context, db store.Reader, name string, now time.Time) ([]report.Status, error) {
	states, err := db.States(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]report.Status, len(states))
	for i, state := range states {
		all[i] = report.StatusFrom(state, now)
		m.paces(ctx, db, state, &all[i], now)
		all[i].Selected = m.Registry.Entries[state.Connector].Streams
	}
	m.addFleet(ctx, db, all, now)
	return all, nil
}

// addFleet adds what the fleet does with each connector, if that matters to one of them.
func (m Meeting) addFleet(ctx context.Context, db store.Reader, all []report.Status, now time.Time) {
	matters := func(s report.Status) bool { return s.Newest().Outcome == collection.Failed || s.Silent(now) }
	if m.Fleet == nil || !slices.ContainsFunc(all, matters) {
		return
	}
	f := m.Fleet(ctx, db)
	for i := range all {
		all[i].AddFleet(f, now)
	}
}

// RunView tells a run by its id, as [report.RunViewOf] does, and when the fleet goes on after it.
func (m Meeting) RunView(ctx context.Context, db store.Reader, id string, now time.Time) (v report.RunView, there bool, err error) {
	v, there, err = report.RunViewOf(ctx, db, id, now)
	if there {
		all := []report.Status{v.Status}
		m.addFleet(ctx, db, all, now)
		v.Status = all[0]
	}
	return v, there, err
}

// Explain gathers what the pace of a connector is explained from.
func (m Meeting) Explain(ctx context.Context, db store.Reader, name string, now time.Time) (e report.Explanation, err error) {
	e.Now = now
	states, err := db.States(ctx, name)
	if err != nil {
		return e, err
	}
	state := store.ConnectorState{Connector: name}
	if len(states) == 1 {
		state = states[0]
	}
	e.Status = report.StatusFrom(state, now)
	e.Status.Selected = m.Registry.Entries[name].Streams
	all := []report.Status{e.Status}
	m.addFleet(ctx, db, all, now)
	e.Status = all[0]
	for _, p := range m.paces(ctx, db, state, &e.Status, now) {
		if e.Account == nil || e.Account.From == p.from {
			e.Pace, e.Known, e.Shared = p.Status, p.known, p.shared
		}
	}
	events, err := db.Happened(ctx, name, historyEvents)
	if err != nil {
		return e, err
	}
	for _, event := range events {
		e.Hear(event)
	}
	e.Allowed = m.knowing(e.Status.Newest()).allowed(ctx, name)
	return e, nil
}

// Unrun returns what the files say of the connector that arg stands for: no run has collected it.
func (m Meeting) Unrun(ctx context.Context, arg string, now time.Time) (e report.Explanation, err error) {
	t, _, err := m.Registry.Find(ctx, arg)
	if err != nil {
		return e, err
	}
	return report.Explanation{Status: report.Status{Name: t.Name}, Now: now, Allowed: m.allowed(ctx, arg)}, nil
}

// A pace is how things stand with an account.
type pace struct {
	gate.Status
	from          string // of several: where its credential came from
	known, shared bool
}

// paces returns how things stand with the accounts of the newest run, and notes in s what the runs
// that share them left since the database was written.
func (m Meeting) paces(ctx context.Context, db store.Reader, state store.ConnectorState, s *report.Status, now time.Time) (all []pace) {
	run := s.Newest()
	accounts := slices.Clone(s.Accounts)
	for i, kept := range state.Accounts {
		domain := run.Domains()[i]
		p := pace{}
		at := m.metAt(ctx, db, run, domain)
		p.Status, p.known, p.shared = paceOf(kept, keptAt(ctx, at), now)
		if len(accounts) > 0 {
			p.from = accounts[i].From
		}
		all = append(all, p)
		if s.Sharing == nil {
			s.Sharing = Place{m.Dir, db}.sharing(ctx, at, domain)
		}
		if !p.known || !p.shared {
			continue
		}
		told := report.AccountOf(domain, p.Status, now)
		told.Shared, told.From = true, p.from
		if len(accounts) > 0 {
			accounts[i] = *told
		} else {
			s.Account = told
		}
	}
	if s.Accounts = accounts; len(accounts) > 0 {
		s.Account = report.Together(accounts, now)
	}
	return all
}

// paceOf returns how things stand with an account: as the database has it, in state, or as
// the others left it, the runs that share it, if that is newer and says something else. One
// that cannot be read is nothing known.
func paceOf(state, others []byte, now time.Time) (pace gate.Status, known, shared bool) {
	if state != nil {
		var err error
		pace, err = gate.Inspect(state, now)
		known = err == nil
	}
	if bytes.Equal(gate.Newest(state, others), state) {
		return pace, known, false
	}
	if told, err := gate.Inspect(others, now); err == nil && !(known && limit.Same(&pace, &told, now)) {
		return told, true, true
	}
	return pace, known, false
}

// Reading returns m with a registry that knows of connectors what db does: the database
// is open, and must not be opened once more.
func (m Meeting) Reading(db store.Reader) Meeting {
	r := *m.Registry
	r.Remembered = Remembered(db)
	m.Registry = &r
	return m
}

// Remembered returns what db tells a registry: with which connector file a connector was
// collected, and which names there are. The newest run that worked says it, and if none
// did, the newest one.
func Remembered(db store.Reader) func(ctx context.Context, name string) (path string, known []string, err error) {
	return func(ctx context.Context, name string) (path string, known []string, err error) {
		run, err := newestThatWorked(ctx, db, name, "")
		if err == nil && run == nil {
			run, err = newest(ctx, db, name, func(collection.Run) bool { return true })
		}
		if err != nil {
			return "", nil, err
		}
		if run != nil && run.Source != "" {
			return run.Source, nil, nil
		}
		known, err = db.Connectors(ctx)
		return "", known, err
	}
}

// knowing returns m with a registry that knows with which connector file a run was: it
// need not ask the database.
func (m Meeting) knowing(run collection.Run) Meeting {
	r := *m.Registry
	r.Remembered = func(_ context.Context, name string) (string, []string, error) {
		if name == run.Connector {
			return run.Source, nil, nil
		}
		return "", nil, nil
	}
	m.Registry = &r
	return m
}

// allowed returns the ceilings that the files say of a connector. A file that is
// gone or broken says nothing: the run that needs it will complain.
func (m Meeting) allowed(ctx context.Context, name string) (allowed []report.Allowance) {
	t, spec, err := m.Registry.Find(ctx, name)
	if err != nil {
		return nil
	}
	origin := "the connector file"
	if t.Source != "" {
		origin = words.Home(t.Source, m.Registry.Env)
	}
	for _, c := range spec.Provider(declarative.Overrides{}).Ceilings {
		allowed = append(allowed, report.Allowance{Ceiling: c, Origin: origin})
	}
	for _, c := range m.Registry.Providers[spec.ProviderName()].Ceilings() {
		allowed = append(allowed, report.Allowance{Ceiling: c.Ceiling, Origin: c.Origin})
	}
	return allowed
}
