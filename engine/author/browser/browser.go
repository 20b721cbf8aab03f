// Package browser drafts connector files from what a browser recorded: an HTTP Archive
// (HAR 1.2). Answers in JSON with a list of objects become streams; what the requests
// of one list differ in is how it is cut into pages. No value of a credential is in
// the draft, whether it was in a header, a cookie or a query.
package browser

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/usual"
	"collect/engine/author/internal/sketch"
	"collect/internal/lazy"
	"collect/internal/words"
	"collect/internal/yamlfile"
)

// Longest is the longest archive that is read, in bytes.
const Longest = 64 << 20

// A Draft is a connector file, and how much of the archive is in it.
type Draft struct {
	File    []byte
	Streams int
	LeftOut int
}

// archive is what is read of a HAR file.
type archive struct {
	Log struct {
		Entries []struct {
			Request struct {
				Method  string
				URL     string
				Headers []header
				Cookies []header

				PostData struct{ MimeType, Text string }
			}
			Response struct {
				Status  int
				Headers []header
				Content struct{ MimeType, Text, Encoding string }
			}
		}
	}
}

type header struct{ Name, Value string }

// A visit is one request of a list, and what came.
type visit struct {
	query   url.Values   // without credentials
	sent    gjson.Result // the body of the request, if that was JSON
	link    bool         // the answer has a Link to the next page
	body    gjson.Result
	records string
	items   []gjson.Result
}

// A group is the requests of one list.
type group struct {
	method string
	url    *url.URL
	auth   yamlfile.Map // what carried the credential, and where: header, query or cookie
	visits []*visit
}

// New drafts the connector file of a connector. Streams that check refuses are left
// out.
func New(name string, src []byte, check func(file []byte) error) (*Draft, error) {
	if len(src) > Longest {
		return nil, fmt.Errorf("the archive is longer than %d bytes", Longest)
	}
	var a archive
	// The error of the decoder may quote what it read.
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(src), "\ufeff")), &a); err != nil {
		return nil, errors.New("it is no HTTP Archive (HAR) in JSON")
	}
	d := &drafter{file: &sketch.File{Connector: name}, secrets: map[string]bool{}, other: map[string]int{}}
	d.read(&a)
	if len(d.groups) == 0 {
		return nil, errors.New("no request in it was answered with a list of objects in JSON; a browser may save an archive without the bodies of answers")
	}
	d.draft()
	file := d.file.Write(check)
	if len(d.file.Streams) == 0 {
		return nil, errors.New("no list in it can become a stream")
	}
	return &Draft{d.scrub(file), len(d.file.Streams), len(d.file.LeftOut)}, nil
}

type drafter struct {
	file    *sketch.File
	groups  []*group
	secrets map[string]bool // values that must not be in the file
	other   map[string]int  // requests that are in no stream, by the reason
}

// mostVisits bounds how many requests of one list are looked at.
const mostVisits = 50

// read picks the answers that are lists, and groups them by method and address.
func (d *drafter) read(a *archive) {
	groups := map[string]*group{}
	for _, e := range a.Log.Entries {
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" {
			continue
		}
		query, auth := d.credentials(u, e.Request.Headers, e.Request.Cookies)
		body, kind := e.Response.Content.Text, e.Response.Content.MimeType
		if e.Response.Content.Encoding == "base64" {
			if plain, err := base64.StdEncoding.DecodeString(body); err == nil {
				body = string(plain)
			}
		}
		switch {
		case !strings.Contains(kind, "json"):
			continue // pages, pictures and scripts
		case e.Request.Method != "GET" && e.Request.Method != "POST":
			d.other["requests with another method than GET and POST"]++
			continue
		case e.Response.Status != 200:
			d.other["answers with another status than 200"]++
			continue
		case !gjson.Valid(body):
			d.other["answers whose body was not saved"]++
			continue
		}
		v := &visit{query: query, body: gjson.Parse(body)}
		if e.Request.Method == "POST" {
			if v.sent = gjson.Parse(e.Request.PostData.Text); !gjson.Valid(e.Request.PostData.Text) || !v.sent.IsObject() {
				d.other["requests with POST whose body is no JSON object"]++
				continue
			}
			if d.credentialsIn(v.sent, a) || d.secret(e.Request.PostData.Text) {
				d.other["requests with POST whose body has what may be a credential"]++
				continue
			}
		}
		if v.records, v.items = sketch.Longest(v.body); len(v.items) == 0 {
			d.other["answers without an array of objects"]++
			continue
		}
		for _, h := range e.Response.Headers {
			v.link = v.link || strings.EqualFold(h.Name, "Link") && strings.Contains(strings.ReplaceAll(h.Value, `"`, ""), "rel=next")
		}
		at := e.Request.Method + " " + u.Scheme + "://" + u.Host + u.EscapedPath() + " " + v.sent.Get("query").Raw
		g := groups[at]
		if g == nil {
			g = &group{method: e.Request.Method, url: u, auth: auth}
			groups[at], d.groups = g, append(d.groups, g)
		}
		if len(g.visits) < mostVisits {
			g.visits = append(g.visits, v)
		}
	}
}

// secretHeader matches the headers of a request that carry a credential.
var secretHeader = lazy.Regexp(`(?i)^(authorization|.*(api-?key|token|secret|auth|session|signature).*)$`)

// credentials returns the query without its credentials, and where they were. Their
// values are remembered, to be taken out wherever else they stand.
func (d *drafter) credentials(u *url.URL, headers, cookies []header) (query url.Values, auth yamlfile.Map) {
	hide := func(value string) {
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == ';' || r == ',' }) {
			if len(part) >= 6 {
				d.secrets[part] = true
			}
		}
		if len(value) >= 4 {
			d.secrets[value] = true
		}
	}
	found := func(where, name string) {
		if auth == nil {
			auth = yamlfile.Map{{Key: where, Value: name}}
		}
	}
	cookie := func(name, value string) {
		if len(value) >= 8 && !word().MatchString(value) { // others are settings, such as a language
			hide(value)
		}
		if sketch.SecretParam().MatchString(name) || strings.Contains(strings.ToLower(name), "sess") {
			hide(value)
			found("cookie", name)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		hide(password)
	}
	for _, h := range headers {
		switch {
		case strings.EqualFold(h.Name, "Cookie"):
			for part := range strings.SplitSeq(h.Value, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
				cookie(name, value)
			}
		case secretHeader().MatchString(h.Name):
			hide(h.Value)
			_, rest, _ := strings.Cut(h.Value, " ")
			hide(rest)
			if scheme, _, _ := strings.Cut(strings.ToLower(h.Value), " "); strings.EqualFold(h.Name, "Authorization") && (scheme == "bearer" || scheme == "basic") {
				auth = yamlfile.Map{{Key: scheme, Value: ""}}
			} else {
				found("header", h.Name)
			}
		}
	}
	query = u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if sketch.SecretParam().MatchString(name) && !pageToken().MatchString(name) {
			for _, value := range query[name] {
				hide(value)
			}
			found("query", name)
			query.Del(name)
		}
	}
	for _, c := range cookies {
		cookie(c.Name, c.Value)
	}
	return query, auth
}

// pageToken matches parameters with a token that leads to a page, and is no
// credential.
var pageToken = lazy.Regexp(`(?i)^(page|next|next_?page|pagination|continuation)_?token$`)

// secret tells whether a text has the value of a credential in it.
func (d *drafter) secret(text string) bool {
	for value := range d.secrets {
		if text == value || len(value) >= 8 && strings.Contains(text, value) {
			return true
		}
	}
	return false
}

// word matches values that names of an API may have, too.
var word = lazy.Regexp(`^[a-z_]+$`)

// scrub takes the values of credentials out of the file, as the last of all.
func (d *drafter) scrub(file []byte) []byte {
	text := string(file)
	for _, value := range slices.SortedFunc(maps.Keys(d.secrets), func(a, b string) int { return len(b) - len(a) }) {
		if len(value) < 8 || word().MatchString(value) {
			continue
		}
		text = strings.ReplaceAll(text, value, "REMOVED")
	}
	return []byte(text)
}

// draft makes a stream of each group of the origin with the most lists.
func (d *drafter) draft() {
	lists := map[string]int{}
	origin := func(g *group) string { return g.url.Scheme + "://" + g.url.Host }
	best := ""
	for _, g := range d.groups {
		lists[origin(g)]++
		if best == "" || lists[origin(g)] > lists[best] {
			best = origin(g)
		}
	}
	d.file.Base, d.file.From = best, "what a browser recorded of "+best
	for _, g := range d.groups {
		if origin(g) != best {
			d.other["lists of other hosts, such as "+g.url.Host]++
			continue
		}
		d.auth(g)
		d.stream(g)
	}
	for _, why := range slices.Sorted(maps.Keys(d.other)) {
		d.file.Leave("%s: %d", why, d.other[why])
	}
}

// auth says how the requests were authenticated, as the first one was.
func (d *drafter) auth(g *group) {
	if d.file.Auth != nil || len(g.auth) == 0 {
		return
	}
	switch where, name := g.auth[0].Key, g.auth[0].Value; where {
	case "bearer":
		d.file.Auth, d.file.AuthWhy = yamlfile.Map{{Key: "bearer", Value: d.file.Secret("token")}}, "a bearer token was sent"
	case "basic":
		d.file.Auth, d.file.AuthWhy = yamlfile.Map{{Key: "basic", Value: yamlfile.Map{{Key: "user", Value: d.file.Secret("user")}, {Key: "password", Value: d.file.Secret("password")}}}}, "HTTP Basic was sent"
	default:
		d.file.Auth = yamlfile.Map{{Key: "api_key", Value: yamlfile.Map{{Key: where, Value: name}, {Key: "value", Value: d.file.Secret("key")}}}}
		d.file.AuthWhy = "the " + where + " had what looks like a credential"
	}
}

// stream makes a stream of the requests of one list.
func (d *drafter) stream(g *group) {
	path := g.url.EscapedPath()
	for segment := range strings.SplitSeq(g.url.Path, "/") {
		if segment != "" && d.secret(segment) {
			d.other["lists whose path has a credential in it"]++
			return
		}
	}
	s := &sketch.Stream{From: fmt.Sprintf("%s of %s %s", words.Counted(int64(len(g.visits)), "answer", "answers"), g.method, path)}
	first := g.visits[0]
	var all []gjson.Result
	for _, v := range g.visits {
		all = append(all, v.items...)
	}
	key, mark := "", ""
	for _, name := range sketch.Fields(all) {
		switch {
		case key == "" && sketch.LikelyKey().MatchString(name) && sketch.Unique(first.items, name):
			key = name
		case mark == "" && usual.ChangedField().MatchString(name):
			mark = name
		}
	}
	for _, name := range sketch.Fields(first.items) {
		if key == "" && sketch.Unique(first.items, name) {
			key = name
		}
	}
	if key == "" {
		d.file.Leave("%s %s: its records have no field that can be their key", g.method, path)
		return
	}
	s.Name = d.name(g.subject(path))
	s.Set(strings.ToLower(g.method), strings.ReplaceAll(path, "${", "%24%7B"), "")
	if first.records != "" {
		s.Set("records", first.records, "an array of "+words.Counted(int64(len(first.items)), "object", "objects"))
	}
	s.Set("key", sketch.Step(key), fmt.Sprintf("in all of the %s of the first page, and never twice", words.Counted(int64(len(first.items)), "record", "records")))
	var block yamlfile.Map
	var why string
	var used []string
	if g.method == "POST" {
		block, why = sent(s, g, key)
	} else {
		block, why, used = paging(g, key)
	}
	s.Set("page", block, why)
	var query yamlfile.Map
	for _, name := range slices.Sorted(maps.Keys(first.query)) {
		if slices.Contains(used, name) {
			continue
		}
		if d.secret(first.query.Get(name)) {
			s.Remarks = append(s.Remarks, fmt.Sprintf("the parameter %s had what was a credential elsewhere, and is left out", name))
			continue
		}
		same := !slices.ContainsFunc(g.visits, func(v *visit) bool { return v.query.Get(name) != first.query.Get(name) })
		if !same {
			s.Remarks = append(s.Remarks, fmt.Sprintf("the parameter %s was not always the same: this is what the first request had", name))
		}
		query.Set(name, strings.ReplaceAll(first.query.Get(name), "${", "$ {"))
	}
	if len(query) > 0 {
		s.Set("query", query, "")
	}
	if mark != "" {
		s.Remarks = append(s.Remarks, fmt.Sprintf("`%[1]s` may say when a record changed. If the API can be asked for what changed since: since: {field: %[1]s, param: since, lookback: 1m}", mark))
	}
	d.file.Streams = append(d.file.Streams, s)
}

func (d *drafter) name(path string) string {
	name := sketch.StreamName(path)
	for whole, n := name, 2; slices.ContainsFunc(d.file.Streams, func(s *sketch.Stream) bool { return s.Name == name }); n++ {
		name = whole + "_" + strconv.Itoa(n)
	}
	return name
}

// paging finds out how a list is cut into pages: by what its requests differ in,
// and by what their answers have. It returns the parameters that belong to that.
func paging(g *group, key string) (block yamlfile.Map, why string, used []string) {
	first := g.visits[0]
	// A parameter with a value that an answer before had is a token, wherever it was.
	for i, v := range g.visits {
		for _, before := range g.visits[max(0, i-3):i] {
			for _, param := range slices.Sorted(maps.Keys(v.query)) {
				value := v.query.Get(param)
				if value == "" || before.query.Get(param) == value {
					continue
				}
				if at := sketch.Find(before.body, before.records, value); at != "" {
					return yamlfile.Map{{Key: "cursor", Value: yamlfile.Map{{Key: "from", Value: at}, {Key: "param", Value: param}, {Key: "optional", Value: true}}}},
						fmt.Sprintf("the parameter %s had what `%s` was in an answer before", param, at), []string{param}
				}
				if last := before.items[len(before.items)-1].Get(gjson.Escape(key)); last.String() == value && !counts(value, param) {
					return yamlfile.Map{{Key: "last_id", Value: yamlfile.Map{{Key: "param", Value: param}, {Key: "field", Value: sketch.Step(key)}}}},
						fmt.Sprintf("the parameter %s had the `%s` of the last record of an answer before", param, key), []string{param}
				}
			}
		}
	}
	if first.link {
		return yamlfile.Map{{Key: "link_header", Value: "next"}}, "the answer has a Link to the next page", nil
	}
	if path := sketch.NextURL(first.body); path != "" {
		return yamlfile.Map{{Key: "next_url", Value: yamlfile.Map{{Key: "path", Value: path}, {Key: "optional", Value: true}}}}, fmt.Sprintf("`%s` is the address of the next page", path), nil
	}
	size := given(first, usual.SizeParams)
	for _, form := range []struct {
		names             []string
		name, size, param string
	}{{usual.OffsetParams, "offset", "limit", "limit_param"}, {usual.NumberParams, "number", "size", "size_param"}} {
		param, values := "", []string{}
		for _, v := range g.visits {
			param = cmp.Or(param, given(v, form.names))
		}
		if param == "" {
			continue
		}
		for _, v := range g.visits {
			if value := v.query.Get(param); value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		inner, used := yamlfile.Map{{Key: "param", Value: param}}, []string{param}
		if form.name == "number" && slices.Contains(values, "0") {
			inner.Set("start", 0)
		}
		if n, err := strconv.Atoi(first.query.Get(size)); size != "" && err == nil && n > 0 {
			inner.Set(form.param, size)
			inner.Set(form.size, n)
			used = append(used, size)
		}
		return yamlfile.Map{{Key: form.name, Value: inner}}, fmt.Sprintf("the parameter %s was %s", param, sketch.Short(strings.Join(values, ", "))), used
	}
	for _, known := range usual.NextTokens {
		path := known.Path
		if token := first.body.Get(path); first.body.IsObject() && (token.Type == gjson.String || token.Type == gjson.Number) && token.String() != "" {
			return yamlfile.Map{{Key: "cursor", Value: yamlfile.Map{{Key: "from", Value: path}, {Key: "param", Value: known.Param}, {Key: "optional", Value: true}}}},
				fmt.Sprintf("`%s` has a token, but no second page was recorded: look up the parameter", path), []string{known.Param}
		}
	}
	return yamlfile.Map{{Key: "none", Value: true}}, "nothing that was recorded leads to another page", nil
}

// counts tells whether a value is likely a count of pages or records.
func counts(value, param string) bool {
	return strings.Trim(value, "0123456789") == "" && (slices.Contains(usual.NumberParams, param) || slices.Contains(usual.OffsetParams, param))
}

// given returns the first of names that v asked for with a whole number.
func given(v *visit, names []string) string {
	for _, name := range names {
		if digits := v.query.Get(name); digits != "" && strings.Trim(digits, "0123456789") == "" {
			return name
		}
	}
	return ""
}
