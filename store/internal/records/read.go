package records

import (
	"context"
	"fmt"
	"iter"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// A page of records ends with whichever comes first. It is read whole and
// then handed out, so that a slow consumer never holds the WAL.
const (
	pageRecords = 500
	pageBytes   = 1 << 20
)

// Read yields the records of a stream in the bytewise order of their keys.
// It reads page by page: a record that changes meanwhile is yielded once, in
// the version that its page found.
//
// Each record is compared with its sum, and their number with the one that the
// stream knows, so that an index which lost a row is not believed.
func Read(ctx context.Context, r *database.Readers, connector, stream string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		var id, stored int64 // stored: when the walk began; records are never deleted
		found, err := r.One(ctx, []any{&id, &stored}, streamQuery, connector, stream)
		if err != nil {
			yield(store.Stored{}, err)
			return
		}
		if !found {
			return
		}
		var n int64
		beyond := ">=" // the empty key comes first
		for after := ""; ; beyond = ">" {
			page, err := page(ctx, r, id, beyond, after)
			if err == nil && len(page) == 0 && n < stored {
				err = fmt.Errorf("store %s: %w: %d of %d records of %s were found", r.Name, store.ErrDamaged, n, stored, stream)
			}
			if err != nil {
				yield(store.Stored{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
			}
			n += int64(len(page))
			after = page[len(page)-1].Key
		}
	}
}

// streamQuery finds a stream as Streams does, without an index that may have
// lost it.
const streamQuery = `SELECT id, records FROM streams NOT INDEXED WHERE connector = ? AND name = ?`

const PageQuery = `SELECT r.id, r.key, r.data, r.partition_id, r.slice_id, r.sum, r.mark_scale, r.mark, p.partition, c.run, c.committed_at,
		r.deleted, d.run, d.committed_at
	FROM records r CROSS JOIN partitions p ON p.id = r.partition_id CROSS JOIN slices c ON c.id = r.slice_id
		LEFT JOIN slices d ON d.id = r.deleted
	WHERE r.stream_id = ? AND r.key %s ? ORDER BY r.key LIMIT ?`

func page(ctx context.Context, r *database.Readers, stream int64, beyond, after string) (page []store.Stored, err error) {
	size := 0
	err = r.Query(ctx, func(row database.Scanner) error {
		var rec store.Stored
		var id, partition, slice, sum, deleted int64
		err := row.Scan(&id, &rec.Key, &rec.Data, &partition, &slice, &sum, &rec.Mark.Scale, &rec.Mark.Value, format.TextTo((*string)(&rec.Partition)), &rec.Run, format.TimeTo(&rec.CommittedAt),
			&deleted, format.TextTo(&rec.DeletedBy), format.TimeTo(&rec.DeletedAt))
		if err != nil {
			return err
		}
		ordered := beyond == ">=" || rec.Key > after
		rec.Deleted = deleted != 0
		whole := sum == r.RecordSum(stream, partition, slice, rec.Key, format.Shared(rec.Data), rec.Mark, deleted)
		if !ordered || !whole || rec.Deleted == rec.DeletedAt.IsZero() {
			return format.ChangedRecord(id)
		}
		page, beyond, after = append(page, rec), ">", rec.Key
		if size += len(rec.Data); size >= pageBytes {
			return database.ErrEnough
		}
		return nil
	}, fmt.Sprintf(PageQuery, beyond), stream, after, pageRecords)
	return page, err
}

// ParentsQuery leaves out what is deleted: there is nothing below it to ask for.
const ParentsQuery = `SELECT r.id, r.partition_id, r.slice_id, r.sum, r.mark_scale, r.mark, p.partition, r.key, r.data FROM records r CROSS JOIN partitions p ON p.id = r.partition_id
	WHERE r.stream_id = ? AND r.key > ? AND r.deleted = 0 ORDER BY r.key LIMIT ?`

// Parents returns up to n records of a stream by key; see store.Ledger.
func Parents(ctx context.Context, r *database.Readers, stream int64, after string, n int) (parents []collection.Parent, err error) {
	err = r.Query(ctx, func(row database.Scanner) error {
		var p collection.Parent
		var id, partition, sum int64
		if err := row.Scan(&id, &partition, &p.Commit, &sum, &p.Mark.Scale, &p.Mark.Value, &p.Partition, &p.Key, &p.Data); err != nil {
			return err
		}
		if sum != r.RecordSum(stream, partition, p.Commit, p.Key, format.Shared(p.Data), p.Mark, 0) {
			return format.ChangedRecord(id)
		}
		parents = append(parents, p)
		return nil
	}, ParentsQuery, stream, after, n)
	return parents, err
}
