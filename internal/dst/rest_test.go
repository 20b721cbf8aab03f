package dst_test

import (
	"time"

	"collect/collection"
)

// A rest is what the store holds while no process is running.
type rest struct {
	cursors map[collection.Place]collection.Cursor
	records map[string]map[string]int
	gaps    []gap
	bodies  map[string]bool // in quarantine
}

// A gap is a row of the gaps, whatever its state.
type gap struct {
	id       int64
	at       collection.Place
	cursor   collection.Cursor
	reason   collection.Reason
	state    collection.GapState
	attempts int
	until    time.Time // before which it is not tried; zero: at any time
	run      string
}

func (g gap) owed() bool {
	return g.state == collection.GapOpen || g.state == collection.GapLeased || g.state == collection.GapDead
}

// rest returns what the store holds; it is read anew if something may have
// changed.
func (h *history) rest() rest {
	if h.last == nil {
		now := h.snapshot()
		h.last = &now
	}
	return *h.last
}

// snapshot reads the store as a stranger would, with SQL.
func (h *history) snapshot() rest {
	db := h.stage
	r := rest{cursors: map[collection.Place]collection.Cursor{}, records: map[string]map[string]int{}, bodies: map[string]bool{}}
	place := `s.name, p.partition, x.lane, x.token, x.since, x.high, x.version, x.done`
	join := ` x JOIN partitions p ON p.id = x.partition_id JOIN streams s ON s.id = p.stream_id`
	h.rows(db, `SELECT `+place+` FROM checkpoints`+join, func(scan func(...any) error) error {
		var at collection.Place
		var c collection.Cursor
		err := scan(&at.Stream, &at.Partition, &at.Lane, &c.Token, &c.Since, &c.High, &c.Version, &c.Done)
		r.cursors[at] = c
		return err
	})
	h.rows(db, `SELECT `+place+`, x.id, x.reason, x.state, x.attempts, coalesce(x.not_before, ''), x.run FROM gaps`+join+` ORDER BY x.id`,
		func(scan func(...any) error) error {
			var g gap
			var until string
			c := &g.cursor
			err := scan(&g.at.Stream, &g.at.Partition, &g.at.Lane, &c.Token, &c.Since, &c.High, &c.Version, &c.Done,
				&g.id, &g.reason, &g.state, &g.attempts, &until, &g.run)
			g.until, _ = time.Parse(time.RFC3339Nano, until)
			r.gaps = append(r.gaps, g)
			return err
		})
	h.rows(db, `SELECT s.name, r.key, r.data FROM records r JOIN streams s ON s.id = r.stream_id`, func(scan func(...any) error) error {
		var stream, key, data string
		err := scan(&stream, &key, &data)
		if r.records[stream] == nil {
			r.records[stream] = map[string]int{}
		}
		if _, twice := r.records[stream][key]; twice {
			h.violate("I3: %s %s is there twice", stream, key)
		}
		r.records[stream][key] = versionOf([]byte(data))
		return err
	})
	h.rows(db, `SELECT data FROM quarantine`, func(scan func(...any) error) error {
		var data string
		err := scan(&data)
		r.bodies[data] = true
		return err
	})
	h.checkTrail(db)
	return r
}

// rows calls each for every row of a query.
func (h *history) rows(db *stage, query string, each func(scan func(...any) error) error) {
	rows, err := db.query(query)
	if err != nil {
		h.violate("read: %v", err)
		return
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			h.violate("read: %v", err)
			return
		}
	}
	if err := rows.Err(); err != nil {
		h.violate("read: %v", err)
	}
}
