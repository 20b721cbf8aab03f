package dst_test

import (
	"errors"
	"time"

	"collect/collection"
)

// look reads the store as a stranger would, with SQL.
func (s *disk) look() (rest, []commit, error) {
	r := newRest()
	var commits []commit
	place := `s.name, p.partition, x.lane, x.token, x.since, x.high, x.version, x.done, x.meaning`
	join := ` x JOIN partitions p ON p.id = x.partition_id JOIN streams s ON s.id = p.stream_id`
	err := errors.Join(
		s.rows(`SELECT `+place+` FROM checkpoints`+join, func(scan func(...any) error) error {
			var at collection.Place
			var c collection.Cursor
			err := scan(&at.Stream, &at.Partition, &at.Lane, &c.Token, &c.Since, &c.High, &c.Version, &c.Done, &c.Meaning)
			r.cursors[at] = c
			return err
		}),
		s.rows(`SELECT `+place+`, x.id, x.reason, x.state, x.attempts, coalesce(x.not_before, ''), x.run FROM gaps`+join+` ORDER BY x.id`,
			func(scan func(...any) error) error {
				var g gap
				var until string
				c := &g.cursor
				err := scan(&g.at.Stream, &g.at.Partition, &g.at.Lane, &c.Token, &c.Since, &c.High, &c.Version, &c.Done, &c.Meaning,
					&g.id, &g.reason, &g.state, &g.attempts, &until, &g.run)
				g.until, _ = time.Parse(time.RFC3339Nano, until)
				r.gaps = append(r.gaps, g)
				return err
			}),
		s.rows(`SELECT s.name, r.key, r.data, r.deleted FROM records r JOIN streams s ON s.id = r.stream_id`, func(scan func(...any) error) error {
			var stream, key, data string
			var deleted int64
			err := scan(&stream, &key, &data, &deleted)
			if deleted != 0 {
				r.deleted[key] = deleted
			}
			if r.records[stream] == nil {
				r.records[stream] = map[string]int{}
			}
			if _, twice := r.records[stream][key]; twice {
				r.twice = append(r.twice, stream+" "+key)
			}
			r.records[stream][key] = versionOf([]byte(data))
			return err
		}),
		s.rows(`SELECT data FROM quarantine`, func(scan func(...any) error) error {
			var data string
			err := scan(&data)
			r.bodies[data] = true
			return err
		}),
		s.rows(`SELECT s.name, p.partition, x.lane, x.id, x.epoch, x.previous, x.fills FROM slices`+join+` ORDER BY x.id`, func(scan func(...any) error) error {
			var c commit
			err := scan(&c.at.Stream, &c.at.Partition, &c.at.Lane, &c.id, &c.epoch, &c.previous, &c.fills)
			commits = append(commits, c)
			return err
		}))
	return r, commits, err
}

// rows calls each for every row of a query.
func (s *disk) rows(query string, each func(scan func(...any) error) error) error {
	rows, err := s.query(query)
	if err != nil {
		return err
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
