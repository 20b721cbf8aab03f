package wire

import (
	"context"
	"database/sql/driver"
	"io"

	"github.com/jackc/pgx/v5"
)

// Later has a statement told with the next one that somebody waits for: a question to a server and
// its answer cost both ends more than many a statement does. If it fails, so does that one.
// It is one that was prepared, and args are not changed before.
func (c conn) Later(query string, args []any) error {
	values := make([]any, len(args))
	for i, arg := range args {
		v := driver.NamedValue{Ordinal: i + 1, Value: arg}
		if err := c.CheckNamedValue(&v); err != nil {
			return err
		}
		values[i] = v.Value
	}
	c.later.Queue(Translate(query), values...)
	return nil
}

// Forget forgets the statements that were to be told later.
func (c conn) Forget() { *c.later = pgx.Batch{} }

// tell tells the statements that were to be told later, before something that they cannot be told with.
func (c conn) tell(ctx context.Context) error {
	if c.later.Len() == 0 {
		return nil
	}
	batch := *c.later
	c.Forget()
	return Told(c.Conn.Conn().SendBatch(ctx, &batch).Close())
}

// together tells a statement with those that were to be told later, whose answers it reads.
func (c conn) together(ctx context.Context, query string, args []driver.NamedValue) (pgx.BatchResults, error) {
	batch := *c.later
	c.Forget()
	before := batch.Len()
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i].Value
	}
	batch.Queue(query, values...)
	answers := c.Conn.Conn().SendBatch(ctx, &batch)
	for range before {
		if _, err := answers.Exec(); err != nil {
			_ = answers.Close() // with the same error
			return nil, Told(err)
		}
	}
	return answers, nil
}

// execTogether is ExecContext of a statement that is told with others.
func (c conn) execTogether(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	answers, err := c.together(ctx, query, args)
	if err != nil {
		return nil, err
	}
	done, err := answers.Exec()
	if ended := answers.Close(); err == nil {
		err = ended
	}
	if err != nil {
		return nil, Told(err)
	}
	return driver.RowsAffected(done.RowsAffected()), nil
}

// queryTogether is QueryContext of a statement that is told with others.
func (c conn) queryTogether(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	answers, err := c.together(ctx, query, args)
	if err != nil {
		return nil, err
	}
	found, err := answers.Query()
	if err != nil {
		_ = answers.Close() // with the same error
		return nil, Told(err)
	}
	return &last{found, answers}, nil
}

// last is what the last of several statements found.
type last struct {
	found   pgx.Rows
	answers pgx.BatchResults
}

func (l *last) Columns() (names []string) {
	for _, field := range l.found.FieldDescriptions() {
		names = append(names, field.Name)
	}
	return names
}

func (l *last) Next(dest []driver.Value) error {
	if !l.found.Next() {
		if err := l.found.Err(); err != nil {
			return Told(err)
		}
		return io.EOF
	}
	values, err := l.found.Values()
	if err != nil {
		return Told(err)
	}
	for i, value := range values {
		if dest[i], err = plain(value); err != nil {
			return Told(err)
		}
	}
	return nil
}

// plain returns a value of pgx as one of database/sql.
func plain(value any) (driver.Value, error) {
	switch v := value.(type) {
	case string:
		return Decode(v), nil
	case int32:
		return int64(v), nil
	case driver.Valuer: // a number of any length, as text
		return v.Value()
	}
	return value, nil
}

func (l *last) Close() error {
	l.found.Close()
	return Told(l.answers.Close())
}
