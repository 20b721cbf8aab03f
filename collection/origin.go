package collection

import (
	"fmt"
	"net/url"
	"strings"
)

// Origin returns the origin of u (RFC 6454): scheme, host and port in one
// spelling, without the port that goes without saying. https://h and
// https://H.:443 are one origin.
func Origin(u *url.URL) string {
	scheme := strings.ToLower(u.Scheme)
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && (scheme != "https" || port != "443") && (scheme != "http" || port != "80") {
		host += ":" + port
	}
	return scheme + "://" + host
}

// An UnlistedError says that a response led to an origin that the connector
// does not name. Nothing is asked there, since an answer would count as one of
// the provider: a forged page, or the part of a list that strangers may see.
type UnlistedError struct {
	Origin string // "" if it must not be shown
}

func (e *UnlistedError) Error() string {
	if e.Origin == "" {
		return "the response leads to another origin, whose name is not shown because it may hold the credential"
	}
	return fmt.Sprintf("the response leads to %s, which the connector does not list; if it is the provider's: %s", e.Origin, e.Line())
}

// Line returns the line of a connector file that lists the origin.
func (e *UnlistedError) Line() string { return fmt.Sprintf("origins: [%q]", e.Origin) }

// Unlisted returns the stop for a request to u. Hidden reports whether a text
// holds the credential: one with a slash in it may begin in the host and end in
// the path.
func Unlisted(u *url.URL, hidden func(text string) bool) *Stop {
	e := &UnlistedError{Origin: Origin(u)}
	if len(e.Origin) > len("https://")+253+len(":65535") || hidden(u.String()) {
		e.Origin = ""
	}
	return &Stop{Reason: BadPage, Detail: e.Error(), Err: e}
}
