package airbyte

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// A walk translates one stream. What makes it impossible is noted once, and leaves
// the stream out.
type walk struct {
	*translator
	stream
	from     *node
	place    place
	query    yamlfile.Map
	headers  yamlfile.Map
	json     yamlfile.Map
	form     yamlfile.Map
	each     yamlfile.Map
	on       []any
	keys     []any // credentials that are written as parameters or headers
	onePage  bool
	excluded bool
}

// leave says why the stream is left out.
func (w *walk) leave(at *node, format string, args ...any) {
	if !w.excluded {
		w.translator.leave(w.name, at.line, fmt.Sprintf(format, args...))
	}
	w.excluded = true
}

// stream translates one stream, and returns its name in the file.
func (t *translator) stream(n *node) string {
	w := &walk{translator: t, from: n, stream: stream{name: Name(n.word("name")), line: n.line}}
	if slices.ContainsFunc(t.streams, func(had *stream) bool { return had.name == w.name }) || slices.Contains(t.leftOut, w.name) {
		n.use() // a parent is written where it is used, too
		return w.name
	}
	if kind := n.word("type"); kind != "" && kind != "DeclarativeStream" {
		w.leave(n, "%s has no translation", kind)
		n.use()
		return w.name
	}
	n.get("schema_loader").use() // collect learns the schema of what comes
	n.get("state_migrations").use()
	retriever := n.get("retriever")
	if retriever == nil || !retriever.is("", "SimpleRetriever") {
		w.leave(n, "its retriever %s has no translation", retriever.word("type"))
		n.use()
		return w.name
	}
	w.place.bindings = map[string]string{}
	w.partitions(retriever)
	w.incremental(n.get("incremental_sync"))
	w.request(retriever.get("requester"))
	w.records(retriever.get("record_selector"))
	w.decoder(retriever.get("decoder"))
	w.transformations(n.get("transformations"))
	w.paging(retriever.get("paginator"))
	retriever.get("ignore_stream_slicer_parameters_on_paginated_requests").use()
	if w.excluded {
		n.use()
		return w.name
	}
	w.finish(n)
	done := w.stream
	t.streams = append(t.streams, &done)
	return w.name
}

// finish puts the keys in the order in which files have them.
func (w *walk) finish(n *node) {
	var body yamlfile.Map
	if len(w.each) > 0 {
		body.Set("each", w.each)
	}
	body = append(body, w.take("get", "post", "put")...)
	for _, part := range []yamlfile.Pair{{Key: "query", Value: w.query}, {Key: "headers", Value: w.headers}, {Key: "json", Value: w.json}, {Key: "form", Value: w.form}} {
		if len(part.Value.(yamlfile.Map)) > 0 {
			body = append(body, part)
		}
	}
	body = append(body, w.take("graphql", "records", "format", "archive", "drop")...)
	body.Set("key", w.key(n))
	body = append(body, w.take("since", "windows", "page", "role")...)
	if len(w.on) > 0 {
		body.Set("on", w.on)
	}
	if w.onePage && field(w.body, "records") == nil && field(w.body, "format") == nil && field(w.body, "role") == nil {
		w.remarks = append(w.remarks, "If the answer is one object and no list: records: {one: true}")
	}
	w.body = body
}

func (w *walk) take(keys ...string) (out yamlfile.Map) {
	for _, key := range keys {
		for _, pair := range w.body {
			if pair.Key == key {
				out = append(out, pair)
			}
		}
	}
	return out
}

// key translates the primary key: a name, a list of names, or of paths.
func (w *walk) key(n *node) any {
	at := n.get("primary_key")
	var paths []any
	for _, item := range at.list() {
		var steps []string
		for _, step := range item.list() {
			if text, ok := w.text(step, place{}); ok && text != "" {
				steps = append(steps, text)
			}
		}
		if len(steps) > 0 {
			paths = append(paths, path(steps))
		}
	}
	switch len(paths) {
	case 0:
		w.note(n, "stream %s has no primary_key: `key: id` is a guess", w.name)
		w.remarks = append(w.remarks, "The manifest has no primary key: is it `id`?")
		return "id"
	case 1:
		return paths[0]
	}
	return paths
}

// request translates the requester: address, method, parameters, credential, and
// what responses mean.
func (w *walk) request(r *node) {
	if r == nil || !r.is("", "HttpRequester") {
		w.leave(w.from, "its requester %s has no translation", r.word("type"))
		return
	}
	w.address(r)
	for _, from := range []*node{r, r.get("request_options_provider")} { // the latter in manifests of 2022
		w.fields(from.get("request_parameters"), &w.query)
		w.fields(from.get("request_headers"), &w.headers)
		w.fields(from.get("request_body_data"), &w.form)
		w.bodyJSON(from.get("request_body_json"))
	}
	w.requestBody(r.get("request_body"))
	w.authenticator(r.get("authenticator"))
	w.errorHandler(r.get("error_handler"))
	r.get("use_cache").use()
	w.headers = slices.DeleteFunc(w.headers, func(p yamlfile.Pair) bool { return strings.EqualFold(p.Key, "Content-Type") }) // follows from the body
}

var origin = lazy.Regexp(`^(https?://[^/]+)(/.*)?$`)

// address translates url_base and path, or url. What is before the path of the
// first stream is base_url; the streams of another one are asked for by whole
// addresses.
func (w *walk) address(r *node) {
	base, ok := w.text(r.get("url_base"), w.place)
	rest, ok2 := w.text(r.get("path"), w.place)
	if whole := r.get("url"); whole != nil && base == "" {
		var known bool
		base, known = w.text(whole, w.place)
		if m := origin().FindStringSubmatch(base); m != nil && rest == "" {
			base, rest = m[1], m[2]
		}
		ok = ok && known
	}
	if !ok || !ok2 || base == "" {
		w.leave(r, "its address has no translation")
		return
	}
	base, rest = strings.TrimSuffix(base, "/"), "/"+strings.TrimPrefix(rest, "/")
	if strings.Contains(rest, "?") {
		head, query, _ := strings.Cut(rest, "?")
		rest = head
		for pair := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			w.query.Set(name, value)
		}
	}
	if m := origin().FindStringSubmatch(base); m != nil && m[2] != "" && rest == "/" {
		base, rest = m[1], m[2]
	}
	if w.base == "" {
		w.base = base
	}
	if base != w.base && strings.HasPrefix(base, w.base+"/") {
		base, rest = w.base, strings.TrimPrefix(base, w.base)+rest
	}
	if base != w.base {
		rest = base + rest
		if m := origin().FindStringSubmatch(base); m != nil && !strings.HasPrefix(w.base, m[1]) && !slices.Contains(w.origins, m[1]) {
			w.origins = append(w.origins, m[1])
		}
	}
	method := strings.ToLower(r.word("http_method"))
	if method == "" {
		method = "get"
	}
	if method != "get" && method != "post" && method != "put" {
		w.leave(r.get("http_method"), "the method %s has no translation", strings.ToUpper(method))
	}
	w.body.Set(method, rest)
}

// fields translates parameters, headers or fields of a form.
func (w *walk) fields(block *node, into *yamlfile.Map) {
	if block == nil {
		return
	}
	if block.kind != mapping {
		if strings.TrimSpace(block.text) != "" {
			w.leave(block, "`%s` is one text, and no mapping", block.name)
		}
		return
	}
	for _, m := range block.members {
		m.read = true
		if w.credentialIn(block, m) {
			continue
		}
		text, ok := w.text(m, w.place)
		if !ok {
			w.leave(m, "`%s` of `%s` has no translation", m.name, block.name)
			return
		}
		set(into, m.name, text)
	}
}

// credentialIn recognizes a credential that is written as a parameter or a header:
// it is a key of the account.
func (w *walk) credentialIn(block, m *node) bool {
	where := map[string]string{"request_parameters": "query", "request_headers": "header"}[block.name]
	list, ok := pieces(m.text)
	if !ok || where == "" || len(list) == 0 || len(list) > 2 || list[len(list)-1].expr == "" {
		return false
	}
	r, ok := refer(list[len(list)-1].expr)
	if !ok || r.root != "config" || len(r.steps) == 0 {
		return false
	}
	p := w.params[r.steps[len(r.steps)-1]]
	if p == nil || !p.secret {
		return false
	}
	key := yamlfile.Map{{Key: where, Value: m.name}, {Key: "value", Value: "${secrets." + p.name + "}"}}
	if len(list) == 2 {
		key.Set("prefix", list[0].literal)
	}
	w.keys = append(w.keys, key)
	return true
}

// set puts a value in the place of one with its key.
func set(m *yamlfile.Map, key string, value any) {
	for i := range *m {
		if (*m)[i].Key == key {
			(*m)[i].Value = value
			return
		}
	}
	m.Set(key, value)
}

func (w *walk) bodyJSON(block *node) {
	if block == nil {
		return
	}
	value, ok := w.value(block)
	body, isMap := value.(yamlfile.Map)
	if !ok || !isMap {
		w.leave(block, "`%s` has no translation", block.name)
		return
	}
	query, graphQL := field(body, "query").(string)
	if !graphQL || !strings.Contains(query, "{") {
		w.json = body
		return
	}
	if strings.Contains(query, "${") {
		w.leave(block, "its GraphQL query is made of parts: write what changes as variables")
		return
	}
	var q yamlfile.Map
	q.Set("query", query)
	q.Set("variables", field(body, "variables"))
	w.body.Set("graphql", q)
}

func field(m yamlfile.Map, key string) any {
	for _, pair := range m {
		if pair.Key == key {
			return pair.Value
		}
	}
	return nil
}

// requestBody translates the newer form of a body.
func (w *walk) requestBody(block *node) {
	switch value := block.get("value"); {
	case block == nil:
	case block.is("RequestBodyJsonObject", "RequestBodyGraphQL"):
		w.bodyJSON(value)
	case block.is("RequestBodyUrlEncodedForm"):
		w.fields(value, &w.form)
	default:
		w.leave(block, "%s has no translation", block.word("type"))
	}
}

// value translates a value of a body in its shape.
func (w *walk) value(n *node) (any, bool) {
	n.read = true
	switch n.kind {
	case mapping:
		out := yamlfile.Map{}
		for _, m := range n.members {
			v, ok := w.value(m)
			if !ok {
				return nil, false
			}
			out = append(out, yamlfile.Pair{Key: m.name, Value: v})
		}
		return out, true
	case sequence:
		out := []any{}
		for _, item := range n.items {
			v, ok := w.value(item)
			if !ok {
				return nil, false
			}
			out = append(out, v)
		}
		return out, true
	}
	if n.null {
		return yamlfile.Raw("null"), true
	}
	if !n.quoted {
		return yamlfile.Raw(n.text), true // a number, or true
	}
	return w.text(n, w.place)
}

// records translates the selector: where the records are.
func (w *walk) records(selector *node) {
	if selector == nil || !selector.is("", "RecordSelector") {
		w.leave(w.from, "its record_selector %s has no translation", selector.word("type"))
		return
	}
	if filter := selector.get("record_filter"); filter != nil {
		filter.use()
		w.note(filter, "record_filter: all records are kept, also those that `%s` leaves out; select them by `map`, or when you read", short(filter.or("condition")))
	}
	selector.get("schema_normalization").use()
	selector.get("transform_before_filtering").use()
	extractor := selector.get("extractor")
	if extractor == nil || !extractor.is("", "DpathExtractor") {
		w.leave(selector, "its extractor %s has no translation", extractor.word("type"))
		return
	}
	var steps []string
	for _, step := range extractor.get("field_path").list() {
		text, ok := w.text(step, place{})
		if !ok {
			w.leave(step, "the path of the records has no translation")
		}
		steps = append(steps, text)
	}
	if len(steps) > 0 && steps[len(steps)-1] == "*" {
		steps = steps[:len(steps)-1]
	}
	at := ""
	for i, step := range steps {
		switch {
		case step == "*":
			at += "[]"
		case i > 0:
			at += "." + path([]string{step})
		default:
			at = path([]string{step})
		}
	}
	if at != "" {
		w.body.Set("records", at)
	}
}

// or returns a member, or n itself.
func (n *node) or(name string) *node {
	if m := n.get(name); m != nil {
		return m
	}
	return n
}

func (w *walk) decoder(d *node) {
	switch {
	case d == nil || d.is("JsonDecoder"):
	case d.is("JsonlDecoder"):
		w.body.Set("format", "jsonl")
	case d.is("XmlDecoder"):
		w.body.Set("format", "xml")
	case d.is("CsvDecoder"):
		var format any = "csv"
		if by := d.word("delimiter"); by != "" && by != "," {
			if by == `\t` || by == "\t" {
				by = "tab"
			}
			format = yamlfile.Map{{Key: "as", Value: "csv"}, {Key: "separator", Value: by}}
		}
		w.body.Set("format", format)
	case d.is("GzipDecoder"):
		w.body.Set("archive", "gzip")
		w.decoder(d.or("decoder").or("inner_decoder"))
	default:
		w.leave(d, "%s has no translation", d.word("type"))
	}
}

// transformations: fields that are taken out never reach the store; what is added
// or renamed can be had from the records at any time.
func (w *walk) transformations(list *node) {
	var drop []any
	for _, tr := range list.list() {
		if !tr.is("RemoveFields") {
			w.note(tr, "%s of stream %s: records are stored as the provider sends them; write it as `map`, or do it when you read", tr.word("type"), w.name)
			tr.use()
			continue
		}
		tr.get("condition").use()
		for _, pointer := range tr.get("field_pointers").list() {
			var steps []string
			for _, step := range pointer.list() {
				steps = append(steps, step.text)
			}
			if slices.Contains(steps, "*") || slices.Contains(steps, "**") {
				w.leave(pointer, "a field is taken out by a pattern, which has no translation")
				continue
			}
			drop = append(drop, path(steps))
		}
		if c := tr.get("condition"); c != nil {
			w.note(c, "condition: the field is taken out of all records")
		}
	}
	if len(drop) > 0 {
		w.body.Set("drop", drop)
	}
}

// partitions translates one walk for each record of a parent, or for each value of
// a list.
func (w *walk) partitions(retriever *node) {
	router := retriever.get("partition_router")
	if router == nil {
		router = retriever.get("stream_slicer")
	}
	switch list := router.list(); {
	case len(list) == 0:
		return
	case len(list) > 1:
		w.leave(router, "it has two partition routers")
		return
	default:
		router = list[0]
	}
	switch {
	case router.is("SubstreamPartitionRouter", "SubstreamSlicer"):
		w.substream(router)
	case router.is("ListPartitionRouter", "ListStreamSlicer"):
		w.values(router)
	default:
		w.leave(router, "%s has no translation", router.word("type"))
	}
}

func (w *walk) substream(router *node) {
	parents := router.get("parent_stream_configs").list()
	if len(parents) != 1 {
		w.leave(router, "it has %d parents, and one has a translation", len(parents))
		return
	}
	config := parents[0]
	from := config.get("stream")
	if from == nil {
		w.leave(config, "its parent is not said")
		return
	}
	parent := w.translator.stream(from)
	field, ok := w.text(config.get("partition_field"), place{})
	key, ok2 := w.text(config.get("parent_key"), place{})
	if !ok || !ok2 || field == "" || key == "" {
		w.leave(config, "`parent_key` and `partition_field` must be texts")
		return
	}
	for _, name := range []string{"incremental_dependency", "lazy_read_pointer"} {
		config.get(name).use()
	}
	if extra := config.get("extra_fields"); extra != nil {
		extra.use()
		w.note(extra, "extra_fields of stream %s: join the records of %s when you read", w.name, parent)
	}
	binding := Name(field)
	if binding == "when" || binding == "changed" || binding == "page" || binding == "since" {
		binding += "_of_parent"
	}
	w.place.bindings[field] = binding
	w.parents = append(w.parents, parent)
	w.each.Set(binding, parent+"."+dotted(key))
	w.option(config.get("request_option"), "${"+binding+"}")
}

// dotted reads a key that may be written a.b or a/b for an inner one.
func dotted(key string) string { return strings.ReplaceAll(key, "/", ".") }

// values makes a param of a list of values: who has several runs the connector for
// each.
func (w *walk) values(router *node) {
	values := router.get("values")
	field := router.word("cursor_field")
	name := Name(field)
	p := &param{name: name, required: true}
	if values.kind == sequence {
		var known []string
		for _, v := range values.list() {
			known = append(known, v.text)
		}
		p.about = "one of " + strings.Join(known[:min(len(known), 20)], ", ")
		if len(known) == 1 {
			p.required, p.fallback = false, known[0]
		}
	}
	if len(values.list()) != 1 || values.kind != sequence {
		w.note(router, "ListPartitionRouter: `%s` became a param: run the connector once for each value, each with a `name` and params of its own in collect.yaml", field)
	}
	w.params["\x00"+field] = p
	w.place.bindings[field] = "params." + name
	w.option(router.get("request_option"), "${params."+name+"}")
}

// option puts a value where a RequestOption says.
func (w *walk) option(o *node, value string) {
	if o == nil {
		return
	}
	name, ok := w.text(o.get("field_name"), w.place)
	nested := o.get("field_path")
	if nested != nil && len(nested.list()) == 1 {
		name, ok = w.text(nested.list()[0], w.place)
	}
	if !ok || name == "" {
		w.leave(o, "where `%s` stands in the request has no translation", value)
		return
	}
	switch o.word("inject_into") {
	case "request_parameter", "query":
		set(&w.query, name, value)
	case "header":
		set(&w.headers, name, value)
	case "body_json":
		set(&w.json, name, value)
	case "body_data":
		set(&w.form, name, value)
	case "path":
	default:
		w.leave(o, "`inject_into: %s` has no translation", o.word("inject_into"))
	}
}

// number returns the whole number that a member is, or fallback.
func (w *walk) number(n *node, fallback int) (int, bool) {
	text, ok := w.text(n, place{})
	if !ok {
		return 0, false
	}
	if text == "" {
		return fallback, true
	}
	value, err := strconv.Atoi(text)
	return value, err == nil
}
