package transfer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"collect/collection"
)

// A Table is one of the tables that all stores have.
type Table struct {
	Name     string
	key      []string
	numbered bool   // rows get the next number, also where the newest was removed
	except   string // the column that only one kind of database has
	only     string // the rows that belong to the store; "": all
}

// Tables are all tables that all stores have, but for that of goose.
var Tables = []Table{
	{Name: "meta", key: []string{"name"}, only: "name <> '" + stateName + "'"},
	{Name: "streams", key: []string{"id"}, numbered: true},
	{Name: "fields", key: []string{"stream_id", "position"}},
	{Name: "schemas", key: []string{"stream_id"}},
	{Name: "sweeps", key: []string{"stream_id"}},
	{Name: "partitions", key: []string{"id"}, numbered: true},
	{Name: "slices", key: []string{"id"}, numbered: true},
	{Name: "records", key: []string{"id"}, numbered: true},
	{Name: "quarantine", key: []string{"id"}, numbered: true},
	{Name: "checkpoints", key: []string{"partition_id", "lane"}},
	{Name: "lanes", key: []string{"stream_id", "lane"}},
	{Name: "gaps", key: []string{"id"}, numbered: true},
	{Name: "sightings", key: []string{"record_id", "partition_id"}},
	{Name: "claims", key: []string{"record_id", "partition_id"}},
	{Name: "runs", key: []string{"number"}, numbered: true},
	{Name: "leases", key: []string{"connector"}, except: "expires_at"},
	{Name: "provider_state", key: []string{"domain"}},
	{Name: "traffic", key: []string{"connector"}},
	{Name: "pauses", key: []string{"connector"}},
	{Name: "events", key: []string{"id"}, numbered: true},
}

// Key returns the columns of the primary key.
func (t Table) Key() []string { return t.key }

// Numbers is the column of the numbers of a table that is numbered.
func (t Table) Numbers() string { return t.key[0] }

// summed reports whether each row has a sum, which is another one in each kind of
// database.
func (t Table) summed() bool { return t.Name == "records" }

// where returns the condition of the rows that belong to the store, and of more.
func (t Table) where(more ...string) string {
	if t.only != "" {
		more = append(more, t.only)
	}
	if len(more) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(more, " AND ")
}

// count returns how many rows of a table a store has.
func count(ctx context.Context, s Side, t Table) (n int64, err error) {
	err = one(ctx, s, []any{&n}, `SELECT count(*) FROM `+t.Name+t.where())
	return n, err
}

// lastKey returns the highest key of a table; nil if it is empty.
func lastKey(ctx context.Context, s Side, t Table) (key []any, err error) {
	found, dest := scanned(len(t.key))
	err = one(ctx, s, dest, fmt.Sprintf(`SELECT %s FROM %s%s ORDER BY %s DESC LIMIT 1`,
		strings.Join(t.key, ", "), t.Name, t.where(), strings.Join(t.key, " DESC, ")))
	if err != nil || found[0] == nil {
		return nil, err
	}
	return found, nil
}

// one scans the row of a query, if it finds one.
func one(ctx context.Context, s Side, dest []any, query string) error {
	rows, err := s.Rows.QueryContext(ctx, query)
	if err != nil {
		return s.Classify(err)
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return s.Unreadable(err)
		}
	}
	return s.Classify(rows.Err())
}

// scanned returns room for n values, and where a row is scanned to for them.
func scanned(n int) (values, dest []any) {
	values, dest = make([]any, n), make([]any, n)
	for i := range values {
		dest[i] = &values[i]
	}
	return values, dest
}

// A recordRow says which column of a record is where.
type recordRow struct{ id, stream, partition, slice, key, data, scale, mark, deleted, sum int }

func recordColumns(columns []string) recordRow {
	at := func(name string) int { return slices.Index(columns, name) }
	return recordRow{at("id"), at("stream_id"), at("partition_id"), at("slice_id"), at("key"), at("data"), at("mark_scale"), at("mark"), at("deleted"), at("sum")}
}

// sumIn returns the sum that a record has in a store.
func (of recordRow) sumIn(s Side, row []any) any {
	number := func(i int) int64 { n, _ := row[i].(int64); return n }
	text := func(i int) string { s, _ := row[i].(string); return s }
	return s.RecordSum(number(of.stream), number(of.partition), number(of.slice), text(of.key), text(of.data),
		collection.Mark{Scale: text(of.scale), Value: text(of.mark)}, number(of.deleted))
}
