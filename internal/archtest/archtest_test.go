package archtest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"collect/internal/archtest"
)

// rules are the table of docs/architecture.md.
var rules = archtest.Rules{
	Module: "collect",
	Imports: map[string][]string{
		".":   {"cmd"},
		"cmd": {"*"},

		"cmd/internal/chart":  {"cmd/internal/term", "collection", "internal/words", "pacing/sim"},
		"cmd/internal/config": {"cmd/internal/term", "collection", "connectors/declarative", "engine/notify", "engine/registry", "engine/storage", "internal/userfile", "internal/words", "internal/yamlfile", "report/problem"},
		"cmd/internal/live":   {"cmd/internal/config", "cmd/internal/term", "collection", "internal/jsonout", "internal/picture", "internal/words", "pacing/gate", "report", "report/limit", "report/problem"},
		"cmd/internal/output": {"internal/jq", "internal/jsonout", "internal/similar"},
		"cmd/internal/schema": {"internal/jsonout"},
		"cmd/internal/term":   {"internal/lazy"},

		"console":                       {"collection", "engine", "engine/storage", "fleet", "internal/picture", "internal/process", "internal/similar", "internal/words", "report", "report/limit", "report/problem", "store"},
		"engine":                        {"collection", "connectors/declarative", "engine/har", "engine/registry", "internal/process", "internal/spool", "internal/words", "pacing", "pacing/gate", "pacing/share", "report", "report/limit", "report/problem", "runner", "store"},
		"engine/author/airbyte":         {"internal/lazy", "internal/yamlfile"},
		"engine/author/openapi":         {"connectors/usual", "engine/author/internal/sketch", "internal/lazy", "internal/words", "internal/yamlfile"},
		"engine/author/browser":         {"connectors/usual", "engine/author/internal/sketch", "internal/lazy", "internal/words", "internal/yamlfile"},
		"engine/author/internal/sketch": {"connectors/usual", "internal/lazy", "internal/words", "internal/yamlfile"},
		"engine/author":                 {"collection", "connectors", "connectors/cassette", "connectors/declarative", "connectors/usual", "engine", "engine/author/internal/sketch", "engine/har", "engine/registry", "engine/storage", "internal/words", "internal/yamlfile", "pacing", "pacing/share", "runner", "store"},
		"engine/har":                    {"collection", "connectors/cassette", "internal/atomicfile", "internal/lazy"},
		"engine/doctor":                 {"collection", "connectors", "engine", "engine/registry", "engine/storage", "fleet", "internal/freespace", "internal/process", "internal/userfile", "internal/words", "internal/yamlfile", "pacing", "pacing/gate", "pacing/share", "report", "report/problem", "store"},
		"engine/notify":                 {"engine", "internal/atomicfile", "internal/filelock", "internal/jsonout", "internal/process", "internal/userfile", "internal/words", "pacing", "report", "report/problem"},
		"engine/setup":                  {"connectors/catalog", "connectors/declarative", "engine/registry", "internal/atomicfile", "internal/lazy", "internal/userfile", "internal/words", "internal/yamlfile"},
		"engine/enginetest":             {"collection", "pacing/gate", "store"},
		"engine/verify":                 {"collection", "connectors", "connectors/declarative", "engine", "engine/registry", "internal/jsonout", "internal/words", "pacing", "pacing/gate", "pacing/share", "report", "report/problem", "runner", "store"},
		"engine/storage":                {"collection", "internal/freespace", "internal/words", "report", "report/problem", "store", "store/postgres", "store/sqlite", "store/sqlite/salvage", "store/transfer"},
		"engine/registry":               {"collection", "connectors", "connectors/catalog", "connectors/declarative", "internal/process", "internal/similar", "internal/tokenfile", "internal/userfile", "internal/words", "internal/yamlfile", "report/problem"},
		"engine/signin":                 {"connectors/declarative", "connectors/oauth2", "engine/registry", "pacing", "report/problem"},

		"fleet": {"collection", "engine", "engine/registry", "internal/jsonout", "internal/words", "migrations", "report", "report/problem", "store", "store/postgres"},

		"collection":               {},
		"pacing":                   {"collection", "internal/lazy", "pacing/desk", "pacing/gate", "pacing/law", "pacing/meter", "pacing/response"},
		"pacing/desk":              {"collection", "pacing/gate", "pacing/law"},
		"pacing/share":             {"collection", "internal/atomicfile", "internal/filelock", "internal/times", "pacing/desk", "pacing/gate", "pacing/law"},
		"pacing/gate":              {"collection", "internal/times", "pacing/gate/internal/ceiling", "pacing/gate/internal/halt", "pacing/gate/internal/route", "pacing/gate/internal/timeline", "pacing/gate/internal/usage", "pacing/inflight", "pacing/law", "pacing/response"},
		"pacing/inflight":          {},
		"pacing/law":               {"pacing/response"},
		"pacing/meter":             {"collection", "pacing/response"},
		"pacing/response":          {"internal/lazy"},
		"pacing/sim":               {"collection", "pacing", "pacing/desk", "pacing/gate", "pacing/law"},
		"connectors":               {"collection"},
		"connectors/connectortest": {"collection", "connectors"},
		"connectors/usual":         {"internal/lazy"},
		"connectors/declarative":   {"collection", "connectors", "connectors/oauth2", "connectors/renewal", "connectors/signing", "connectors/declarative/internal/answer", "connectors/declarative/internal/compile", "connectors/declarative/internal/language", "connectors/declarative/internal/notation", "connectors/declarative/internal/paging", "connectors/declarative/internal/request", "connectors/declarative/internal/since", "connectors/declarative/internal/windows", "internal/similar", "internal/yamlfile"},
		"connectors/oauth2":        {"collection", "connectors/renewal"},
		"connectors/renewal":       {"collection"},
		"connectors/signing":       {},
		"connectors/cassette":      {"collection"},
		"connectors/catalog":       {"collection", "connectors"},
		"runner":                   {"collection", "connectors", "pacing", "pacing/gate"},
		"store":                    {"collection", "migrations"},
		"store/storetest":          {"collection", "store"},
		"console/telemetry":        {"collection", "engine", "internal/atomicfile", "internal/freespace", "internal/words", "pacing/gate", "report", "report/problem", "store"},
		"store/sqlite":             {"collection", "store", "internal/filelock", "store/internal/checkpoints", "store/internal/database", "store/internal/format", "store/internal/gaps", "store/internal/ledger", "store/internal/records", "store/sqlite/internal/backup", "store/sqlite/internal/connect", "store/sqlite/internal/disk", "store/transfer"},
		"store/postgres":           {"collection", "pacing/share", "store", "store/postgres/internal/meeting", "store/internal/database", "store/internal/format", "store/internal/ledger", "store/postgres/internal/server", "store/transfer"},
		"migrations":               {},
		"report/limit":             {"collection", "internal/times", "internal/words", "pacing/gate", "report/problem"},
		"report/problem":           {"collection", "connectors", "connectors/declarative", "connectors/oauth2", "internal/jsonout", "internal/lazy", "internal/similar", "internal/tokenfile", "internal/words", "pacing/gate", "store"},
		"export":                   {"collection", "store"},
		"report":                   {"collection", "internal/jsonout", "internal/picture", "internal/process", "internal/words", "pacing/gate", "report/limit", "report/problem", "store"},

		"connectors/declarative/internal/answer":   {"collection", "connectors/declarative/internal/notation", "connectors/declarative/internal/paging"},
		"connectors/declarative/internal/compile":  {"collection", "connectors/declarative/internal/answer", "connectors/declarative/internal/language", "connectors/declarative/internal/notation", "connectors/declarative/internal/paging", "connectors/declarative/internal/request", "connectors/declarative/internal/since", "connectors/declarative/internal/windows", "connectors/usual", "internal/jq", "internal/lazy", "internal/similar", "connectors/signing", "internal/yamlfile"},
		"connectors/declarative/internal/language": {"collection", "connectors/declarative/internal/notation", "connectors/declarative/internal/since", "connectors/declarative/internal/windows", "connectors/signing", "internal/lazy", "internal/yamlfile"},
		"connectors/declarative/internal/notation": {"collection", "internal/yamlfile"},
		"connectors/declarative/internal/paging":   {"collection", "connectors/declarative/internal/notation", "connectors/usual", "internal/lazy", "internal/yamlfile"},
		"connectors/declarative/internal/request":  {"collection", "connectors/declarative/internal/notation", "connectors/declarative/internal/paging"},
		"connectors/declarative/internal/windows":  {"collection", "connectors/declarative/internal/paging", "connectors/declarative/internal/since"},
		"connectors/declarative/internal/since":    {"collection", "connectors/declarative/internal/notation", "connectors/declarative/internal/paging"},

		"pacing/coordinator":                 {"pacing/inflight"},
		"pacing/coordinator/coordinatortest": {"pacing/coordinator", "pacing/inflight"},
		"pacing/coordinator/postgres":        {"pacing/coordinator"},
		"pacing/coordinator/redis":           {"pacing/coordinator"},

		"pacing/gate/internal/ceiling":  {"collection", "internal/times", "pacing/gate/internal/timeline", "pacing/law", "pacing/response"},
		"pacing/gate/internal/halt":     {"collection", "internal/times", "pacing/gate/internal/timeline", "pacing/law"},
		"pacing/gate/internal/route":    {"collection", "pacing/gate/internal/timeline", "pacing/gate/internal/usage", "pacing/law", "pacing/response"},
		"pacing/gate/internal/timeline": {"pacing/law"},
		"pacing/gate/internal/usage":    {"pacing/law"},

		"store/transfer":                   {"collection", "store", "store/internal/database", "store/internal/ledger", "store/internal/streams"},
		"store/sqlite/salvage":             {"collection", "internal/lazy", "store", "store/internal/database", "store/internal/format", "store/internal/lanes", "store/sqlite/internal/connect", "store/sqlite/internal/disk", "store/sqlite/internal/fileformat"},
		"store/sqlite/internal/backup":     {"collection", "store", "internal/atomicfile", "internal/dirsync", "internal/filelock", "store/internal/database", "store/internal/format", "store/sqlite/internal/connect", "store/sqlite/internal/disk", "store/sqlite/internal/fileformat", "store/sqlite/salvage"},
		"store/sqlite/internal/connect":    {"collection", "store", "migrations", "internal/filelock", "store/internal/database", "store/internal/format", "store/internal/schema", "store/sqlite/internal/disk", "store/sqlite/internal/fileformat"},
		"store/postgres/internal/meeting":  {"collection", "internal/process", "pacing/share", "store", "store/postgres/internal/server"},
		"store/postgres/internal/server":   {"collection", "internal/similar", "store", "store/internal/database", "store/internal/format", "store/internal/schema", "store/postgres/internal/wire"},
		"store/postgres/internal/wire":     {"internal/lazy"},
		"store/internal/schema":            {"migrations", "store/internal/database"},
		"store/internal/database":          {"collection", "store"},
		"store/internal/ledger":            {"collection", "store", "store/internal/checkpoints", "store/internal/database", "store/internal/events", "store/internal/format", "store/internal/gaps", "store/internal/lanes", "store/internal/records", "store/internal/streams"},
		"store/sqlite/internal/disk":       {"collection", "store", "internal/dirsync"},
		"store/sqlite/internal/fileformat": {"store"},
		"store/internal/format":            {"collection", "store"},
		"store/internal/checkpoints":       {"collection", "store/internal/database", "store/internal/format"},
		"store/internal/events":            {"collection", "store", "store/internal/database", "store/internal/format"},
		"store/internal/gaps":              {"collection", "store", "store/internal/database", "store/internal/events", "store/internal/format"},
		"store/internal/records":           {"collection", "store", "store/internal/database", "store/internal/format", "store/internal/streams"},
		"store/internal/streams":           {"collection", "store", "store/internal/database", "store/internal/format"},
		"store/internal/lanes":             {"collection", "store", "store/internal/database", "store/internal/format"},

		"internal/archtest":     {},
		"internal/bench":        {"collection", "engine/storage", "internal/provider", "store"},
		"internal/atomicfile":   {"internal/dirsync"},
		"internal/certtest":     {},
		"internal/dirsync":      {},
		"internal/filelock":     {},
		"internal/freespace":    {},
		"internal/jq":           {},
		"internal/jsonout":      {"internal/words"},
		"internal/lazy":         {},
		"internal/pgtest":       {},
		"internal/picture":      {"internal/words"},
		"internal/process":      {"collection"},
		"internal/provider":     {},
		"internal/texttest":     {},
		"internal/times":        {},
		"internal/tokenfile":    {"internal/atomicfile", "internal/dirsync", "internal/filelock", "internal/userfile", "internal/words"},
		"internal/provider/cmd": {"internal/provider"},
		"internal/redistest":    {},
		"internal/soak":         {},
		"internal/soak/cmd":     {"internal/soak"},
		"internal/similar":      {},
		"internal/spool":        {"collection", "internal/freespace"},
		"internal/userfile":     {},
		"internal/words":        {"collection", "internal/lazy"},
		"internal/yamlfile":     {"internal/lazy", "internal/similar"},
	},
	Drivers: map[string]string{
		"github.com/spf13/cobra":          "cmd",
		"github.com/spf13/pflag":          "cmd",
		"github.com/spf13/viper":          "cmd/internal/config",
		"github.com/schollz/progressbar":  "cmd/internal/live",
		"github.com/rivo/uniseg":          "cmd/internal/term",
		"github.com/expr-lang/expr":       "connectors/declarative/internal/notation",
		"github.com/google/jsonschema-go": "cmd/internal/schema",
		"github.com/itchyny/gojq":         "internal/jq",
		"github.com/zalando/go-keyring":   "engine/registry",
		"github.com/golang-jwt/jwt":       "connectors/signing",
		"github.com/aws/aws-sdk-go-v2":    "connectors/signing",
		"github.com/gofrs/flock":          "internal/filelock",
		"github.com/redis/go-redis":       "pacing/coordinator/redis",
		"github.com/robfig/cron":          "fleet",
		"github.com/jackc/pgx":            "store/postgres/internal/wire",
		"github.com/pressly/goose":        "store/internal/schema",
		"modernc.org/sqlite":              "store/sqlite/internal/connect",
		"github.com/prometheus":           "console/telemetry",
		"go.opentelemetry.io":             "console/telemetry",
		"google.golang.org/protobuf":      "console/telemetry",
	},
	Shared: []string{
		"golang.org/x", // the standard library's own extensions

		// Parsers of bytes we hold are no drivers: there is no system behind them.
		"github.com/tidwall/gjson",
		"github.com/goccy/go-yaml",
		"go.yaml.in/yaml/v3", // for descriptions of several MB, without the place of each value
	},
	Names: map[string][]string{
		"os.Exit":                {"cmd", "internal/bench", "internal/provider/cmd", "internal/soak/cmd"},
		"os.Getenv":              {"cmd"},
		"os.LookupEnv":           {"cmd"},
		"os.Environ":             {"cmd", "internal/soak/cmd"},
		"log.Fatal":              {"cmd"},
		"log.Fatalf":             {"cmd"},
		"log.Fatalln":            {"cmd"},
		"net/http.DefaultClient": {"cmd"},
		"net/http.Get":           {"cmd"}, // these are the default client, too
		"net/http.Head":          {"cmd"},
		"net/http.Post":          {"cmd"},
		"net/http.PostForm":      {"cmd"},

		// What is the same each time is compiled when it is first used; these have some of a name.
		"regexp.MustCompile": {"connectors/declarative/internal/compile", "engine/author/airbyte", "internal/lazy", "internal/tools"},

		"collect/store/postgres.Open":       {"engine/storage"},
		"collect/store/postgres.Source":     {"engine/storage"},
		"collect/store/postgres.Target":     {"engine/storage"},
		"collect/store/sqlite.Source":       {"engine/storage"},
		"collect/store/sqlite.Target":       {"engine/storage"},
		"collect/store/sqlite.Open":         {"engine/storage"}, // everything else works with a store of any kind
		"collect/store/sqlite.Restore":      {"engine/storage"},
		"collect/store/sqlite/salvage.Open": {"engine/storage", "store"},
	},
}

func TestShape(t *testing.T) {
	got, err := rules.Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range got {
		t.Error(v)
	}
}

// TestPage: the tour names each folder of the table, by its path or its last part.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for folder := range rules.Imports {
		if info, err := os.Stat("../../" + folder); err != nil || !info.IsDir() {
			t.Errorf("the table has %s, which is no folder", folder)
		}
		path, last := "`"+folder+"`", "`"+filepath.Base(folder)+"`"
		if folder != "." && !bytes.Contains(page, []byte(path)) && !bytes.Contains(page, []byte(last)) {
			t.Errorf("docs/architecture.md does not name %s", folder)
		}
	}
}

// A tree with one violation of each kind gives these, and no others.
func TestViolationsAreFound(t *testing.T) {
	planted := archtest.Rules{
		Module:  "example.test/m",
		Imports: map[string][]string{".": {"cmd"}, "cmd": {"*"}, "a": {}, "b": {"a"}, "b/sub": {"a", "b"}},
		Drivers: map[string]string{"driver.test/db": "b"},
		Shared:  []string{"shared.test/x"},
		Names:   map[string][]string{"os.Exit": {"cmd"}, "net/http.DefaultClient": {"cmd"}},
	}
	violations, err := planted.Check(os.DirFS("testdata/planted"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range violations {
		got = append(got, fmt.Sprint(v))
	}
	want := []string{
		"a/a.go:4: driver.test/db is imported by b only",
		"a/a.go:5: a may import nothing of this module, and not b",
		"a/a.go:9: unheard.test/of has no folder yet that may import it",
		"a/a.go:12: there are no init functions here",
		"a/a.go:13: os.Exit occurs only in cmd",
		"a/a.go:14: net/http.DefaultClient occurs only in cmd",
		"a/a_test.go:9: there are no init functions here",
		"b/sub/deeper/deeper.go:3: b/sub may import a, b, and not b/other",
		"main.go:4: . may import cmd, and not a",
		"stray/stray.go:1: stray is not in the table of imports",
	}
	if !slices.Equal(got, want) {
		t.Errorf("violations:\n%s\nwant:\n%s", lines(got), lines(want))
	}
}

func lines(s []string) (text string) {
	for _, line := range s {
		text += "\t" + line + "\n"
	}
	return text
}
