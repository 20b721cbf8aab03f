package server

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/postgres/internal/wire"
)

// Lease is how long a lease lasts after its holder wrote last: six beats. See the
// column leases.expires_at.
const Lease = 30 * time.Second

// dialect is what Postgres says in its own words.
//
// In a view each field is text: numbers as they are written, objects and arrays as JSON.
var dialect = database.Dialect{
	RecordSum: recordSum,
	Lists:     true,
	Later:     true,
	// For any number of slices, generate_series is taken for a thousand rows, so that the statement would be planned for each commit.
	Numbers: ` RETURNING (SELECT string_agg(nextval('slices_id_seq')::text, ' ') FROM unnest(?::bigint[]))`,
	Renewal: `, expires_at = clock_timestamp() + interval '30 seconds'`,
	Views: database.Views{
		Choice:  `SELECT pg_advisory_xact_lock(hashtextextended('collect views ' || current_schema(), 0))::text`,
		Taken:   `SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND lower(relname) = lower(?))`,
		Made:    `SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v' AND relname = ?`,
		Replace: true,
		Longest: 63, // bytes, as Postgres is built
		Field:   func(name string, _ bool) string { return "f.fields ->> " + quoted(name) },
		From:    "\nLEFT JOIN LATERAL (SELECT record_fields(r.data) AS fields) f ON true",
		Note: func(view, text string) string {
			return "COMMENT ON VIEW " + format.Identifier(view) + " IS " + quoted(text)
		},
	},
}

// quoted returns a text as SQL. A NUL is shown as in the fields of records.
func quoted(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
	return `E'` + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + `'`
}

// recordSum is the function record_sum of the migrations: the first 8 bytes of the
// SHA-256 of the row. Postgres computes that fast, and CRC-32C not at all.
func recordSum(stream, partition, slice int64, key, data string, mark collection.Mark, deleted int64) int64 {
	key, data = wire.Encode(key), wire.Encode(data)
	scale, value := wire.Encode(mark.Scale), wire.Encode(mark.Value)
	row := make([]byte, 0, 1024) // most rows fit, and need no memory of the heap
	for _, n := range [...]int64{stream, partition, slice, deleted, int64(len(key)), int64(len(scale)), int64(len(value))} {
		row = binary.BigEndian.AppendUint64(row, uint64(n)) // #nosec G115 -- as bytes
	}
	for _, text := range [...]string{key, scale, value, data} {
		row = append(row, text...)
	}
	sum := sha256.Sum256(row)
	return int64(binary.BigEndian.Uint64(sum[:8])) // #nosec G115 -- as bytes
}
