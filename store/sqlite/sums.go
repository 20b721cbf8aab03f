package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"modernc.org/sqlite"

	"collect/collection"
	"collect/store"
)

// Disks and memory flip bits, and SQLite, which checks its pages when it
// reads them, cannot know what a value was. So each record carries a sum of
// its row, and each cursor its digest, and both are compared whenever a run or
// an export reads them. A record that is not what was stored is
// store.ErrDamaged, never a record.

// recordSum returns the sum of a row of records: CRC-32C, which finds every
// error of up to 32 bits in a row, over the columns in the order of the table,
// with the length of the key in front of it. A row of before there were marks
// has the sum that it had.
func recordSum(stream, partition, slice int64, key, data string, mark collection.Mark) int64 {
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
	return int64(sum)
}

// newDriver returns the driver with the functions record_sum and checkpoint_sum,
// which SQL uses where it goes through all records or checkpoints. The mark of a
// record may be left out.
func newDriver() *sqlite.Driver {
	d := &sqlite.Driver{}
	d.MustRegisterDeterministicScalarFunction("record_sum", -1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		var n [3]int64
		var s [4]string
		ok := len(args) == 5 || len(args) == len(n)+len(s)
		if !ok {
			return nil, errors.New("record_sum takes 5 or 7 arguments")
		}
		for i := range args {
			var is bool
			if i < len(n) {
				n[i], is = args[i].(int64)
			} else {
				s[i-len(n)], is = args[i].(string) // #nosec G602 -- there are at most seven arguments
			}
			ok = ok && is
		}
		if !ok {
			return nil, nil // a value that no record has equals no sum
		}
		return recordSum(n[0], n[1], n[2], s[0], s[1], collection.Mark{Scale: s[2], Value: s[3]}), nil
	})
	d.MustRegisterDeterministicScalarFunction("checkpoint_sum", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		partition, text := args[0].(string)
		digest, bytes := args[1].([]byte)
		if !text || !bytes {
			return nil, nil // a value that no checkpoint has is not counted
		}
		return checkpointSum(partition, digest), nil
	})
	return d
}

// checkCursor returns an error if a cursor is not the one that its digest was
// made of: a walk from there could pass by records.
func checkCursor(c collection.Cursor, sum []byte) error {
	if !bytes.Equal(digest(c), sum) {
		return fmt.Errorf("%w: a cursor is not what was stored", store.ErrDamaged)
	}
	return nil
}

// changedRecord is the error for a record that is not what was stored. Its key
// and its bytes may be secrets; its number finds it.
func changedRecord(id int64) error {
	return fmt.Errorf("%w: record number %d is not what was stored", store.ErrDamaged, id)
}
