package hostile_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ways are the ways in which the requests of these runs are authorized.
var ways = map[string]string{
	"bearer":  `{bearer: "${secrets.token}"}`,
	"header":  `{api_key: {header: X-Key, value: "${secrets.token}", prefix: "Key "}}`,
	"query":   `{api_key: {query: key, value: "${secrets.token}"}}`,
	"basic":   `{basic: {user: someone, password: "${secrets.token}"}}`,
	"oauth2":  `{oauth2: {token_url: $ISSUER/token, client_id: someone, client_secret: "${secrets.token}"}}`,
	"session": `{session: {post: $ISSUER/login, json: {user: someone, password: "${secrets.token}"}, token: access_token, send: {header: X-Session}}}`,
	"cookie":  `{session: {post: $ISSUER/login, form: {user: someone, password: "${secrets.token}"}, cookie: sid}}`,
}

// granting are the ways that get another credential for the one that they have.
var granting = []string{"oauth2", "session", "cookie"}

// lent returns what the requests of these runs carry: the credential or, where
// that gets another one, the other.
func lent(way, token string) string {
	if !slices.Contains(granting, way) {
		return token
	}
	other := []byte(token)
	slices.Reverse(other)
	return string(other)
}

// echoes are answers that give the credential back, or make it likely that
// something is said of the request.
func echoes() map[string]answer {
	const echo = "X-Echo: $SECRET"
	return map[string]answer{
		"success":             ok(page(1, 3, `"next":null`), echo, "Set-Cookie: session=$SECRET"),
		"success in pages":    inTurn(ok(page(1, 2, `"next":"/things?page=2&access_token=$SECRET"`), echo), ok(page(3, 3, `"next":null`))),
		"401":                 reply(401, `{"error":"$SECRET"}`, echo, `WWW-Authenticate: Bearer error="$SECRET"`),
		"403":                 reply(403, `{"message":"$SECRET"}`, echo),
		"404":                 reply(404, "no $SECRET here", echo),
		"400":                 reply(400, `{"error":{"code":"$SECRET","reason":"$SECRET"}}`, echo),
		"429":                 reply(429, `{"code":"$SECRET"}`, "Retry-After: 3600", "X-RateLimit-Resource: $SECRET", "X-RateLimit-Limit: 9", "X-RateLimit-Remaining: 0", "Ratelimit-Reason: $SECRET", `RateLimit: "$SECRET";r=0;t=3600`),
		"500":                 reply(500, "$SECRET", echo),
		"a status in words":   raw("HTTP/1.1 200 $SECRET\r\nContent-Length: 1\r\n\r\n["),
		"a malformed header":  ok(three, "$SECRET"),
		"a malformed length":  raw("HTTP/1.1 200 OK\r\nContent-Length: $SECRET\r\n\r\n"),
		"a page that is none": ok("<html>$SECRET"),
		"a next cursor":       ok(page(1, 2, `"next":"/things/$SECRET"`)),
		"a next origin":       ok(page(1, 2, `"next":"$OTHER/$SECRET"`)),
		"a redirect":          to("/things?$SECRET"),
		"a redirect away":     to("$OTHER/x?token=$SECRET"),
		"a next host":         ok(page(1, 2, `"next":"http://x.$SECRET.test/x"`)),
		"a redirect's host":   to("http://$SECRET/x"),
		"a redirect to none":  to("http://me:$SECRET@127.0.0.1:port/"),
		"no answer":           raw(""),
		"no HTTP":             raw("$SECRET\r\n\r\n"),
	}
}

// TestSecretsDoNotShow: two runs that differ only in the credential, which
// their provider gives back in every way, print and store the same. (I18.)
func TestSecretsDoNotShow(t *testing.T) {
	other := "An0ther/+=c4nary" + strings.Repeat("x", len(secret)-16)
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		commands := looks[:1]
		if way == "bearer" { // what is kept does not depend on the way
			commands = looks
		}
		for name, sends := range echoes() {
			t.Run(way+", "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				elsewhere := listen(t, nil, nil, ok(page(101, 102, `"next":null`)))
				p, issuer := listen(t, nil, nil, sends), listen(t, nil, nil, ok(`{"access_token":"$SECRET","expires_in":3600}`, "Set-Cookie: sid=$SECRET"))
				write(t, filepath.Join(dir, "hostile.yaml"), fmt.Sprintf(`connector: hostile
secrets: {token: {env: TOKEN}}
provider:
  name: hostile
  base_url: %s
  auth: %s
  pace: off
  limits: {request_timeout: 3s, header_timeout: 2s, body: 256KiB, cursor: 1KiB, attempts: 1, longest_retry_after: 1s}
streams:
  things: {get: /things, %s}
`, p.base, strings.ReplaceAll(ways[way], "$ISSUER", issuer.base), walks["url"]))
				var told [2]string
				for i, token := range []string{secret, other} {
					carried := lent(way, token)
					p.restart(strings.NewReplacer("$BASE", p.base, "$OTHER", elsewhere.base, "$SECRET", carried))
					issuer.restart(strings.NewReplacer("$SECRET", carried))
					told[i] = tell(t, dir, token, carried, commands)
					if slices.Contains(granting, way) && issuer.requests == 0 {
						t.Error("no token was asked for: this proves nothing")
					}
				}
				one, another := lines(told[0]), lines(told[1])
				if len(one) != len(another) {
					t.Errorf("%d lines with one credential, %d with another:\n%s\n%s", len(one), len(another), told[0], told[1])
				}
				for i := range min(len(one), len(another)) {
					if one[i] != another[i] {
						t.Errorf("line %d differs:\n%s\n%s", i+1, one[i], another[i])
					}
				}
				for _, token := range []string{secret, other} {
					hidden(t, token, "sent to another origin", elsewhere.heard())
					hidden(t, lent(way, token), "sent to another origin", elsewhere.heard())
				}
			})
		}
	}
}

// lines returns the lines of a text, sorted: some may come in another order.
func lines(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n")) }

// looks are a run and the commands that look at what came of it.
var looks = [][]string{
	{"run", "hostile.yaml", "--create", "--json", "--trace"},
	{"resume", "hostile.yaml", "--progress", "plain"},
	{"status", "hostile", "--json"}, {"status", "hostile"}, {"gaps", "hostile"}, {"runs", "--json"},
	{"export", "hostile", "things", "--with-meta"},
}

// tell runs commands with token, for which requests carry another, in a state of
// its own inside dir, and returns all that was printed and stored, without what
// differs between any two runs.
func tell(t *testing.T, dir, token, carried string, commands [][]string) string {
	t.Helper()
	// Beside the database: where runs meet, and what they learned of an account.
	// A renewed credential is the same account as before.
	state := filepath.Join(dir, "state")
	if err := errors.Join(os.RemoveAll(state), os.RemoveAll(filepath.Join(dir, ".local"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	database := filepath.Join(state, "state.db")
	for _, args := range commands {
		r := execute(t, dir, []string{"TOKEN=" + token}, append(args, "--state", database))
		hidden(t, token, "printed by "+args[0], r.printed)
		hidden(t, carried, "printed by "+args[0], r.printed)
		fmt.Fprintf(&all, "$ collect %s\n%sexit %d\n", strings.Join(args, " "), r.printed, r.code)
	}
	files, err := filepath.Glob(database + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		hidden(t, token, "stored", data)
		hidden(t, carried, "stored", data)
	}
	return unlike.Replace(all.String()) + dump(t, database)
}

// A cleaner takes out what differs between any two runs.
type cleaner []*regexp.Regexp

func (c cleaner) Replace(s string) string {
	for _, differs := range c {
		s = differs.ReplaceAllString(s, "…")
	}
	return s
}

// unlike are times, ids of runs, accounts under the salt of the database, and
// what was measured.
var unlike = cleaner{
	regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)`),
	regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b|\b[0-9]{2}:[0-9]{2}(:[0-9]{2})?\b`),
	regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{14}\b`),
	regexp.MustCompile(`hostile/[0-9a-f]{12}`),
	regexp.MustCompile(`fingerprint [0-9a-f]{4}`),
	regexp.MustCompile(`"[a-z0-9_]*(seconds|rate|per_second|ms)[a-z_]*":[0-9.e+-]+`),
	regexp.MustCompile(`[0-9.]+ (ms|s|min)\b`),
	regexp.MustCompile(`(?m)limited[ _]by.*$|"limit":\{"name".*?\}`), // which is a matter of how quick the answers are
	regexp.MustCompile(`"(pid|digest|age|took)":"?[0-9a-f.]+"?`),
	regexp.MustCompile(`"buckets":\{[^}]*\}`), // how long each attempt took
	regexp.MustCompile(` {2,}`),               // a column is as wide as what is in it
	regexp.MustCompile(`"seq":[0-9]+`),        // a page is stored while the next one is fetched: what is told first is chance
}

// dump prints the tables of a database, without columns of the same kind.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, table := range column(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`) {
		var kept []string
		for _, name := range column(t, db, `SELECT name FROM pragma_table_info(?)`, table) {
			if !volatile.MatchString(name) && (table != "meta" || name != "value") {
				kept = append(kept, `quote("`+name+`")`)
			}
		}
		fmt.Fprintf(&out, "%s\n", table)
		if len(kept) == 0 {
			continue
		}
		for _, row := range column(t, db, `SELECT concat_ws(' | ', `+strings.Join(kept, ", ")+`) FROM "`+table+`"`) {
			fmt.Fprintln(&out, unlike.Replace(row))
		}
	}
	return out.String()
}

var volatile = regexp.MustCompile(`_at$|^(salt|digest|sum|domain|pid|waited|tstamp|state|since|writes)$`) // writes: slices that are ready share one

func column(t *testing.T, db *sql.DB, query string, args ...any) (values []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
