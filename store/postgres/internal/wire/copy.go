package wire

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// CopyIn stores rows in a table by COPY, on a connection of a [Connector], in the transaction that is on.
func CopyIn(ctx context.Context, on *sql.Conn, table string, columns []string, rows [][]any) error {
	encoded := pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		row := make([]any, len(rows[i]))
		for j, value := range rows[i] {
			if text, ok := value.(string); ok {
				value = Encode(text)
			}
			row[j] = value
		}
		return row, nil
	})
	return on.Raw(func(c any) error {
		if err := c.(conn).tell(ctx); err != nil {
			return err
		}
		_, err := c.(conn).Conn.Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, encoded)
		return Told(err)
	})
}
