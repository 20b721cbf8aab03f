package declarative

import (
	"net/url"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// target returns the URL of the page at token.
//
// A token that is a URL is requested as it came: relative ones are resolved
// against the first page, which every page of a walk has in common.
func (w *walk) target(token string) (*url.URL, error) {
	path, query, err := w.st.Get.Target(w.scope)
	if err != nil {
		return nil, paging.BadPage("%s", err)
	}
	address := path
	if !compile.IsAbsolute(path) {
		address = strings.TrimSuffix(w.c.baseURL, "/") + "/" + strings.TrimPrefix(path, "/")
	}
	first, err := url.Parse(address)
	if err != nil {
		return nil, paging.BadPage("`base_url` and `get` do not make a valid URL") // the cause would show it
	}
	if _, ok := w.st.Page.(paging.Linked); ok && token != "" {
		return resolve(first, token)
	}
	first.RawQuery = w.query(query, token)
	return first, nil
}

// query returns the whole query of a page, in the order of the file.
func (w *walk) query(literal, token string) string {
	var b strings.Builder
	b.WriteString(literal)
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(notation.EscapeQuery(name) + "=" + notation.EscapeQuery(value))
	}
	for _, q := range w.st.Query {
		if w.scope.Lacks(q.Value) {
			continue
		}
		add(q.Name, q.Value.Expand(w.scope))
	}
	page := w.st.Page.Ask(token)
	for _, f := range page {
		add(f.Name, f.Value)
	}
	if s := w.st.Since; s != nil && s.Param != "" && w.scope.Since != "" {
		if !slices.ContainsFunc(page, func(f paging.Field) bool { return f.Name == s.Param }) { // the page's value is further on
			add(s.Param, w.scope.Since)
		}
	}
	return b.String()
}

// link returns the token for a link on the page at page: its bytes, with two
// exceptions. A credential that the provider repeats in the query is left out,
// since a cursor is stored; it is attached again to the request. And a link
// relative to the path of its page means nothing without that page, so it is
// resolved.
//
// A link to an origin that the file does not list is refused here, and by the
// client as well: the page that has it is owed, so that a provider which mends
// its links is asked for the mended one.
func (w *walk) link(token, page string) (string, error) {
	token = withoutParams(token, func(name, value string) bool {
		return name == w.c.keyInQuery && name != "" || w.c.secrets.are(value)
	})
	here, err := w.target(page)
	if err != nil {
		return "", err
	}
	next, err := resolve(here, token)
	if err != nil {
		return "", err
	}
	if p := &w.c.provider; !slices.Contains(p.Origins, collection.Origin(next)) && !slices.Contains(p.Others, collection.Origin(next)) {
		return "", collection.Unlisted(next, w.c.secrets.in)
	}
	if strings.HasPrefix(token, "/") || strings.HasPrefix(token, "?") || compile.IsAbsolute(token) {
		return token, nil
	}
	return next.String(), nil
}

// resolve returns the URL of a link on the page at base.
func resolve(base *url.URL, link string) (*url.URL, error) {
	ref, err := url.Parse(strings.TrimSpace(link))
	if err != nil {
		return nil, paging.BadPage("the link to the next page is not a valid URL")
	}
	next := base.ResolveReference(ref)
	if next.Scheme != "https" && next.Scheme != "http" || next.Hostname() == "" || next.User != nil {
		return nil, paging.BadPage("the link to the next page is not a plain HTTP address")
	}
	next.Fragment, next.RawFragment = "", ""
	next.RawQuery = strings.ReplaceAll(next.RawQuery, " ", "%20") // a space would end the request line
	if _, err := url.Parse(next.String()); err != nil {
		return nil, paging.BadPage("the link to the next page is not a valid URL") // such as //::, which has a host only beside its base
	}
	return next, nil
}

// withoutParams takes the parameters that drop names out of the query of a
// link, and leaves every other byte as it is.
func withoutParams(link string, drop func(name, value string) bool) string {
	head, rest, found := strings.Cut(link, "?")
	if !found {
		return link
	}
	query, fragment, hasFragment := strings.Cut(rest, "#")
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if drop(notation.Unescaped(name), notation.Unescaped(value)) || drop(notation.Unescaped(name), value) {
			continue
		}
		kept = append(kept, pair)
	}
	link = head + "?" + strings.Join(kept, "&")
	if hasFragment {
		link += "#" + fragment
	}
	return link
}
