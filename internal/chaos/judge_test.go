//go:build linux

package chaos_test

import (
	"bytes"
	"encoding/json"
)

// judge ends the lists and asks, when nothing is left to do, for what is promised. Nobody helps.
func (f *fleet) judge() {
	f.Helper()
	f.end()
	f.await("the end of all turns", func() bool {
		v := f.look()
		return len(v.Workers) == len(f.workers) && len(v.Turns)+len(v.Waits) == 0
	})
	for _, name := range connectors {
		f.records(name)
	}
	if out, err := f.try("gaps", "--json"); err != nil {
		f.Errorf("collect gaps: %v: %s", err, out)
	} else if n := bytes.Count(out, []byte(`"state":"open"`)); n > 0 {
		f.Errorf("%d gaps are left: %s", n, out)
	}
	if _, err := f.try("status"); err != nil {
		f.Errorf("collect status: %v", err)
	}
	var stale, unowned int
	if err := f.db.QueryRow(`SELECT count(*) FILTER (WHERE epoch < before), count(*) FILTER (WHERE epoch <> owner OR owner IS NULL) FROM (
		SELECT s.epoch, r.epoch AS owner, lag(s.epoch) OVER (PARTITION BY r.connector ORDER BY s.id) AS before
		FROM slices s LEFT JOIN runs r ON r.id = s.run) x`).Scan(&stale, &unowned); err != nil || stale > 0 || unowned > 0 {
		f.Errorf("%d commits are older than those of a run before, %d belong to no run: %v", stale, unowned, err)
	}
	f.leave()
}

// records asks for every record once, and for one commit of each page. If commits were lost, so may be the end of a turn, and
// another one reads a list that is complete once more.
func (f *fleet) records(name string) {
	f.Helper()
	seen := map[int]int{}
	for line := range bytes.Lines(f.collect("export", name, "things")) {
		var r struct{ ID int }
		if err := json.Unmarshal(line, &r); err != nil {
			f.Fatalf("%s: %v: %s", name, err, line)
		}
		seen[r.ID]++
	}
	pages := f.size[name]
	for id := range pages * perPage {
		if seen[id] != 1 {
			f.Errorf("%s: record %d is there %d times", name, id, seen[id])
		}
		delete(seen, id)
	}
	if len(seen) > 0 {
		f.Errorf("%s: %d records that the provider never had", name, len(seen))
	}
	var commits, again int
	if err := f.db.QueryRow(`SELECT count(*) FILTER (WHERE r.number <= whole), count(*) FILTER (WHERE r.number > whole)
		FROM slices s JOIN runs r ON r.id = s.run, (SELECT min(number) AS whole FROM runs WHERE connector = $1 AND outcome = 'complete') x
		WHERE r.connector = $1`, name).Scan(&commits, &again); err != nil || commits != pages || again != 0 && (!f.lost || again != pages) {
		f.Errorf("%s: %d commits of %d pages, and %d after that: %v", name, commits, pages, again, err)
	}
}
