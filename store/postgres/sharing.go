package postgres

import (
	"context"
	"encoding/json"

	"collect/collection"
	"collect/store"
)

// Sharing returns who shares the pace of an account now, which has a name of its own where the
// machines meet, and is a domain of the runs; nil if no process leads it.
func (s *Store) Sharing(ctx context.Context, account, domain string) (*store.Sharing, error) {
	var text string
	if err := s.Beside(ctx, &text, sharingQuery, account, domain); err != nil || text == "" {
		return nil, err
	}
	var row struct {
		Machines, Runs, PID int
		Host                string
	}
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return nil, err
	}
	return &store.Sharing{Machines: row.Machines, Runs: row.Runs, Leader: collection.Holder{Host: row.Host, PID: row.PID}}, nil
}

// The lead is of the clock of the server, in microseconds: see package share.
const sharingQuery = `
	WITH on_it AS (
		SELECT r.host FROM leases l JOIN runs r ON r.id = l.run WHERE l.expires_at > clock_timestamp()
			AND (r.domain = ?2 OR EXISTS (SELECT FROM json_array_elements(r.accounts::json) AS a WHERE a ->> 'domain' = ?2))
	)
	SELECT coalesce((
		SELECT json_build_object('host', coalesce(lead::json ->> 'host', ''), 'pid', coalesce((lead::json ->> 'pid')::bigint, 0),
			'machines', (SELECT count(DISTINCT host) FROM on_it), 'runs', (SELECT count(*) FROM on_it))::text
		FROM paces WHERE account = ?1 AND lead::json ->> 'id' <> ''
			AND (lead::json ->> 'ends')::bigint > extract(epoch FROM clock_timestamp()) * 1000000
	), '')`
