// Package migrations holds the schemas of the stores as numbered SQL files,
// one folder per dialect. A file's number is the version it makes.
//
// Files are only ever added: a store made by any release can be brought to
// the newest version by the files it has not seen.
package migrations

import "embed"

// SQLite holds the migrations of the SQLite store in the folder "sqlite".
// Their comments stand inside the statements, where SQLite keeps them, so that
// ".schema" in the sqlite3 shell explains the tables.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// SQLiteWhole makes in an empty database what all migrations of the SQLite store make
// one after the other. scripts/fixture writes it, and a test holds it against them.
//
//go:embed sqlite.sql
var SQLiteWhole string

// Postgres holds the migrations of the Postgres store in the folder "postgres". A
// comment on a table or a column says what a reader of the database should know
// beside what the same table in SQLite says.
//
//go:embed postgres/*.sql
var Postgres embed.FS

// Fleet holds what a fleet keeps beside the Postgres store, in the folder "fleet". Workers of the
// version before go on beside what a migration made, unless it says in fleet_version.least that
// they cannot.
//
//go:embed fleet/*.sql
var Fleet embed.FS
