// Package format says how values stand in the columns of the tables, and how
// one that is not what was stored is found out.
package format

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"collect/collection"
)

// timeFormat is RFC 3339 with a fixed number of digits, so that times compare
// as text in their order, and people can read them.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// NullTime returns t as it is stored; NULL for the zero time.
func NullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Time(t)
}

// Time returns t as it is stored.
func Time(t time.Time) string {
	t = t.UTC()
	if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		t = last // more digits would not compare as text
	}
	return t.Format(timeFormat)
}

// NotBefore returns t as it is stored, rounded up: what must not happen before
// t does not happen before its text.
func NotBefore(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// TimeTo scans a stored time into t; NULL is the zero time.
func TimeTo(t *time.Time) sql.Scanner { return timeColumn{t} }

type timeColumn struct{ to *time.Time }

func (c timeColumn) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		*c.to = time.Time{}
		return nil
	case string:
		t, err := time.Parse(time.RFC3339Nano, text)
		*c.to = t
		return err
	}
	return fmt.Errorf("time stored as %T", src)
}

// EvidenceText returns the evidence of a checkpoint as it is stored for a place.
func EvidenceText(at collection.Place, cp collection.Checkpoint) string {
	if cp.Evidence == (collection.Evidence{}) || !cp.Evidence.Kept(at, cp.Cursor) {
		return ""
	}
	text, _ := json.Marshal(cp.Evidence) // numbers, texts and flags always marshal
	return string(text)
}

// EvidenceTo scans into e what EvidenceText returned.
func EvidenceTo(e *collection.Evidence) sql.Scanner { return evidenceColumn{e} }

type evidenceColumn struct{ to *collection.Evidence }

func (c evidenceColumn) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("evidence stored as %T", src)
	}
	*c.to = collection.Evidence{}
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), c.to)
}

// CursorArgs returns the columns token, since, high, version, done and meaning.
func CursorArgs(c collection.Cursor) []any {
	return []any{[]byte(c.Token), []byte(c.Since), []byte(c.High), []byte(c.Version), c.Done, []byte(c.Meaning)}
}

// CursorColumns returns what scans the columns of CursorArgs.
func CursorColumns(c *collection.Cursor) []any {
	return []any{text{&c.Token}, text{&c.Since}, text{&c.High}, text{&c.Version}, &c.Done, text{&c.Meaning}}
}

// TextTo scans a BLOB or TEXT into s, byte for byte.
func TextTo(s *string) sql.Scanner { return text{s} }

type text struct{ to *string }

func (t text) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t.to = ""
	case []byte:
		*t.to = string(v)
	case string:
		*t.to = v
	default:
		return fmt.Errorf("bytes stored as %T", src)
	}
	return nil
}

// Identifier quotes a name for SQL.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// TallyArgs returns the columns requests to gaps_shut of runs.
func TallyArgs(n collection.Tally) []any {
	return []any{n.Requests, n.Retries, n.Throttled, n.Slices, n.Records, n.Changed, n.Rejected, n.Older, n.Deleted, n.GapsOpen, n.GapsShut}
}

// TallyColumns returns what scans the columns of TallyArgs.
func TallyColumns(n *collection.Tally) []any {
	return []any{&n.Requests, &n.Retries, &n.Throttled, &n.Slices, &n.Records, &n.Changed, &n.Rejected, &n.Older, &n.Deleted, &n.GapsOpen, &n.GapsShut}
}
