// Package lanes counts the partitions of each lane of a stream while their
// checkpoints move.
package lanes

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// Changes are by how much a transaction changes the counts of lanes.
type Changes map[lane]count

// A lane is one lane of a stream.
type lane struct {
	stream int64
	name   collection.Lane
}

// A count holds the counts of a lane, or by how much they change.
type count struct{ partitions, done, sum int64 }

// counted reports whether a place is one of the partitions of its lane.
func counted(at collection.Place) bool {
	return at.Partition != "" && !strings.HasPrefix(string(at.Partition), collection.UnmadePrefix)
}

// Counts computes the rows of the table lanes from the checkpoints. After a clock was set
// back, saved_at may differ.
const Counts = `SELECT p.stream_id, c.lane, count(*), sum(c.done), sum(checkpoint_sum(p.partition, c.digest)), max(c.saved_at)
	FROM partitions p CROSS JOIN checkpoints c ON c.partition_id = p.id
	WHERE p.partition <> '' AND substr(p.partition, 1, length('` + collection.UnmadePrefix + `')) <> '` + collection.UnmadePrefix + `'`

// Move counts that the checkpoint of a place in a stream moved to a cursor.
// Before, it was at another, which is nil if there was none.
func (c Changes) Move(stream int64, at collection.Place, from *collection.Cursor, to collection.Cursor) {
	if !counted(at) {
		return
	}
	of := lane{stream, at.Lane}
	n := c[of]
	if from != nil {
		n.partitions--
		n.done -= one(from.Done)
		n.sum -= format.CheckpointSum(string(at.Partition), from.Digest())
	}
	n.partitions++
	n.done += one(to.Done)
	n.sum += format.CheckpointSum(string(at.Partition), to.Digest())
	c[of] = n
}

// one returns 1 for true.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// Save adds the changes to the counts of each lane.
func (c Changes) Save(t database.Tx) error {
	for of, n := range c {
		err := t.Exec(`INSERT INTO lanes (stream_id, lane, partitions, done, sum, saved_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT (stream_id, lane) DO UPDATE SET partitions = lanes.partitions + ?3,
				done = lanes.done + ?4, sum = lanes.sum + ?5, saved_at = max(lanes.saved_at, ?6)`,
			of.stream, string(of.name), n.partitions, n.done, n.sum, format.Time(t.Now))
		if err != nil {
			return err
		}
	}
	return nil
}

// Recount counts a lane anew, after its checkpoints were moved by hand.
func Recount(t database.Tx, stream int64, name collection.Lane) error {
	if err := t.Exec(`DELETE FROM lanes WHERE stream_id = ? AND lane = ?`, stream, string(name)); err != nil {
		return err
	}
	return t.Exec(`INSERT INTO lanes (stream_id, lane, partitions, done, sum, saved_at) `+Counts+`
		AND p.stream_id = ? AND c.lane = ? GROUP BY 1, 2`, stream, string(name))
}

// Read describes the lanes of a stream: its own walk, and the counts of its
// partitions.
func Read(ctx context.Context, r *database.Readers, stream int64) (lanes []store.LaneState, err error) {
	of := func(name collection.Lane) *store.LaneState {
		i := slices.IndexFunc(lanes, func(l store.LaneState) bool { return l.Lane == name })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, store.LaneState{Lane: name})
		}
		return &lanes[i]
	}
	err = r.Query(ctx, func(row database.Scanner) error {
		var l store.LaneState
		var sum []byte
		err := row.Scan(&l.Lane, &l.Complete, &sum, format.TimeTo(&l.SavedAt), &l.Epoch, format.EvidenceTo(&l.Evidence), format.TimeTo(&l.Began), &l.BeganEpoch, format.TextTo(&l.Since))
		l.Digest = string(sum)
		*of(l.Lane) = l
		return err
	}, `SELECT c.lane, c.done, c.digest, c.saved_at, c.epoch, c.evidence, s.committed_at, coalesce(s.epoch, 0), c.since
		FROM partitions p CROSS JOIN checkpoints c ON c.partition_id = p.id
		LEFT JOIN slices s ON s.id = CASE WHEN json_valid(c.evidence) THEN CAST(json_extract(c.evidence, '$.pass') AS BIGINT) END
		WHERE p.stream_id = ? AND p.partition = '' ORDER BY c.lane DESC`, stream) // incremental comes first
	if err != nil {
		return lanes, err
	}
	err = r.Query(ctx, func(row database.Scanner) error {
		var name collection.Lane
		var n count
		var saved store.LaneState
		if err := row.Scan(&name, &n.partitions, &n.done, &n.sum, format.TimeTo(&saved.SavedAt)); err != nil {
			return err
		}
		l := of(name)
		l.Partitions, l.Done = n.partitions, n.done
		l.Digest = string(binary.BigEndian.AppendUint64([]byte(l.Digest), uint64(n.sum))) // #nosec G115 -- only compared
		if saved.SavedAt.After(l.SavedAt) {
			l.SavedAt = saved.SavedAt
		}
		return nil
	}, `SELECT lane, partitions, done, sum, saved_at FROM lanes WHERE stream_id = ? ORDER BY lane DESC`, stream)
	if err != nil {
		return lanes, err
	}
	for i := range lanes {
		sum := sha256.Sum256([]byte(lanes[i].Digest))
		lanes[i].Digest = hex.EncodeToString(sum[:8])
	}
	return lanes, owedPartitions(ctx, r, stream, lanes)
}

// owedPartitions counts the partitions that owe a gap with the others: one
// without a checkpoint is a partition all the same, and one that was walked to
// its end is not done.
func owedPartitions(ctx context.Context, r *database.Readers, stream int64, lanes []store.LaneState) error {
	return r.Query(ctx, func(row database.Scanner) error {
		var lane collection.Lane
		var partitions, done int64
		if err := row.Scan(&lane, &partitions, &done); err != nil {
			return err
		}
		for i := range lanes {
			if lanes[i].Lane == lane {
				lanes[i].Partitions += partitions
				lanes[i].Done -= done
			}
		}
		return nil
	}, `SELECT g.lane, count(*) FILTER (WHERE c.partition_id IS NULL), coalesce(sum(c.done), 0) FROM
			(SELECT DISTINCT partition_id, lane FROM gaps
				WHERE stream_id = ?1 AND state IN ('open', 'leased', 'dead') AND reason <> 'gone') g
		JOIN partitions p ON p.id = g.partition_id AND p.partition <> '' AND substr(p.partition, 1, length(?2)) <> ?2
		LEFT JOIN checkpoints c ON c.partition_id = g.partition_id AND c.lane = g.lane
		GROUP BY g.lane`, stream, collection.UnmadePrefix)
}
