package declarative

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
)

// target returns the URL of the page at token, and sets what stands for ${page}.
//
// A token that is a URL is requested as it came: relative ones are resolved
// against the first page, which every page of a walk has in common.
func (w *walk) target(token string) (*url.URL, error) {
	page := w.st.Page.Ask(token)
	number := false
	w.scope.Page, number = paging.Place(page)
	w.scope.Type("page", w.scope.Page, number)
	if s := w.st.Since; s != nil && s.Param != "" && w.scope.Since != "" {
		if !slices.ContainsFunc(page, func(f paging.Field) bool { return f.Name == s.Param }) { // the page's value is further on
			page = append(page, paging.Field{Name: s.Param, Value: w.scope.Since})
		}
	}
	if pg, ok := w.st.Page.(paging.Resuming); ok && !pg.Begins() && w.scope.Resume != "" {
		page = append(page, pg.Since(w.scope.Resume))
	}
	if w.st.Size != nil && w.st.SizeParam != "" {
		page = append(page, paging.Field{Name: w.st.SizeParam, Value: strconv.Itoa(w.size), Number: true})
	}
	if w.st.Scroll != nil && token != "" {
		return w.st.Scroll.URL(w.c.baseURL, w.scope, nil)
	}
	if w.result != nil {
		return w.result, nil
	}
	first, err := w.st.URL(w.c.baseURL, w.scope, page)
	if _, ok := w.st.Page.(paging.Linked); err == nil && ok && token != "" {
		return request.Resolve(first, token)
	}
	return first, err
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
	token = request.WithoutParams(token, func(name, value string) bool {
		return slices.Contains(w.c.keysInQuery, name) || w.c.secrets.are(value)
	})
	here, err := w.target(page)
	if err != nil {
		return "", err
	}
	next, err := request.Resolve(here, token)
	if err != nil {
		return "", err
	}
	if p := &w.c.provider; !slices.Contains(p.Origins, collection.Origin(next)) && !slices.Contains(p.Others, collection.Origin(next)) {
		return "", collection.Unlisted(next, w.c.secrets.in)
	}
	if strings.HasPrefix(token, "/") || strings.HasPrefix(token, "?") || request.IsAbsolute(token) {
		return token, nil
	}
	return next.String(), nil
}
