package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collect/engine/registry"
	"collect/fleet"
)

// shown returns the fleet as soon as it shows that a worker lacks a number of connectors.
func (p *place) shown(lacks int) fleet.View {
	p.Helper()
	db := p.store(false)
	defer db.Close()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		v, there, err := fleet.Look(p.Context(), db)
		if err != nil || !there {
			p.Fatalf("Look: %v, %v", there, err)
		}
		if len(v.Workers) == 1 && len(v.Workers[0].Lacks) == lacks {
			return v
		}
		if time.Since(begun) > time.Minute {
			p.Fatalf("the workers are %+v after a minute, want one that lacks %d", v.Workers, lacks)
		}
	}
}

// TestLacksAreShown: who looks at the fleet sees what a worker leaves to others, and why, without what its
// files and errors have in them; and what nobody can take.
func TestLacksAreShown(t *testing.T) {
	p := newPlace(t)
	dir := t.TempDir()
	file := func(name, text string) registry.Entry {
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return registry.Entry{Use: path}
	}
	const value = "s3cr3t-in-a-file"
	bees := "secrets: {token: {env: BEES_TOKEN}}\n" + strings.Replace(fmt.Sprintf(connectorFile, "bees", "bees", p.url, "bees", 1), "pace: off", `pace: off, auth: {bearer: "${secrets.token}"}`, 1)
	entries := map[string]registry.Entry{"bees": file("bees", bees), "cats": file("cats", value+": "+value)}
	w := p.start(func(c *fleet.Config) {
		c.Registry = &registry.Registry{Entries: entries, Env: func(string) string { return "" }}
	})
	p.enqueue("ants", "bees", "cats")
	v := p.shown(3)
	all := v.Workers[0].Lacks
	for connector, want := range map[string]string{
		"ants": "no file of it here (E0201)",
		"bees": "its secret is missing here, or cannot be used (E0302)",
		"cats": "its file or a secret cannot be used here, as the log of the worker says (E0203)",
	} {
		if got := all[connector].Why; got != want {
			t.Errorf("%s: %q, want %q", connector, got, want)
		}
		if until := all[connector].Until; until.Before(v.Now.Add(-2*time.Second)) || until.After(v.Now.Add(11*time.Second)) {
			t.Errorf("%s: until %v, now it is %v", connector, until, v.Now)
		}
	}
	line, err := json.Marshal(v.Line())
	if err != nil || strings.Contains(string(line), value) || strings.Contains(p.text(`SELECT max(lacks::text) FROM fleet_workers`), value) {
		t.Errorf("what is in a file is told: %s, %v", line, err)
	}
	if want := `"lacks":[{"connector":"ants","why":"no file of it here (E0201)","until":"`; !strings.Contains(string(line), want) {
		t.Errorf("as JSON:\n%s\nwant %s", line, want)
	}
	if got, want := v.Workers[0].Leaves()[1], w.Name()+" leaves bees to others: its secret is missing here, or cannot be used (E0302)"; got != want {
		t.Errorf("Leaves: %q, want %q", got, want)
	}
	until := all["ants"].Until
	if fleet.Lacked(w.Worker, until)["ants"].Why == "" || len(fleet.Lacked(w.Worker, until.Add(20*time.Second))) != 0 {
		t.Error("what it lacks is not told until it has tried again, or for longer")
	}
	w.drain()
}

// TestLacksNothingAnyMore: what a worker lacked it has as soon as a turn of it has begun.
func TestLacksNothingAnyMore(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 1)
	path := p.entries["ants"].Use
	away := path + ".away"
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	w := p.start(func(c *fleet.Config) { c.Beat = time.Hour })
	p.enqueue("ants")
	w.await(fleet.TurnLeft, "ants")
	if got := fleet.Lacked(w.Worker, time.Now()); got["ants"].Why != "no file of it here (E0207)" {
		t.Errorf("it lacks %v, want ants", got)
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	fleet.TryAgain(w.Worker)
	w.await(fleet.TurnBegun, "ants")
	if got := fleet.Lacked(w.Worker, time.Now()); len(got) != 0 {
		t.Errorf("it lacks %v, want nothing", got)
	}
	p.finished("ants")
	w.drain()
}

// TestLacksOfOtherVersions: a database that nobody has brought up to date shows its workers, and a
// worker of an older version, which does not know of what is lacked, is shown beside newer ones.
func TestLacksOfOtherVersions(t *testing.T) {
	p := newPlace(t)
	const older = `INSERT INTO fleet_workers (id, host, pid, version, at_most, draining, jobs, lock, started_at, seen_at)
		VALUES ('old-1', 'old', 1, 'v0', 2, false, '{}', 1, clock_timestamp(), clock_timestamp())
		ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), draining = false, jobs = '{}'`
	p.exec(older)
	p.shown(0)
	p.exec(`ALTER TABLE fleet_workers DROP COLUMN lacks; UPDATE fleet_version SET version = 2`)
	p.shown(0)
	p.open()
	p.exec(older)
	p.shown(0)
	if got := p.text(`SELECT version || ' ' || least FROM fleet_version`); got != "3 2" {
		t.Errorf("the version and the least are %s, want 3 2", got)
	}
}
