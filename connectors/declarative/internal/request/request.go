// Package request makes the requests of a stream from what its connector file
// says, the values of a place and the token of a page.
package request

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// A Request is a request as a connector file writes it. It only reads, whatever
// its method: it is sent again when there was no answer.
type Request struct {
	Method  string            // "" is GET
	Path    notation.Template // below the base, or a whole URL
	Query   []Field
	Headers []Field
	Body    Body
}

// A Field is a parameter of a query or a form, or a header.
type Field struct {
	Name  string
	Value notation.Template
}

// Refers reports whether any part of the request uses the value of that name.
func (r Request) Refers(name string) bool {
	uses := func(f Field) bool { return f.Value.Refers(name) }
	return r.Path.Refers(name) || slices.ContainsFunc(r.Query, uses) || slices.ContainsFunc(r.Headers, uses) || r.Body.Refers(name)
}

// URL returns the whole address of a page: below base, with the query in the
// order of the file, and then the parameters that ask for the page. Of those, one
// without a name stands where the file has ${page}, and not here. One with the name
// of a parameter of the file replaces that.
func (r Request) URL(base string, s notation.Scope, page []paging.Field) (*url.URL, error) {
	path, literal, err := r.Path.Target(s)
	if err != nil {
		return nil, paging.BadPage("%s", err)
	}
	address := path
	if !IsAbsolute(path) {
		address = strings.TrimSuffix(base, "/") + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, paging.BadPage("`base_url` and `get` do not make a valid URL") // the cause would show it
	}
	asked := func(name string) bool {
		return slices.ContainsFunc(page, func(f paging.Field) bool { return f.Name == name })
	}
	var q query
	q.WriteString(strings.TrimPrefix(WithoutParams("?"+literal, func(name, _ string) bool { return asked(name) }), "?"))
	q.fields(slices.DeleteFunc(slices.Clone(r.Query), func(f Field) bool { return asked(f.Name) }), s)
	for _, f := range page {
		if f.Name != "" {
			q.add(f.Name, f.Value)
		}
	}
	u.RawQuery = q.String()
	return u, nil
}

// A query is parameters, as in a URL or in a form.
type query struct{ strings.Builder }

func (q *query) add(name, value string) {
	if q.Len() > 0 {
		q.WriteByte('&')
	}
	q.WriteString(collection.EscapeQuery(name) + "=" + collection.EscapeQuery(value))
}

// fields adds the parameters that lack no value.
func (q *query) fields(fields []Field, s notation.Scope) {
	for _, f := range fields {
		if !s.Lacks(f.Value) {
			q.add(f.Name, f.Value.Expand(s))
		}
	}
}

// New returns the request for an address. A header that lacks a value is left
// out.
func (r Request) New(ctx context.Context, u *url.URL, s notation.Scope) (*http.Request, error) {
	body, kind := r.Body.bytes(s)
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, paging.BadPage("the request cannot be built: look at `get`, `query` and `headers` in the connector file") // the cause would show the URL
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if r.Method == http.MethodPost {
		req.Header["Idempotency-Key"] = nil // it may be repeated; the key itself is not sent
	}
	for _, h := range r.Headers {
		if s.Lacks(h.Value) {
			continue
		}
		value := h.Value.Expand(s)
		if strings.ContainsFunc(value, Unsendable) {
			return nil, paging.BadPage("the value of the header %s has a line break, or another control character", h.Name)
		}
		req.Header.Set(h.Name, value)
	}
	return req, nil
}

// Unsendable reports whether r is a character that no header may hold (RFC 9110,
// 5.5).
func Unsendable(r rune) bool { return r != '\t' && unicode.IsControl(r) && r < 0x80 }

// IsAbsolute reports whether an address is a whole URL.
func IsAbsolute(address string) bool {
	lower := strings.ToLower(address[:min(len(address), 8)])
	return strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://")
}
