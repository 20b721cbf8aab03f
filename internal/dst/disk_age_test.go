package dst_test

import (
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// stamps are the columns of times, by table.
var stamps = map[string][]string{
	"checkpoints": {"saved_at"}, "slices": {"committed_at"}, "events": {"at"}, "leases": {"since", "beat_at"},
	"runs": {"started_at", "beat_at", "ended_at"}, "gaps": {"not_before", "opened_at", "tried_at", "closed_at"},
	"lanes": {"saved_at"}, "provider_state": {"saved_at", "state"},
}

// age makes everything that is stored older by d.
func (s *disk) age(d time.Duration) error {
	tx, err := s.eyes.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	for table, columns := range stamps {
		for _, column := range columns {
			if err := ageColumn(tx, table, column, d); err != nil {
				return fmt.Errorf("%s.%s: %w", table, column, err)
			}
		}
	}
	return tx.Commit()
}

func ageColumn(tx *sql.Tx, table, column string, d time.Duration) error {
	rows, err := tx.Query(fmt.Sprintf(`SELECT DISTINCT %s FROM %s WHERE %[1]s IS NOT NULL`, column, table))
	if err != nil {
		return err
	}
	var texts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return errors.Join(err, rows.Close())
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	// All are moved the same way; from the end, so that none is moved twice.
	for _, text := range texts {
		_, err := tx.Exec(fmt.Sprintf(`UPDATE %s SET %s = ? WHERE %[2]s = ?`, table, column), "-"+older(text, d), text)
		if err != nil {
			return err
		}
	}
	_, err = tx.Exec(fmt.Sprintf(`UPDATE %s SET %s = substr(%[2]s, 2) WHERE %[2]s IS NOT NULL`, table, column))
	return err
}
