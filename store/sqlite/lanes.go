package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// A lane is one lane of a stream.
type lane struct {
	stream int64
	name   collection.Lane
}

// A laneCount holds the counts of a lane, or by how much a batch changes them.
type laneCount struct{ partitions, done, sum int64 }

// counted reports whether a place is one of the partitions of its lane.
func counted(at collection.Place) bool {
	return at.Partition != "" && !strings.HasPrefix(string(at.Partition), collection.UnmadePrefix)
}

// recount computes the rows of lanes from the checkpoints. After a clock was set
// back, saved_at may differ.
const recount = `SELECT p.stream_id, c.lane, count(*), sum(c.done), sum(checkpoint_sum(p.partition, c.digest)), max(c.saved_at)
	FROM partitions p CROSS JOIN checkpoints c ON c.partition_id = p.id
	WHERE p.partition <> '' AND substr(p.partition, 1, length('` + collection.UnmadePrefix + `')) <> '` + collection.UnmadePrefix + `'`

// note counts the move of a checkpoint to next.
func (b *batch) note(here standing, next collection.Cursor) {
	if !counted(here.Place) {
		return
	}
	if b.lanes == nil {
		b.lanes = map[lane]laneCount{}
	}
	of := lane{here.stream.id, here.Lane}
	n := b.lanes[of]
	if here.begun {
		n.partitions--
		n.done -= one(here.at.Done)
		n.sum -= format.CheckpointSum(string(here.Partition), here.at.Cursor.Digest())
	}
	n.partitions++
	n.done += one(next.Done)
	n.sum += format.CheckpointSum(string(here.Partition), next.Digest())
	b.lanes[of] = n
}

// one returns 1 for true.
func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// saveLanes adds the changes of the batch to the counts of each lane.
func (b *batch) saveLanes() error {
	for of, n := range b.lanes {
		err := b.Exec(`INSERT INTO lanes (stream_id, lane, partitions, done, sum, saved_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
			ON CONFLICT (stream_id, lane) DO UPDATE SET partitions = partitions + ?3, done = done + ?4, sum = sum + ?5, saved_at = max(saved_at, ?6)`,
			of.stream, string(of.name), n.partitions, n.done, n.sum, format.Time(b.Now))
		if err != nil {
			return err
		}
	}
	return nil
}

// recountLane counts a lane anew, after its checkpoints were moved by hand.
func recountLane(t database.Tx, stream int64, name collection.Lane) error {
	if err := t.Exec(`DELETE FROM lanes WHERE stream_id = ? AND lane = ?`, stream, string(name)); err != nil {
		return err
	}
	return t.Exec(`INSERT INTO lanes (stream_id, lane, partitions, done, sum, saved_at) `+recount+`
		AND p.stream_id = ? AND c.lane = ? GROUP BY 1, 2`, stream, string(name))
}

// lanes describes the lanes of a stream: its own walk, and the counts of its
// partitions.
func (s *Store) lanes(ctx context.Context, stream int64) (lanes []store.LaneState, err error) {
	of := func(name collection.Lane) *store.LaneState {
		i := slices.IndexFunc(lanes, func(l store.LaneState) bool { return l.Lane == name })
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, store.LaneState{Lane: name})
		}
		return &lanes[i]
	}
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var l store.LaneState
		var sum []byte
		err := row.Scan(&l.Lane, &l.Complete, &sum, format.TimeTo(&l.SavedAt), &l.Epoch, format.EvidenceTo(&l.Evidence), format.TimeTo(&l.Began), &l.BeganEpoch)
		l.Digest = string(sum)
		*of(l.Lane) = l
		return err
	}, `SELECT c.lane, c.done, c.digest, c.saved_at, c.epoch, c.evidence, s.committed_at, coalesce(s.epoch, 0)
		FROM partitions p CROSS JOIN checkpoints c ON c.partition_id = p.id
		LEFT JOIN slices s ON s.id = CASE WHEN json_valid(c.evidence) THEN json_extract(c.evidence, '$.pass') END
		WHERE p.stream_id = ? AND p.partition = '' ORDER BY c.lane DESC`, stream) // incremental comes first
	if err != nil {
		return lanes, err
	}
	err = s.db.Query(ctx, func(row database.Scanner) error {
		var name collection.Lane
		var n laneCount
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
	return lanes, s.owedPartitions(ctx, stream, lanes)
}

// owedPartitions counts the partitions that owe a gap with the others: one
// without a checkpoint is a partition all the same, and one that was walked to
// its end is not done.
func (s *Store) owedPartitions(ctx context.Context, stream int64, lanes []store.LaneState) error {
	return s.db.Query(ctx, func(row database.Scanner) error {
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
	}, `SELECT g.lane, sum(c.partition_id IS NULL), coalesce(sum(c.done), 0) FROM
			(SELECT DISTINCT partition_id, lane FROM gaps
				WHERE stream_id = ?1 AND state IN ('open', 'leased', 'dead') AND reason <> 'gone') g
		JOIN partitions p ON p.id = g.partition_id AND p.partition <> '' AND substr(p.partition, 1, length(?2)) <> ?2
		LEFT JOIN checkpoints c ON c.partition_id = g.partition_id AND c.lane = g.lane
		GROUP BY g.lane`, stream, collection.UnmadePrefix)
}
