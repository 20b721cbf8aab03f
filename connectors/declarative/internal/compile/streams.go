package compile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
	"collect/connectors/declarative/internal/since"
	"collect/internal/yamlfile"
)

// stream compiles one stream, with the defaults of the file behind what it
// says itself.
func (c *checker) stream(key yamlfile.Scalar, spec language.StreamSpec) *Stream {
	def := c.doc.Defaults
	st := &Stream{}
	st.Name = key.Text
	c.used = nil
	c.role(spec, st)
	c.each(spec, st)
	st.Refresh = refresh(st)

	inPath := known{names: slices.Clone(c.params.names), where: "in this stream"}
	for _, name := range spec.Each.Keys() { // also those of a parent that is misspelt
		if name != "when" && name != "changed" {
			inPath.names = append(inPath.names, name)
		}
	}
	inPath.names = append(inPath.names, "page")
	if spec.Windows != nil {
		inPath.names = append(inPath.names, windowNames[:]...)
	}
	if c.sized(spec) {
		inPath.names = append(inPath.names, "size")
	}
	if spec.Job != nil {
		inPath.names = append(inPath.names, "job", "result")
	}
	inQuery := inPath
	if spec.Since != nil {
		inQuery.names = append(slices.Clone(inPath.names), "since")
	}
	st.Request = c.request(key.At, fmt.Sprintf("the stream `%s`", st.Name), spec.RequestSpec, inPath, inQuery)
	st.Query = c.fields(inQuery, def.Query, spec.Query)
	st.Headers = c.headers(inPath, c.doc.Provider.Headers, def.Headers, spec.Headers)
	st.Records = c.usual
	if spec.Records.Given() {
		st.Records = c.records(spec.Records)
	}
	if spec.GraphQL != nil && !st.Records.Path.Set {
		c.Fail(spec.GraphQL.At, "the records of a GraphQL answer stand below `data`: say where with `records`, such as records: data.viewer.issues.nodes", "")
	}
	c.key(key, spec, st)
	if st.Records.One {
		c.onePage(spec, st)
	} else {
		c.page(key, spec, st)
	}
	if st.Total = source(spec.Total); spec.Total.Path.Text == ignoreTotal {
		st.IgnoreTotal, st.Total = true, paging.Source{}
	}
	if spec.Since != nil {
		c.since(spec.Since, st)
	}
	c.program(spec.Map, st)
	if spec.Job != nil {
		c.job(spec.Job, spec, inPath, inQuery, st)
	}
	if spec.Since != nil {
		c.mark(spec.Since, st)
	}
	c.format(spec, st)
	if page := cmp.Or(spec.Page, c.doc.Defaults.Page); page != nil && page.Relay.Set && !st.Total.Set {
		st.Total = paging.Source{Path: page.Relay.Below("totalCount")} // if the query asks for it
	}
	c.filter(key, spec, st)
	c.deletes(spec, st)
	st.Headers = accepting(st.Headers, st.Format)
	if spec.Windows != nil {
		c.windows(spec, st)
	}
	c.ownMark(spec, st)
	c.expect(spec, st)
	c.unique(spec, st)
	st.Means = st.meanings()
	st.On = append(c.rules(spec.On, ""), c.rules(def.On, "")...)
	return st
}

func (c *checker) role(spec language.StreamSpec, st *Stream) {
	c.OneOf(spec.Role, language.Roles[:]...)
	st.Role = collection.List
	if spec.Role.Text == string(collection.Detail) {
		st.Role = collection.Detail
		if len(spec.Each) == 0 {
			c.Fail(spec.Role.At, "a detail belongs to a parent: say to which with `each`", "")
		}
	}
}

func refresh(st *Stream) collection.Refresh {
	switch {
	case st.Parent == "":
		return ""
	case st.Changed != nil:
		return collection.WhenChanged
	case st.Role == collection.Detail:
		return collection.Once
	}
	return collection.EachRun
}

func (c *checker) key(key yamlfile.Scalar, spec language.StreamSpec, st *Stream) {
	paths := spec.Key.Paths
	if len(paths) == 0 {
		paths = c.doc.Defaults.Key.Paths
	}
	if len(paths) == 0 {
		c.Fail(key.At, fmt.Sprintf("the stream `%s` has no `key`: the field that is unique to each record", st.Name), "")
	}
	for _, p := range paths {
		part := keyPart{Path: p}
		if slices.ContainsFunc(st.Each, func(b binding) bool { return b.Name == p.Text }) {
			part.Binding = p.Text
		}
		st.Key = append(st.Key, part)
	}
	st.Wider = wider(st)
	ofRecord := func(part keyPart) bool { return part.Binding == "" }
	if st.Role == collection.List && len(st.Key) > 0 && !slices.ContainsFunc(st.Key, ofRecord) {
		// All records of one parent would be one record, and the last would stay.
		f := yamlfile.Fault{At: key.At, Message: fmt.Sprintf("the `key` of `%s` is the same for all records of one parent: `each` binds its name", st.Name)}
		f.Note = "bind another name in `each`, or add a field of the record to `key`"
		c.Faults = append(c.Faults, f)
	}
}

// wider returns the key of a stream with the names that its parent binds in front; ""
// if it has them.
func wider(st *Stream) string {
	var names []string
	for _, b := range st.Each {
		if !slices.ContainsFunc(st.Key, func(part keyPart) bool { return part.Binding == b.Name }) {
			names = append(names, b.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	for _, part := range st.Key {
		names = append(names, cmp.Or(part.Binding, part.Path.Text))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// page compiles how the stream is cut into pages. A list must say so: where
// it is forgotten, all but the first page would be missing without a word.
func (c *checker) page(key yamlfile.Scalar, spec language.StreamSpec, st *Stream) {
	p := spec.Page
	if p == nil {
		p = c.doc.Defaults.Page
	}
	if p == nil {
		st.Page = paging.OnePage{Detail: st.Role == collection.Detail}
		if st.Role == collection.List {
			f := yamlfile.Fault{At: key.At, Message: fmt.Sprintf("the stream `%s` does not say how it is cut into pages", st.Name)}
			f.Note = "add `page`; if it is never cut: page: {none: true}"
			c.Faults = append(c.Faults, f)
		}
		c.placed(key.At, st)
		return
	}
	ways := 0
	set := func(given bool, pg paging.Kind) {
		if given {
			ways++
			st.Page = pg
		}
	}
	set(p.None.Value, paging.OnePage{Detail: st.Role == collection.Detail})
	if p.LinkHeader.Set {
		c.need(p.At, "link_header", p.LinkHeader)
		if text := p.LinkHeader.Text; text == "true" || text == "false" {
			c.Fail(p.LinkHeader.At, "this must be the relation of the link to the next page, such as next", "")
		}
		set(true, paging.ByHeader{Rel: p.LinkHeader.Text})
	}
	if s := p.NextURL; s != nil {
		switch {
		case s.Path.Set && s.Header.Set:
			c.Fail(s.Header.At, "the URL comes out of the body (`path`) or out of a header (`header`): not out of both", "")
		case !s.Header.Set:
			c.need(p.At, "next_url", s.Path.Scalar)
		case !isToken(s.Header.Text):
			c.Fail(s.Header.At, "not the name of a header", "")
		}
		set(true, paging.ByURL{At: s.Path, Header: s.Header.Text, Optional: s.Optional.Value})
	}
	if s := p.Cursor; s != nil {
		c.cursor(p.At, s)
		pg := paging.ByCursor{From: s.From, Header: s.Header.Text, Param: s.Param.Text, More: s.More, Optional: s.Optional.Value, First: s.First.Text, AsJSON: st.Body.Types("page")}
		if pg.AsJSON && pg.First != "" {
			quoted, _ := json.Marshal(pg.First) // a text always encodes
			pg.First = string(quoted)
		}
		set(true, pg)
	}
	if s := p.Continue; s != nil {
		c.need(p.At, "continue", s.From.Scalar)
		set(true, paging.ByContinue{From: s.From, Complete: s.Complete})
	}
	if p.Relay.Set {
		set(true, paging.ByCursor{From: p.Relay.Below("pageInfo", "endCursor"), More: p.Relay.Below("pageInfo", "hasNextPage"), AsJSON: st.Body.Types("page")})
	}
	if s := p.Number; s != nil {
		if s.SizeParam.Set && !s.Size.Set {
			c.Fail(s.SizeParam.At, "`size_param` needs a `size`", "")
		}
		start := 1
		if s.Start.Set {
			start = s.Start.Value
		}
		pg := paging.ByNumber{Param: s.Param.Text, Start: start, SizeParam: s.SizeParam.Text, Size: s.Size.Value, Total: source(s.TotalPages), Short: c.lastPage(s.LastPage)}
		if set(true, pg); p.Size != nil {
			st.Page = paging.BySize{ByNumber: pg}
		}
	}
	if s := p.Offset; s != nil {
		if s.LimitParam.Set && !s.Limit.Set {
			c.Fail(s.LimitParam.At, "`limit_param` needs a `limit`", "")
		}
		set(true, paging.ByOffset{Param: s.Param.Text, LimitParam: s.LimitParam.Text, Limit: s.Limit.Value, Total: source(s.Total), Short: c.lastPage(s.LastPage), Apart: s.Apart.Value})
	}
	if s := p.LastID; s != nil {
		c.need(p.At, "last_id", s.Field.Scalar)
		set(true, paging.ByLastID{Param: s.Param.Text, Field: s.Field, More: s.More, AsJSON: st.Body.Types("page")})
	}
	if s := p.Delta; s != nil {
		set(true, c.delta(s, p.At, st))
	}
	if s := p.Scroll; s != nil {
		set(true, c.scroll(s, st))
	}
	if ways != 1 {
		c.Fail(p.At, "page needs one of none, link_header, next_url, cursor, continue, relay, number, offset, last_id, delta, scroll", "")
		st.Page = paging.OnePage{}
		return
	}
	if p.Size != nil {
		c.size(p.Size, st)
	}
	c.placed(p.At, st)
}

// cursor checks where a cursor comes from.
func (c *checker) cursor(at yamlfile.Span, s *language.CursorSpec) {
	switch {
	case s.From.Set && s.Header.Set:
		c.Fail(s.Header.At, "the cursor comes out of the body (`from`) or out of a header (`header`): not out of both", "")
	case !s.Header.Set:
		c.need(at, "cursor", s.From.Scalar)
	case !isToken(s.Header.Text):
		c.Fail(s.Header.At, "not the name of a header", "")
	}
}

// placed sees to it that what asks for a page stands in one place: the parameter
// that `page` names, or where ${page} is.
func (c *checker) placed(at yamlfile.Span, st *Stream) {
	ask, here := st.Page.Ask("1:1"), st.Refers("page") || st.Scroll != nil && st.Scroll.Refers("page")
	switch {
	case len(ask) == 0 && here:
		c.Fail(at, fmt.Sprintf("`%s` has ${page}, and with this `page` nothing stands for it", st.Name), "")
	case len(ask) > 0 && ask[0].Name == "" && !here:
		c.Fail(at, "`page` needs a `param`, or ${page} in the request: where the place of a page stands", "")
	case len(ask) > 0 && ask[0].Name != "" && here:
		c.Fail(at, fmt.Sprintf("the place of a page stands in `%s`, which `page` names, or where ${page} is: not in both", ask[0].Name), "")
	}
}

// source compiles where a number is told.
func source(s language.SourceSpec) paging.Source {
	if s.Header.Set {
		return paging.Source{Path: notation.Path{Scalar: s.Header}, Header: s.Header.Text}
	}
	return paging.Source{Path: s.Path}
}

// ignoreTotal is written for a total that counts something else.
const ignoreTotal = "ignore"

// lastPage reports whether the file says that a short page is the last one.
func (c *checker) lastPage(s yamlfile.Scalar) bool {
	c.OneOf(s, language.LastPages[:]...)
	return s.Set
}

// need reports what a way of paging lacks.
func (c *checker) need(at yamlfile.Span, what string, values ...yamlfile.Scalar) {
	for _, v := range values {
		if v.Text == "" {
			c.Fail(at, fmt.Sprintf("page: %s lacks a key; see the reference", what), "")
			return
		}
	}
}

func (c *checker) since(spec *language.SinceSpec, st *Stream) {
	st.Since = &since.Since{
		Field: spec.Field, Param: spec.Param.Text, Start: spec.Start,
		Ordered: spec.Order.Text == "asc", Newest: spec.Order.Text == "desc", Lookback: spec.Lookback.Value, Format: spec.Format.Text,
	}
	st.Ordered = st.Since.Ordered
	_, st.Since.Counted = st.Page.(paging.Counted)
	if !spec.Field.Set {
		c.Fail(spec.At, "`since` needs a `field`: where a record says when it changed", "")
	}
	c.OneOf(spec.Order, language.Orders[:]...)
	c.OneOf(spec.Format, since.Formats[:]...)
	c.template(spec.Start, c.params)
	// Where nothing else orders the changes, what becomes visible late is asked
	// for again only within the lookback.
	if !st.Since.Ordered && st.Since.Lookback <= 0 {
		c.Fail(spec.At, "`since` without `order: asc` needs a `lookback`",
			"such as lookback: 1m, longer than a change takes to be shown")
	}
}

// mark sees to it that the mark of a stream is sent: by the request for a page, or
// by the one that creates its job.
func (c *checker) mark(spec *language.SinceSpec, st *Stream) {
	used := slices.Contains(c.used, "since")
	switch {
	case st.Since.Newest && (spec.Param.Set || used):
		c.Fail(spec.At, "with `order: desc` the list is read from its newest record on, and no mark is sent: leave `param` and ${since} away", "")
	case st.Since.Newest:
	case !spec.Param.Set && !used:
		c.Fail(spec.At, "`since` has no `param`, and nothing in the request uses ${since}", "")
	case spec.Param.Set && spec.Param.Text == "":
		c.Fail(spec.Param.At, "this must be the name of a parameter", "")
	}
}

// unique sees to it that no parameter is sent twice. Which of two values a
// server takes is its own affair, and the other one would be lost in silence.
//
// Two of them may have one name where one of them replaces the other: what the
// `get` of a stream sets, the defaults do not, and a page that is asked for by a
// parameter that took the mark before is asked for without the mark.
func (c *checker) unique(spec language.StreamSpec, st *Stream) {
	type setter struct {
		name, by string
		at       yamlfile.Span
	}
	var set []setter
	for _, name := range st.Path.QueryNames() {
		if !slices.ContainsFunc(spec.Query, func(e yamlfile.Entry[language.Values]) bool { return e.Key.Text == name }) {
			st.Query = slices.DeleteFunc(st.Query, func(q request.Field) bool { return q.Name == name })
		}
		set = append(set, setter{name, "get", st.Path.At})
	}
	for _, q := range st.Query {
		set = append(set, setter{q.Name, "query", q.Value.At})
	}
	if st.Since != nil && st.Since.Param != "" {
		set = append(set, setter{st.Since.Param, "since", spec.Since.Param.At})
	}
	always := st.Page.Ask("")
	ask := st.Page.Ask("1")
	if pg, ok := st.Page.(paging.Resuming); ok && !pg.Begins() {
		ask = append(ask, pg.Since("1"))
	}
	for _, f := range ask {
		if f.Name == "" {
			continue // it is where ${page} is
		}
		set = append(set, setter{f.Name, "page", cmp.Or(spec.Page, c.doc.Defaults.Page).At})
	}
	if st.SizeParam != "" {
		set = append(set, setter{st.SizeParam, "size", cmp.Or(spec.Page, c.doc.Defaults.Page).Size.At})
	}
	if auth := c.doc.Provider.Auth; auth != nil {
		for _, key := range auth.APIKey {
			if key.Query.Text != "" {
				set = append(set, setter{key.Query.Text, "auth", key.Query.At})
			}
		}
	}
	for i, first := range set {
		for _, second := range set[i+1:] {
			replaced := first.by == "since" && second.by == "page" && !slices.ContainsFunc(always, func(f paging.Field) bool { return f.Name == second.name })
			list := first.by == second.by && (first.by == "get" || first.by == "query") // such as tag=a&tag=b
			if first.name != second.name || replaced || list {
				continue
			}
			c.Fail(first.at, fmt.Sprintf("`%s` is set here and by `%s`", first.name, second.by), "")
			break
		}
	}
}
