package airbyte

import (
	"slices"
	"strconv"
	"strings"

	"collect/internal/yamlfile"
)

// paging translates the paginator.
func (w *walk) paging(p *node) {
	if p == nil || p.is("NoPagination") {
		w.onePage = true
		w.body.Set("page", yamlfile.Map{{Key: "none", Value: true}})
		w.detail()
		return
	}
	if !p.is("", "DefaultPaginator") {
		w.leave(p, "%s has no translation", p.word("type"))
		return
	}
	strategy := p.get("pagination_strategy")
	token := p.get("page_token_option")
	size, ok := w.pageSize(strategy.get("page_size"))
	if !ok {
		w.leave(strategy, "its page_size has no translation")
		return
	}
	p.get("url_base").use()
	switch {
	case strategy.is("PageIncrement"):
		w.increment("number", "size_param", "size", strategy, token, p.get("page_size_option"), size)
	case strategy.is("OffsetIncrement"):
		w.increment("offset", "limit_param", "limit", strategy, token, p.get("page_size_option"), size)
	case strategy.is("CursorPagination"):
		if option := p.get("page_size_option"); option != nil && size > 0 {
			w.option(option, yamlfile.Flow(size))
		}
		w.cursor(strategy, token)
	default:
		w.leave(p, "the paging %s has no translation", strategy.word("type"))
	}
}

// pageSize returns the number of records on a page, 0 if it is not said. One that a
// user may choose is the one that is there without a choice.
func (w *walk) pageSize(n *node) (int, bool) {
	if n == nil {
		return 0, true
	}
	text := n.text
	if expr, ok := expression(text); ok {
		r, _ := refer(expr)
		if r.root != "config" || len(r.steps) == 0 {
			return w.number(n, 0)
		}
		text = r.fallback
		if p := w.params[r.steps[len(r.steps)-1]]; p != nil && p.fallback != "" {
			text = p.fallback
		}
		w.note(n, "page_size: pages have %s records; it is no param", text)
	}
	size, err := strconv.Atoi(text)
	return size, err == nil
}

// detail recognizes a record that is asked for by the id of its parent.
func (w *walk) detail() {
	if len(w.each) == 0 || field(w.body, "records") != nil {
		return
	}
	get, _ := field(w.body, "get").(string)
	if strings.HasSuffix(get, "${"+w.each[0].Key+"}") {
		w.body.Set("role", "detail")
		w.body = slices.DeleteFunc(w.body, func(p yamlfile.Pair) bool { return p.Key == "page" })
	}
}

// increment translates pages that are counted, or offsets.
func (w *walk) increment(kind, sizeParam, sizeKey string, strategy, token, sizeOption *node, size int) {
	var block yamlfile.Map
	if name := w.parameter(token); name != "" {
		block.Set("param", name)
	} else {
		w.option(token, "${page}")
	}
	if kind == "number" {
		first, ok := w.number(strategy.get("start_from_page"), 0)
		if !ok {
			w.leave(strategy, "its start_from_page has no translation")
			return
		}
		block.Set("start", first)
	}
	strategy.get("inject_on_first_request").use() // the first page has its number in any case
	if size > 0 {
		if name := w.parameter(sizeOption); name != "" {
			block.Set(sizeParam, name)
		} else {
			w.option(sizeOption, yamlfile.Flow(size))
		}
		block.Set(sizeKey, size)
	}
	w.body.Set("page", yamlfile.Map{{Key: kind, Value: block}})
}

// parameter returns the parameter of the query that an option names, or "".
func (w *walk) parameter(option *node) string {
	if option == nil || option.word("inject_into") != "request_parameter" {
		return ""
	}
	name, ok := w.text(option.get("field_name"), w.place)
	if !ok {
		w.leave(option, "its field_name has no translation")
	}
	for i, pair := range w.query { // the paginator's own value wins
		if pair.Key == name {
			w.query = slices.Delete(w.query, i, i+1)
			break
		}
	}
	return name
}

// cursor translates a token of the body, of a header or of the last record.
func (w *walk) cursor(strategy, token *node) {
	value := strategy.get("cursor_value")
	expr, ok := expression(value.orEmpty())
	if !ok {
		w.leave(strategy, "its cursor_value has no translation")
		return
	}
	r, ok := refer(expr)
	if !ok {
		w.leave(value, "the expression `%s` has no translation", expr)
		return
	}
	more := w.stop(strategy.get("stop_condition"), r)
	byPath := token != nil && token.is("RequestPath")
	from := path(r.steps)
	var block yamlfile.Map
	switch {
	case r.root == "headers" && len(r.steps) >= 2 && strings.EqualFold(r.steps[0], "link"):
		w.body.Set("page", yamlfile.Map{{Key: "link_header", Value: r.steps[1]}})
		return
	case r.root == "response" && byPath:
		w.body.Set("page", yamlfile.Map{{Key: "next_url", Value: yamlfile.Map{{Key: "path", Value: from}, {Key: "optional", Value: true}}}})
		return
	case r.root == "response" && from != "":
		block.Set("from", from)
	case r.root == "headers" && len(r.steps) == 1:
		block.Set("header", r.steps[0])
	case r.root == "last_record", r.root == "last_records" && len(r.steps) > 1 && r.steps[0] == "-1":
		if r.root == "last_records" {
			from = path(r.steps[1:])
		}
		w.lastID(from, more, token)
		return
	default:
		w.leave(value, "the expression `%s` has no translation", expr)
		return
	}
	if name := w.parameter(token); name != "" {
		block.Set("param", name)
	} else {
		w.option(token, "${page}")
	}
	if more != "" {
		block.Set("more", more)
	} else {
		block.Set("optional", true)
	}
	w.body.Set("page", yamlfile.Map{{Key: "cursor", Value: block}})
}

func (w *walk) lastID(from, more string, token *node) {
	var block yamlfile.Map
	if name := w.parameter(token); name != "" {
		block.Set("param", name)
	} else {
		w.option(token, "${page}")
	}
	block.Set("field", from)
	if more != "" {
		block.Set("more", more)
	}
	w.body.Set("page", yamlfile.Map{{Key: "last_id", Value: block}})
}

func (n *node) orEmpty() string {
	if n == nil {
		return ""
	}
	return n.text
}

// stop translates the condition at which a walk ends: a value that is true while
// there is more. A walk ends without a token and after an empty page anyway.
func (w *walk) stop(condition *node, cursor reference) (more string) {
	if condition == nil {
		return ""
	}
	expr, ok := expression(condition.text)
	if !ok {
		return ""
	}
	r, ok := absent(expr)
	switch {
	case ok && r.root == cursor.root && path(r.steps) == path(cursor.steps), ok && r.root == "headers":
		return "" // no token, no further page
	case ok && r.root == "response":
		return path(r.steps)
	case strings.HasPrefix(expr, "last_page_size"), ok && strings.HasPrefix(r.root, "last_record"):
		return ""
	}
	w.note(condition, "stop_condition: `%s` has no translation; the walk of %s goes on until there is no token, or an empty page", expr, w.name)
	return ""
}
