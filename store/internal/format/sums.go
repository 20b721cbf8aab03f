package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unsafe"

	"collect/collection"
	"collect/store"
)

// Disks and memory flip bits, and SQLite, which checks its pages when it
// reads them, cannot know what a value was. So each record carries a sum of
// its row, and each cursor its digest, and both are compared whenever a run or
// an export reads them. A record that is not what was stored is
// store.ErrDamaged, never a record.

// RecordSum returns the sum of a row of records: CRC-32C, which finds every
// error of up to 32 bits in a row, over the columns in the order of the table,
// with the length of the key in front of it. A row of before there were marks
// has the sum that it had; so has a record that is not deleted.
func RecordSum(stream, partition, slice int64, key, data string, mark collection.Mark, deleted int64) int64 {
	var head [32]byte
	binary.LittleEndian.PutUint64(head[0:], uint64(stream))
	binary.LittleEndian.PutUint64(head[8:], uint64(partition))
	binary.LittleEndian.PutUint64(head[16:], uint64(slice))
	binary.LittleEndian.PutUint64(head[24:], uint64(len(key)))
	table := crc32.MakeTable(crc32.Castagnoli) // made once
	sum := crc32.Checksum(head[:], table)
	sum = crc32.Update(sum, table, bytesOf(key))
	sum = crc32.Update(sum, table, bytesOf(data))
	if mark != (collection.Mark{}) {
		sum = crc32.Update(sum, table, bytesOf(mark.Scale))
		sum = crc32.Update(sum, table, bytesOf(mark.Value))
	}
	if deleted != 0 {
		binary.LittleEndian.PutUint64(head[0:], uint64(deleted))
		sum = crc32.Update(sum, table, head[:8])
	}
	return int64(sum)
}

// CheckCursor returns an error if a cursor is not the one that its digest was
// made of: a walk from there could pass by records.
func CheckCursor(c collection.Cursor, sum []byte) error {
	if !bytes.Equal(c.Digest(), sum) {
		return fmt.Errorf("%w: a cursor is not what was stored", store.ErrDamaged)
	}
	return nil
}

// ChangedRecord is the error for a record that is not what was stored. Its key
// and its bytes may be secrets; its number finds it.
func ChangedRecord(id int64) error {
	return &store.ChangedError{Record: id}
}

// Shared returns data as a string that shares its bytes, which no one changes
// while a statement runs; the driver keeps no reference to it.
func Shared(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) } // #nosec G103 -- as it says above

// bytesOf returns s as bytes that no one may change.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) } // #nosec G103 -- as it says above

// CheckpointSum returns the share of a checkpoint in the sum of its lane. It has 40
// bits, so that the sum over eight million checkpoints fits an integer of SQLite.
func CheckpointSum(partition string, digest []byte) int64 {
	sum := sha256.Sum256(append([]byte(partition), digest...))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 24) // #nosec G115 -- 40 bits
}
