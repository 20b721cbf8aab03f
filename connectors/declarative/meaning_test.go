package declarative_test

import (
	"maps"
	"strings"
	"testing"

	"collect/connectors/declarative"
)

// TestMeaning: what makes other records of a stream, or other checkpoints,
// shows in its meaning; what only changes how they are had does not.
func TestMeaning(t *testing.T) {
	const file = `
connector: acme
params: {org: {default: a}, start: {type: date, default: 2024-01-01}}
provider: {base_url: "https://acme.test"}
defaults: {query: {per_page: 100}}
streams:
  repos:
    get: "/orgs/${params.org}/repos"
    key: id
    page: {link_header: next}
  issues:
    each: {repo: repos.name, when: repos.open > 0}
    get: "/repos/${repo}/issues"
    key: [repo, number]
    query: {state: all}
    since: {field: updated_at, param: since, start: "${params.start}", lookback: 1m}
    page: {link_header: next}
  found:
    post: /search
    json: {state: all, limit: 100}
    key: id
    page: {none: true}
`
	was := meaning(t, file)
	if was["issues.key"] != "repo, number" || was["issues.since"] != "updated_at" || was["repos.key"] != "id" {
		t.Errorf("for people: %v", was)
	}
	for _, change := range []struct{ old, with, shows string }{
		{"key: id", "key: node_id", "repos.key"},
		{"key: [repo, number]", "key: [repo, id]", "issues.key"},
		{"field: updated_at", "field: created_at", "issues.since"},
		{`start: "${params.start}"`, `start: "2023-01-01"`, "issues.start"},
		{"state: all", "state: open", "issues.query"},
		{"per_page: 100", "per_page: 50", "issues.query found.query repos.query"},
		{"{state: all, limit: 100}", "{state: open, limit: 100}", "found.body"},
		{"post: /search", "put: /search", "found.body"},
		{"/repos/${repo}/issues", "/repos/${repo}/pulls", "issues.get"},
		{"repo: repos.name", "repo: repos.full_name", "issues.each"},
		{"repos.open > 0", "repos.open > 1", "issues.when"},
		{"lookback: 1m", "lookback: 1h", ""},
		{"lookback: 1m", "order: asc", ""},
		{"page: {link_header: next}", "page: {number: {param: page}}", ""},
		{"https://acme.test", "https://b.test", ""}, // the caller knows
	} {
		now := meaning(t, strings.Replace(file, change.old, change.with, 1))
		var changed []string
		for _, name := range []string{"issues.each", "issues.get", "issues.key", "issues.query", "issues.since", "issues.start", "issues.when",
			"found.body", "found.get", "found.query", "repos.get", "repos.key", "repos.query"} {
			if was[name] != now[name] {
				changed = append(changed, name)
			}
		}
		if got := strings.Join(changed, " "); got != change.shows {
			t.Errorf("%s for %s: changed %q, want %q", change.with, change.old, got, change.shows)
		}
	}
	if again := meaning(t, file); !maps.Equal(was, again) {
		t.Errorf("the meaning is %v, and then %v", was, again)
	}
	// What may be a secret in the wrong place is not told.
	for name, text := range meaning(t, strings.Replace(file, "state: all", "token: s3cr3t", 1)) {
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("%s tells %q", name, text)
		}
	}
}

func meaning(t *testing.T, file string) map[string]string {
	t.Helper()
	spec, err := declarative.Parse("acme.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return spec.Meaning()
}
