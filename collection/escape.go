package collection

import (
	"net/url"
	"strings"
)

// EscapeQuery escapes text for a query, a space as %20: that is a space to every
// server, while a plus is one to those alone that read a query as a form (RFC
// 3986, section 2.1), and OData refuses it.
func EscapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// InURL returns text as it is, and as it may stand in a URL.
func InURL(text string) []string {
	return []string{text, url.QueryEscape(text), EscapeQuery(text), url.PathEscape(text)}
}
