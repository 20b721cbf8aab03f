package declarative_test

import (
	"errors"
	"strings"
	"testing"

	"collect/connectors/declarative"
)

// sound is a file without mistakes, to plant one in.
const sound = `connector: acme
params: {org: {required: true}, start: {type: date, default: 2024-01-01}}
secrets: {token: {env: ACME_TOKEN}}
provider:
  base_url: https://api.acme.test/${params.org}
  auth: {bearer: "${secrets.token}"}
  ceiling: {per_second: 2.5}
  throttle: [{status: [403], body: 'text contains "slow"'}]
defaults: {key: id, page: {link_header: next}}
streams:
  repos: {get: /repos}
  issues:
    each: {repo: repos.name, changed: repos.updated}
    get: /repos/${repo}/issues
    since: {field: updated, param: since, start: "${params.start}", lookback: 1h}
  orgs: {get: /orgs}
`

// A mistake is planted in the sound file.
type mistake struct {
	old, planted string // what is replaced, and by what
	want         string // line:column: message; none if it is no mistake
	note         string
}

func (m mistake) file() string { return strings.Replace(sound, m.old, m.planted, 1) }

func mistakes() []mistake {
	return []mistake{
		{"{get: /orgs}", "{get: /orgs, page: {page: 1}}", "16:29: unknown key `page`", "page has: none, link_header, next_url, cursor, continue, relay, number, offset, last_id, scroll, size, delta"},
		{"{get: /orgs}", "{get: /orgs, query: {a: ${params.org}}}", "16:34: not YAML: ',' or '}' must be specified", "inside braces and brackets, a value with ${…} needs quotes: \"${…}\""},
		{"{get: /orgs}", "{get: /orgs, page: {link_header: true}}", "16:42: this must be the relation of the link to the next page, such as next", ""},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}&b=${window.to}", windows: {from: 2024-01-01, step: 7d}}`, "16:65: `windows` needs `lookback`", ""},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}", windows: {from: 2024-01-01, step: 7d, lookback: 1h}}`, "16:50: nothing in the request uses ${window.to}", ""},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}&b=${window.end}", windows: {from: 2024-01-01, step: 7d, lookback: 1h}}`, "16:43: unknown name `window.end`", "there is a similar name: `window.to`"},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}&b=${window.to}"}`, "16:26: unknown name `window.from`", ""},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}&b=${window.to}", windows: {from: yesterday, step: 7d, lookback: 1h}}`, "16:72: this is neither a date such as 2024-01-31 nor a time such as 2024-01-31T12:00:00Z", ""},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}&b=${window.to}", windows: {from: 2024-01-01, step: 12h, lookback: 1h, format: date}}`, "16:65: the `step` and the `least` of these windows are whole multiples of a day", ""},
		{"{get: /orgs}", `{get: "/orgs?a=${window.from}&b=${window.to}", windows: {from: 2024-01-01, step: 1m, least: 1h, lookback: 1h}}`, "16:90: no window is narrower than `least`", ""},
		{"    since: {field: updated", "    windows: {from: 2024-01-01, step: 7d, lookback: 1h}\n    query: {a: \"${window.from}\", b: \"${window.to}\"}\n    since: {field: updated", "15:14: a stream has `since` or `windows`, and not both: each says where the next walk begins", ""},
		{"{get: /orgs}", `{get: /orgs, page: {delta: {next: next}}}`, "16:28: `delta` needs `resume`: the path of the token with which the next walk begins", ""},
		{"{get: /orgs}", `{get: /orgs, page: {delta: {resume: next, resume_param: a}}}`, "16:65: `resume_param` needs a `param`, which takes the token of a page", ""},
		{"{get: /orgs}", `{get: /orgs, query: {a: b}, page: {delta: {resume: x, param: p, resume_param: a}}}`, "16:33: `a` is set here and by `page`", ""},
		{"    since: {field: updated", "    page: {delta: {resume: x}}\n    since: {field: updated", "16:12: with `page: {delta: …}` the provider says where the next walk begins: leave `since` and `windows` away", ""},
		{"param: since, start", "order: desc, param: since, start", "15:12: with `order: desc` the list is read from its newest record on, and no mark is sent: leave `param` and ${since} away", ""},
		{"per_second: 2.5", "per_secnd: 2.5", "7:13: unknown key `per_secnd`", "a ceiling has a similar key: `per_second`"},
		{"connector: acme", "conector: acme", "1:1: unknown key `conector`", "a connector file has a similar key: `connector`"},
		{"connector: acme", "connector: Acme Inc", "1:12: `Acme Inc` cannot be a name", ""},
		{"connector: acme\n", "", "1:1: the file has no `connector`: the name to run it by", ""},
		{"${params.org}", "${params.ord}", "5:37: unknown name `params.ord`", "there is a similar name: `params.org`"},
		{"${secrets.token}", "${secrets.tokn}", "6:21: unknown name `secrets.tokn`", "there is a similar name: `secrets.token`"},
		{`"${secrets.token}"`, `"${secret.token}"`, "6:21: unknown name `secret.token`", "there is a similar name: `secrets.token`"},
		{`"${secrets.token}"`, `"${ACME_TOKEN}"`, "6:21: unknown name `ACME_TOKEN`", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`"${secrets.token}"`, `"s3cr3t ${x}"`, "6:18: a credential is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{"env: ACME_TOKEN", "env: $ACME_TOKEN", "3:24: an environment variable is named without its `$`", "env: ACME_TOKEN"},
		{"env: ACME_TOKEN", `env: "${ACME_TOKEN}"`, "3:24: an environment variable is named without its `$`", "env: ACME_TOKEN"},
		{`"${secrets.token}"`, "s3cr3t", "6:18: a credential is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {client_id: a, client_secret: "${secrets.token}"}}`, "6:18: token_url is not an HTTP address such as https://api.example.com", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test/?x=y", client_id: a, client_secret: "${secrets.token}"}}`, "6:30: token_url must not hold a user, a query or a fragment", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_secret: "${secrets.token}"}}`, "6:18: oauth2 needs the `client_id`", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_id: a}}`, "6:18: oauth2 needs a `client_secret`, a `refresh_token`, or both, or an `assertion`", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_id: a, client_secret: s3cr3t}}`, "6:75: a credential is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_id: a, refresh_token: "r${secrets.token}"}}`, "6:75: a refresh_token is one secret, as it is", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_id: a, client_secret: "${secrets.token}", client_auth: header}}`, "6:108: unknown value `header`", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_id: a, client_secret: "${secrets.token}", fields: {grant_type: password}}}`, "6:104: `grant_type` has a key of its own, or is set by collect", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: https://a.test, client_id: a, client_secret: "${secrets.token}", scope: "${secrets.token}"}}`, "6:105: a secret may be used in auth and tls only", ""},
		{"{env: ACME_TOKEN}", "{env: ACME_TOKEN, rotate: true}", "3:44: a secret that is replaced is in a `file`", ""},
		{"{env: ACME_TOKEN}", "{file: a, rotate: true}", "3:36: rotate is for the secret that is a refresh_token", ""},
		{"{env: ACME_TOKEN}", "s3cr3t", "3:18: this must be a mapping: a secret", "it is written like this: token: {env: ACME_TOKEN}"},
		{"{env: ACME_TOKEN}", "{env: A, keyring: acme}", "3:11: the secret `token` needs one of env, file, keyring and command", ""},
		{"{env: ACME_TOKEN}", "{env: A, file: b}", "3:11: the secret `token` needs one of env, file, keyring and command", ""},
		{"{env: ACME_TOKEN}", "{env: [A, B, A]}", "3:31: this is in the list already", ""},
		{"{env: ACME_TOKEN}", "{env: []}", "3:24: this list is empty", ""},
		{"{env: ACME_TOKEN}", "{env: [A, $B]}", "3:28: an environment variable is named without its `$`", "env: B"},
		{"{token: {env: ACME_TOKEN}}", "{token: {env: [A, B]}, other: {file: [c, d, e]}}", "3:48: this list has 3 parts, and that of another secret has 2: the first parts belong together, then the second ones", ""},
		{"ceiling: {per_second: 2.5}", "turns: page", "7:10: unknown value `page`", ""},
		{"type: date", "type: dat", "2:47: unknown type `dat`", ""},
		{"default: 2024-01-01", "default: 2024-13-01", "2:62: the default is not a date such as 2024-01-31, or a time such as 2024-01-31T12:00:00Z", ""},
		{"base_url: https", "base_url: ftp", "", ""}, // only known when built: it has a parameter
		{"https://api.acme.test/${params.org}", "api.acme.test", "5:13: base_url is not an HTTP address such as https://api.example.com", ""},
		{"per_second: 2.5", "per_second: 0", "7:25: this must be a number above 0", ""},
		{"per_second: 2.5", "per_hour: 2.5", "7:23: this must be a whole number from 1 on", ""},
		{"ceiling: {per_second: 2.5}", "limits: {body: 3 parsecs}", "7:18: this must be a size such as 64KiB or 8MiB", ""},
		{"ceiling: {per_second: 2.5}", "limits: {header_timeout: 3}", "7:28: this must be a duration such as 90s, 5m, 2h or 7d", ""},
		{"per_second: 2.5", "per_second: .nan", "7:25: this must be a number above 0", ""},
		{"per_second: 2.5", "per_second: .inf", "7:25: this must be a number above 0", ""},
		{"per_second: 2.5", "per_second: Infinity", "7:25: this must be a number above 0", ""},
		{"per_second: 2.5", "per_second: -1", "7:25: this must be a number above 0", ""},
		{"per_second: 2.5", "per_second: 1e-12", "7:25: this is less than one request in 30 days", ""},
		{"per_second: 2.5", "per_minute: 0", "7:25: this must be a whole number from 1 on", ""},
		{"per_second: 2.5", "per_day: -5", "7:22: this must be a whole number from 1 on", ""},
		{"per_second: 2.5", "per_day: 99999999999", "7:22: this must be a whole number from 1 on", ""},
		{"ceiling: {per_second: 2.5}", "start_per_second: 1e-9", "7:21: this is less than one request in 30 days", ""},
		{"ceiling: {per_second: 2.5}", "law: plato", "7:8: unknown value `plato`", ""},
		{"ceiling: {per_second: 2.5}", "law: aimd\n  pace: off", "7:8: with `pace: off` there is no law of the pace", ""},
		{"ceiling: {per_second: 2.5}", "concurrency: {max: 0}", "7:22: this must be a whole number from 1 on", ""},
		{"ceiling: {per_second: 2.5}", "concurrency: {max: 65}", "7:22: there can be at most 64 requests in flight", ""},
		{"ceiling: {per_second: 2.5}", "concurrency: {max: 2.5}", "7:22: this must be a whole number from 1 on", ""},
		{"ceiling: {per_second: 2.5}", "concurrency: {law: aimd}", "7:16: a concurrency needs a `max`", ""},
		{"ceiling: {per_second: 2.5}", "concurrency: {max: 4, law: vegas}", "7:30: unknown value `vegas`", ""},
		{"ceiling: {per_second: 2.5}", "rate: 4", "7:3: unknown key `rate`", "the most that may be asked for is written here as ceiling: {per_second: 4}"},
		{"ceiling: {per_second: 2.5}", "budgets: {a: 4}", "7:3: unknown key `budgets`", "the most that may be asked for is written here as ceiling: {per_second: 4}"},
		{"ceiling: {per_second: 2.5}", "clamp: {lest: 50%}", "7:11: unknown key `lest`", "a clamp has a similar key: `least`"},
		{"ceiling: {per_second: 2.5}", "clamp: on", "7:10: this must be a mapping: a clamp", "it is written like this: clamp: {least: 60%}, or clamp: off; without it, it is on"},
		{"ceiling: {per_second: 2.5}", "clamp: {step: 0.5%}", "7:17: a step is 1% at least", ""},
		{"ceiling: {per_second: 2.5}", "clamp: {cooldown: 0s}", "7:21: this must be a duration such as 90s, 5m, 2h or 7d", ""},
		{"ceiling: {per_second: 2.5}", "quota: {reserve: 0.2}", "7:20: this must be a share such as 20%, above 0% and below 100%", ""},
		{"ceiling: {per_second: 2.5}", "quota: {reserve: 0%}", "7:20: this must be a share such as 20%, above 0% and below 100%", ""},
		{"ceiling: {per_second: 2.5}", "quota: {reserve: -3%}", "7:20: this must be a share such as 20%, above 0% and below 100%", ""},
		{"ceiling: {per_second: 2.5}", "quota: {reserve: 101%}", "7:20: this must be a share such as 20%, above 0% and below 100%", ""},
		{"ceiling: {per_second: 2.5}", "quota: {reserve: NaN%}", "7:20: this must be a share such as 20%, above 0% and below 100%", ""},
		{"{get: /repos}", "{get: /repos, route: \"Search it\"}", "11:31: `Search it` cannot be a name", ""},
		{"{get: /repos}", "{get: /repos, weight: 0}", "11:32: this must be a number above 0", ""},
		{"{get: /repos}", "{get: /repos, weight: 1001}", "11:32: a request can count as 1000 at most", ""},
		{"ceiling: {per_second: 2.5}", "on_403: ignore", "7:11: unknown value `ignore`", ""},
		{"ceiling: {per_second: 2.5}", `headers: {X-Org: "a\r\nX-Other: b"}`, "7:20: a header holds no line break, and no other control character", ""},
		{"ceiling: {per_second: 2.5}", `headers: {X-Org: "a\tb"}`, "", ""},
		{"  orgs: {get: /orgs}", "  orgs: {get: /orgs, headers: {X-Org: \"${params.org}\\n\"}}", "16:39: a header holds no line break, and no other control character", ""},
		{"ceiling: {per_second: 2.5}", "headers: {Authorization: x}", "7:13: the header Authorization cannot be set here", ""},
		{`text contains "slow"`, `txt contains "slow"`, "8:37: not a predicate: unknown name txt", ""},
		{`text contains "slow"`, `text contains`, "8:49: not a predicate: unexpected token EOF", ""},
		{`text contains "slow"`, `status + 1`, "8:36: not a predicate: expected bool, but got int", ""},
		{"status: [403], body: 'text contains \"slow\"'", "", "8:14: a rule needs a condition: status, header or body", ""},
		{"status: [403]", "status: [42]", "8:24: this must be a status from 100 to 599", ""},
		{"status: [403]", "status: 403", "8:23: this must be a list", ""},
		{"status: [403]", "status: [403], verdict: gap", "8:39: a throttle rule has no verdict: it always means throttle", ""},
		{"key: id, ", "", "11:3: the stream `repos` has no `key`: the field that is unique to each record", ""},
		{", page: {link_header: next}", "", "11:3: the stream `repos` does not say how it is cut into pages", "add `page`; if it is never cut: page: {none: true}"},
		{"{link_header: next}", "{next_url: {optional: true}}", "9:27: page: next_url lacks a key; see the reference", ""},
		{"{link_header: next}", "{next_url: {path: next, optonal: true}}", "9:51: unknown key `optonal`", "page: next_url has a similar key: `optional`"},
		{"{link_header: next}", "{cursor: {from: a, param: b, optional: maybe}}", "9:66: this must be true or false", ""},
		{"{link_header: next}", "{link_header: next, none: true}", "9:27: page needs one of none, link_header, next_url, cursor, continue, relay, number, offset, last_id, delta, scroll", ""},
		{"{link_header: next}", "{cursor: {from: a}}", "9:27: `page` needs a `param`, or ${page} in the request: where the place of a page stands", ""},
		{"{link_header: next}", "{cursor: {param: a}}", "9:27: page: cursor lacks a key; see the reference", ""},
		{"{link_header: next}", "{cursor: {from: a, param: \"\"}}", "9:27: `page` needs a `param`, or ${page} in the request: where the place of a page stands", ""},
		{"{get: /repos}", "{get: /repos, post: /repos}", "11:30: the stream `repos` has one of `get`, `post` and `put`", ""},
		{"{get: /repos}", "{get: /repos, json: {a: 1}}", "11:16: the stream `repos` has a body, which needs `post` or `put` instead of `get`", ""},
		{"{get: /repos}", "{post: /repos, json: {a: 1}, form: {b: 1}}", "11:3: the stream `repos` has one body: `json`, `form` or `graphql`", ""},
		{"{get: /repos}", "{post: /repos, json: a}", "11:31: a JSON body is a mapping or a list", ""},
		{"{get: /repos}", "{post: /repos, json: {a: .nan}}", "11:35: this is no number of JSON; for a text, put it between quotes", ""},
		{"{get: /repos}", "{post: /repos, json: {a: [{b: \"${parms.org}\"}]}}", "11:43: unknown name `parms.org`", "there is a similar name: `params.org`"},
		{"{get: /repos}", "{post: /repos, json: {a: \"${secrets.token}\"}}", "11:38: a secret may be used in auth and tls only", ""},
		{"{get: /repos}", "{get: /repos, query: {a: []}}", "11:35: a list needs at least one value, and none that is null", ""},
		{"{get: /repos}", "{get: /repos, query: {a: [b, c]}}", "", ""},
		{"{get: /repos}", "{post: /repos, graphql: {query: \"{ a }\"}}", "11:34: the records of a GraphQL answer stand below `data`: say where with `records`, such as records: data.viewer.issues.nodes", ""},
		{"{link_header: next}", "{cursor: {from: a, header: b, param: c}}", "9:54: the cursor comes out of the body (`from`) or out of a header (`header`): not out of both", ""},
		{"{link_header: next}", "{cursor: {header: a b, param: c}}", "9:45: not the name of a header", ""},
		{"{link_header: next}", "{relay: data.a}", "9:27: `page` needs a `param`, or ${page} in the request: where the place of a page stands", ""},
		{"{get: /repos}", "{post: /repos, graphql: {variables: {a: 1}}}", "11:34: graphql needs a `query`", ""},
		{"{get: /repos}", "{post: /repos, graphql: {query: \"{ a(b: ${params.org}) }\"}, records: data.a}", "11:50: nothing is replaced in a query: declare a variable in it, and give it under `variables`", ""},
		{"{get: /repos}", "{get: \"/repos/${page}\"}", "9:27: `repos` has ${page}, and with this `page` nothing stands for it", ""},
		{"{get: /repos}", "{get: \"/repos\", headers: {X-P: \"${page}\"}, page: {cursor: {from: a, param: b}}}", "11:59: the place of a page stands in `b`, which `page` names, or where ${page} is: not in both", ""},
		{"{get: /repos}", "{get: \"/repos\", headers: {X-P: \"${page}\"}, page: {cursor: {from: a}}}", "", ""},
		{"{get: /repos}", "{}", "11:3: the stream `repos` has no `get`: the path of its records", ""},
		{"{get: /repos}", "{get: /repos, role: detail}", "11:30: a detail belongs to a parent: say to which with `each`", ""},
		{"{get: /repos}", "{get: /repos, query: {page: {}}}", "11:38: this must be a single value", ""},
		{"{get: /repos}", "{get: /repos, each: {a: issues.repo}}", "11:31: the parents of this stream form a circle: repos, issues, repos", ""},
		{"{get: /repos}", "{get: /repos, each: {a: repos.x}}", "11:34: a stream cannot be its own parent", ""},
		{"{get: /repos}", "{get: /repos, on: [{status: [404]}]}", "11:29: a rule in `on` needs a verdict", ""},
		{"{get: /repos}", "{get: /repos, on: [{status: [404], verdict: gne}]}", "11:54: unknown verdict `gne`", ""},
		{"repo: repos.name", "repo: repo.name", "13:18: unknown stream `repo`", "there is a stream with a similar name: `repos`"},
		{"repo: repos.name", "repo: repos", "13:18: this must be a stream and a field of its records, such as repos.name", ""},
		{"repo: repos.name", "repo: repos.name, b: issues.x", "13:33: a stream cannot be its own parent", ""},
		{"repo: repos.name", "repo: repos.name, o: orgs.id", "13:33: all names of one `each` must come from one stream: `repos`", ""},
		{"repo: repos.name", "since: repos.name", "13:12: `since` has a meaning of its own and cannot be bound", ""},
		{"repo: repos.name", "repo: repos.name, when: issues.x > 1", "13:36: not a predicate: unknown name issues", ""},
		{"repo: repos.name, ", "", "13:12: `each` needs a name for a field of the parent", ""},
		{"repo: repos.name, changed: repos.updated}\n    get: /repos/${repo}/issues", "id: repos.id}\n    get: /repos/${id}/issues",
			"12:3: the `key` of `issues` is the same for all records of one parent: `each` binds its name",
			"bind another name in `each`, or add a field of the record to `key`"},
		{"/repos/${repo}/issues", "/repos/${rep}/issues", "14:19: unknown name `rep`", "there is a similar name: `repo`"},
		{"/repos/${repo}/issues", "/repos/${repo/issues", "14:17: `${` without `}`", ""},
		{"/repos/${repo}/issues", "/repos/${secrets.token}", "14:19: a secret may be used in auth and tls only", ""},
		{"/repos/${repo}/issues", "/repos/${since}", "14:19: unknown name `since`", ""},
		{"field: updated, ", "", "15:12: `since` needs a `field`: where a record says when it changed", ""},
		{"param: since, ", "", "15:12: `since` has no `param`, and nothing in the request uses ${since}", ""},
		{", lookback: 1h", "", "15:12: `since` without `order: asc` needs a `lookback`", ""},
		{"param: since,", "param: since, order: down,", "15:50: unknown value `down`", ""},
		{"lookback: 1h", "lookback: soon", "15:79: this must be a duration such as 90s, 5m, 2h or 7d", ""},
		{"get: /repos/${repo}/issues", "get: /x\n    query: {since: 1}", "15:20: `since` is set here and by `since`", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: /me}`, "", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: {get: "/${params.org}/me", when: 'body.login == "x"'}}`, "", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: ""}`, "6:45: a probe needs a `get`: a path that only the right account may ask for", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: {when: status == 200}}`, "6:45: a probe needs a `get`: a path that only the right account may ask for", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: "https://elsewhere.test/me"}`, "6:45: a probe is a path below `base_url`", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: "/${secrets.token}"}`, "6:49: a secret may be used in auth and tls only", ""},
		{`{bearer: "${secrets.token}"}`, `{bearer: "${secrets.token}", probe: {get: /me, when: status + 1}}`, "6:62: not a predicate: expected bool, but got int", ""},
		{`{bearer: "${secrets.token}"}`, `{api_key: [{header: X-A, value: "${secrets.token}"}, {header: X-B, value: abc}]}`, "6:83: a credential is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, `{api_key: [{header: X-A, value: "${secrets.token}"}, {query: X-A, value: "${secrets.token}"}]}`, "6:62: two keys are sent as `X-A`", ""},
		{`{bearer: "${secrets.token}"}`, `{api_key: []}`, "6:19: api_key needs at least one key", ""},
		{`{bearer: "${secrets.token}"}`, `{api_key: {cookie: "a b", value: "${secrets.token}"}}`, "6:28: not the name of a cookie", ""},
		{`{bearer: "${secrets.token}"}`, `{jwt: {claims: {iss: a}}}`, "6:15: jwt needs the key `key`", ""},
		{`{bearer: "${secrets.token}"}`, `{jwt: {key: "${secrets.token}", algorithm: RS265}}`, "6:52: unknown value `RS265`", ""},
		{`{bearer: "${secrets.token}"}`, `{jwt: {key: "${secrets.token}", claims: {exp: 1}}}`, "6:50: `exp` is set by collect", ""},
		{`{bearer: "${secrets.token}"}`, `{hmac: {recipe: binance, key: "${secrets.token}"}}`, "6:16: hmac needs the key `secret`", ""},
		{`{bearer: "${secrets.token}"}`, `{aws: {access_key: a, secret_key: b, region: c, service: d}}`, "6:28: a credential is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test", refresh_token: "${secrets.token}", assertion: {key: "${secrets.token}"}}}`, "6:63: an access token is granted for one of `assertion` and `refresh_token`", ""},
		{`{bearer: "${secrets.token}"}`, `{session: {form: {password: "${secrets.token}"}, token: t}}`, "6:19: a session needs a `post`: the path of the login", ""},
		{`{bearer: "${secrets.token}"}`, `{session: {post: /login, token: t}}`, "6:19: a login has one body, with the user and the password: `json` or `form`", ""},
		{`{bearer: "${secrets.token}"}`, `{session: {post: /login, form: {password: "${secrets.token}"}, token: t, cookie: c}}`, "6:19: a session needs one of `token`, `header` and `cookie`: where the answer to the login has the token", ""},
		{`{bearer: "${secrets.token}"}`, `{session: {post: /login, form: {key: "${secrets.token}", password: hunter2}, token: t}}`, "6:76: a password is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, `{session: {post: /login, json: {a: [{password: hunter2}], b: "${secrets.token}"}, token: t}}`, "6:56: a password is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, `{session: {post: /login, form: {password: "${secrets.token}"}, token: t, send: cookie}}`, "6:88: which cookie? Write `send: {cookie: NAME}`", ""},
		{`{bearer: "${secrets.token}"}`, `{session: {post: /login, form: {password: "${secrets.token}"}, token: t, send: {header: a, cookie: b}}}`, "6:88: a token is sent as one of `header` and `cookie`", ""},
		{`{bearer: "${secrets.token}"}`, `{session: {post: "/${secrets.token}", form: {password: "${secrets.token}"}, token: t}}`, "6:30: a secret may be used in auth and tls only", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test", client_id: a, client_secret: "${secrets.token}", device_url: "https://a.test/d"}}`, "6:109: device_url is for the secret that is the `refresh_token`, which oauth2 has not", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test", client_id: a, refresh_token: "${secrets.token}", device_url: "https://a.test/d"}}`, "6:77: what a person gets who signs in has to be kept: in a `file`, or in the `keyring`", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test", client_id: a, refresh_token: "${secrets.token}", revoke_url: "ftp://a.test"}}`, "6:109: revoke_url is not an HTTP address such as https://login.example.com/authorize", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test", client_id: a, refresh_token: "${secrets.token}", redirect: "https://a.test/back"}}`, "6:107: a browser comes back to this machine: http://127.0.0.1:PORT/PATH, or localhost in its place", ""},
		{`{bearer: "${secrets.token}"}`, `{oauth2: {token_url: "https://a.test", client_id: a, refresh_token: "${secrets.token}", pkce: plain}}`, "6:103: unknown value `plain`", ""},
		{`{bearer: "${secrets.token}"}`, "none\n  tls: {certificate: \"${secrets.token}\"}", "7:8: a certificate needs its `key`, and a key its `certificate`", ""},
		{`{bearer: "${secrets.token}"}`, "none\n  tls: {key: \"${secrets.token}\", ca: \"${secrets.token}\"}", "7:8: a certificate needs its `key`, and a key its `certificate`", ""},
		{`{bearer: "${secrets.token}"}`, "none\n  tls: {ca: \"${params.org}\"}", "7:13: a credential is never written into a connector file", "declare it under `secrets` and refer to it as ${secrets.name}"},
		{`{bearer: "${secrets.token}"}`, "none\n  tls: {ca: \"x${secrets.token}\"}", "7:13: each part of tls is one secret, as it is", ""},
		{`{bearer: "${secrets.token}"}`, "none\n  tls: {ca: \"${secrets.tokn}\"}", "7:16: unknown name `secrets.tokn`", "there is a similar name: `secrets.token`"},
		{`{bearer: "${secrets.token}"}`, `{probe: /me}`, "6:9: auth needs one of none, bearer, basic, api_key, oauth2, session, jwt, hmac and aws", ""},
		{"get: /repos/${repo}/issues", "get: /x?since=1", "14:10: `since` is set here and by `since`", ""},
		{"get: /repos/${repo}/issues", "get: /x?state=${params.org}\n    query: {state: all}", "14:10: `state` is set here and by `query`", ""},
		{"get: /repos/${repo}/issues", "get: /x?tag=a&tag=b\n    query: {state: all}", "", ""},
		{"{get: /repos}", "{get: /repos, query: {p: 1}, page: {cursor: {from: a, param: p}}}", "11:35: `p` is set here and by `page`", ""},
		{"{get: /repos}", "{get: \"/repos?a%5Bb%5D=1\", page: {last_id: {param: \"a[b]\", field: id}}}", "11:16: `a[b]` is set here and by `page`", ""},
		{"{get: /repos}", "{get: /repos, page: {number: {param: p, size_param: p, size: 9}}}", "11:30: `p` is set here and by `page`", ""},
		{"{get: /repos}", "{get: /repos, page: {offset: {param: p, limit_param: p, limit: 9}}}", "11:30: `p` is set here and by `page`", ""},
		{"get: /repos/${repo}/issues", "get: /x\n    page: {cursor: {from: next, param: since}}", "", ""},
		{"get: /repos/${repo}/issues", "get: /x\n    page: {last_id: {param: since, field: id}}", "", ""},
		{"get: /repos/${repo}/issues", "get: /x\n    page: {number: {param: since}}", "16:36: `since` is set here and by `page`", ""},
		{"get: /repos/${repo}/issues", "get: /x\n    page: {offset: {param: o, limit_param: since, limit: 9}}", "16:36: `since` is set here and by `page`", ""},
		{`{bearer: "${secrets.token}"}`, `{api_key: {query: since, value: "${secrets.token}"}}`, "15:36: `since` is set here and by `auth`", ""},
		{"  issues:\n", "  repos:\n", "12:3: not YAML: mapping key \"repos\" already defined at [11:3]", ""},
		{"  repos: {get: /repos}", "  repos: {get: /repos", "", "any"},
		{"  repos: {get: /repos}", "\trepos: {get: /repos}", "11:1: a line begins with a tab: YAML wants spaces", ""},
		{"  repos: {get: /repos}", "  repos: &a {get: /repos}", "11:10: anchors, aliases and tags are not part of the language", ""},
	}
}

func TestSpecErrors(t *testing.T) {
	for _, test := range mistakes() {
		if !strings.Contains(sound, test.old) {
			t.Fatalf("the sound file has no %q", test.old)
		}
		_, err := declarative.Parse("acme.yaml", []byte(test.file()))
		if test.want == "" && test.note == "" {
			if err != nil {
				t.Errorf("%s: error %v, want none", test.planted, err)
			}
			continue
		}
		spec, ok := errors.AsType[*declarative.SpecError](err)
		if !ok {
			t.Errorf("%s: error %v, want a *SpecError", test.planted, err)
			continue
		}
		if test.note == "any" {
			continue
		}
		if got, want := spec.Error(), "acme.yaml:"+test.want; got != want || spec.Note != test.note {
			t.Errorf("%s:\n got %s (%s)\nwant %s (%s)", test.planted, got, spec.Note, want, test.note)
		}
		if strings.Contains(err.Error()+spec.Source, "s3cr3t") {
			t.Errorf("%s: the error shows the secret:\n%s", test.planted, spec.Source)
		}
	}
	if _, err := declarative.Parse("acme.yaml", []byte(sound)); err != nil {
		t.Errorf("the sound file: %v", err)
	}
}

func TestExcerpt(t *testing.T) {
	_, err := declarative.Parse("acme.yaml", []byte(strings.Replace(sound, "  ceiling:", "  celling:", 1)))
	spec, _ := errors.AsType[*declarative.SpecError](err)
	if spec == nil {
		t.Fatalf("error %v", err)
	}
	want := `6 |   auth: {bearer: "${secrets.token}"}
7 |   celling: {per_second: 2.5}
  |   ^^^^^^^ not a key of a provider`
	if spec.Source != want {
		t.Errorf("got\n%s\nwant\n%s", spec.Source, want)
	}
	// A credential in the line above is left out.
	src := strings.Replace(sound, `"${secrets.token}"`, "s3cr3t", 1)
	_, found, _ := declarative.Check("acme.yaml", []byte(strings.Replace(src, "  ceiling:", "  celling:", 1)))
	if len(found) != 2 || !strings.Contains(found[1].Source, "celling") || strings.Contains(found[0].Source+found[1].Source, "s3cr3t") {
		t.Errorf("got %v", found)
	}
}

func TestSeveralMistakesAreReportedInOrder(t *testing.T) {
	src := "streams: {a: {gte: /x}, b: {gte: /x}}\nconnectr: a\n" + strings.Repeat("x", 3) + ": 1\n"
	_, err := declarative.Parse("f", []byte(src))
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		got = append(got, e.Error())
	}
	want := "f:1:15: unknown key `gte`\nf:1:29: unknown key `gte`\nf:2:1: unknown key `connectr`\nf:3:1: unknown key `xxx`"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// FuzzParse: whatever the file is, there is a Spec or a SpecError with a place
// inside of it.
func FuzzParse(f *testing.F) {
	f.Add(sound)
	f.Add("connector: a\nprovider: {base_url: http://b}\nstreams: {s: {get: /, key: [a, b], page: {number: {param: p}}}}")
	f.Add("? a\n: - b\n  - ${")
	f.Fuzz(func(t *testing.T, src string) {
		spec, err := declarative.Parse("f", []byte(src))
		if err == nil {
			_ = spec.Name()
			return
		}
		e, ok := errors.AsType[*declarative.SpecError](err)
		if !ok || e.Line < 1 || e.Column < 1 || e.Line > strings.Count(src, "\n")+strings.Count(src, "\r")+1 {
			t.Errorf("%q: %v", src, err)
		}
	})
}
