package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/store/sqlite"
)

// viewed commits records one by one and returns a connection to read the view
// of their stream with, and its name.
func viewed(t *testing.T, connector, stream string, records ...string) (*sql.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	t.Cleanup(func() { s.Close() })
	l, err := s.Begin(t.Context(), newRun(connector, "run-1"), []collection.Stream{{Name: stream}})
	if err != nil {
		t.Fatal(err)
	}
	at, from := collection.Place{Stream: stream, Lane: collection.Incremental}, collection.Cursor{}
	for i, r := range records {
		next := collection.Cursor{Token: fmt.Sprint(i + 1)}
		mustCommit(t, l, collection.Slice{Place: at, From: from, Next: next,
			Records: []collection.Record{{Key: fmt.Sprint(i), Data: []byte(r)}}})
		from = next
	}
	states, err := s.Streams(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, states[0].View
}

// columns returns the names of the columns of a view.
func columns(t *testing.T, db *sql.DB, view string) []string {
	t.Helper()
	rows, err := db.Query(`SELECT * FROM "` + view + `" LIMIT 0`)
	if err != nil {
		t.Fatalf("view %s: %v", view, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestView(t *testing.T) {
	db, view := viewed(t, "acme", "issues",
		`{"id":1,"title":"It's \"quoted\"","open":true,"user":{"login":"operator"},"labels":["a",1.0],"none":null}`,
		`{"id":2,"late":1.50}`)
	if view != "acme_issues" {
		t.Errorf("the view is %q, want acme_issues", view)
	}
	want := []string{"_key", "id", "title", "open", "user", "labels", "none", "late", "_partition", "_committed_at", "_run", "_deleted_at", "_data"}
	if got := columns(t, db, view); !slices.Equal(got, want) {
		t.Errorf("columns = %q, want %q", got, want)
	}
	got := queryRows(t, db, `SELECT _key, id, title, open, user, labels, none, late, _partition, _run, length(_data) FROM acme_issues ORDER BY id`)
	rows := []string{
		`0|1|It's "quoted"|1|{"login":"operator"}|["a",1.0]|NULL|NULL||run-1|105`,
		`1|2|NULL|NULL|NULL|NULL|NULL|1.5||run-1|20`,
	}
	if !slices.Equal(got, rows) {
		t.Errorf("rows = %q, want %q", got, rows)
	}
}

// TestViewOfLargeIntegers: an integer that SQLite has none for is text with all its digits; all other numbers are numbers.
func TestViewOfLargeIntegers(t *testing.T) {
	values := []string{`1`, `-9223372036854775808`, `9223372036854775807`, `9223372036854775808`, `18446744073709551615`, ` -9223372036854775809 `, strings.Repeat("1", 400), `1.5`, `1e3`, `1e400`, `"18446744073709551616"`, `[18446744073709551615]`}
	var records []string
	for _, v := range values {
		records = append(records, `{"n": `+v+`, "it's": `+v+`}`)
	}
	db, view := viewed(t, "acme", "numbers", records...)
	want := strings.Fields(`integer:1 integer:-9223372036854775808 integer:9223372036854775807 text:9223372036854775808 text:18446744073709551615 text:-9223372036854775809 text:` +
		strings.Repeat("1", 400) + ` real:1.5 real:1000.0 real:Inf text:18446744073709551616 text:[18446744073709551615]`)
	for _, column := range []string{"n", "it's"} {
		var got []string
		rows, err := db.Query(`SELECT typeof("` + column + `") || ':' || "` + column + `" FROM "` + view + `" ORDER BY CAST(_key AS INTEGER)`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if err := rows.Err(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", column, got, err, want)
		}
	}
}

func TestViewBeforeFirstRecord(t *testing.T) {
	db, view := viewed(t, "acme", "issues")
	want := []string{"_key", "_partition", "_committed_at", "_run", "_deleted_at", "_data"}
	if got := columns(t, db, view); !slices.Equal(got, want) {
		t.Errorf("columns = %q, want %q", got, want)
	}
}

// TestViewOfHostileNames gives names to connectors, streams and fields that
// would break out of SQL, or clash.
func TestViewOfHostileNames(t *testing.T) {
	slow(t)
	fields := []string{
		`a"b`, `a'b`, `a\b`, `$.x`, `[0]`, `x"; DROP TABLE records; --`, `'); DROP TABLE records; --`, "", " ", "nul\x00l", "tab\t", "del\x7f",
		"é", "😀", "\ufffd", "_key", "_KEY", "Case", "case", "CASE", "case_2", "select", "rowid", "a.b", "a[1]", "%s", "?", ":x", "`",
	}
	object := map[string]int{}
	for i, f := range fields {
		object[f] = i + 1
	}
	record, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "a b", `"; DROP TABLE records; --`, "é", "1", "select"} {
		db, view := viewed(t, name, name, string(record))
		if strings.Trim(view, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			t.Errorf("the view of %q is %q", name, view)
		}
		names := columns(t, db, view)
		if got, want := len(names), len(fields)+6; got != want {
			t.Errorf("%d columns, want %d: %q", got, want, names)
		}
		seen := map[string]bool{}
		for _, n := range names {
			if seen[strings.ToLower(n)] {
				t.Errorf("column %q is there twice", n)
			}
			seen[strings.ToLower(n)] = true
		}
		for _, n := range []string{" ", "é", "😀", "a'b", "nul_l", "tab_", "del_", "_2", "CASE", "Case_2", "case_3", "case_2_2", "_KEY_2", "_key_3"} {
			if !slices.Contains(names, n) {
				t.Errorf("columns = %q, want %q among them", names, n)
			}
		}
		// Each field is in a column of its own, with its own value.
		row := strings.Split(queryRows(t, db, `SELECT * FROM "`+view+`"`)[0], "|")
		values := slices.Sorted(slices.Values(row[1 : 1+len(fields)]))
		var want []string
		for i := range fields {
			want = append(want, fmt.Sprint(i+1))
		}
		slices.Sort(want)
		if !slices.Equal(values, want) {
			t.Errorf("values = %q, want %q", values, want)
		}
	}
}

// TestViewOfAPath: a field whose name reads like a path to another one has its
// own value.
func TestViewOfAPath(t *testing.T) {
	db, view := viewed(t, "acme", "paths", `{"a":{"b":"inner"},"a\".\"b":"own"}`)
	if got := queryRows(t, db, `SELECT "a"".""b" FROM "`+view+`"`); !slices.Equal(got, []string{"own"}) {
		t.Errorf("the field is %q, want its own value", got)
	}
}

// TestViewNames: views share their names with nothing, tables included.
func TestViewNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	var views []string
	for _, c := range []string{"a", "a.b", "a-b", "A_B", "provider", "sqlite"} {
		_, err := s.Begin(t.Context(), newRun(c, "run-"+c), []collection.Stream{{Name: "b_c"}, {Name: "state"}, {Name: "b.c"}})
		if err != nil {
			t.Fatalf("Begin %s: %v", c, err)
		}
		states, err := s.Streams(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range states {
			views = append(views, strings.ToLower(st.View))
		}
	}
	slices.Sort(views)
	if got := len(slices.Compact(slices.Clone(views))); got != 18 || slices.Contains(views, "provider_state") {
		t.Errorf("views = %q, want 18 names that are free", views)
	}
}

// TestViewNamesAreReadable: they are those of the connector and the stream where
// SQL needs no quotes for them, and are counted where that leaves the same.
func TestViewNamesAreReadable(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	defer s.Close()
	names := []string{"azAZ09", "/:@[`{", "b_c", "b.c", "b-c", "b c"}
	var declared []collection.Stream
	for _, name := range names {
		declared = append(declared, collection.Stream{Name: name})
	}
	if _, err := s.Begin(t.Context(), newRun("a", "run-1"), declared); err != nil {
		t.Fatal(err)
	}
	states, err := s.Streams(t.Context(), "a")
	if err != nil || len(states) != len(names) {
		t.Fatalf("Streams = %+v, %v", states, err)
	}
	for i, want := range []string{"a_azAZ09", "a_______", "a_b_c", "a_b_c_2", "a_b_c_3", "a_b_c_4"} {
		if got := states[i].View; got != want {
			t.Errorf("the view of %q is %s, want %s", names[i], got, want)
		}
	}
}

// TestViewOfManyFields: a stream whose records are used as maps has a view
// that ends, and records that do not.
func TestViewOfManyFields(t *testing.T) {
	var records []string
	for i := range 30 {
		var fields []string
		for j := range 101 {
			fields = append(fields, fmt.Sprintf(`"f%d":1`, i*101+j))
		}
		records = append(records, "{"+strings.Join(fields, ",")+"}")
	}
	db, view := viewed(t, "acme", "maps", records...)
	if got, want := len(columns(t, db, view)), 206; got != want {
		t.Errorf("%d columns, want %d", got, want)
	}
	if got := queryRows(t, db, `SELECT count(*) FROM fields`); got[0] != "2000" {
		t.Errorf("%s fields are noted, want 2000", got[0])
	}
	if got := queryRows(t, db, `SELECT count(*), sum(_data LIKE '%"f29%') FROM "`+view+`"`); got[0] != "30|4" {
		t.Errorf("records, and those with f29…: %s, want 30|4", got[0])
	}
}

// TestShell reads a store as a person does, with sqlite3 and nothing else.
func TestShell(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 shell here")
	}
	path := made(t)
	for command, want := range map[string]string{
		"SELECT page, i FROM acme_issues WHERE i = 7": "0|7\n",
		"SELECT data FROM records LIMIT 1":            `{"page":0,"i":0}` + "\n",
		".schema records":                             "-- the bytes of the provider",
	} {
		out, err := exec.Command(shell, "-readonly", path, command).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("sqlite3 %q prints %q, %v, want %q", command, out, err, want)
		}
	}
}

// shellRows returns what a query prints in the sqlite3 program of the system,
// which is older than the library here: 3.40 in Debian 12.
func shellRows(t *testing.T, path, query string) []string {
	t.Helper()
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 here: scripts/services install")
	}
	out, err := exec.Command(shell, "-readonly", "-nullvalue", "NULL", path, query).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3 %q: %v: %s", query, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestViewOfEveryRecord reads, with the library and with an older one, records
// that some version of SQLite cannot read as JSON: it reads 1000 objects or
// arrays inside each other, and 2000 before 3.42. They do not fail the others.
func TestViewOfEveryRecord(t *testing.T) {
	nested := func(depth int) string {
		return `{"n":` + fmt.Sprint(depth) + `,"deep":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
	}
	db, view := viewed(t, "acme", "deep", `{"n":1}`, nested(1000), nested(1001), nested(1500), nested(2001), nested(5000), `{"n":2}`)
	const query = `SELECT _key, n, deep IS NULL, length(_data) > 0 FROM acme_deep ORDER BY _key`
	want := []string{"0|1|1|1", "1|1000|0|1", "2|NULL|1|1", "3|NULL|1|1", "4|NULL|1|1", "5|NULL|1|1", "6|2|1|1"}
	if got := queryRows(t, db, query); !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", view, got, want)
	}
	want[2], want[3] = "2|1001|0|1", "3|1500|0|1"
	if got := shellRows(t, pathOf(t, db), query); !slices.Equal(got, want) {
		t.Errorf("%s = %q in the shell, want %q", view, got, want)
	}
}

// TestViewOfEscapedNames spells names of fields in every way that JSON has for
// them, in the first record or in a later one.
func TestViewOfEscapedNames(t *testing.T) {
	db, _ := viewed(t, "acme", "names",
		`{"\u00e9":1,"a\/b":1,"ab":1,"a\"b":1,"é2":1}`,
		`{"é":2,"a/b":2,"\u0061b":2,"a\u0022b":2,"\ud83d\ude00":2}`,
		`{"\u00E9":3,"\u0061\u002fb":3,"ab":3,"\u0061\"b":3,"😀":3,"\u00e92":3}`)
	const query = `SELECT "é", "a/b", "ab", "a""b", "😀", "é2" FROM acme_names ORDER BY _key`
	want := []string{"1|1|1|1|NULL|1", "2|2|2|2|2|NULL", "3|3|3|3|3|3"}
	if got := queryRows(t, db, query); !slices.Equal(got, want) {
		t.Errorf("fields = %q, want %q", got, want)
	}
	if got := shellRows(t, pathOf(t, db), query); !slices.Equal(got, want) {
		t.Errorf("fields = %q in the shell, want %q", got, want)
	}
}

// pathOf returns the path of the database that db reads.
func pathOf(t *testing.T, db *sql.DB) string {
	t.Helper()
	return queryRows(t, db, `SELECT file FROM pragma_database_list`)[0]
}

// TestPaceView reads each form in which a pace is saved (pacing/gate, snapshot.go),
// with the library and with an older one.
func TestPaceView(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	l := begin(t, s, "acme", "run-1")
	const at = `"version":1,"recorded_at":"2026-11-21T12:00:00Z"`
	for domain, state := range map[string]string{
		"empty/00": `{` + at + `}`,
		"law/0a":   `{` + at + `,"interval_ns":250000000,"heard_at":"2026-11-21T11:59:59.5Z","plateau":{"target_per_second":4},"ceiling_per_second":2.5,"hold_until":"2026-11-21T12:05:00Z"}`,
		"open/0b":  `{` + at + `,"breaker":{"until":"2026-11-21T12:01:00Z","trips":1}}`,
		"held/0c":  `{` + at + `,"breaker":{"until":"2026-11-21T12:01:00Z","trips":0,"forced":{"to":"closed","note":"x","at":"2026-11-21T12:00:00Z"}}}`,
		"ice/0d":   `{` + at + `,"freeze":{"strikes":1,"until":"2026-11-21T12:15:00Z","reason":"forbidden"}}`,
		"a/b/c0de": `{` + at + `,"interval_ns":1000000,"routes":[{"key":"core","hold_until":"2026-11-21T12:05:00Z"},` +
			`{"name":"search","memory":{"interval_ns":2000000000,"heard_at":"2026-11-21T11:00:00Z"}},{"key":"bucket","memory":{},"hold_until":"2026-11-21T12:07:00Z"}]}`,
		"old/0e": `{"spacing":"1s"}`,
	} {
		if err := l.SaveProvider(t.Context(), domain, []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"a/b|a/b/c0de||1|1000|NULL|NULL|2026-11-21T12:05:00Z|closed|NULL|NULL|NULL",
		"a/b|a/b/c0de|bucket|NULL|NULL|NULL|NULL|2026-11-21T12:07:00Z|closed|NULL|NULL|NULL",
		"a/b|a/b/c0de|search|2000|0.5|NULL|2026-11-21T11:00:00Z|NULL|closed|NULL|NULL|NULL",
		"empty|empty/00||NULL|NULL|NULL|NULL|NULL|closed|NULL|NULL|NULL",
		"held|held/0c||NULL|NULL|NULL|NULL|NULL|closed|NULL|NULL|NULL",
		"ice|ice/0d||NULL|NULL|NULL|NULL|NULL|closed|NULL|forbidden|2026-11-21T12:15:00Z",
		"law|law/0a||250|4|2.5|2026-11-21T11:59:59.5Z|2026-11-21T12:05:00Z|closed|NULL|NULL|NULL",
		"old|old/0e||NULL|NULL|NULL|NULL|NULL|closed|NULL|NULL|NULL",
		"open|open/0b||NULL|NULL|NULL|NULL|NULL|open|2026-11-21T12:01:00Z|NULL|NULL",
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const columns = `provider, account, route, warm_start_ms, learned_per_second, ceiling_per_second, heard_at, silent_until, breaker, breaker_until, freeze, freeze_until`
	if got := queryRows(t, db, `SELECT `+columns+` FROM pace`); !slices.Equal(got, want) {
		t.Errorf("pace = %q, want %q", got, want)
	}
	for i := range want {
		want[i] = strings.NewReplacer("|1|1000|", "|1.0|1000.0|", "|2000|", "|2000.0|", "|250|4|", "|250.0|4.0|").Replace(want[i])
	}
	if got := shellRows(t, path, `SELECT `+columns+` FROM pace`); !slices.Equal(got, want) {
		t.Errorf("pace = %q in the shell, want %q", got, want)
	}
}
