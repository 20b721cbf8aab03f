package declarative

import (
	"cmp"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	"collect/collection"
)

// stream compiles one stream, with the defaults of the file behind what it
// says itself.
func (c *checker) stream(key scalar, spec streamSpec) *stream {
	def := c.doc.Defaults
	st := &stream{get: spec.Get, records: spec.Records.path}
	st.Name = key.text
	c.role(key, spec, st)
	c.each(spec, st)
	st.Refresh = refresh(st)

	inPath := known{names: slices.Clone(c.params.names), where: "in this stream"}
	for _, b := range st.each {
		inPath.names = append(inPath.names, b.name)
	}
	inQuery := inPath
	if spec.Since != nil {
		inQuery.names = append(slices.Clone(inPath.names), "since")
	}
	if spec.Get.text == "" {
		c.fail(key.at, fmt.Sprintf("the stream `%s` has no `get`: the path of its records", st.Name), "")
	}
	c.template(spec.Get, inPath)
	st.query = c.query(inQuery, def.Query, spec.Query)
	st.headers = c.headers(inPath, c.doc.Provider.Headers, def.Headers, spec.Headers)
	if !st.records.set && !spec.Records.null {
		st.records = def.Records
	}
	c.key(key, spec, st)
	c.page(key, spec, st)
	if st.total = spec.Total; spec.Total.text == ignoreTotal {
		st.ignoreTotal, st.total = true, path{}
	}
	if spec.Since != nil {
		c.since(spec.Since, st)
	}
	c.unique(spec, st)
	st.means = st.meanings()
	st.on = append(c.rules(spec.On, ""), c.rules(def.On, "")...)
	return st
}

func (c *checker) role(key scalar, spec streamSpec, st *stream) {
	c.oneOf(spec.Role, roles[:]...)
	st.Role = collection.List
	if spec.Role.text == string(collection.Detail) {
		st.Role = collection.Detail
		if len(spec.Each) == 0 {
			c.fail(spec.Role.at, "a detail belongs to a parent: say to which with `each`", "")
		}
	}
}

func refresh(st *stream) collection.Refresh {
	switch {
	case st.Parent == "":
		return ""
	case st.changed != nil:
		return collection.WhenChanged
	case st.Role == collection.Detail:
		return collection.Once
	}
	return collection.EachRun
}

func (c *checker) key(key scalar, spec streamSpec, st *stream) {
	paths := spec.Key.paths
	if len(paths) == 0 {
		paths = c.doc.Defaults.Key.paths
	}
	if len(paths) == 0 {
		c.fail(key.at, fmt.Sprintf("the stream `%s` has no `key`: what is unique to each of its records", st.Name), "")
	}
	for _, p := range paths {
		part := keyPart{path: p}
		if slices.ContainsFunc(st.each, func(b binding) bool { return b.name == p.text }) {
			part.binding = p.text
		}
		st.key = append(st.key, part)
	}
	ofRecord := func(part keyPart) bool { return part.binding == "" }
	if st.Role == collection.List && len(st.key) > 0 && !slices.ContainsFunc(st.key, ofRecord) {
		// All records of one parent would be one record, and the last would stay.
		f := fault{at: key.at, message: fmt.Sprintf("the `key` of `%s` is the same for all records of one parent: `each` binds its name", st.Name)}
		f.note = "bind another name in `each`, or add a field of the record to `key`"
		c.faults = append(c.faults, f)
	}
}

// page compiles how the stream is cut into pages. A list must say so: where
// it is forgotten, all but the first page would be missing without a word.
func (c *checker) page(key scalar, spec streamSpec, st *stream) {
	p := spec.Page
	if p == nil {
		p = c.doc.Defaults.Page
	}
	if p == nil {
		st.page = onePage{detail: st.Role == collection.Detail}
		if st.Role == collection.List {
			f := fault{at: key.at, message: fmt.Sprintf("the stream `%s` does not say how it is cut into pages", st.Name)}
			f.note = "add `page`; if it is never cut: page: {none: true}"
			c.faults = append(c.faults, f)
		}
		return
	}
	ways := 0
	set := func(given bool, pg paging) {
		if given {
			ways++
			st.page = pg
		}
	}
	set(p.None.value, onePage{detail: st.Role == collection.Detail})
	if p.LinkHeader.set {
		c.need(p.At, "link_header", p.LinkHeader)
		set(true, byHeader{rel: p.LinkHeader.text})
	}
	if s := p.NextURL; s != nil {
		c.need(p.At, "next_url", s.Path.scalar)
		set(true, byURL{at: s.Path, optional: s.Optional.value})
	}
	if s := p.Cursor; s != nil {
		c.need(p.At, "cursor", s.Param, s.From.scalar)
		set(true, byCursor{from: s.From, param: s.Param.text, more: s.More, optional: s.Optional.value})
	}
	if s := p.Number; s != nil {
		c.need(p.At, "number", s.Param)
		if s.SizeParam.set && !s.Size.set {
			c.fail(s.SizeParam.at, "`size_param` needs a `size`", "")
		}
		start := 1
		if s.Start.set {
			start = s.Start.value
		}
		set(true, byNumber{param: s.Param.text, start: start, sizeParam: s.SizeParam.text, size: s.Size.value, total: s.TotalPages, short: c.lastPage(s.LastPage)})
	}
	if s := p.Offset; s != nil {
		c.need(p.At, "offset", s.Param)
		if s.LimitParam.set && !s.Limit.set {
			c.fail(s.LimitParam.at, "`limit_param` needs a `limit`", "")
		}
		set(true, byOffset{param: s.Param.text, limitParam: s.LimitParam.text, limit: s.Limit.value, total: s.Total, short: c.lastPage(s.LastPage), apart: s.Apart.value})
	}
	if s := p.LastID; s != nil {
		c.need(p.At, "last_id", s.Param, s.Field.scalar)
		set(true, byLastID{param: s.Param.text, field: s.Field, more: s.More})
	}
	if ways != 1 {
		c.fail(p.At, "page needs one of none, link_header, next_url, cursor, number, offset, last_id", "")
		st.page = onePage{}
	}
}

// ignoreTotal is written for a total that counts something else.
const ignoreTotal = "ignore"

// lastPage reports whether the file says that a short page is the last one.
func (c *checker) lastPage(s scalar) bool {
	c.oneOf(s, lastPages[:]...)
	return s.set
}

// need reports what a way of paging lacks.
func (c *checker) need(at span, what string, values ...scalar) {
	for _, v := range values {
		if v.text == "" {
			c.fail(at, fmt.Sprintf("page: %s lacks a key; see the reference", what), "")
			return
		}
	}
}

func (c *checker) since(spec *sinceSpec, st *stream) {
	st.since = &since{
		field: spec.Field, param: spec.Param.text, start: spec.Start,
		ordered: spec.Order.text == "asc", lookback: spec.Lookback.value, format: spec.Format.text,
	}
	st.Ordered = st.since.ordered
	_, st.since.counted = st.page.(counted)
	if !spec.Field.set {
		c.fail(spec.At, "`since` needs a `field`: where a record says when it changed", "")
	}
	c.oneOf(spec.Order, orders[:]...)
	c.oneOf(spec.Format, formats[:]...)
	c.template(spec.Start, c.params)
	used := slices.ContainsFunc(st.query, func(q templated) bool { return q.value.refers("since") })
	switch {
	case !spec.Param.set && !used:
		c.fail(spec.At, "`since` has no `param`, and nothing in the query uses ${since}", "")
	case spec.Param.set && spec.Param.text == "":
		c.fail(spec.Param.at, "this must be the name of a parameter", "")
	}
	// Where nothing else orders the changes, what becomes visible late is asked
	// for again only within the lookback.
	if !st.since.ordered && st.since.lookback <= 0 {
		c.fail(spec.At, "`since` without `order: asc` needs a `lookback`",
			"such as lookback: 1m, longer than a change takes to be shown")
	}
}

// unique sees to it that no parameter is sent twice. Which of two values a
// server takes is its own affair, and the other one would be lost in silence.
//
// Two of them may have one name where one of them replaces the other: what the
// `get` of a stream sets, the defaults do not, and a page that is asked for by a
// parameter that took the mark before is asked for without the mark.
func (c *checker) unique(spec streamSpec, st *stream) {
	type setter struct {
		name, by string
		at       span
	}
	var set []setter
	for _, name := range st.get.queryNames() {
		if !slices.ContainsFunc(spec.Query, func(e entry[scalar]) bool { return e.key.text == name }) {
			st.query = slices.DeleteFunc(st.query, func(q templated) bool { return q.name == name })
		}
		set = append(set, setter{name, "get", spec.Get.at})
	}
	for _, q := range st.query {
		set = append(set, setter{q.name, "query", q.value.at})
	}
	if st.since != nil && st.since.param != "" {
		set = append(set, setter{st.since.param, "since", spec.Since.Param.at})
	}
	always := st.page.ask("")
	for _, f := range st.page.ask("1") {
		set = append(set, setter{f.name, "page", cmp.Or(spec.Page, c.doc.Defaults.Page).At})
	}
	if auth := c.doc.Provider.Auth; auth != nil && auth.APIKey != nil && auth.APIKey.Query.text != "" {
		set = append(set, setter{auth.APIKey.Query.text, "auth", auth.APIKey.Query.at})
	}
	for i, first := range set {
		for _, second := range set[i+1:] {
			replaced := first.by == "since" && second.by == "page" && !slices.ContainsFunc(always, func(f field) bool { return f.name == second.name })
			list := first.by == "get" && second.by == "get" // such as tag=a&tag=b
			if first.name != second.name || replaced || list {
				continue
			}
			c.fail(first.at, fmt.Sprintf("`%s` is set here and by `%s`", first.name, second.by), "")
			break
		}
	}
}

// reserved are headers that connector files leave alone: a credential belongs
// into auth, where it is sent to listed origins only, and the rest is the
// client's.
var reserved = []string{"Authorization", "Proxy-Authorization", "Cookie", "Host", "Accept-Encoding", "Content-Length", "Connection", "Transfer-Encoding", "Range"}

// headers merges the headers of a stream: the nearer declaration wins.
func (c *checker) headers(k known, lists ...ordered[scalar]) []templated {
	merged := []templated{}
	for _, list := range lists {
		for _, e := range list {
			name := textproto.CanonicalMIMEHeaderKey(e.key.text)
			if !isToken(e.key.text) {
				c.fail(e.key.at, "not the name of a header", "")
			}
			if slices.Contains(reserved, name) {
				c.fail(e.key.at, fmt.Sprintf("the header %s cannot be set here", name), "")
			}
			merged = slices.DeleteFunc(merged, func(t templated) bool { return t.name == name })
			if !e.value.null {
				value := c.checkedTemplate(e.value, k)
				if slices.ContainsFunc(value.parts, func(p part) bool { return strings.ContainsFunc(p.text, unsendable) }) {
					c.fail(e.value.at, "a header holds no line break, and no other control character", "")
				}
				merged = append(merged, templated{name, value})
			}
		}
	}
	if !slices.ContainsFunc(merged, func(t templated) bool { return t.name == "Accept" }) {
		merged = append(merged, templated{"Accept", template{parts: []part{{text: "application/json"}}}})
	}
	return merged
}

// unsendable reports whether r is a character that no header may hold (RFC 9110,
// 5.5).
func unsendable(r rune) bool { return r != '\t' && unicode.IsControl(r) && r < 0x80 }

// query merges the query of a stream: the nearer declaration wins, and one
// with no value takes a default away.
func (c *checker) query(k known, lists ...ordered[scalar]) []templated {
	merged := []templated{}
	for _, list := range lists {
		for _, e := range list {
			merged = slices.DeleteFunc(merged, func(t templated) bool { return t.name == e.key.text })
			if !e.value.null {
				merged = append(merged, templated{e.key.text, c.checkedTemplate(e.value, k)})
			}
		}
	}
	return merged
}

func (c *checker) checkedTemplate(s scalar, k known) template {
	d := &decoder{}
	t := d.template(s)
	c.faults = append(c.faults, d.faults...)
	c.template(t, k)
	return t
}

// isToken reports whether s can name a header (RFC 9110, section 5.1).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}
