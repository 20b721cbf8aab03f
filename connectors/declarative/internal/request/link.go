package request

import (
	"net/url"
	"strings"

	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// Resolve returns the URL of a link on the page at base.
func Resolve(base *url.URL, link string) (*url.URL, error) {
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

// WithoutParams takes the parameters that drop names out of the query of a
// link, and leaves every other byte as it is.
func WithoutParams(link string, drop func(name, value string) bool) string {
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
