package cmd

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"collect/cmd/internal/config"
	"collect/engine/registry"
)

// What is said to hold, and where it came from, is what runs are held to.
func TestValuesAreWhatHolds(t *testing.T) {
	const lax, strict = "defaults: {max_requests: 900, max_time: 2h}\nproviders: {acme: {ceiling_per_second: 9, requests_per_day: 50, on_403: gap, token_env: LAX}}\n",
		"defaults: {max_requests: 90, max_time: 1h}\nproviders: {acme: {ceiling_per_second: 3, requests_per_day: 500, on_403: hold, token_file: t, quota: {reserve: 10%}}}\n"
	for _, order := range [][2]string{{lax, strict}, {strict, lax}} {
		dir := files(t, map[string]string{"etc/collect.yaml": order[0], "work/collect.yaml": order[1]})
		s, err := load(dir, "COLLECT_MAX_REQUESTS=500", config.Source{})
		if err != nil {
			t.Fatal(err)
		}
		p, said := s.Providers["acme"], map[string]config.Value{}
		for _, v := range s.Values() {
			said[v.Key] = v
		}
		for key, want := range map[string]string{
			"defaults.max_requests":             fmt.Sprint(s.MaxRequests),
			"defaults.max_time":                 "1h",
			"providers.acme.ceiling_per_second": fmt.Sprint(p.PerSecond),
			"providers.acme.requests_per_day":   fmt.Sprint(p.PerDay),
			"providers.acme.on_403":             p.Forbidden,
			"providers.acme.quota.reserve":      "10%",
		} {
			if got := said[key]; got.Value != want {
				t.Errorf("%s is said to be %q from %s, and is %q", key, got.Value, got.Origin, want)
			}
		}
		for _, key := range []string{registry.KeyPerSecond, registry.KeyPerDay} {
			if got := said["providers.acme."+key]; got.Origin != p.Origin[key] || len(got.Others) != 1 || !got.Strictest {
				t.Errorf("%s is said to come from %s, with %v besides; it comes from %s", key, got.Origin, got.Others, p.Origin[key])
			}
		}
		if n := len(said["defaults.max_requests"].Others); n != 3 { // another file, the environment, built in
			t.Errorf("max_requests has %d other sources, want 3: %+v", n, said["defaults.max_requests"])
		}
		_, env := said["providers.acme.token_env"]
		_, file := said["providers.acme.token_file"]
		if env != (p.TokenEnv != "") || file != (p.TokenFile != "") {
			t.Errorf("token_env is said: %t, token_file: %t; the provider has %+v", env, file, p)
		}
	}
}

// A command may hold a credential: only its program is shown.
func TestValuesHideCredentials(t *testing.T) {
	dir := files(t, map[string]string{"work/collect.yaml": "providers: {acme: {token_command: \"printf s3cr3t\"}}\nnotify: {command: \"curl -H s3cr3t\"}\n"})
	s, err := load(dir, "", config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Values()); strings.Contains(got, "s3cr3t") || !strings.Contains(got, "printf …") {
		t.Errorf("values = %s", got)
	}
}

// The example has every key that there is, as a key or in a comment, and each comment
// that is a key would be read.
func TestExampleHasEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	propertiesOf(schema, keys)
	if len(keys) < 30 {
		t.Fatalf("%d keys: the schema is not read", len(keys))
	}
	for key := range keys {
		if !regexp.MustCompile(`(?m)(^|[ {#,])` + key + `:`).Match(config.Example) {
			t.Errorf("`%s` is not in the example", key)
		}
	}
	none := func(string) string { return "" }
	if _, err := config.Parse("example", config.Example, none); err != nil {
		t.Error(err)
	}
	// Each comment that is a key, on its own: the ways to say where a token is exclude each other.
	for line := range strings.Lines(string(config.Example)) {
		commented := regexp.MustCompile(`^(    )# ((?:token_\w+|origins): [^#]*)`).FindStringSubmatch(line)
		if commented == nil {
			continue
		}
		src := "providers:\n  acme:\n    " + commented[2] + "\n"
		if strings.HasPrefix(commented[2], "origins") {
			src += "    token_env: T\n"
		}
		if _, err := config.Parse("line", []byte(src), none); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	_, notify, _ := strings.Cut(string(config.Example), "# notify:\n")
	if _, err := config.Parse("notify", []byte("notify:\n"+regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(notify, "")), none); err != nil {
		t.Error(err)
	}
}

// propertiesOf gathers the names of all properties of a schema.
func propertiesOf(schema any, keys map[string]bool) {
	switch schema := schema.(type) {
	case map[string]any:
		for name, part := range schema {
			if properties, ok := part.(map[string]any); ok && name == "properties" {
				for key := range properties {
					keys[key] = true
				}
			}
			propertiesOf(part, keys)
		}
	case []any:
		for _, part := range schema {
			propertiesOf(part, keys)
		}
	}
}
