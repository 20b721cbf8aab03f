package declarative_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"collect/connectors/catalog"
	"collect/connectors/declarative"
)

// TestSchemaFile holds the file that editors are pointed to.
func TestSchemaFile(t *testing.T) {
	got, err := os.ReadFile("connector.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, declarative.Schema()) {
		t.Error("connector.schema.json is not the schema of the language: run\n\tgo generate ./connectors/declarative")
	}
}

// validator returns a function that says what the schema has against a value
// as JSON decodes it.
func validator(t *testing.T) func(value any) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(declarative.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("connector.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("connector.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate
}

// asJSON returns a YAML document as an editor shows it to a schema. What is no
// YAML, or is nothing that JSON can hold, is an error.
func asJSON(src string) (any, error) {
	var value any
	if err := yaml.Unmarshal([]byte(src), &value); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
}

// soundFiles returns the connector files of the repository by where they
// stand: the catalog, the examples of the docs, and what the scripts run.
func soundFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{"the sound file": sound, "the rich file": rich, "without pace": strings.Replace(rich, "law: aimd", "pace: off", 1)}
	for _, auth := range otherAuth() {
		file := strings.Replace(sound, "{token: {env: ACME_TOKEN}}", "{token: {env: ACME_TOKEN}, kept: {keyring: acme}}", 1)
		files["auth: "+auth] = strings.Replace(file, `{bearer: "${secrets.token}"}`, auth, 1)
	}
	for _, name := range catalog.List() {
		src, err := catalog.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(src)
	}
	for _, name := range []string{"../../docs/connectors.md", "../../README.md"} {
		for i, block := range yamlBlocks(t, name) {
			if strings.Contains(block, "connector: ") {
				files[fmt.Sprintf("%s, block %d", name, i+1)] = block
			}
		}
	}
	long := []string{"{next_url: {path: links.next, optional: true}}", "{offset: {param: offset, limit_param: limit, limit: 100, total: total, apart: true}}", "{offset: {param: offset, total: {header: X-Total-Count}}}"}
	for i, form := range append(pageForms(t), long...) {
		file := strings.Replace(sound, "{link_header: next}", form, 1)
		if strings.HasPrefix(form, "{delta:") { // it has no `since` beside it
			file = strings.Replace(sound, "{get: /orgs}", "{get: /orgs, page: "+form+"}", 1)
		}
		if strings.Contains(form, "relay") {
			file = strings.Replace(file, form, form+`, query: {at: "${page}"}`, 1)
		}
		files[fmt.Sprintf("page form %d", i+1)] = file
	}
	others, err := filepath.Glob("../../testdata/connectors/*.yaml")
	if err != nil || len(others) == 0 {
		t.Fatalf("testdata/connectors: %v, %v", others, err)
	}
	for _, name := range others {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = strings.ReplaceAll(string(src), "$URL", "http://127.0.0.1:8080")
	}
	return files
}

// rich uses the keys that the other sound files do not.
const rich = `connector: acme
params: {org: {type: string, about: the organization}, n: {type: int, default: 3}}
secrets: {token: {file: /run/token, optional: true}, user: {command: pass show acme}, kept: {keyring: acme}}
provider:
  name: acme_api
  base_url: https://api.acme.test
  origins: [https://uploads.acme.test]
  auth: {basic: {user: "${secrets.user}", password: "${secrets.token}"}, probe: {get: "/orgs/${params.org}/me", when: body.id != nil}}
  headers: {X-Version: 2}
  ceiling: {per_second: 2.5, per_minute: 100, per_hour: 5000, per_day: 100000}
  start_per_second: 0.5
  law: aimd
  concurrency: {max: 8, law: gradient}
  clamp: {burn: 5%, least: 50%, step: 10%, cooldown: 60s}
  quota: {reserve: 20%}
  on_403: hold
  throttle: [{header: {X-Left: "0", X-Rest: {when: int(value) < 10}}}, {status: [403], body: text contains "slow"}]
  limits: {request_timeout: 60s, header_timeout: 30s, body: 64MiB, record: 8MiB, headers: 1MiB, cursor: 16KiB,
    pages_without_new_record: 3, attempts: 5, longest_retry_after: 5m}
defaults: {query: {per_page: 100}, headers: {Accept: text/json}, key: [id, part], records: data, page: {none: true},
  on: [{status: [404, 410], verdict: gone}]}
streams:
  repos: {get: /repos, query: {per_page: null}, route: search, weight: 2.5}
  detail:
    each: {repo: repos.name, when: repos.open > 0, changed: repos.updated}
    get: "/repos/${repo}"
    role: detail
    headers: {X-Repo: "${repo}"}
  things:
    get: /things
    page: {number: {param: page, start: 0, size_param: size, size: 50, total_pages: pages, last_page: short}}
    since: {field: updated, param: since, start: "${params.n}", order: none, lookback: 1m, format: unix}
    on: [{header: {X-Gone: "1"}, verdict: gap}]
  all: {get: /all, page: {cursor: {from: next, param: cursor, first: "*"}}}
  me: {get: /me, records: {at: user, one: true}}
  rates: {get: /rates, records: {at: "pages[].rates", map: currency, value: rate, with: [base, meta.date]}, key: [date, currency]}
  bars: {get: /bars, records: {at: rows, columns: [time, open], with: [symbol]}, key: time}
  named: {get: /named, records: {at: rows, columns: first}}
  tags: {get: /tags, records: {value: name}, key: name, expect: {records: ">= 1", fields: {name: string}, drop: 20%, zero: error}}
  prices: {get: /prices, format: {as: csv, separator: ";", skip: 2}, archive: {as: zip, entry: "*.csv"}, key: date}
  feed: {get: /feed, format: xml, records: feed.entry}
  log: {get: /log, format: jsonl, archive: gzip, fields: [id, part, user], drop: [user.email]}
  found: {post: /search, query: {tag: [a, b]}, json: {n: 3, more: {list: [x, 2.5, null, true]}, at: "${page}"}, page: {offset: {limit: 100}}}
  formed: {put: /found, form: {a: 1, b: [c, "${params.org}"]}}
  headed: {get: /headed, query: {at: "${page}"}, page: {cursor: {header: X-Next, more: more}}}
  asked: {post: /graphql, graphql: {query: "query($n: Int) { things(first: $n) { id } }", variables: {n: "${params.n}"}}, records: data.things}
  files: {get: /files, page: {delta: {next: next, param: at, resume: resume, resume_param: since, more: more}}}
  calls:
    get: /calls
    query: {after: "${window.from}", before: "${window.to}"}
    windows: {from: "2024-01-01", until: "2025-01-01", step: 7d, lookback: 1d, cap: 1000, least: 1d, format: date}
`

// otherAuth are the ways to send a credential that rich does not use.
func otherAuth() []string {
	return []string{"none", "{none: true}", `{bearer: "${secrets.token}"}`, `{api_key: {header: X-Key, value: "${secrets.token}", prefix: "Key "}}`, `{api_key: {query: key, value: "${secrets.token}"}}`, `{api_key: [{cookie: session, value: "${secrets.token}"}, {header: X-Other, value: "${secrets.token}"}]}`,
		`{oauth2: {token_url: https://auth.acme.test/token, client_id: app, client_secret: "${secrets.token}", client_auth: body, scope: read all, fields: {audience: x}}}`,
		`{oauth2: {token_url: https://auth.acme.test/token, client_id: app, refresh_token: "${secrets.token}"}}`,
		`{oauth2: {token_url: https://auth.acme.test/token, client_id: app, refresh_token: "${secrets.kept}", authorize_url: "https://auth.acme.test/in?access_type=offline", redirect: "http://localhost:8976/back", pkce: off}}`,
		`{oauth2: {token_url: https://auth.acme.test/token, client_id: app, refresh_token: "${secrets.kept}", device_url: "https://auth.acme.test/${params.org}/device", revoke_url: https://auth.acme.test/revoke}}`,
		`{oauth2: {token_url: https://auth.acme.test/token, assertion: {key: "${secrets.token}", claims: {iss: app}}}}`,
		`{session: {post: /login, json: {user: me, auth: {password: "${secrets.token}"}}, token: data.token, lifetime: 1h}}`,
		`{session: {post: "https://login.acme.test/${params.org}", form: {user: me, password: "${secrets.token}"}, header: X-Token, send: {header: X-Token, prefix: "T "}}}`,
		`{session: {post: /login, form: {password: "${secrets.token}"}, cookie: sid, send: cookie}}`,
		`{session: {post: /login, form: {password: "${secrets.token}"}, token: t, send: {cookie: sid}}}`,
		`{jwt: {key: "${secrets.token}", algorithm: ES256, key_id: "${params.org}", claims: {iss: app, sub: "${params.org}"}, lifetime: 10m}}`,
		`{hmac: {recipe: coinbase, key: "${secrets.token}", secret: "${secrets.token}", passphrase: "${secrets.token}"}}`,
		`{aws: {access_key: "${secrets.token}", secret_key: "${secrets.token}", session_token: "${secrets.token}", region: eu-central-1, service: s3}}`}
}

func yamlBlocks(t *testing.T, name string) (blocks []string) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(src), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// pageForms returns the ways of paging as the reference has them.
func pageForms(t *testing.T) (forms []string) {
	t.Helper()
	src, err := os.ReadFile("../../docs/connectors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\{.*?\\})` \\|").FindAllStringSubmatch(string(src), -1) {
		forms = append(forms, m[1])
	}
	if len(forms) != 12 {
		t.Errorf("the reference has %d ways of paging, want 12: %q", len(forms), forms)
	}
	return forms
}

func TestSchemaTakesEverySoundFile(t *testing.T) {
	validate := validator(t)
	files := soundFiles(t)
	if least := 3 + 5 + 3 + 2 + 7 + 2; len(files) < least {
		t.Errorf("%d files, want %d at least", len(files), least)
	}
	all := strings.Join(slices.Collect(maps.Values(files)), "\n")
	for _, key := range declarative.Keys() {
		if !strings.Contains(all, key+":") {
			t.Errorf("no sound file has the key %s, so that nothing shows that the schema takes it", key)
		}
	}
	for name, src := range files {
		value, err := asJSON(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := declarative.Parse(name, []byte(src)); err != nil {
			t.Errorf("%s: the reader: %v", name, err)
		}
	}
}

// beyondShape matches the faults that no schema can find: what one part of a
// file says of another, expressions, days, and YAML itself.
var beyondShape = regexp.MustCompile(`unknown name|that of another secret has|a certificate cannot take turns|.size. needs|a password is never written|what a person gets who signs in|there is a similar|not a predicate|is not a date|the default |unknown stream|form a circle|its own parent|` +
	`must come from one stream|gives two fields the name|take away|leave out the number|is its rows and nothing else|not a pattern|is the same for all records|is set here and by|two keys are sent as|rotate is for the secret|has no .param., and nothing|.page. needs a .param.|nothing stands for it|records of a GraphQL answer|the place of a page stands in|anchors, aliases|already defined|a secret may be used|says where the next walk begins|no mark is sent|nothing in the request uses|neither a date|whole multiples of|no window is narrower`)

// TestSchemaRefusesWhatTheReaderRefuses, if it is a matter of shape.
func TestSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	validate := validator(t)
	refused, beyond := 0, 0
	for _, m := range mistakes() {
		value, err := asJSON(m.file())
		if err == nil {
			err = validate(value)
		}
		switch _, parseErr := declarative.Parse("acme.yaml", []byte(m.file())); {
		case parseErr == nil:
			if err != nil {
				t.Errorf("%s: the reader takes it, and the schema does not: %v", m.planted, err)
			}
		case err != nil:
			refused++
		case beyondShape.MatchString(parseErr.Error()):
			beyond++
		default:
			t.Errorf("%s: the schema takes it, and the reader does not: %v", m.planted, parseErr)
		}
	}
	t.Logf("%d mistakes refused by the schema, %d beyond it", refused, beyond)
	if least := 70; refused < least {
		t.Errorf("the schema refused %d mistakes, want %d at least", refused, least)
	}
}

// TestSchemaAndReaderAgree plants, in the places of the sound files, nothing
// and some values. Of files that differ in one block only, the places of that
// block are taken. What the schema refuses, the reader refuses; and
// the other way round, but for what is beyond shape.
func TestSchemaAndReaderAgree(t *testing.T) {
	validate := validator(t)
	both, neither, beyond := 0, 0, 0
	for name, src := range soundFiles(t) {
		doc, err := asJSON(src)
		if err != nil {
			t.Fatal(err)
		}
		mutate(part(name, doc), func(what string) {
			encoded, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			_, readerErr := declarative.Parse("f", encoded)
			schemaErr := validate(doc)
			switch {
			case (readerErr == nil) == (schemaErr == nil):
				if readerErr == nil {
					neither++
				} else {
					both++
				}
			case readerErr == nil:
				t.Errorf("%s: %s: the reader takes it, and the schema does not: %v", name, what, schemaErr)
			case everyFault(readerErr, beyondShape.MatchString):
				beyond++
			default:
				t.Errorf("%s: %s: the schema takes it, and the reader does not: %v", name, what, readerErr)
			}
		})
	}
	t.Logf("refused by both %d, taken by both %d, beyond the schema %d", both, neither, beyond)
	if both < 1000 || neither < 100 {
		t.Errorf("refused by both %d, taken by both %d: too few to prove anything", both, neither)
	}
}

// part returns what there is to change of a sound file.
func part(name string, doc any) any {
	at := []string{}
	switch {
	case strings.HasPrefix(name, "auth"):
		at = []string{"provider"}
	case strings.HasPrefix(name, "page form"):
		at = []string{"defaults"}
	case name != "the rich file" && name != "../../docs/connectors.md, block 1":
		return nil
	}
	for _, key := range at {
		doc = doc.(map[string]any)[key]
	}
	return doc
}

func everyFault(err error, is func(string) bool) bool {
	joined, ok := err.(interface{ Unwrap() []error }) // as Parse says
	return ok && !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !is(err.Error()) })
}

// everyNth value is planted in a place, and another one in the next: all of
// them, in every place, take half a minute. Set it to 1 after a change of the
// language.
const everyNth = 7

// mutate calls try with doc changed in one place, for every place, and leaves
// it as it was.
func mutate(doc any, try func(what string)) {
	values := []any{
		nil, "", "x", "Acme Inc", "a.b", "1h", "20%", "64KiB", "off", "none", "true", "${params.", "${secrets.nobody}", json.Number("0"), json.Number("-1"),
		json.Number("3"), json.Number("2.5"), json.Number("700"), json.Number("1e12"), true, false, []any{}, []any{"id"}, []any{json.Number("3")}, map[string]any{}, map[string]any{"x": "y"},
	}
	place := 0
	replace := func(at string, was any, set func(any)) {
		place++
		for i, v := range values {
			if (place+i)%everyNth != 0 {
				continue
			}
			set(v)
			try(fmt.Sprintf("%s: %v (%T)", at, v, v))
		}
		set(was)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				was, here := v[key], at+"."+key
				replace(here, was, func(n any) { v[key] = n })
				delete(v, key)
				try("without " + here)
				for _, other := range []string{"x", "", "Not A Name", "since", "authorization"} {
					if _, ok := v[other]; ok {
						continue
					}
					v[other] = was
					try(here + " as " + other)
					delete(v, other)
				}
				v[key] = was
				walk(here, was)
			}
		case []any:
			for i, was := range v {
				here := fmt.Sprintf("%s[%d]", at, i)
				replace(here, was, func(n any) { v[i] = n })
				walk(here, was)
			}
		}
	}
	walk("", doc)
}

// TestEveryKeyIsDescribed in a few words, so that an editor shows what it means.
func TestEveryKeyIsDescribed(t *testing.T) {
	var schema any
	if err := json.Unmarshal(declarative.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(where string, v any)
	walk = func(where string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(where, e)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			if _, block := v["title"]; block {
				for key, p := range properties {
					keys++
					about, _ := p.(map[string]any)["description"].(string)
					if len(about) < 10 || len(about) > 140 || strings.HasSuffix(about, ".") {
						t.Errorf("%s.%s is described as %q, want a few words", where, key, about)
					}
				}
			}
			for key, e := range v {
				walk(where+"."+key, e)
			}
		}
	}
	walk("", schema)
	if keys < 100 {
		t.Errorf("%d keys were looked at: this proves nothing", keys)
	}
}
