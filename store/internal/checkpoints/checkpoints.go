// Package checkpoints keeps where the walk of each place stands.
package checkpoints

import (
	"database/sql"
	"encoding/json"
	"errors"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// A Standing is how a place stands: its checkpoint, and whether a gap is owed
// anywhere in it.
type Standing struct {
	Partition int64 // the number of its partition
	At        collection.Checkpoint
	Begun     bool // it has a checkpoint
	Owes      bool
}

// StandQuery finds the standings of partitions of one stream in one lane. ?4 is the
// digest of the zero cursor, where a place stands that was never committed.
const StandQuery = standColumns + `
	FROM json_each(?2) AS json_each CROSS JOIN partitions p ON p.stream_id = ?1 AND p.partition = json_each.value` + standTables

// StandOneQuery does so for one partition: without a list, a server has less to do.
const StandOneQuery = standColumns + `
	FROM (SELECT 0 AS key) AS json_each CROSS JOIN partitions p ON p.stream_id = ?1 AND p.partition = ?2` + standTables

const standColumns = `
	SELECT json_each.key, p.id, c.token, c.since, c.high, c.version, coalesce(c.done, 0), c.meaning, coalesce(c.digest, ?4), coalesce(c.slice_id, 0), coalesce(c.evidence, ''),
		c.partition_id IS NOT NULL, EXISTS (SELECT 1 FROM gaps g WHERE g.partition_id = p.id AND g.lane = ?3 AND g.state IN ('open', 'leased', 'dead'))`

const standTables = `
	LEFT JOIN checkpoints c ON c.partition_id = p.id AND c.lane = ?3`

// Stand learns how different partitions of a stream stand in a lane, making those that
// there are not. It asks once for all of them.
func Stand(t database.Tx, stream int64, lane collection.Lane, partitions []collection.Partition, here []*Standing) error {
	query, which := StandOneQuery, string(partitions[0])
	if len(partitions) > 1 {
		list, err := json.Marshal(partitions)
		if err != nil {
			return err
		}
		query, which = StandQuery, string(list)
	}
	found := 0
	err := t.Each(func(row database.Scanner) error {
		var i int
		var s Standing
		var sum []byte
		dest := append([]any{&i, &s.Partition}, format.CursorColumns(&s.At.Cursor)...)
		dest = append(dest, &sum, &s.At.Commit, format.EvidenceTo(&s.At.Evidence), &s.Begun, &s.Owes)
		if err := row.Scan(dest...); err != nil {
			return err
		}
		*here[i] = s
		found++
		return format.CheckCursor(s.At.Cursor, sum)
	}, query, stream, which, string(lane), collection.Cursor{}.Digest())
	if err != nil || found == len(partitions) {
		return err
	}
	return makePartitions(t, stream, partitions, here)
}

// makePartitions makes the partitions of those standings that have none.
func makePartitions(t database.Tx, stream int64, partitions []collection.Partition, here []*Standing) error {
	at, names := map[collection.Partition]int{}, []collection.Partition{}
	for i, p := range partitions {
		if here[i].Partition == 0 {
			at[p], names = i, append(names, p)
		}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return t.Each(func(row database.Scanner) error {
		var id int64
		var name collection.Partition
		err := row.Scan(&id, format.TextTo((*string)(&name)))
		here[at[name]].Partition = id
		return err
	}, makePartition+`SELECT ?, value FROM json_each(?) RETURNING id, partition`, stream, string(list))
}

// Partition returns the number of a partition of a stream, making it if need be.
func Partition(t database.Tx, stream int64, p collection.Partition) (id int64, err error) {
	err = t.Row(`SELECT id FROM partitions WHERE stream_id = ? AND partition = ?`, stream, string(p)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	return t.Insert(makePartition+`VALUES (?, ?)`, stream, string(p))
}

const makePartition = `INSERT INTO partitions (stream_id, partition) `

// Move moves the checkpoint of a place to next.
func (s *Standing) Move(t database.Tx, at collection.Place, next collection.Checkpoint) error {
	if !next.Evidence.Kept(at, next.Cursor) {
		next.Evidence = collection.Evidence{}
	}
	s.At, s.Begun = next, true
	return Save(t, s.Partition, at, next)
}

// Save moves the checkpoint of a place, whose partition has a number.
func Save(t database.Tx, partition int64, at collection.Place, cp collection.Checkpoint) error {
	args := append([]any{partition, string(at.Lane)}, format.CursorArgs(cp.Cursor)...)
	args = append(args, cp.Cursor.Digest(), cp.Commit, cp.Epoch, format.Time(t.Now), format.EvidenceText(at, cp))
	return t.Exec(`INSERT INTO checkpoints
			(partition_id, lane, token, since, high, version, done, meaning, digest, slice_id, epoch, saved_at, evidence)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
		ON CONFLICT (partition_id, lane) DO UPDATE SET token = ?3, since = ?4, high = ?5, version = ?6, done = ?7,
			meaning = ?8, digest = ?9, slice_id = ?10, epoch = ?11, saved_at = ?12, evidence = ?13`, args...)
}

// Begun returns the commit that began the newest pass of a stream in a lane; 0 if
// that is not known.
func Begun(t database.Tx, stream int64, lane collection.Lane) (int64, error) {
	var e collection.Evidence
	err := t.Row(`SELECT c.evidence FROM partitions p JOIN checkpoints c ON c.partition_id = p.id AND c.lane = ?2
		WHERE p.stream_id = ?1 AND p.partition = ''`, stream, string(lane)).Scan(format.EvidenceTo(&e))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return e.Pass, err
}

// ResetAll moves every checkpoint of the lane of a stream. What stood for
// a parent that no partition could be made of has none any more: nothing walks
// there, so that it would stay unfinished for good.
func ResetAll(t database.Tx, stream int64, lane collection.Lane, to collection.Cursor, epoch int64) error {
	err := t.Exec(`DELETE FROM checkpoints
		WHERE partition_id IN (SELECT id FROM partitions WHERE stream_id = ?1 AND substr(partition, 1, length(?2)) = ?2) AND lane = ?3`,
		stream, collection.UnmadePrefix, string(lane))
	if err != nil {
		return err
	}
	args := append(format.CursorArgs(to), to.Digest(), epoch, format.Time(t.Now), stream, string(lane))
	return t.Exec(`UPDATE checkpoints SET token = ?, since = ?, high = ?, version = ?, done = ?, meaning = ?, digest = ?,
			epoch = ?, saved_at = ?, evidence = ''
		WHERE partition_id IN (SELECT id FROM partitions WHERE stream_id = ?) AND lane = ?`, args...)
}
