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

// Read describes the lanes of the streams of a connector, or of all with "", by the
// number of the stream: its own walk, and the counts of its partitions.
func Read(ctx context.Context, r *database.Readers, connector string) (map[int64][]store.LaneState, error) {
	all := reading{}
	for _, read := range []func(context.Context, *database.Readers, string) error{all.own, all.counts, all.owed} {
		if err := read(ctx, r, connector); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// reading are the lanes that were read so far, by the number of their stream.
type reading map[int64][]store.LaneState

func (all reading) of(stream int64, name collection.Lane) *store.LaneState {
	i := slices.IndexFunc(all[stream], func(l store.LaneState) bool { return l.Lane == name })
	if i < 0 {
		i = len(all[stream])
		all[stream] = append(all[stream], store.LaneState{Lane: name})
	}
	return &all[stream][i]
}

// own reads the own walks of streams.
func (all reading) own(ctx context.Context, r *database.Readers, connector string) error {
	of, args := database.Of("s.connector", connector)
	return r.Query(ctx, func(row database.Scanner) error {
		var stream int64
		var l store.LaneState
		var sum []byte
		var pass string
		err := row.Scan(&stream, &l.Lane, &l.Complete, format.TextTo(&pass), &sum, format.TimeTo(&l.SavedAt), &l.Epoch, format.EvidenceTo(&l.Evidence), format.TimeTo(&l.Began), &l.BeganEpoch, format.TextTo(&l.Since))
		l.Again, l.Digest = pass != "" && pass != "1", string(sum)
		*all.of(stream, l.Lane) = l
		return err
	}, `SELECT s.id, c.lane, c.done, c.version, c.digest, c.saved_at, c.epoch, c.evidence, b.committed_at, coalesce(b.epoch, 0), c.since
		FROM streams s CROSS JOIN partitions p ON p.stream_id = s.id AND p.partition = ''
		CROSS JOIN checkpoints c ON c.partition_id = p.id
		LEFT JOIN slices b ON b.id = CASE WHEN json_valid(c.evidence) THEN CAST(json_extract(c.evidence, '$.pass') AS BIGINT) END
		WHERE `+of+` ORDER BY c.lane DESC`, args...) // incremental comes first
}

// counts reads the counts of partitions.
func (all reading) counts(ctx context.Context, r *database.Readers, connector string) error {
	of, args := database.Of("s.connector", connector)
	err := r.Query(ctx, func(row database.Scanner) error {
		var stream int64
		var name collection.Lane
		var n count
		var saved store.LaneState
		if err := row.Scan(&stream, &name, &n.partitions, &n.done, &n.sum, format.TimeTo(&saved.SavedAt)); err != nil {
			return err
		}
		l := all.of(stream, name)
		l.Partitions, l.Done = n.partitions, n.done
		l.Digest = string(binary.BigEndian.AppendUint64([]byte(l.Digest), uint64(n.sum))) // #nosec G115 -- only compared
		if saved.SavedAt.After(l.SavedAt) {
			l.SavedAt = saved.SavedAt
		}
		return nil
	}, `SELECT s.id, l.lane, l.partitions, l.done, l.sum, l.saved_at FROM streams s CROSS JOIN lanes l ON l.stream_id = s.id
		WHERE `+of+` ORDER BY l.lane DESC`, args...)
	for _, lanes := range all {
		for i := range lanes {
			sum := sha256.Sum256([]byte(lanes[i].Digest))
			lanes[i].Digest = hex.EncodeToString(sum[:8])
		}
	}
	return err
}

// owed counts the partitions that owe a gap with the others: one without a checkpoint
// is a partition all the same, and one that was walked to its end is not done.
func (all reading) owed(ctx context.Context, r *database.Readers, connector string) error {
	of, args := database.Of("connector", connector)
	return r.Query(ctx, func(row database.Scanner) error {
		var stream, partitions, done int64
		var lane collection.Lane
		if err := row.Scan(&stream, &lane, &partitions, &done); err != nil {
			return err
		}
		for i := range all[stream] {
			if l := &all[stream][i]; l.Lane == lane {
				l.Partitions += partitions
				l.Done -= done
			}
		}
		return nil
	}, `SELECT g.stream_id, g.lane, count(*) FILTER (WHERE c.partition_id IS NULL), coalesce(sum(c.done), 0) FROM
			(SELECT DISTINCT stream_id, partition_id, lane FROM gaps
				WHERE stream_id IN (SELECT id FROM streams WHERE `+of+`) AND state IN ('open', 'leased', 'dead') AND reason <> 'gone') g
		CROSS JOIN partitions p ON p.id = g.partition_id AND p.partition <> ''
			AND substr(p.partition, 1, length('`+collection.UnmadePrefix+`')) <> '`+collection.UnmadePrefix+`'
		LEFT JOIN checkpoints c ON c.partition_id = g.partition_id AND c.lane = g.lane
		GROUP BY g.stream_id, g.lane`, args...)
}
