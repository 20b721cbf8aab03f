package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"collect/store"
)

// Each calls scan with each of the rows that a query found, or returns err.
func Each(rows *sql.Rows, err error, scan func(Scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Texts scans rows of one text into all.
func Texts(all *[]string) func(Scanner) error {
	return func(row Scanner) error {
		var text string
		err := row.Scan(&text)
		*all = append(*all, text)
		return err
	}
}

// A Scanner is a row.
type Scanner interface{ Scan(dest ...any) error }

// sound is a row whose values must be of the kinds that are stored.
type sound struct {
	Scanner
	errors Errors
}

func (s sound) Scan(dest ...any) error { return misread(s.errors, s.Scanner.Scan(dest...)) }

// misread returns store.ErrDamaged for an error of scanning a row that is about
// a value: it is not of the kind that was stored. Other errors are returned as
// they are.
func misread(of Errors, err error) error {
	switch {
	case err == nil, of.Own(err), errors.Is(err, sql.ErrNoRows), errors.Is(err, store.ErrDamaged),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrDamaged, err)
}

// broken is the row of a query that could not be prepared.
type broken struct{ err error }

func (b broken) Scan(...any) error { return b.err }
