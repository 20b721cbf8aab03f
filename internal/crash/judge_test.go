package crash_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite"
)

// undisturbed is what a scenario comes to if nothing disturbs it.
type undisturbed struct {
	before  []byte            // the database; nil: there is none
	exports map[string][]byte // by stream
	others  int               // records of other connectors
	asked   map[string]int    // requests by their URL
	again   int               // requests of the same command when all is done
	took    ending
}

func (u *undisturbed) requests() (n int) {
	for _, times := range u.asked {
		n += times
	}
	return n
}

// undisturbed runs sc once without trouble, and remembers what came of it.
func (b *bench) undisturbed(sc scenario) *undisturbed {
	if u := b.known[sc.name]; u != nil {
		return u
	}
	u := &undisturbed{}
	b.known[sc.name] = u
	b.renew("old")
	c := &trial{bench: b, scenario: sc, what: "undisturbed", dir: b.path("undisturbed-" + sc.name)}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		b.t.Error(err)
		return u
	}
	defer c.clean()
	if sc.schema != "" {
		found, err := older(sc.schema)
		if err := errors.Join(err, os.WriteFile(c.state(), found, 0o600)); err != nil {
			c.fail("%v", err)
		}
	}
	for _, command := range sc.before {
		if e, ok := c.run(b.prepare(c.state(), append(command[:len(command):len(command)], "--create", "-q"))); !ok || e.code != 0 {
			c.fail("before it, %v ends with %v", command, e)
		}
	}
	u.before, _ = os.ReadFile(c.state()) // none is none
	c.settle()
	b.provider.Forget()
	e, ok := c.run(c.collecting())
	if !ok || e.code != 0 {
		c.fail("%v", e)
	}
	u.took, u.asked = e, b.asked()
	u.exports = c.exports()
	if found, err := c.lookAtCopy(); err != nil {
		c.fail("%v", err)
	} else {
		u.others = found.others
	}
	b.provider.Forget()
	if e, ok := c.run(c.collecting()); !ok || e.code != 0 {
		c.fail("again: %v", e)
	}
	u.again = len(b.provider.Log())
	if len(e.acked) == 0 || u.requests() == 0 || len(u.exports["details"]) == 0 {
		c.fail("it does nothing: %d commits, %d requests", len(e.acked), u.requests())
	}
	return u
}

// asked counts the requests that the provider saw, but for tokens and for those
// that it refused because a token had ended: these are asked for once more.
func (b *bench) asked() map[string]int {
	n := map[string]int{}
	for _, e := range b.provider.Log() {
		if e.Path != tokenPath && e.Status != http.StatusUnauthorized {
			n[e.Path+"?"+e.Query]++
		}
	}
	return n
}

// judge looks at what a disturbance left, lets the command run once more, and
// looks again. The ending is that of the process that was disturbed last.
func (c *trial) judge(disturbed ending, faults int) {
	defer c.clean()
	u := c.known[c.name]
	c.intact("before it goes on")
	if disturbed.code == 0 && disturbed.signal == 0 && !c.dark {
		c.compare(u, "it ended with 0, and")
	}

	c.tokenKept(disturbed)
	e, ok := c.goesOn()
	if !ok {
		return
	}
	if e.code != 0 {
		c.fail("%v; and then it does not go on: %v", disturbed, e)
		return
	}
	c.intact("at the end")
	c.compare(u, "at the end")
	c.alone()

	// What a process had asked for and not stored: of a list eight pages that were being
	// stored, one that waited, and one in flight; of details four for each that may
	// be in flight. A process that finds nothing left to ask for begins a new pass.
	pages, details := 0, 0
	for url, n := range c.asked() {
		if again := max(0, n-u.asked[url]); strings.HasPrefix(url, "/tickets/") {
			details += again
		} else {
			pages += again
		}
	}
	most, twice := faults*4*c.workers+c.anew*u.again, details+max(0, pages-faults*10)
	if twice > most {
		c.fail("%d requests were repeated, at most %d may be: %v", twice, most, c.asked())
	}
}

// intact checks the database with SQLite's own check, and that whatever was
// acknowledged is in it.
func (c *trial) intact(when string) {
	found, err := c.lookAtCopy()
	if err != nil {
		c.fail("%s: %v", when, err)
		return
	}
	if found.damage != "" {
		c.fail("%s the database is damaged: %s", when, found.damage)
	}
	for _, commit := range c.acked {
		if !found.commits[commit] {
			c.fail("%s commit %d is lost, which was reported as saved; %d are there, %d were reported",
				when, commit, len(found.commits), len(c.acked))
			return
		}
	}
}

// lookAtCopy looks into a copy of the database: looking changes what a dead
// process left.
func (c *trial) lookAtCopy() (found, error) {
	dir, err := os.MkdirTemp(c.bench.dir, "copy-")
	if err != nil {
		return found{}, err
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := copyFile(filepath.Join(dir, "state.db"+suffix), c.state()+suffix); err != nil {
			return found{}, err
		}
	}
	return look(filepath.Join(dir, "state.db"))
}

// What a look into a database finds.
type found struct {
	damage  string
	commits map[int64]bool
	owed    int // by the connector of the scenario
	others  int // records of other connectors
}

// look reads the database at path. None, or an empty one, holds nothing.
func look(path string) (f found, err error) {
	if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return f, nil
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return f, err
	}
	defer db.Close()
	f.commits = map[int64]bool{}
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&f.damage); err != nil {
		f.damage = err.Error()
	}
	if f.damage != "ok" {
		return f, nil
	}
	f.damage = ""
	var made bool
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = 'slices'").Scan(&made); err != nil || !made {
		return f, err
	}
	rows, err := db.Query("SELECT id FROM slices")
	if err != nil {
		return f, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return f, err
		}
		f.commits[id] = true
	}
	var orphans int
	err = errors.Join(rows.Err(),
		db.QueryRow(`SELECT count(*) FROM gaps g JOIN streams s ON s.id = g.stream_id
			WHERE s.connector = 'tickets' AND g.state IN ('open', 'leased', 'dead')`).Scan(&f.owed),
		db.QueryRow(`SELECT count(*) FROM records r JOIN streams s ON s.id = r.stream_id
			WHERE s.connector <> 'tickets'`).Scan(&f.others),
		db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&orphans))
	if orphans > 0 {
		f.damage = fmt.Sprintf("%d rows refer to none", orphans)
	}
	return f, err
}

// exports returns the export of all streams.
func (c *trial) exports() map[string][]byte {
	exports := map[string][]byte{}
	for _, stream := range streams {
		p := c.prepare(c.state(), []string{"export", tickets, stream})
		if e, ok := c.run(p); !ok || e.code != 0 {
			c.fail("export %s: %v", stream, e)
		}
		exports[stream] = bytes.Clone(p.out.Bytes())
	}
	return exports
}

// compare checks that the export equals that of an undisturbed run.
func (c *trial) compare(u *undisturbed, when string) {
	got := c.exports()
	for _, stream := range streams {
		if !bytes.Equal(got[stream], u.exports[stream]) {
			c.fail("%s %s are not what an undisturbed run collects: %d records, want %d", when, stream,
				bytes.Count(got[stream], []byte("\n")), bytes.Count(u.exports[stream], []byte("\n")))
		}
	}
}

// alone checks that nothing is owed and that the database is all there is: no
// lock and no log stays behind.
func (c *trial) alone() {
	if found, err := look(c.state()); err != nil || found.owed > 0 {
		c.fail("at the end %d pieces are owed, %v", found.owed, err)
	} else if want := c.known[c.name].others; found.others != want {
		c.fail("at the end other connectors have %d records, want %d", found.others, want)
	}
	entries, err := os.ReadDir(filepath.Dir(c.state()))
	if err != nil {
		c.fail("%v", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	delete(names, "state.db")
	delete(names, tokenDir)
	if strings.HasSuffix(c.state(), usual) {
		delete(names, "pace") // where runs meet, which is there and not in HOME then
	}
	if len(names) > 0 {
		c.fail("%v stay beside the database", slices.Sorted(maps.Keys(names)))
	}
}
