package declarative_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collect/connectors/declarative"
)

// found returns mistakes as line:column: message.
func found(errs []*declarative.SpecError) (lines []string) {
	for _, e := range errs {
		lines = append(lines, fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message))
	}
	return lines
}

// TestCheckFindsAllMistakes: those of shape and those of meaning at once, however
// many, and none that only follows from another one.
func TestCheckFindsAllMistakes(t *testing.T) {
	src := `connector: acme
params: {org: {typ: string}, start: {type: dat}}
secrets: {token: {env: $ACME}}
provider:
  base_url: https://api.acme.test/${params.ogr}
  auth: {bearer: "${secrets.tokn}"}
  celling: {per_second: 1}
  on_403: freze
defaults: {key: id, page: {link_header: next}}
streams:
  a: {gte: /a}
  b: {get: "/b/${c}", query: {x: {}}}
  c:
    each: {b: bb.id}
    get: /c
    on:
      - {status: [404], verdict: gon}
      - verdict: gap
  d: {get: /d, each: {e: e.id}}
  e: {get: /e, each: {d: d.id}}
`
	want := []string{
		"2:16: unknown key `typ`",
		"2:44: unknown type `dat`",
		"3:24: an environment variable is named without its `$`",
		"5:37: unknown name `params.ogr`",
		"6:21: unknown name `secrets.tokn`",
		"7:3: unknown key `celling`",
		"8:11: unknown value `freze`",
		"11:7: unknown key `gte`",
		"12:18: unknown name `c`",
		"12:34: this must be a single value",
		"14:15: unknown stream `bb`",
		"17:34: unknown verdict `gon`",
		"18:16: a rule needs a condition: status, header or body",
		"19:23: the parents of this stream form a circle: d, e, d",
	}
	spec, mistakes, doubts := declarative.Check("acme.yaml", []byte(src))
	if got := found(mistakes); spec != nil || len(doubts) > 0 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s\nand %v, %v", strings.Join(got, "\n"), strings.Join(want, "\n"), spec, found(doubts))
	}
}

// TestCheckDoubts: what a sound file has that is probably not meant.
func TestCheckDoubts(t *testing.T) {
	for _, tc := range []struct{ old, planted, want string }{
		{"connector", "connector", ""},
		{"params: {", "params: {per: {default: 5}, ", "2:10: nothing uses the param `per`: write ${params.per} where it belongs"},
		{"secrets: {", "secrets: {other: {env: B}, ", "3:11: nothing uses the secret `other`: write ${secrets.other} in `auth`"},
		{"{repo: repos.name,", "{repo: repos.name, n: repos.id,", "13:30: nothing uses the name `n` that `each` binds: write ${n} where it belongs"},
		{"{repo: repos.name,", "{repo: repos.name, n: repos.id, when: repos.size > int(params.org),", "13:30: nothing uses the name `n` that `each` binds: write ${n} where it belongs"},
		{"{repo: repos.name, changed: repos.updated}", "{repo: repos.name, n: repos.id}\n    key: [n, id]", ""},
		{"  orgs: {get: /orgs}", "  orgs: {get: \"/orgs/${r}\", each: {r: issues.repo}}", ""},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, on: [{status: [404, 410], verdict: gone}, {status: [410], verdict: gap}]}", "16:64: this rule never decides: the rule in line 16 takes all that it matches"},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, on: [{status: [404], verdict: gone}, {status: [410], verdict: gap}, {status: [410, 404], header: {A: b}, verdict: gap}]}", "16:90: this rule never decides: the rule in line 16 takes all that it matches"},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, on: [{header: {X-Left: \"0\"}, verdict: gone}, {status: [403], header: {x-left: \"0\", B: c}, verdict: gap}]}", "16:67: this rule never decides: the rule in line 16 takes all that it matches"},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, on: [{header: {X-Left: \"0\"}, verdict: gone}, {status: [403], verdict: gap}, {status: [404, 403], verdict: gap}]}", ""},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, on: [{status: [403], body: 'text == \"a\"', verdict: gone}, {status: [403], verdict: gap}]}", ""},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, query: {list: Zm9vYmFyLTEyMzQ1Njc4OTAxMjM0NTY3}}", "16:36: this looks like a credential, which is never written into a connector file"},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, query: {sort: last_modified_date_ascending, token: none, at: 2024-01-01T00:00:00.000Z}}", "16:73: this looks like a credential, which is never written into a connector file"},
	} {
		src := strings.Replace(sound, tc.old, tc.planted, 1)
		spec, mistakes, doubts := declarative.Check("acme.yaml", []byte(src))
		if got := strings.Join(found(doubts), "\n"); spec == nil || len(mistakes) > 0 || got != tc.want {
			t.Errorf("%s:\n got %q, %v\nwant %q", tc.planted, got, found(mistakes), tc.want)
		}
	}
}

// TestCheckFindsWrittenCredentials: wherever one may stand, and without showing it.
func TestCheckFindsWrittenCredentials(t *testing.T) {
	for _, tc := range []struct{ old, planted, want string }{
		{"{get: /repos}", "{get: /repos, query: {api_key: s3cr3tX9}}", "11:41: a credential is never written into a connector file"},
		{"{get: /repos}", "{get: \"/repos?a=b&access_token=s3cr3tX9\"}", "11:41: a credential is never written into a connector file"},
		{"{get: /repos}", "{get: /repos, headers: {X-Auth-Token: s3cr3tX9}}", "11:48: a credential is never written into a connector file"},
		{"{get: /repos}", "{get: /repos, headers: {X-Thing: Bearer s3cr3tX9}}", "11:43: a credential is never written into a connector file"},
		{"{get: /repos}", "{get: /repos, query: {q: ghp_s3cr3tX9s3cr3tX9s3cr3tX9}}", "11:35: a credential is never written into a connector file"},
		{"https://api.acme.test/${params.org}", "https://api.acme.test/a?key=1&token=s3cr3tX9", "5:13: base_url must not hold a user, a query or a fragment\n5:49: a credential is never written into a connector file"},
		{"params: {", "params: {api_key: {default: s3cr3tX9}, ", "2:29: a credential is never written into a connector file"},
		{"key: id, page", "query: {api_key: s3cr3tX9}, key: id, page", "9:29: a credential is never written into a connector file"},
		{"{get: /repos}", "{get: /repos, query: {api_key: \"${params.org}\", token_type: access_token_v2}}", ""},
	} {
		src := strings.Replace(sound, tc.old, tc.planted, 1)
		_, mistakes, _ := declarative.Check("acme.yaml", []byte(src))
		if got := strings.Join(found(mistakes), "\n"); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.planted, got, tc.want)
		}
		if _, err := declarative.Parse("acme.yaml", []byte(src)); (err == nil) != (tc.want == "") || err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: Parse says %v, so that a run takes another file than check", tc.planted, err)
		}
		for _, e := range mistakes {
			if strings.Contains(e.Source+e.Message+e.Note, "s3cr3t") {
				t.Errorf("%s: the secret is shown:\n%s", tc.planted, e.Source)
			}
		}
	}
}

// TestCheckAndParseAgree: what one refuses the other does, too.
func TestCheckAndParseAgree(t *testing.T) {
	for _, test := range mistakes() {
		_, err := declarative.Parse("a", []byte(test.file()))
		spec, mistakes, _ := declarative.Check("a", []byte(test.file()))
		if (err == nil) != (spec != nil) || err != nil && len(mistakes) == 0 {
			t.Errorf("%s: Parse says %v, Check %v", test.planted, err, found(mistakes))
		}
	}
}

// TestNoListInTheBody: what leads to the next page stands in the body, so that the body
// is no list.
func TestNoListInTheBody(t *testing.T) {
	for stream, refused := range map[string]bool{
		"page: {cursor: {from: next, param: c}}":                      true,
		"page: {next_url: links.next}":                                true,
		"page: {last_id: {param: after, field: id, more: more}}":      true,
		"records: items, page: {cursor: {from: next, param: c}}":      false,
		"page: {cursor: {header: X-Next, param: c}}":                  false,
		"page: {last_id: {param: after, field: id}}":                  false,
		"records: {at: items, map: k}, page: {next_url: a.b}":         false,
		"page: {link_header: next}":                                   false,
		"records: {map: name}, page: {cursor: {header: N, param: c}}": false,
	} {
		_, mistakes, doubts := declarative.Check("f", []byte("connector: test\nprovider: {base_url: 'https://api.test'}\nstreams: {things: {get: /things, key: id, "+stream+"}}\n"))
		told := slices.ContainsFunc(doubts, func(e *declarative.SpecError) bool {
			return strings.Contains(e.Message, "which is then an object and no list")
		})
		if told != refused || len(mistakes) > 0 {
			t.Errorf("%s: %v, %v, want a doubt: %t", stream, mistakes, doubts, refused)
		}
	}
}

// TestADetailThatIsFetchedOnce: where the records of the parent say when they change, a
// detail without `changed` is a doubt, with the line that has it fetched again.
func TestADetailThatIsFetchedOnce(t *testing.T) {
	const told = "15:12: a detail of `details` is fetched once: when its record of `tickets` changes, it stays as it was. To have it fetched again: "
	for _, test := range []struct{ field, each, want string }{
		{"updated_at", "{id: tickets.id}", told + "`each: {id: tickets.id, changed: tickets.updated_at}`"},
		{"attributes.lastModified", "{id: tickets.id, when: tickets.open > 0}", told + "`each: {id: tickets.id, when: 'tickets.open > 0', changed: tickets.attributes.lastModified}`"},
		{"updated_at", "{id: tickets.id, changed: tickets.updated_at}", ""},
		{"created_at", "{id: tickets.id}", ""}, // a change does not show in it
	} {
		src := "connector: acme\nprovider: {base_url: 'https://api.acme.test'}\ndefaults: {key: id}\nstreams:\n  tickets:\n    get: /tickets\n    page: {link_header: next}\n    since:\n      field: " + test.field +
			"\n      param: since\n      lookback: 1m\n\n  details:\n    get: /tickets/${id}\n    each: " + test.each + "\n    role: detail\n"
		_, mistakes, doubts := declarative.Check("acme.yaml", []byte(src))
		if got := strings.Join(found(append(mistakes, doubts...)), "\n"); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", src, got, test.want)
		}
	}
}
