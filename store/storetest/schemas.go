package storetest

import (
	"errors"
	"fmt"
	"testing"

	"collect/collection"
	"collect/store"
)

// alike is a slice of n records, numbered from first on, that all have the
// fields: `"priority":7`.
func alike(at collection.Place, from, next collection.Cursor, first, n int, fields string) collection.Slice {
	sl := collection.Slice{Place: at, From: from, Next: next}
	for i := range n {
		key := fmt.Sprint(first + i)
		sl.Records = append(sl.Records, record(key, `{"id":`+key+`,`+fields+`}`))
	}
	return sl
}

// schemaDrift: a slice whose records are all of another nature than those before
// is not stored, and what a person accepts is.
func schemaDrift(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, alike(at, collection.Cursor{}, token("2"), 0, 60, `"priority":7`), alike(at, token("2"), token("3"), 60, 60, `"priority":null`))
	commit(t, l, alike(at, token("3"), token("4"), 120, 60, `"priority":1`))
	finish(t, l)
	l = begin(t, s, "run-2") // it is remembered

	changed := alike(at, token("4"), token("5"), 200, 12, `"priority":"high"`)
	refusesDrift(t, l, collection.JSONString, changed)
	refusesDrift(t, l, collection.JSONString, page(home("issues"), collection.Cursor{}, token("2"), "a"), changed) // nor another field
	checkCursor(t, l, at, token("4"))
	checkCursor(t, l, home("issues"), collection.Cursor{})
	refusesDrift(t, l, collection.JSONMissing, alike(at, token("4"), token("5"), 200, 12, `"other":1`))
	commit(t, l, alike(at, token("4"), token("5"), 300, 9, `"priority":"few"`)) // too few to say
	refusesDrift(t, l, collection.JSONString, alike(at, token("5"), token("6"), 309, 1, `"priority":"ten"`))

	// A slice with records that are as before is no drift.
	mixed := alike(at, token("5"), token("6"), 0, 1, `"priority":7`)
	mixed.Records = append(mixed.Records, alike(at, token("5"), token("6"), 400, 12, `"other":1`).Records...)
	commit(t, l, mixed)
	finish(t, l)
}

func schemaAccepted(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, alike(at, collection.Cursor{}, token("2"), 0, 120, `"priority":7`))
	changed := alike(at, token("2"), token("3"), 200, 12, `"priority":"high"`)
	refusesDrift(t, l, collection.JSONString, changed)
	var tired collection.Gap
	for range collection.MaxGapAttempts {
		tired = deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.SchemaDrift})
	}
	deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Reason: collection.Forbidden})
	if _, err := s.AcceptSchema(t.Context(), connector, "repos", nil, repaired); err == nil {
		t.Error("a schema was accepted under a run")
	}
	finish(t, l)

	unknown := map[string]collection.JSONKind{"priority": collection.JSONString, "prio": collection.JSONMissing}
	_, err := s.AcceptSchema(t.Context(), connector, "repos", unknown, repaired)
	if e, ok := errors.AsType[*store.UnknownFieldError](err); !ok || e.Field != "prio" || fmt.Sprint(e.Known) != "[id priority]" {
		t.Errorf("an unknown field: %v", err)
	}
	if _, err := s.AcceptSchema(t.Context(), connector, "nowhere", nil, repaired); err == nil {
		t.Error("the schema of no stream was accepted")
	}
	revived, err := s.AcceptSchema(t.Context(), connector, "repos", map[string]collection.JSONKind{"priority": collection.JSONString}, repaired)
	if err != nil || len(revived) != 1 || revived[0].ID != tired.ID || revived[0].State != collection.GapOpen {
		t.Errorf("AcceptSchema = %+v, %v, want the gap of the stream", revived, err)
	}
	checkOwed(t, s, "open schema_drift 0", "dead forbidden 1")
	events, err := s.Events(t.Context(), connector, 10)
	told := 0
	for _, e := range events {
		if e.Kind == collection.SchemaAccepted && e.Stream == "repos" && e.Message == repaired.Who+": "+repaired.Why {
			told++
		}
	}
	if err != nil || told != 1 {
		t.Errorf("%d events tell of it, %v, want 1", told, err)
	}

	l = begin(t, s, "run-2")
	commit(t, l, changed)
	refusesDrift(t, l, collection.JSONArray, alike(at, token("3"), token("4"), 300, 12, `"priority":[]`)) // the rest is held against still
	finish(t, l)
	if _, err := s.AcceptSchema(t.Context(), connector, "repos", nil, repaired); err != nil {
		t.Fatal(err)
	}
	l = begin(t, s, "run-3")
	commit(t, l, alike(at, token("3"), token("4"), 300, 12, `"priority":[]`))
}

// refusesDrift checks that slices are refused because the field priority has
// changed.
func refusesDrift(t *testing.T, l store.Ledger, is collection.JSONKind, sl ...collection.Slice) {
	t.Helper()
	_, err := l.Commit(t.Context(), sl...)
	stop, ok := errors.AsType[*collection.Stop](err)
	drift, told := errors.AsType[*collection.SchemaDriftError](err)
	if !ok || !told || stop.Reason != collection.SchemaDrift || len(drift.Changes) != 1 || drift.Changes[0].Field != "priority" || drift.Changes[0].Is != is {
		t.Errorf("Commit: %v, want that priority is %q", err, is)
	}
}
