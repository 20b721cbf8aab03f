package services

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// A Datasette is a Datasette that serves one table of a SQLite file. Its lists
// go on with a token that names the last row (next, next_url, and a Link).
type Datasette struct {
	url   string
	db    *sql.DB
	child *child
}

// StartDatasette starts Datasette from pypi, where scripts/services install put
// it, with a file in dir.
func StartDatasette(pypi, dir string) (*Datasette, error) {
	python, err := find("python3")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(pypi, "datasette")); err != nil {
		return nil, fmt.Errorf("datasette %w", errMissing)
	}
	path := filepath.Join(dir, "desk.db")
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, fmt.Errorf("datasette: %w", err)
	}
	d := &Datasette{db: db}
	if err := errors.Join(d.createTable(), d.serve(pypi, python, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("datasette: %w", err), d.Close())
	}
	return d, nil
}

func (d *Datasette) createTable() error {
	_, err := d.db.Exec(`
		CREATE TABLE tickets (id INTEGER PRIMARY KEY, title TEXT NOT NULL, updated TEXT NOT NULL);
		CREATE INDEX tickets_by_update ON tickets (updated)`)
	return err
}

// serve answers on a free port.
func (d *Datasette) serve(pypi, python, path string) error {
	var err error
	d.child, err = spawn(io.Discard, "/usr/bin/env", "PYTHONPATH="+pypi, "PYTHONDONTWRITEBYTECODE=1", python,
		"-m", "datasette", "serve", "--host", "127.0.0.1", "--port", "0", "--setting", "suggest_facets", "off", path)
	if err != nil {
		return err
	}
	d.url, err = awaitURL(d.child)
	return err
}

func (d *Datasette) URL() string { return d.url }

func (d *Datasette) Fill(tickets []Ticket) error {
	if _, err := d.db.Exec("DELETE FROM tickets"); err != nil {
		return err
	}
	return d.Put(tickets...)
}

func (d *Datasette) Put(tickets ...Ticket) error {
	tx, err := d.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after the commit
	for _, t := range tickets {
		if _, err := tx.Exec("INSERT OR REPLACE INTO tickets VALUES (?, ?, ?)", t.ID, t.Title, t.Updated); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (d *Datasette) Drop(ids ...int) error {
	_, err := d.db.Exec("DELETE FROM tickets WHERE id IN (" + list(ids) + ")")
	return err
}

func (d *Datasette) Stored() ([]Ticket, error) {
	rows, err := d.db.Query("SELECT id, title, updated FROM tickets")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var tickets []Ticket
	for rows.Next() {
		var t Ticket
		if err := rows.Scan(&t.ID, &t.Title, &t.Updated); err != nil {
			return nil, err
		}
		tickets = append(tickets, t)
	}
	return tickets, rows.Err()
}

// Close ends Datasette and closes the file.
func (d *Datasette) Close() error {
	if d.child != nil {
		d.child.Close()
	}
	return d.db.Close()
}
