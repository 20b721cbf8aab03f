package ledger

import (
	"context"
	"slices"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
	"collect/store/internal/gaps"
	"collect/store/internal/lanes"
)

// States returns how connectors stand; see store.Reader. It asks as many queries for all
// connectors as for one.
func (r reader) States(ctx context.Context, connector string) ([]store.ConnectorState, error) {
	of, args := database.Of("connector", connector)
	var names []string
	if err := r.readers.Query(ctx, database.Texts(&names), `SELECT connector FROM leases WHERE `+of+` ORDER BY connector`, args...); err != nil {
		return nil, err
	}
	all := make([]store.ConnectorState, len(names))
	index := make(map[string]*store.ConnectorState, len(names))
	for i, name := range names {
		all[i].Connector = name
		index[name] = &all[i]
	}
	streams, err := r.streams(ctx, connector)
	if err != nil {
		return nil, err
	}
	owed, err := gaps.Owed(ctx, r.readers, connector)
	if err != nil {
		return nil, err
	}
	for _, gap := range owed {
		if s := index[gap.Connector]; s != nil {
			s.Gaps = append(s.Gaps, gap)
		}
	}
	for name, s := range index {
		s.Streams = streams[name]
	}
	for _, read := range []func(context.Context, string, map[string]*store.ConnectorState) error{r.pauses, r.newest, r.totals, r.accounts} {
		if err := read(ctx, connector, index); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// streams returns the streams of a connector, or of all with "", by connector and in the
// order declared.
func (r reader) streams(ctx context.Context, connector string) (map[string][]store.StreamState, error) {
	of, args := database.Of("connector", connector)
	read, err := lanes.Read(ctx, r.readers, connector)
	if err != nil {
		return nil, err
	}
	states := map[string][]store.StreamState{}
	err = r.readers.Query(ctx, func(row database.Scanner) error {
		var id int64
		var name string
		var st store.StreamState
		err := row.Scan(&id, &name, &st.Name, &st.Role, &st.Parent, &st.Refresh, &st.Ordered, &st.View, &st.Records, &st.Deleted, &st.Quarantined, &st.Collided)
		st.Lanes = read[id]
		states[name] = append(states[name], st)
		return err
	}, `SELECT id, connector, name, role, parent, refresh, ordered, view, records,
			(SELECT count(*) FROM records WHERE stream_id = s.id AND deleted <> 0),
			(SELECT count(*) FROM quarantine WHERE stream_id = s.id),
			(SELECT count(*) FROM quarantine WHERE stream_id = s.id AND reason IN ('key_collision', 'contested') AND key <> '')
		FROM streams s NOT INDEXED WHERE `+of+` ORDER BY position, id`, args...)
	return states, err
}

// pauses reads who paused connectors.
func (r reader) pauses(ctx context.Context, connector string, index map[string]*store.ConnectorState) error {
	of, args := database.Of("connector", connector)
	return r.readers.Query(ctx, func(row database.Scanner) error {
		var name string
		var p store.Pause
		err := row.Scan(&name, format.TimeTo(&p.At), &p.Who, &p.Why)
		if s := index[name]; s != nil {
			s.Pause = p
		}
		return err
	}, `SELECT connector, at, who, why FROM pauses WHERE `+of, args...)
}

// measuredWithin is how many of the newest events of a connector are looked through for
// the metrics of its newest run: what an operator did later is among them.
const measuredWithin = "1000"

// newest reads the newest run of each connector, with its metrics.
func (r reader) newest(ctx context.Context, connector string, index map[string]*store.ConnectorState) error {
	of, args := database.Of("connector", connector)
	return r.readers.Query(ctx, func(row database.Scanner) error {
		var info []byte
		run, err := scanRun(row, &info)
		if err != nil {
			return err
		}
		var e collection.Event
		if err := store.AddEventInfo(&e, info); err != nil {
			return err
		}
		if e.Metrics != nil {
			run.Metrics = *e.Metrics
		}
		if s := index[run.Connector]; s != nil {
			s.Newest = &run
		}
		return nil
	}, `SELECT `+runColumns+`, coalesce((SELECT info FROM
			(SELECT id, run, kind, info FROM events WHERE connector = r.connector ORDER BY id DESC LIMIT `+measuredWithin+`) e
			WHERE run = r.id AND kind IN ('progress', 'run.finished') ORDER BY id DESC LIMIT 1), '{}')
		FROM runs r WHERE number IN (SELECT (SELECT max(number) FROM runs WHERE connector = l.connector) FROM leases l WHERE `+of+`)`, args...)
}

// totals adds up the runs of each connector.
func (r reader) totals(ctx context.Context, connector string, index map[string]*store.ConnectorState) error {
	of, args := database.Of("connector", connector)
	err := r.readers.Query(ctx, func(row database.Scanner) error {
		var name string
		var n int
		var t collection.Tally
		err := row.Scan(append([]any{&name, &n}, format.TallyColumns(&t)...)...)
		if s := index[name]; s != nil {
			s.Runs, s.All = n, t
		}
		return err
	}, `SELECT connector, count(*), `+tallySums+` FROM runs WHERE `+of+` GROUP BY connector`, args...)
	if err != nil {
		return err
	}
	// What pruned runs add up to stands in the events that tell of it.
	return r.readers.Query(ctx, func(row database.Scanner) error {
		var e collection.Event
		var info []byte
		if err := row.Scan(&e.Connector, &info); err != nil {
			return err
		}
		if err := store.AddEventInfo(&e, info); err != nil || e.Pruned == nil {
			return err
		}
		if s := index[e.Connector]; s != nil {
			s.Runs += int(e.Pruned.Runs)
			s.All = s.All.Add(e.Pruned.Tally)
		}
		return nil
	}, `SELECT connector, info FROM events INDEXED BY events_ordered WHERE `+events.Ordered+` AND kind = 'history.pruned' AND `+of, args...)
}

// accounts reads what was learned of the accounts of the newest runs.
func (r reader) accounts(ctx context.Context, connector string, index map[string]*store.ConnectorState) error {
	users := map[string][]*[]byte{}
	for _, s := range index {
		if s.Newest == nil {
			continue
		}
		domains := s.Newest.Domains()
		s.Accounts = make([][]byte, len(domains))
		for i, domain := range domains {
			users[domain] = append(users[domain], &s.Accounts[i])
		}
	}
	if connector != "" {
		for domain, to := range users {
			state, err := r.Provider(ctx, domain)
			if err != nil {
				return err
			}
			for _, p := range to {
				*p = state
			}
		}
		return nil
	}
	return r.readers.Query(ctx, func(row database.Scanner) error {
		var domain string
		var state []byte
		err := row.Scan(&domain, &state)
		for _, p := range users[domain] {
			*p = slices.Clone(state)
		}
		return err
	}, `SELECT domain, state FROM provider_state`)
}
