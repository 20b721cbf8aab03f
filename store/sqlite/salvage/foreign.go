package salvage

import (
	"context"
	"fmt"
	"strings"

	"collect/internal/lazy"
	"collect/store/internal/database"
	"collect/store/sqlite/internal/connect"
)

// A database that somebody handed over may hold more than a store does: a trigger
// runs with each write of ours, and a view in the place of a table, or one that
// never ends, with each question.

// endless matches a view that is made of a query of its own. Ours are not.
var endless = lazy.Regexp(`(?i)\bwith\s+(recursive\s+)?["'\x60\[\w]+\s*(\([^)]*\)\s*)?as\s`)

// foreign reports what no migration and no view of a stream put into the schema.
// Nothing else is asked of a database that has such a thing.
func (x *examination) foreign(ctx context.Context) error {
	ours, err := connect.Objects(ctx)
	if err != nil {
		return err
	}
	return x.each(ctx, `SELECT type, name, coalesce(sql, ''), name IN (SELECT view FROM streams NOT INDEXED) FROM sqlite_schema`, func(row database.Scanner) error {
		var kind, name, text string
		var stream bool
		if err := row.Scan(&kind, &name, &text, &stream); err != nil {
			return err
		}
		known := ours[name] == kind || kind == "view" && stream && ours[name] == ""
		virtual := strings.HasPrefix(strings.ToUpper(strings.TrimSpace(text)), "CREATE VIRTUAL")
		own := strings.HasPrefix(name, "sqlite_") && text == "" // an index of a constraint
		if !own && (!known || virtual || kind == "view" && endless().MatchString(text)) {
			x.stranger = true
			x.Problems = append(x.Problems, fmt.Sprintf("it holds a %s that collect did not make: %q", kind, name))
		}
		return nil
	})
}
