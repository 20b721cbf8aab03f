package services

import (
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite" // the databases of MediaWiki and Gitea
)

// A Shelf is a server that a connector of the catalogue reads, whose storage can
// be read beside its API.
type Shelf interface {
	// URL is where the server is.
	URL() string
	// Version is the name and version of the server, as it says itself.
	Version() (string, error)
	// Stored returns what the storage of the server holds.
	Stored() (Stored, error)
	// Change adds, changes and deletes some of it. Rounds count from 1.
	Change(round int) error
	Close() error
}

// Stored is the content of a storage: streams, their records by [Key], and of each
// the part that tells an older state from a newer one.
type Stored map[string]map[string]any

// Key is the identity of a record as text.
func Key(parts ...any) string { return fmt.Sprint(parts...) }

// put adds a record.
func (s Stored) put(stream string, content any, key ...any) {
	if s[stream] == nil {
		s[stream] = map[string]any{}
	}
	s[stream][Key(key...)] = content
}

// storedIn returns what a database of SQLite has, by a query for each stream.
func storedIn(path string, queries map[string]string) (stored Stored, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	stored = Stored{}
	for stream, query := range queries {
		if err := stored.query(db, stream, query); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// query adds the rows of a table: an ID and the content.
func (s Stored) query(db *sql.DB, stream, query string) error {
	rows, err := db.Query(query)
	if err != nil {
		return err
	}
	for rows.Next() {
		var id int
		var content string
		if err := rows.Scan(&id, &content); err != nil {
			return errors.Join(err, rows.Close())
		}
		s.put(stream, content, id)
	}
	return errors.Join(rows.Err(), rows.Close())
}
