package declarative

import (
	"net/url"
	"slices"
	"strings"

	"collect/collection"
)

// target returns the URL of the page at token.
//
// A token that is a URL is requested as it came: relative ones are resolved
// against the first page, which every page of a walk has in common.
func (w *walk) target(token string) (*url.URL, error) {
	path, query, err := w.st.get.target(w.scope)
	if err != nil {
		return nil, badPage("%s", err)
	}
	address := path
	if !isAbsolute(path) {
		address = strings.TrimSuffix(w.c.baseURL, "/") + "/" + strings.TrimPrefix(path, "/")
	}
	first, err := url.Parse(address)
	if err != nil {
		return nil, badPage("the address is not a URL") // the cause would show it
	}
	if _, ok := w.st.page.(linked); ok && token != "" {
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
		b.WriteString(escapeQuery(name) + "=" + escapeQuery(value))
	}
	for _, q := range w.st.query {
		if w.scope.lacks(q.value) {
			continue
		}
		add(q.name, q.value.expand(w.scope))
	}
	page := w.st.page.ask(token)
	for _, f := range page {
		add(f.name, f.value)
	}
	if s := w.st.since; s != nil && s.param != "" && w.scope.since != "" {
		if !slices.ContainsFunc(page, func(f field) bool { return f.name == s.param }) { // the page's value is further on
			add(s.param, w.scope.since)
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
	if strings.HasPrefix(token, "/") || strings.HasPrefix(token, "?") || isAbsolute(token) {
		return token, nil
	}
	return next.String(), nil
}

// resolve returns the URL of a link on the page at base.
func resolve(base *url.URL, link string) (*url.URL, error) {
	ref, err := url.Parse(strings.TrimSpace(link))
	if err != nil {
		return nil, badPage("the link to the next page is not a URL")
	}
	next := base.ResolveReference(ref)
	if next.Scheme != "https" && next.Scheme != "http" || next.Hostname() == "" || next.User != nil {
		return nil, badPage("the link to the next page is not a plain HTTP address")
	}
	next.Fragment, next.RawFragment = "", ""
	next.RawQuery = strings.ReplaceAll(next.RawQuery, " ", "%20") // a space would end the request line
	if _, err := url.Parse(next.String()); err != nil {
		return nil, badPage("the link to the next page is not a URL") // such as //::, which has a host only beside its base
	}
	return next, nil
}

func isAbsolute(address string) bool {
	lower := strings.ToLower(address[:min(len(address), 8)])
	return strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://")
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
		if drop(unescaped(name), unescaped(value)) || drop(unescaped(name), value) {
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

// unescaped returns a part of a query in plain text, or as it is if it is not
// well-formed: what cannot be read may hold a credential all the same.
func unescaped(part string) string {
	plain, err := url.QueryUnescape(part)
	if err != nil {
		return part
	}
	return plain
}
