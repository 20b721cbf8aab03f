package sqlite

import (
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"

	"collect/collection"
	"collect/store/sqlite/internal/format"
)

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
		return format.RecordSum(n[0], n[1], n[2], s[0], s[1], collection.Mark{Scale: s[2], Value: s[3]}), nil
	})
	d.MustRegisterDeterministicScalarFunction("checkpoint_sum", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		partition, text := args[0].(string)
		digest, bytes := args[1].([]byte)
		if !text || !bytes {
			return nil, nil // a value that no checkpoint has is not counted
		}
		return format.CheckpointSum(partition, digest), nil
	})
	return d
}
