package doctor

import (
	"context"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/fleet"
	"collect/report/problem"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestStartsRun(t *testing.T) {
	for text, want := range map[string]bool{
		"*/15 * * * *  collect run --all -q":              true,
		"0 3 * * * root /usr/bin/collect resume acme":     true,
		"[Service]\nExecStart=/usr/bin/collect run acme":  true,
		"0 3 * * * TOKEN=x /opt/collect run acme":         true,
		"# 0 3 * * * collect run acme":                    false,
		"0 3 * * * collect status":                        false,
		"0 3 * * * recollect run acme":                    false,
		"0 3 * * * collect":                               false,
		"":                                                false,
		"ExecStart=/usr/bin/backup --of collect --run no": false,
	} {
		if got := startsRun([]byte(text)); got != want {
			t.Errorf("startsRun(%q) = %t, want %t", text, got, want)
		}
	}
}

// TestSchedules looks for units in a file system of its own.
func TestSchedules(t *testing.T) {
	root := t.TempDir()
	unit := filepath.Join(root, "etc", "systemd", "system", "collect.service")
	if err := os.MkdirAll(filepath.Dir(unit), 0o700); err != nil {
		t.Fatal(err)
	}
	d := &Diagnosis{Config: Config{Env: func(string) string { return "" }, Root: root}}
	t.Setenv("PATH", root) // not the crontab of the user who runs the tests
	if got := d.schedules(t.Context()); len(got) != 0 {
		t.Errorf("schedules = %q, want none", got)
	}
	if err := os.WriteFile(unit, []byte("[Service]\nExecStart=/usr/bin/collect run --all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.schedules(t.Context()); !slices.Equal(got, []string{unit}) {
		t.Errorf("schedules = %q, want %q", got, unit)
	}
}

// TestFleetSchedules: what the workers of a fleet begin needs no crontab, as long as there are
// workers.
func TestFleetSchedules(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	d := &Diagnosis{Config: Config{Env: func(string) string { return "" }, Root: t.TempDir(), Now: noon}}
	d.runs = map[string]collection.Run{"acme": {StartedAt: noon.Add(-time.Hour)}}
	d.served, d.fleet = true, fleet.View{Now: noon, Schedules: []fleet.Schedule{{Connector: "acme"}}, Workers: []fleet.WorkerView{{ID: "w", Seen: noon}}}
	for _, want := range []struct{ workers, schedule Mark }{{Well, Well}, {Look, Well}} {
		d.Findings = nil
		d.checkWorkers()
		d.checkSchedule(t.Context())
		if len(d.Findings) != 2 || d.Findings[0].Mark != want.workers || d.Findings[1].Mark != want.schedule {
			t.Errorf("with %d workers: %+v, want %v", d.fleet.Alive(), d.Findings, want)
		}
		d.fleet.Workers[0].Died = true
	}
}

// TestGrowth estimates what a database gains a day.
func TestGrowth(t *testing.T) {
	run := func(age time.Duration, changed int64) collection.Run {
		return collection.Run{StartedAt: noon.Add(-age), Tally: collection.Tally{Changed: changed}}
	}
	const day = 24 * time.Hour
	for _, c := range []struct {
		name string
		runs []collection.Run
		want float64 // -1: not known
	}{
		{"no runs", nil, -1},
		{"too short to tell", []collection.Run{run(time.Hour, 1000)}, -1},
		{"less than two days", []collection.Run{run(time.Hour, 10), run(2*day-time.Minute, 1000)}, -1},
		{"two days", []collection.Run{run(time.Hour, 100), run(2*day, 100)}, 100 * 50},
		{"nothing was stored", []collection.Run{run(time.Hour, 0), run(5*day, 0)}, 0},
		{"ten days", []collection.Run{run(time.Hour, 500), run(10*day, 500)}, 100 * 50},
		{"an old run does not count", []collection.Run{run(10*day, 1000), run(60*day, 1e6)}, 100 * 50},
	} {
		d := &Diagnosis{Config: Config{Now: noon}, recent: c.runs, state: storage.Report{Size: 50_000, Records: 1000}}
		got, known := d.growth()
		if !known {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: growth = %v bytes a day, want %v", c.name, got, c.want)
		}
	}
}

// TestLibraryIsRefused: a SQLite that can lose commits is a problem.
func TestLibraryIsRefused(t *testing.T) {
	for version, want := range map[string]int64{"3.51.3": 0, "3.53.4": 0, "4.0.0": 0, "3.51.2": 1, "3.46.1": 1, "2.9.99": 1, "": 1} {
		d := &Diagnosis{state: storage.Report{Library: version}}
		if d.checkLibrary(); d.Count(Broken) != want {
			t.Errorf("SQLite %q: %d problems, want %d", version, d.Count(Broken), want)
		}
	}
}

// TestCompareClocks: only what no rounding and no delay explains is a
// difference.
func TestCompareClocks(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		date time.Duration // of the answer, from when it was asked for
		took time.Duration
		want string
	}{
		{0, s, "agrees"}, {-3 * s, s, "agrees"}, {3 * s, s, "agrees"}, {20 * s, 30 * s, "agrees"},
		{-4 * s, s, "3s ahead"}, {-time.Hour, s, "59m59s ahead"}, {4 * s, s, "3s behind"},
	} {
		d := &Diagnosis{}
		sim := registry.Target{Connector: named("acme")}
		d.compareClocks(probed{target: sim}, &watch{asked: noon, took: c.took, date: noon.Add(c.date)})
		if got := d.Findings[0]; !strings.HasPrefix(got.Text, c.want) || (got.Mark == Well) != (c.want == "agrees") {
			t.Errorf("date %v from the question, answer after %v: %s %q, want %q", c.date, c.took, got.Mark, got.Text, c.want)
		}
	}
}

// named is a connector with a provider name and nothing else.
type named string

func (n named) Provider() collection.Provider { return collection.Provider{Name: string(n)} }
func (named) Streams() []collection.Stream    { return nil }
func (named) Partition(string, collection.Parent) (collection.Partition, string, bool, error) {
	return "", "", false, nil
}
func (named) Slices(context.Context, *http.Client, collection.Place, collection.Cursor) iter.Seq2[collection.Slice, error] {
	return nil
}

// A server that is away is broken, and its disk is not looked at.
func TestServerIsAway(t *testing.T) {
	d := &Diagnosis{Config: Config{State: "postgres://127.0.0.1:1/db", StateNamed: true}}
	if d.checkState(t.Context()) || len(d.Findings) != 1 || d.Findings[0].Mark != Broken || d.Findings[0].Exit != problem.ExitStorage {
		t.Errorf("found %+v, want one that says so", d.Findings)
	}
}
