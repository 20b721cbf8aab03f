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

// Statuses returns how connectors stand, by what the store knows and by what the
// runs that share their accounts left since.
func (m Meeting) Statuses(ctx context.Context, db store.Reader, names []string, now time.Time) ([]report.Status, error) {
	var all []report.Status
	for _, name := range names {
		s, err := report.StatusOf(ctx, db, name, now)
		if err != nil {
			return nil, err
		}
		if _, err := m.paces(ctx, db, &s, now); err != nil {
			return nil, err
		}
		s.Selected = m.Registry.Entries[name].Streams
		all = append(all, s)
	}
	return all, nil
}

// Explain gathers what the pace of a connector is explained from.
func (m Meeting) Explain(ctx context.Context, db store.Reader, name string, now time.Time) (e report.Explanation, err error) {
	e.Now = now
	if e.Status, err = report.StatusOf(ctx, db, name, now); err != nil {
		return e, err
	}
	paces, err := m.paces(ctx, db, &e.Status, now)
	if err != nil {
		return e, err
	}
	for _, p := range paces {
		if e.Account == nil || e.Account.From == p.from {
			e.Pace, e.Known, e.Shared = p.Status, p.known, p.shared
		}
	}
	events, err := db.Events(ctx, name, historyEvents)
	if err != nil {
		return e, err
	}
	for _, event := range events {
		e.Hear(event)
	}
	e.Allowed = m.allowed(ctx, name)
	return e, nil
}

// A pace is how things stand with an account.
type pace struct {
	gate.Status
	from          string // of several: where its credential came from
	known, shared bool
}

// paces returns how things stand with the accounts of the newest run, and notes in s what the runs
// that share them left since the database was written.
func (m Meeting) paces(ctx context.Context, db store.Reader, s *report.Status, now time.Time) (all []pace, err error) {
	run := s.Newest()
	accounts := slices.Clone(s.Accounts)
	for i, domain := range run.Domains() {
		p := pace{}
		if p.Status, p.known, p.shared, err = m.paceOf(ctx, db, run, domain, now); err != nil {
			return nil, err
		}
		if len(accounts) > 0 {
			p.from = accounts[i].From
		}
		all = append(all, p)
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
	return all, nil
}

// paceOf returns how things stand with the account that a run used: as the
// database has it, or as the runs that share the account left it, if that is newer
// and says something else. One that cannot be read is nothing known.
func (m Meeting) paceOf(ctx context.Context, db store.Reader, run collection.Run, domain string, now time.Time) (pace gate.Status, known, shared bool, err error) {
	if run.ID == "" {
		return pace, false, false, nil
	}
	state, err := db.Provider(ctx, domain)
	if err != nil {
		return pace, false, false, err
	}
	if state != nil {
		pace, err = gate.Inspect(state, now)
		known = err == nil
	}
	others := m.Kept(ctx, db, run, domain)
	if bytes.Equal(gate.Newest(state, others), state) {
		return pace, known, false, nil
	}
	if told, err := gate.Inspect(others, now); err == nil && !(known && limit.Same(&pace, &told, now)) {
		return told, true, true, nil
	}
	return pace, known, false, nil
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
