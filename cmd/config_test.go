package cmd

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/connectors/declarative"
	"collect/engine/registry"
	"collect/internal/texttest"
	"collect/internal/yamlfile"
	"collect/report/problem"
)

// files writes configuration files below a new directory and returns it.
func files(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// load reads the configuration of a user whose home and working directory are
// below dir.
func load(dir, env string, flags config.Source) (config.Settings, error) {
	src := flags
	src.Dir, src.System = filepath.Join(dir, "work"), filepath.Join(dir, "etc")
	src.Env = environ("HOME=" + dir + " " + env)
	return config.Load(src)
}

func TestConfigPrecedence(t *testing.T) {
	dir := files(t, map[string]string{
		"etc/collect.yaml":             "state: /var/lib/collect/a.db\nprogress: none\ndefaults: {timezone: Europe/Berlin, max_time: 2h}\n",
		".config/collect/collect.yaml": "state: ~/b.db\ndefaults:\n  max_requests: 500\n",
		"work/collect.yaml":            "version: 1\nstate: ./c.db\n",
	})
	work := filepath.Join(dir, "work")
	tests := []struct {
		name, env    string
		flags        config.Source
		state        string
		from         string
		progress     string
		named        bool
		numberOfRead int
	}{
		{"files", "", config.Source{}, filepath.Join(work, "c.db"), "~/work/collect.yaml:2", "none", true, 3},
		{"environment over files", "COLLECT_STATE=~/d.db COLLECT_PROGRESS=plain", config.Source{}, filepath.Join(dir, "d.db"), "env COLLECT_STATE", "plain", true, 3},
		{"flag over environment", "COLLECT_STATE=/d.db", config.Source{State: "/e.db"}, "/e.db", "flag --state", "none", true, 3},
		{"another place for the user", "XDG_CONFIG_HOME=/nowhere", config.Source{}, filepath.Join(work, "c.db"), "~/work/collect.yaml:2", "none", true, 2},
		{"one file only", "", config.Source{Config: filepath.Join(dir, "etc/collect.yaml")}, "/var/lib/collect/a.db", "~/etc/collect.yaml:1", "none", true, 1},
		{"one file only, by environment", "COLLECT_CONFIG=~/.config/collect/collect.yaml", config.Source{}, filepath.Join(dir, "b.db"), "~/.config/collect/collect.yaml:1", "auto", true, 1},
	}
	for _, test := range tests {
		s, err := load(dir, test.env, test.flags)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if s.State != test.state || s.StateNamed != test.named || s.Origin["state"] != test.from {
			t.Errorf("%s: state = %q (named %v, from %s), want %q (named %v, from %s)", test.name, s.State, s.StateNamed, s.Origin["state"], test.state, test.named, test.from)
		}
		if s.Progress != test.progress || len(s.Files) != test.numberOfRead {
			t.Errorf("%s: progress %q from %d files, want %q from %d", test.name, s.Progress, len(s.Files), test.progress, test.numberOfRead)
		}
	}
	s, err := load(dir, "", config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if listens, err := load(dir, "ACCESSIBLE=1", config.Source{}); err != nil || listens.Every != config.AccessibleEvery {
		t.Errorf("for a person who listens, a heartbeat every %v (%v), want %v", listens.Every, err, config.AccessibleEvery)
	}
	if s.Zone.String() != "Europe/Berlin" || s.MaxTime != 2*time.Hour || s.MaxRequests != 500 || s.Every != time.Minute {
		t.Errorf("settings = %+v", s)
	}
}

func TestDefaultState(t *testing.T) {
	tests := []struct{ env, want, from string }{
		{"HOME=/home/ana", "/home/ana/.local/state/collect/state.db", "built in"},
		{"HOME=/home/ana XDG_STATE_HOME=/s", "/s/collect/state.db", "built in"},
		{"HOME=/home/ana XDG_STATE_HOME=relative", "/home/ana/.local/state/collect/state.db", "built in"},
		{"HOME=/home/ana XDG_STATE_HOME=/s STATE_DIRECTORY=/var/lib/collect:/var/lib/x", "/var/lib/collect/state.db", "env STATE_DIRECTORY"},
	}
	for _, test := range tests {
		s, err := config.Load(config.Source{Env: environ(test.env), Dir: t.TempDir(), System: t.TempDir()})
		if err != nil {
			t.Errorf("%s: %v", test.env, err)
			continue
		}
		if s.State != test.want || s.StateNamed || s.Origin["state"] != test.from {
			t.Errorf("%s: state = %q (named %v, %s), want %q (%s)", test.env, s.State, s.StateNamed, s.Origin["state"], test.want, test.from)
		}
	}
}

// A limit can be made stricter by any source and looser by none.
func TestTheStrictestLimitHolds(t *testing.T) {
	provider := func(perSecond, perDay string) string {
		return "providers: {Acme: {ceiling_per_second: " + perSecond + ", requests_per_day: " + perDay + ", start_per_second: 1}}\n"
	}
	strict := "defaults: {max_requests: 100, max_time: 10m}\n" + provider("2", "1000")
	loose := "defaults: {max_requests: none, max_time: 3h}\n" + provider("4.5", "9000")
	for _, texts := range [][2]string{{strict, loose}, {loose, strict}} {
		dir := files(t, map[string]string{"etc/collect.yaml": texts[0], "work/collect.yaml": texts[1]})
		for env, requests := range map[string]int64{"": 100, "COLLECT_MAX_REQUESTS=500": 100, "COLLECT_MAX_REQUESTS=50": 50, "COLLECT_MAX_REQUESTS=none": 100} {
			s, err := load(dir, env, config.Source{})
			if err != nil {
				t.Fatal(err)
			}
			p := s.Providers["Acme"]
			if s.MaxRequests != requests || s.MaxTime != 10*time.Minute || p.PerSecond != 2 || p.PerDay != 1000 {
				t.Errorf("%q: max_requests %d, max_time %v, ceilings %v/s and %d a day, want %d, 10m, 2/s and 1000", env, s.MaxRequests, s.MaxTime, p.PerSecond, p.PerDay, requests)
			}
			strictFile := "~/work/collect.yaml:2"
			if texts[0] == strict {
				strictFile = "~/etc/collect.yaml:2"
			}
			if p.Origin[registry.KeyPerSecond] != strictFile {
				t.Errorf("the ceiling is said to come from %s, want %s", p.Origin[registry.KeyPerSecond], strictFile)
			}
		}
	}
}

// TestPaceOfAProvider: what collect.yaml says of the pace is as in a connector
// file, and outranks it, but for what makes it slower.
func TestPaceOfAProvider(t *testing.T) {
	dir := files(t, map[string]string{
		"etc/collect.yaml":  "providers: {acme: {law: aimd, concurrency: {max: 6, law: fixed}, clamp: {step: 20%}, quota: {reserve: 30%}}}\n",
		"work/collect.yaml": "providers: {acme: {law: interval-step, concurrency: {max: 9}, clamp: off, quota: {reserve: 10%}}}\n",
	})
	s, err := load(dir, "", config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file string // what the connector file says of the provider
		want declarative.Pace
	}{
		{"", declarative.Pace{Law: "interval-step", Concurrency: collection.Concurrency{Max: 6, Law: "fixed"}, Clamp: collection.Clamp{Off: true}, Reserve: .3}},
		{"law: plateau, concurrency: {max: 4, law: mimd}, clamp: {least: 60%}, quota: {reserve: 40%}",
			declarative.Pace{Law: "interval-step", Concurrency: collection.Concurrency{Max: 4, Law: "fixed"}, Clamp: collection.Clamp{Off: true}, Reserve: .4}},
	} {
		spec, err := declarative.Parse("acme.yaml", []byte("connector: acme\nprovider: {base_url: 'https://acme.test', "+test.file+"}\nstreams: {a: {get: /a, key: id, page: {none: true}}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		p := spec.Provider(s.Overrides("acme"))
		if got := (declarative.Pace{Law: p.Law, Concurrency: p.Concurrency, Clamp: p.Clamp, Reserve: p.Reserve}); got != test.want {
			t.Errorf("a file that says %q: %+v, want %+v", test.file, got, test.want)
		}
		if p := spec.Provider(s.Overrides("other")); p.Reserve == .3 || p.Law == "interval-step" {
			t.Errorf("another provider: %+v", p)
		}
	}
}

func TestConnectorsAndProviders(t *testing.T) {
	dir := files(t, map[string]string{
		"etc/collect.yaml": "providers:\n  Acme: {token_env: OLD, on_403: hold}\nconnectors:\n  Tickets: {use: old.yaml, params: {x: 1}}\n",
		"work/collect.yaml": `
providers:
  Acme:
    token_file: ~/acme.token
    requests_per_day: 20_000
connectors:
  Tickets:
    use: ./connectors/acme.yaml
    params: {Org: acme, since: 2024-09-01, n: 007, quoted: "a b"}
    streams: [issues, comments]
  github:
`,
	})
	s, err := load(dir, "", config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	tickets := registry.Entry{
		Use:     filepath.Join(dir, "work/connectors/acme.yaml"),
		Params:  map[string]string{"Org": "acme", "since": "2024-09-01", "n": "007", "quoted": "a b"},
		Streams: []string{"issues", "comments"},
		Origin:  "~/work/collect.yaml:7",
	}
	if got := s.Entries["Tickets"]; !reflect.DeepEqual(got, tickets) {
		t.Errorf("connector = %+v, want %+v", got, tickets)
	}
	if got := s.Entries["github"]; got.Use != "github" || got.Streams != nil {
		t.Errorf("a connector with nothing under it = %+v, want the built-in one with all streams", got)
	}
	if got, want := slices.Sorted(maps.Keys(s.Entries)), []string{"Tickets", "github"}; !reflect.DeepEqual(got, want) {
		t.Errorf("names = %q, want %q", got, want)
	}
	secret := s.SecretSource("Acme", declarative.Secret{Name: "token", Env: "ACME_TOKEN", Optional: true})
	if want := (declarative.Secret{Name: "token", File: filepath.Join(dir, "acme.token"), Optional: true}); !reflect.DeepEqual(secret, want) {
		t.Errorf("token = %+v, want %+v", secret, want)
	}
	other := declarative.Secret{Name: "password", Env: "ACME_PASSWORD"}
	if got := s.SecretSource("Acme", other); !reflect.DeepEqual(got, other) {
		t.Errorf("another secret = %+v, want it unchanged", got)
	}
	o := s.Overrides("Acme")
	if o.On403 != "hold" || len(o.Ceilings) != 1 || o.Ceilings[0].Count != 20_000 || o.Ceilings[0].Per != 24*time.Hour {
		t.Errorf("overrides = %+v", o)
	}
	if got := s.Overrides("unheard of"); !reflect.DeepEqual(got, declarative.Overrides{}) {
		t.Errorf("overrides of another provider = %+v, want none", got)
	}
}

// Every mistake names its line, and shows it.
func TestConfigMistakes(t *testing.T) {
	tests := []struct{ src, want string }{
		{"# x\nproviders:\n  acme:\n    celling_per_second: 4.0\n", "\n" +
			"error[E0203]: unknown key `celling_per_second`\n" +
			"  at     ~/collect.yaml:4:5\n" +
			"         3 |   acme:\n" +
			"         4 |     celling_per_second: 4.0\n" +
			"           |     ^^^^^^^^^^^^^^^^^^ not a key of a provider\n" +
			"  note   a provider has a similar key: `ceiling_per_second`\n" +
			"  saved  nothing was started\n"},
		{"connectors:\n  - name: tickets\n", "\n" +
			"error[E0203]: this must be a mapping: a name for each connector\n" +
			"  at     ~/collect.yaml:2:3\n" +
			"         1 | connectors:\n" +
			"         2 |   …\n" +
			"           |   ^ a list, not a mapping\n" +
			"  note   it is written like this: tickets: {use: ./acme.yaml}\n" +
			"  saved  nothing was started\n"},
		{"version: 2", "1:10: this version of collect reads `version: 1`"},
		{"State: x", "1:1: unknown key `State`"},
		{"defaults: {max_time: soon}", "1:22: `defaults.max_time` is not a duration such as 90s, 30m, 2h, 7d or none"},
		{"defaults: {max_requests: -1}", "1:26: `defaults.max_requests` is not a whole number or none"},
		{"progress: loud", "1:11: `progress` is not one of auto, live, plain, json, none"},
		{"providers: {a: {ceiling_per_second: 0}}", "1:37: this must be a number above 0"},
		{"providers: {a: {ceiling_per_second: -1}}", "1:37: this must be a number above 0"},
		{"providers: {a: {ceiling_per_second: NaN}}", "1:37: this must be a number above 0"},
		{"providers: {a: {ceiling_per_second: Inf}}", "1:37: this must be a number above 0"},
		{"providers: {a: {requests_per_day: 0.5}}", "1:35: this must be a whole number from 1 on"},
		{"providers: {a: {ceiling_per_second: fast}}", "1:37: this must be a number above 0"},
		{"providers: {a: {ceiling_per_second: 1, start_per_second: 2}}", "`start_per_second` is above `ceiling_per_second`"},
		{"providers: {a: {on_403: ignore}}", "1:25: `on_403` is one of freeze, hold, gap"},
		{"providers: {a: {law: plato}}", "1:22: unknown value `plato`"},
		{"providers: {a: {law: [aimd]}}", "1:22: this must be a single value"},
		{"providers: {a: {concurrency: 4}}", "1:30: this must be a mapping: a concurrency"},
		{"providers: {a: {concurrency: {max: 65}}}", "1:36: there can be at most 64 requests in flight"},
		{"providers: {a: {concurrency: {law: aimd}}}", "a concurrency needs a `max`"},
		{"providers: {a: {concurrency: {max: 4, law: vegas}}}", "1:44: unknown value `vegas`"},
		{"providers: {a: {clamp: {lest: 50%}}}", "1:25: unknown key `lest`"},
		{"providers: {a: {clamp: on}}", "1:24: this must be a mapping: a clamp"},
		{"providers: {a: {clamp: {cooldown: 0s}}}", "1:35: this must be a duration such as 90s, 5m, 2h or 7d"},
		{"providers: {a: {quota: {reserve: 0.2}}}", "1:34: this must be a share such as 20%, above 0% and below 100%"},
		{"providers: {a: {quota: {reserve: NaN%}}}", "1:34: this must be a share"},
		{"providers: {a: {qouta: {reserve: 20%}}}", "1:17: unknown key `qouta`"},
		{"providers: {a: {token_env: X, token_file: y}}", "a provider has its token in one place"},
		{"providers: [a]", "1:12: this must be a mapping: a name for each provider"},
		{"connectors: {a: {params: [b]}}", "1:26: this must be a mapping"},
		{"connectors: tickets", "1:13: this must be a mapping: a name for each connector"},
		{"connectors: {a: {use: [x]}}", "1:23: this must be a single value"},
		{"connectors: {a: {streams: x}}", "1:27: this must be a list"},
		{"connectors: {a: {param: x}}", "1:18: unknown key `param`"},
		{"a: b: c", "1:4: not YAML: "},
		{"state: x\nstate: y\n", "2:1: not YAML: "},
		{"state: x\n---\nstate: y\n", "the file holds more than one YAML document"},
		{"just text", "1:1: this must be a mapping: a configuration"},
		{"state: \xff", "the file is not UTF-8 text"},
	}
	for _, test := range tests {
		_, err := config.Parse("/home/ana/collect.yaml", []byte(test.src), environ("HOME=/home/ana"))
		file, ok := errors.AsType[*problem.FileError](err)
		if !ok {
			t.Errorf("%q: error %v, want a *fileError", test.src, err)
			continue
		}
		if strings.HasPrefix(test.want, "\n") {
			texttest.Same(t, test.src, "\n"+renderProblem(problem.Of(err, problem.Scene{}), 80, term.Caps{UTF8: true}), test.want)
			continue
		}
		if !strings.Contains(file.Error(), test.want) {
			t.Errorf("%q: error %q, want %q in it", test.src, file.Error(), test.want)
		}
		if p := problem.Of(err, problem.Scene{}); p.ExitCode != problem.ExitConfig {
			t.Errorf("%q: exit code %d, want 78", test.src, p.ExitCode)
		}
	}
	// What people look for under a name of their own is found where it is.
	for _, key := range []string{"rate", "rps", "rate_limit", "limit", "requests_per_second", "budgets"} {
		for src, want := range map[string]string{
			"providers: {a: {" + key + ": 4}}":  "written here as ceiling_per_second: 4",
			"connectors: {a: {" + key + ": 4}}": "write under providers",
		} {
			_, err := config.Parse("x", []byte(src), environ(""))
			if file, ok := errors.AsType[*problem.FileError](err); !ok || !strings.Contains(file.Note, want) {
				t.Errorf("%q: error %+v, want %q in its note", src, err, want)
			}
		}
	}
	if _, err := config.Parse("x", make([]byte, yamlfile.Longest+1), environ("")); err == nil {
		t.Error("a file of more than 1 MiB is read")
	}
}

// Mistakes outside of files name their source; a file that was named exists.
func TestConfigFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		env   string
		flags config.Source
		want  string
	}{
		{"COLLECT_MAX_TIME=soon", config.Source{}, `env COLLECT_MAX_TIME: defaults.max_time "soon" is not a duration`},
		{"COLLECT_MAX_REQUESTS=1e6", config.Source{}, `env COLLECT_MAX_REQUESTS: defaults.max_requests "1e6" is not a whole number`},
		{"COLLECT_PROGRESS=loud", config.Source{}, `env COLLECT_PROGRESS: progress "loud" is not one of`},
		{"COLLECT_PROGRESS_EVERY=-1m", config.Source{}, "env COLLECT_PROGRESS_EVERY"},
		{"COLLECT_TZ=Mars/Olympus", config.Source{}, "env COLLECT_TZ"},
		{"COLLECT_STATE=postgres://u:p@h/d", config.Source{}, "env COLLECT_STATE: state: the address of the database server has a password"},
		{"COLLECT_CONFIG=/nowhere/collect.yaml", config.Source{}, "/nowhere/collect.yaml: there is no such configuration file"},
		{"", config.Source{Config: "~/missing.yaml"}, "~/missing.yaml: there is no such configuration file"},
	}
	for _, test := range tests {
		_, err := load(dir, test.env, test.flags)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: error %v, want %q in it", test.env, test.flags.Config, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: a password is in %v", test.env, err)
		}
	}
}

// A credential that was written into the file by mistake is not shown.
func TestExcerptHidesCredentials(t *testing.T) {
	const canary = "ghp_canary"
	for _, src := range []string{
		"providers:\n  acme:\n    token: " + canary + "\n",
		"providers:\n  acme:\n    token_env: " + canary + "\n    bad: 1\n",
		"providers: {acme: {api_key: " + canary + "}}\n",
		"connectors:\n  x:\n    params: {Password: '" + canary + "'}\n    bad: 1\n",
		"connectors:\n  x:\n    params: {\"access_token\": " + canary + ", n: [1]}\n",
	} {
		_, err := config.Parse("collect.yaml", []byte(src), environ(""))
		if err == nil {
			t.Errorf("%q is accepted", src)
			continue
		}
		if text := renderProblem(problem.Of(err, problem.Scene{}), 80, term.Caps{}); strings.Contains(text, canary) {
			t.Errorf("%q: the credential is in\n%s", src, text)
		}
	}
}

func TestValues(t *testing.T) {
	durations := map[string]time.Duration{
		"": 0, "none": 0, "90s": 90 * time.Second, "30m": 30 * time.Minute, "2h": 2 * time.Hour, "7d": 7 * 24 * time.Hour, "1h30m": 90 * time.Minute,
		"0s": -1, "-1m": -1, "0d": -1, "d": -1, "1.5d": -1, "200000d": -1, "5": -1, "soon": -1,
	}
	for s, want := range durations {
		if got, err := config.ParseDuration(s); (want < 0) != (err != nil) || err == nil && got != want {
			t.Errorf("parseDuration(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	counts := map[string]int64{"": 0, "none": 0, "20000": 20000, "20_000": 20000, "0": -1, "-1": -1, "1.5": -1, "99999999999999999999": -1}
	for s, want := range counts {
		if got, err := config.ParseCount(s); (want < 0) != (err != nil) || err == nil && got != want {
			t.Errorf("parseCount(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
}

// Whatever the file holds: an answer, or a mistake with a place.
func FuzzParseConfig(f *testing.F) {
	for _, src := range []string{
		"version: 1\nstate: x\ndefaults: {max_time: 7d}\nproviders: {a: {on_403: gap}}\nconnectors: {b: {use: c, params: {d: 1}, streams: [e]}}\n",
		"a: &x {b: *x}", "? - a\n: b", "<<: {state: x}", "!!map {}", "state: |\n  x\n", "{", "- a", "\t", "~: 1", "[a]: b", "providers: {[x]: {}}", "state: *y", "providers: v\r\r\rh]: {}}",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		_, err := config.Parse("collect.yaml", src, environ(""))
		if err == nil {
			return
		}
		file, ok := errors.AsType[*problem.FileError](err)
		if !ok {
			t.Fatalf("%q: %T: %v, want a *fileError", src, err, err)
		}
		lines := strings.Count(strings.ReplaceAll(strings.ReplaceAll(string(src), "\r\n", "\n"), "\r", "\n"), "\n") + 1
		if file.Line > lines+1 || file.Column < 0 {
			t.Errorf("%q: a mistake at %d:%d of %d lines", src, file.Line, file.Column, lines)
		}
		for line := range strings.Lines(fmt.Sprint(renderProblem(problem.Of(err, problem.Scene{}), 80, term.Caps{}))) {
			if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\r\x00") {
				t.Errorf("%q: a control character is in %q", src, line)
			}
		}
	})
}

// environ returns an environment of NAME=value words.
func environ(words string) func(string) string {
	values := map[string]string{}
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}
