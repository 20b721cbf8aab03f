package records

import (
	"crypto/sha256"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/streams"
)

// Hold keeps the records of a partition that a gap is owed for, by the newest commit.
func Hold(t database.Tx, stream *streams.Stream, partition int64, held *collection.Held) error {
	if held == nil {
		return nil
	}
	b := &Batch{tx: t}
	if err := t.Row(`SELECT coalesce(max(id), 0) FROM slices`).Scan(&b.Commit); err != nil {
		return err
	}
	for _, r := range held.Records {
		if err := b.reject(stream, partition, r); err != nil {
			return err
		}
	}
	return nil
}

// reject keeps bytes that cannot be stored under a key. The same bytes are kept once,
// however often a slice is repeated.
func (b *Batch) reject(s *streams.Stream, partition int64, r collection.Rejected) error {
	s.Rejects = true
	sum := sha256.Sum256(r.Data)
	data := r.Data
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	return b.tx.Exec(`INSERT INTO quarantine
			(stream_id, partition_id, reason, digest, data, seen, first_slice, last_slice, key)
		VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?6, ?7)
		ON CONFLICT (stream_id, partition_id, reason, digest) DO UPDATE SET seen = quarantine.seen + 1, last_slice = ?6, key = ?7`,
		s.ID, partition, r.Reason, sum[:], data, b.Commit, r.Key)
}

// admit ends the quarantine of what comes again and is a record now: of the same
// bytes, and of what was only kept since its key could not be stored then.
func (b *Batch) admit(s *streams.Stream, partition int64, r *collection.Record) error {
	if !s.Rejects || r.Deleted {
		return nil
	}
	sum := sha256.Sum256(r.Bytes())
	return b.tx.Exec(`DELETE FROM quarantine WHERE stream_id = ?1 AND partition_id = ?2 AND (digest = ?3 OR key = ?4 AND key <> '')`,
		s.ID, partition, sum[:], r.Key)
}

// unreject ends the quarantine of all that was kept since its key was another
// record's, which has moved.
func (b *Batch) unreject(s *streams.Stream, key string) error {
	if !s.Rejects {
		return nil
	}
	return b.tx.Exec(`DELETE FROM quarantine WHERE stream_id = ? AND key = ? AND key <> ''`, s.ID, key)
}
