// Package openapi drafts connector files from descriptions of APIs: OpenAPI 3.x and
// Swagger 2.0 (spec.openapis.org). It sends nothing. Each operation that answers with
// a list of objects becomes a stream; what was guessed says why, and each operation
// that became none is told of at the end of the file.
package openapi

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"collect/connectors/usual"
	"collect/engine/author/internal/sketch"
	"collect/internal/lazy"
	"collect/internal/words"
	"collect/internal/yamlfile"
)

// A Draft is a connector file, and how much of the description is in it.
type Draft struct {
	File    []byte
	Streams int
	LeftOut int
}

// New drafts the connector file of a connector. With names, it has these streams
// alone, and those that they are below. Streams that check refuses are left out.
func New(name string, src []byte, names []string, check func(file []byte) error) (*Draft, error) {
	doc, err := parse(src)
	if err != nil {
		return nil, err
	}
	title := text(doc.at(doc.root["info"])["title"])
	d := &drafter{document: doc, lists: map[string]*stream{}, names: map[string]bool{}}
	d.file = &sketch.File{Connector: name, From: "the OpenAPI description of " + cmp.Or(sketch.Short(strings.TrimRight(words.Clean(title), ".")), "an API")}
	d.base()
	d.auth()
	d.operations()
	if len(names) > 0 {
		if err := d.only(names); err != nil {
			return nil, err
		}
	}
	file := d.file.Write(check)
	if len(d.file.Streams) == 0 {
		why := "it has no operation that answers with a list"
		if len(d.file.LeftOut) > 0 {
			why = "no operation can become a stream; the last one: " + words.Clean(d.file.LeftOut[len(d.file.LeftOut)-1])
		}
		return nil, errors.New(why)
	}
	return &Draft{file, len(d.file.Streams), len(d.file.LeftOut)}, nil
}

type drafter struct {
	*document
	file  *sketch.File
	lists map[string]*stream // by path
	names map[string]bool
}

// A stream, and what those below it need to know.
type stream struct {
	*sketch.Stream
	item     shape
	key      string
	bindings map[string]string // of the parameters in its path: what stands for each
	bound    map[string]bool   // the names that its `each` binds
}

// only keeps the streams with these names, and their parents.
func (d *drafter) only(names []string) error {
	wanted := map[string]bool{}
	for _, name := range names {
		for name != "" {
			i := slices.IndexFunc(d.file.Streams, func(s *sketch.Stream) bool { return s.Name == name })
			if i < 0 {
				return errors.New("no stream would be called " + words.Clean(name) + "; without --stream all are drafted")
			}
			wanted[name], name = true, d.file.Streams[i].Parent
		}
	}
	d.file.Streams = slices.DeleteFunc(d.file.Streams, func(s *sketch.Stream) bool { return !wanted[s.Name] })
	d.file.LeftOut = nil
	return nil
}

// variable matches what stands for a part of an address or a path.
var variable = lazy.Regexp(`\{([^{}]+)\}`)

// base says where the API is.
func (d *drafter) base() {
	address, variables := "", object{}
	if servers := list(d.root["servers"]); len(servers) > 0 {
		server := d.at(servers[0])
		address, variables = text(server["url"]), asObject(server["variables"])
	} else if host := text(d.root["host"]); host != "" {
		scheme := "https"
		if schemes := list(d.root["schemes"]); len(schemes) > 0 && !slices.Contains(schemes, any("https")) {
			scheme = text(schemes[0])
		}
		address = scheme + "://" + host + text(d.root["basePath"])
	} else {
		address = text(d.root["basePath"])
	}
	address = variable().ReplaceAllStringFunc(address, func(v string) string {
		name := v[1 : len(v)-1]
		about := d.at(variables[name])
		return d.file.Param(cmp.Or(sketch.Name(name), "server"), text(about["description"]), text(about["default"]))
	})
	if u, err := url.Parse(strings.NewReplacer("${", "", "}", "").Replace(address)); err == nil && !u.IsAbs() {
		address = "https://api.example.com/" + strings.TrimLeft(address, "/")
		d.file.Leave("the host: the description names none, so that `base_url` has an example")
	}
	d.file.Base = strings.TrimRight(address, "/")
}

// An operation of the description.
type operation struct {
	path, method string
	at           object
	params       []object
	from         string // how it is called in comments
	answer       shape
	header       bool // it documents a Link header
}

// operations makes streams of the operations, parents before those below them.
func (d *drafter) operations() {
	var details []operation
	paths := d.at(d.root["paths"])
	order := slices.SortedFunc(maps.Keys(paths), func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
	})
	for _, path := range order {
		item := d.at(paths[path])
		for _, method := range []string{"get", "post"} {
			op := operation{path: path, method: method, at: d.at(item[method])}
			if len(op.at) == 0 || method == "post" && !search().MatchString(path+" "+text(op.at["operationId"])) {
				continue
			}
			op.from = strings.ToUpper(method) + " " + path
			if id := text(op.at["operationId"]); id != "" {
				op.from += " (" + id + ")"
			}
			for _, p := range slices.Concat(list(op.at["parameters"]), list(item["parameters"])) {
				op.params = append(op.params, d.at(p))
			}
			if op.at["deprecated"] == true {
				d.file.Leave("%s: it is deprecated", op.from)
			} else if !d.readAnswer(&op) {
				d.file.Leave("%s: no answer with a JSON schema is described", op.from)
			} else if !d.list(op) {
				details = append(details, op)
			}
		}
	}
	for _, op := range details {
		d.detail(op)
	}
}

// search matches an operation that only reads, although it is a POST.
var search = lazy.Regexp(`(?i)(/_?(search|query|list)$|/_?(search|query|list) | (search|query|list)[A-Z_])|(/_?(search|query|list)) ?$`)

// readAnswer finds the schema of a success.
func (d *drafter) readAnswer(op *operation) bool {
	responses := d.at(op.at["responses"])
	for _, status := range []string{"200", "2XX", "2xx", "default"} {
		r := d.at(responses[status])
		schema := r["schema"] // of Swagger 2
		content := asObject(r["content"])
		for _, kind := range slices.Sorted(maps.Keys(content)) {
			if strings.Contains(kind, "json") || kind == "*/*" && schema == nil {
				schema = d.at(content[kind])["schema"]
			}
		}
		if schema == nil {
			continue
		}
		for name := range asObject(r["headers"]) {
			op.header = op.header || strings.EqualFold(name, "Link")
		}
		op.answer = d.shape(schema)
		return op.answer.kind == "array" || op.answer.kind == "object"
	}
	return false
}

// list makes a stream of an operation; false if that answers with no list.
func (d *drafter) list(op operation) bool {
	last := sketch.StreamName(variable().ReplaceAllString(op.path, ""))
	records, ok := d.records(op.answer, last)
	if !ok && op.answer.kind == "array" {
		d.file.Leave("%s: a list of what are no objects; write it with `records: {value: …}`", op.from)
		return true
	}
	if !ok || strings.HasSuffix(op.path, "}") && records.path != "" && !slices.Contains(holders, records.path) {
		return false
	}
	s := &stream{Stream: &sketch.Stream{From: op.from}, item: records.item}
	if !d.request(s, op) {
		return true
	}
	key, why := d.key(records.item, last)
	if key == "" {
		d.file.Leave("%s: its records have no property that can be their key", op.from)
		return true
	}
	s.key = key
	s.Name = d.name(last, op)
	if records.path != "" {
		s.Set("records", records.path, records.why)
	}
	if parts := slices.Sorted(maps.Keys(s.bound)); len(parts) > 0 && !global().MatchString(key) {
		whole := []any{}
		for _, part := range parts {
			whole = append(whole, part)
		}
		s.Set("key", append(whole, sketch.Step(key)), why+"; with its parent, as it may be unique there only")
	} else {
		s.Set("key", sketch.Step(key), why)
	}
	p := d.paging(op, records, key)
	s.Set("page", p.block, p.why)
	query := d.query(op, p)
	if m := d.since(op, records.item); m != nil && query != nil {
		s.Set("since", m, "the parameter asks for changes only")
	}
	if query == nil {
		d.file.Leave("%s: what it must be asked for is no single value", op.from)
		return true
	}
	d.body(s, op, p)
	if len(*query) > 0 {
		s.Set("query", *query, "")
	}
	d.file.Streams = append(d.file.Streams, s.Stream)
	if op.method == "get" {
		d.lists[strings.TrimRight(op.path, "/")] = s
	}
	return true
}

// global matches keys that are unique not only below one parent.
var global = lazy.Regexp(`(?i)^(_?id|uuid|guid|sha)$`)

// key finds the property that tells records apart.
func (d *drafter) key(item shape, stream string) (key, why string) {
	if hint := text(item.own["x-primary-key"]); item.properties[hint] != nil {
		return hint, "x-primary-key"
	}
	one := strings.TrimSuffix(strings.TrimSuffix(stream, "s"), "_")
	var best string
	rank := 100
	for _, name := range slices.Sorted(maps.Keys(item.properties)) {
		p := d.shape(item.properties[name])
		if p.kind != "string" && p.kind != "integer" && p.kind != "number" {
			continue
		}
		order := slices.Index([]string{"id", "_id", "uuid", "guid", one + "_id"}, sketch.Name(name))
		switch {
		case p.own["x-primary-key"] == true:
			return name, "x-primary-key"
		case name == "_id":
			order = 1
		case order < 0 && !sketch.LikelyKey().MatchString(name):
			continue
		case order < 0:
			order = 10
			if text(p.own["format"]) == "uuid" {
				order--
			}
		}
		needed := slices.Contains(item.required, name)
		if !needed {
			order += 3
		}
		if order < rank {
			best, rank, why = name, order, "a property that is called so"
			if needed {
				why = "a required property that is called so"
			}
		}
	}
	return best, why
}

// name returns a name that no stream has yet.
func (d *drafter) name(last string, op operation) string {
	name := last
	if d.names[name] {
		if id := sketch.Name(text(op.at["operationId"])); id != "" && !d.names[id] {
			name = id
		} else {
			name = sketch.Name(variable().ReplaceAllString(op.path, ""))
		}
	}
	for whole, n := name, 2; d.names[name]; n++ {
		name = whole + "_" + text(n)
	}
	d.names[name] = true
	return name
}

// request says what a stream asks for, and binds what stands in its path.
func (d *drafter) request(s *stream, op operation) bool {
	s.bindings, s.bound = map[string]string{}, map[string]bool{}
	var parent *stream
	for end := len(op.path); end > 0 && parent == nil; { // the longest path before a parameter that is a list
		end = strings.LastIndex(op.path[:end], "/{")
		if end > 0 {
			parent = d.lists[op.path[:end]]
			if parent != nil {
				s.Parent = parent.Name
				d.bind(s, parent, op.path[:end], op.path[end:])
			}
		}
	}
	for _, m := range variable().FindAllStringSubmatch(op.path, -1) {
		if s.bindings[m[1]] == "" {
			name := cmp.Or(sketch.Name(m[1]), "value")
			s.bindings[m[1]] = d.file.Param(name, d.about(op, "path", m[1]), "")
		}
	}
	path := variable().ReplaceAllStringFunc(op.path, func(v string) string { return s.bindings[v[1:len(v)-1]] })
	s.Set(op.method, path, "")
	return true
}

// bind says what stands for the parameters of a path below a list.
func (d *drafter) bind(s, parent *stream, list, rest string) {
	var each yamlfile.Map
	for _, m := range variable().FindAllStringSubmatch(list, -1) {
		s.bindings[m[1]] = parent.bindings[m[1]]
		if name := strings.Trim(parent.bindings[m[1]], "${}"); parent.bound[name] {
			each.Set(name, parent.Name+"."+name)
			s.bound[name] = true
		}
	}
	param := variable().FindStringSubmatch(rest)[1]
	name := cmp.Or(sketch.Name(param), "value")
	if slices.Contains([]string{"when", "changed", "page", "since", "size", "window", "params", "secrets", "job"}, name) || s.bound[name] {
		name = parent.Name + "_" + name
	}
	field := parent.key
	for _, tail := range []string{param, param[strings.LastIndexAny(param, "_-")+1:], tailOf(param)} {
		if parent.item.properties[tail] != nil {
			field = tail
			break
		}
	}
	each.Set(name, parent.Name+"."+sketch.Step(field))
	s.bindings[param], s.bound[name] = "${"+name+"}", true
	s.Set("each", each, "a walk for each of "+list)
}

// tailOf returns the last word of a name in humps, in small letters.
func tailOf(name string) string {
	words := strings.Split(sketch.Name(name), "_")
	return words[len(words)-1]
}

// detail makes a stream of an operation that answers with one object of a list.
func (d *drafter) detail(op operation) {
	cut := strings.LastIndex(op.path, "/")
	parent := d.lists[op.path[:max(cut, 0)]]
	if op.method != "get" || parent == nil || !variable().MatchString(op.path[cut:]) {
		d.file.Leave("%s: its answer has no array of objects, or several, and it is no detail of a list", op.from)
		return
	}
	one, path := op.answer, ""
	if len(one.properties) == 1 {
		for name := range one.properties {
			if inner := d.shape(one.properties[name]); inner.isObject() {
				one, path = inner, sketch.Step(name)
			}
		}
	}
	more := ""
	for _, name := range slices.Sorted(maps.Keys(one.properties)) {
		if more == "" && parent.item.properties[name] == nil {
			more = name
		}
	}
	if more == "" {
		d.file.Leave("%s: the list has all properties of its detail already", op.from)
		return
	}
	s := &stream{Stream: &sketch.Stream{From: op.from}, item: one}
	d.request(s, op)
	s.follow(parent)
	key, why := d.key(one, parent.Name)
	if key == "" {
		key, why = strings.Trim(s.bindings[variable().FindStringSubmatch(op.path[cut:])[1]], "${}"), "what it is asked for by"
	}
	s.Name = d.name(strings.TrimSuffix(parent.Name, "s")+"_details", op)
	if path != "" {
		s.Set("records", path, "the object")
	}
	s.Set("key", sketch.Step(key), why)
	s.Set("role", "detail", "it has more than the list: "+more)
	query := d.query(op, paging{})
	if query == nil {
		d.file.Leave("%s: what it must be asked for is no single value", op.from)
		return
	}
	if len(*query) > 0 {
		s.Set("query", *query, "")
	}
	d.file.Streams = append(d.file.Streams, s.Stream)
}

// follow has a detail fetched again when its parent says that it changed.
func (s *stream) follow(parent *stream) {
	for _, field := range slices.Sorted(maps.Keys(parent.item.properties)) {
		if !usual.ChangedField().MatchString(field) {
			continue
		}
		for i := range s.Lines {
			if each, ok := s.Lines[i].Value.(yamlfile.Map); ok && s.Lines[i].Key == "each" {
				each.Set("changed", parent.Name+"."+sketch.Step(field))
				s.Lines[i].Value = each
			}
		}
		return
	}
}

func (d *drafter) about(op operation, in, name string) string {
	for _, p := range op.params {
		if text(p["in"]) == in && text(p["name"]) == name {
			return text(p["description"])
		}
	}
	return ""
}

func below(path, name string) string { return sketch.Below(path, name) }
