package records

import (
	"math"
	"slices"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/internal/streams"
)

// upsertQuery does for all records of a slice what upsert does for one. Nobody else
// writes to the stream meanwhile, and no key stands twice in a slice, so that those which are not
// known are new. LIMIT has each key looked up by its
// index, also where the server has not counted the rows of a new table yet. It returns the indexes of
// those that are known, and whether they are stored.
const upsertQuery = `WITH
	slice AS (SELECT * FROM unnest(?5::bigint[], ?6::text[], ?7::text[], ?8::bigint[], ?9::text[], ?10::text[]) AS slice (n, key, data, sum, mark_scale, mark)),
	known AS (
		SELECT s.n, r.id, (r.deleted <> 0 OR r.data <> s.data AND r.partition_id = ?2)
			AND NOT (r.mark_scale = s.mark_scale AND r.mark > s.mark) AS changes
		FROM slice s JOIN LATERAL (SELECT * FROM records WHERE stream_id = ?1 AND key = s.key LIMIT 1) r ON true),
	added AS (
		INSERT INTO records (id, stream_id, key, partition_id, slice_id, data, sum, mark_scale, mark, pass)
		SELECT nextval('records_id_seq'), ?1::bigint, s.key, ?2::bigint, ?3::bigint, s.data, s.sum, s.mark_scale, s.mark, ?4::bigint
		FROM (SELECT * FROM slice s WHERE NOT EXISTS (SELECT 1 FROM known k WHERE k.n = s.n) ORDER BY s.n) s),
	renewed AS (
		UPDATE records r SET slice_id = ?3, data = s.data, sum = s.sum, mark_scale = s.mark_scale, mark = s.mark, partition_id = ?2, deleted = 0
		FROM known k JOIN slice s ON s.n = k.n WHERE r.id = k.id AND k.changes)
	SELECT n, changes FROM known ORDER BY n`

// upsertAll is upsert in one statement, or in several if a key stands twice: then the
// later one is the newer one.
func (b *Batch) upsertAll(s *streams.Stream, partition, pass int64, records []collection.Record) (done upserted, err error) {
	l := newLists(len(records))
	l.batch, l.stream, l.partition, l.pass = b, s, partition, pass
	l.newest = math.MaxInt64 // where each key stands once, all that is found was there before
	if pass != 0 && l.repeats(records) {
		if err := b.tx.Row(`SELECT nextval('records_id_seq')`).Scan(&l.newest); err != nil {
			return done, err
		}
	}
	for i := range records {
		r := &records[i]
		if r.Deleted {
			continue
		}
		if l.keys[r.Key] {
			if err := l.store(); err != nil {
				return done, err
			}
		}
		l.add(i, r)
	}
	if err := l.store(); err != nil {
		return done, err
	}
	for i := range records {
		if _, same := slices.BinarySearch(l.unchanged, i); !same && !records[i].Deleted {
			b.news.Look(s, records[i].Data)
		}
	}
	return l.upserted, nil
}

// lists are records that are stored together, column by column.
type lists struct {
	batch           *Batch
	stream          *streams.Stream
	partition, pass int64

	upserted

	keys                      map[string]bool
	n, sums                   []int64
	key, data, scale, version []string
}

// newLists returns lists with room for n records.
func newLists(n int) lists {
	return lists{
		keys: make(map[string]bool, n), n: make([]int64, 0, n), sums: make([]int64, 0, n),
		key: make([]string, 0, n), data: make([]string, 0, n), scale: make([]string, 0, n), version: make([]string, 0, n),
	}
}

// repeats reports whether the records of a slice may have a key twice.
func (l *lists) repeats(records []collection.Record) bool {
	defer clear(l.keys)
	for i := range records {
		if records[i].Deleted || l.keys[records[i].Key] {
			return true
		}
		l.keys[records[i].Key] = true
	}
	return false
}

func (l *lists) add(i int, r *collection.Record) {
	data := format.Shared(r.Data)
	l.keys[r.Key] = true
	l.n, l.key, l.data = append(l.n, int64(i)), append(l.key, r.Key), append(l.data, data)
	l.sums = append(l.sums, l.batch.tx.RecordSum(l.stream.ID, l.partition, l.batch.Commit, r.Key, data, r.Mark, 0))
	l.scale, l.version = append(l.scale, r.Mark.Scale), append(l.version, r.Mark.Value)
}

// store stores what was added, and begins anew.
func (l *lists) store() error {
	if len(l.n) == 0 {
		return nil
	}
	l.batch.inserted += int64(len(l.n))
	err := l.batch.tx.Each(func(row database.Scanner) error {
		l.batch.inserted-- // it is known
		var i int
		var changes bool
		err := row.Scan(&i, &changes)
		l.known = append(l.known, i)
		if !changes {
			l.unchanged = append(l.unchanged, i)
		}
		return err
	}, upsertQuery, l.stream.ID, l.partition, l.batch.Commit, l.pass, l.n, l.key, l.data, l.sums, l.scale, l.version)
	clear(l.keys)
	l.n, l.sums, l.key, l.data, l.scale, l.version = l.n[:0], l.sums[:0], l.key[:0], l.data[:0], l.scale[:0], l.version[:0]
	return err
}
