package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"collect/connectors/usual"
	"collect/engine/author/internal/sketch"
	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// A paging is how a list is cut into pages.
type paging struct {
	block any
	why   string
	param string       // takes the place of a page
	size  string       // takes how many records a page has
	given yamlfile.Map // parameters that the request has for it
}

// tokens are parameters that take a token, besides those that one of the answer
// names.
var tokens = []string{"cursor", "page_token", "pageToken", "next_token", "nextToken", "after", "continuation", "continuation_token", "continuationToken", "marker", "start_cursor", "starting_after", "pagination_token", "page_cursor", "pageCursor", "scroll_id"}

// paging finds out how a list is cut, by its parameters and the properties of its
// answer.
func (d *drafter) paging(op operation, records found, key string) paging {
	names := d.inputs(op)
	has := func(list []string) string {
		for _, name := range list {
			if _, ok := names[name]; ok {
				return name
			}
		}
		return ""
	}
	p := paging{size: has(usual.SizeParams)}
	size := 0
	if p.size != "" {
		s := d.shape(names[p.size])
		size = cmp.Or(number(s.own["maximum"]), number(s.own["default"]))
		if size > 1000 {
			size = cmp.Or(number(s.own["default"]), 100)
		}
	}
	sized := func() {
		if p.size != "" && size > 0 {
			p.given.Set(p.size, size)
		}
	}
	token := has(tokens)
	for _, known := range usual.NextTokens {
		path := known.Path
		at, ok := d.property(op.answer, path)
		param := known.Param
		if _, named := names[param]; !named {
			param = token
		}
		if ok && param != "" && (at.kind == "string" || at.kind == "integer" || at.kind == "") && text(at.own["format"]) != "uri" {
			p.param, p.why = param, fmt.Sprintf("the answer has `%s`, and there is a parameter %s", path, param)
			p.block = cursor(op, path, param)
			sized()
			return p
		}
	}
	for _, path := range usual.NextURLs {
		if at, ok := d.property(op.answer, path); ok && (at.kind == "string" || at.kind == "") {
			p.block, p.why = yamlfile.Map{{Key: "next_url", Value: yamlfile.Map{{Key: "path", Value: path}, {Key: "optional", Value: true}}}}, fmt.Sprintf("the answer has `%s`", path)
			sized()
			return p
		}
	}
	if op.header {
		p.block, p.why = yamlfile.Map{{Key: "link_header", Value: "next"}}, "the answer has a header Link"
		sized()
		return p
	}
	for _, more := range usual.Mores {
		if _, ok := d.property(op.answer, more); ok && token != "" && strings.Contains(strings.ToLower(token), "after") {
			p.param, p.why = token, fmt.Sprintf("the answer has `%s`, and there is a parameter %s", more, token)
			p.block = yamlfile.Map{{Key: "last_id", Value: yamlfile.Map{{Key: "param", Value: token}, {Key: "field", Value: sketch.Step(key)}, {Key: "more", Value: more}}}}
			sized()
			return p
		}
	}
	if p.param = has(usual.OffsetParams); p.param != "" {
		p.block, p.why = counted(op, "offset", p, "limit", size, nil), "there is a parameter "+p.param
		return p
	}
	if p.param = has(usual.NumberParams); p.param != "" {
		var start any
		s := d.shape(names[p.param])
		if text(s.own["default"]) == "0" || text(s.own["minimum"]) == "0" {
			start = 0
		}
		p.block, p.why = counted(op, "number", p, "size", size, start), "there is a parameter "+p.param
		return p
	}
	p.block, p.why = yamlfile.Map{{Key: "none", Value: true}}, "no parameter and no property leads to another page"
	sized()
	return p
}

// cursor says that a token leads on, in the query or in a body.
func cursor(op operation, path, param string) any {
	block := yamlfile.Map{{Key: "from", Value: path}}
	if op.method == "get" {
		block.Set("param", param)
	}
	block.Set("optional", true)
	return yamlfile.Map{{Key: "cursor", Value: block}}
}

// counted says that pages are counted, or records.
func counted(op operation, form string, p paging, size string, n int, start any) any {
	var block yamlfile.Map
	if op.method == "get" {
		block.Set("param", p.param)
	}
	block.Set("start", start)
	if p.size != "" && n > 0 {
		if op.method == "get" {
			block.Set(size+"_param", p.size)
		}
		block.Set(size, n)
	}
	return yamlfile.Map{{Key: form, Value: block}}
}

// inputs returns the schemas of what a request takes, by name: the parameters of its
// query, or the members of its body.
func (d *drafter) inputs(op operation) object {
	if op.method == "post" {
		return d.sent(op).properties
	}
	all := object{}
	for _, p := range op.params {
		if text(p["in"]) == "query" {
			all[text(p["name"])] = schemaOf(p)
		}
	}
	return all
}

// schemaOf returns the schema of a parameter, which in Swagger 2 is the parameter.
func schemaOf(p object) any {
	if p["schema"] != nil {
		return p["schema"]
	}
	return p
}

// sent returns the shape of the body of a request.
func (d *drafter) sent(op operation) shape {
	content := asObject(d.at(op.at["requestBody"])["content"])
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		if strings.Contains(kind, "json") {
			return d.shape(d.at(content[kind])["schema"])
		}
	}
	for _, p := range op.params {
		if text(p["in"]) == "body" {
			return d.shape(p["schema"])
		}
	}
	return shape{}
}

// query returns the parameters that a request must have, and those of its paging;
// nil if there is one that cannot be given.
func (d *drafter) query(op operation, p paging) *yamlfile.Map {
	out := yamlfile.Map{}
	if op.method == "get" {
		out = slices.Clone(p.given)
	}
	for _, param := range op.params {
		name := text(param["name"])
		if text(param["in"]) != "query" || param["required"] != true || name == p.param || name == p.size || d.credential(name) {
			continue
		}
		value, ok := d.value(param["example"], schemaOf(param), name, text(param["description"]))
		if !ok {
			return nil
		}
		if !slices.ContainsFunc(out, func(had yamlfile.Pair) bool { return had.Key == name }) {
			out.Set(name, value)
		}
	}
	return &out
}

// value returns what a required input is given: its default, or what the user says.
func (d *drafter) value(example, schema any, name, about string) (any, bool) {
	s := d.shape(schema)
	if s.kind == "object" {
		return nil, false
	}
	if given := text(s.own["default"]); given != "" && !sketch.SecretParam().MatchString(name) {
		return typed(s.own["default"]), true
	}
	if only := list(s.own["enum"]); len(only) == 1 && text(only[0]) != "" {
		return typed(only[0]), true
	}
	if s.kind == "array" {
		return nil, false
	}
	return d.file.Param(cmp.Or(sketch.Name(name), "value"), cmp.Or(about, sample(example)), ""), true
}

func sample(example any) string {
	if text(example) == "" {
		return ""
	}
	return "such as " + text(example)
}

// typed returns a scalar of the description as one to be written.
func typed(v any) any {
	switch v := v.(type) {
	case bool, int:
		return v
	}
	if n, err := strconv.Atoi(text(v)); err == nil {
		if _, isText := v.(string); !isText {
			return n
		}
	}
	return text(v)
}

// body says what a POST sends: what it must, and the place of the page.
func (d *drafter) body(s *stream, op operation, p paging) {
	if op.method != "post" {
		return
	}
	body, sent := yamlfile.Map{}, d.sent(op)
	for _, name := range slices.Sorted(maps.Keys(sent.properties)) {
		switch {
		case name == p.param:
			body.Set(name, "${page}")
		case name == p.size:
			for _, given := range p.given {
				body.Set(name, given.Value)
			}
			if block, ok := p.block.(yamlfile.Map); ok && len(p.given) == 0 {
				if inner, ok := block[0].Value.(yamlfile.Map); ok {
					for _, pair := range inner {
						if pair.Key == "limit" || pair.Key == "size" {
							body.Set(name, pair.Value)
						}
					}
				}
			}
		case slices.Contains(sent.required, name):
			if value, ok := d.value(nil, sent.properties[name], name, text(d.at(sent.properties[name])["description"])); ok {
				body.Set(name, value)
			} else {
				s.Remarks = append(s.Remarks, "the body must have "+name+", which is for you to write")
			}
		}
	}
	s.Set("json", body, "")
}

// changedSince matches parameters that ask for changes only.
var changedSince = lazy.Regexp(`(?i)^(filter\[)?(since|if_?modified_?since|min_?(updated|modified)(_?(at|on|date|time))?|(date_)?(last_?)?(updated|modified|changed)_?(at|on|date|time)?\]?(_|__|\[|\.)?(since|after|from|min|gte?|start)\]?)$`)

// since says how to ask for changes only, or nil.
func (d *drafter) since(op operation, item shape) any {
	for _, field := range slices.Sorted(maps.Keys(item.properties)) {
		if !usual.ChangedField().MatchString(field) {
			continue
		}
		for _, p := range op.params {
			name := text(p["name"])
			if text(p["in"]) != "query" || !changedSince().MatchString(name) {
				continue
			}
			block := yamlfile.Map{{Key: "field", Value: sketch.Step(field)}, {Key: "param", Value: name}, {Key: "lookback", Value: yamlfile.Raw("1m")}}
			s := d.shape(schemaOf(p))
			switch {
			case s.kind == "integer" && d.shape(item.properties[field]).kind == "string":
				block.Set("format", "unix")
			case text(s.own["format"]) == "date":
				block[2].Value = yamlfile.Raw("1d")
				block.Set("format", "date")
			}
			return block
		}
	}
	return nil
}

func number(v any) int {
	n, err := strconv.Atoi(text(v))
	if err != nil || n < 1 {
		return 0
	}
	return n
}
