package pacing

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"collect/collection"
)

// mostRedirects is how many redirects a request may take, as in a browserless
// [http.Client].
const mostRedirects = 10

// A guard knows the credential of a provider, and sees to it that it goes to no other
// origin and is shown to nobody.
type guard struct {
	provider collection.Provider
	besides  func() []string // the secrets of further accounts of the same user, as of now; nil: there are none
	origins  map[string]bool // that are sent the credential,
	others   map[string]bool // and those that are asked without it
}

// newGuard returns the guard of p. An error names the origin that is none.
func newGuard(p collection.Provider) (g guard, err error) {
	g.provider = p
	if g.origins, err = originSet(p.Origins); err == nil {
		g.others, err = originSet(p.Others)
	}
	return g, err
}

// originSet returns origins in one spelling.
func originSet(origins []string) (map[string]bool, error) {
	set := make(map[string]bool, len(origins))
	for i, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" ||
			!strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https") {
			return nil, fmt.Errorf("origin %d is not of the form https://host[:port]", i+1)
		}
		set[collection.Origin(u)] = true
	}
	return set, nil
}

// listed refuses a request to an origin that only a response named. It sees
// each redirect, too.
func (g *guard) listed(req *http.Request) error {
	if origin := collection.Origin(req.URL); g.origins[origin] || g.others[origin] {
		return nil
	}
	return collection.Unlisted(req.URL, g.holdsSecret)
}

// prepare returns the request that leaves as an attempt of req: with a body that
// no other attempt has read, and with the credential if that is for its origin,
// and else without whatever may hold one. The request of the caller never holds
// it, so that nothing that copies from it (a redirect, a log) can leak it.
func (g *guard) prepare(req *http.Request) (*http.Request, error) {
	out := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("request body: %w", err)
		}
		out.Body = body
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", userAgent())
	}
	if out.Header.Get("Accept-Encoding") == "" {
		out.Header.Set("Accept-Encoding", "gzip")
	}
	if g.origins[collection.Origin(out.URL)] {
		if g.provider.Authorize != nil {
			g.provider.Authorize(out)
		}
		return out, nil
	}
	return out, g.strip(out)
}

// userAgent names us and our version to the provider.
var userAgent = sync.OnceValue(func() string {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = strings.Trim(info.Main.Version, "()v")
	}
	return "collect/" + version
})

// strip removes from a request what may hold a credential. It refuses a request that holds it in its URL.
func (g *guard) strip(out *http.Request) error {
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Referer"} {
		out.Header.Del(name)
	}
	out.URL.User = nil
	for name, values := range out.Header {
		if slices.ContainsFunc(values, g.holdsSecret) {
			out.Header.Del(name)
		}
	}
	if g.holdsSecret(out.URL.String()) {
		return &collection.Stop{Reason: collection.BadPage, Detail: "the credential would have gone to another origin"}
	}
	return nil
}

// holdsSecret reports whether text holds the credential, a part of it, or what
// was got by a renewal, as it is or escaped for a URL, in letters of either case,
// since hosts have but one.
func (g *guard) holdsSecret(text string) bool {
	text = strings.ToLower(text)
	secrets := append([]string{g.provider.Credential}, g.provider.Secrets...)
	if g.provider.Renewal != nil {
		secrets = g.provider.Renewal.Secrets()
	}
	if g.besides != nil {
		secrets = append(secrets, g.besides()...)
	}
	return slices.ContainsFunc(secrets, func(secret string) bool {
		for _, spelled := range collection.InURL(secret) {
			if spelled != "" && strings.Contains(text, strings.ToLower(spelled)) {
				return true
			}
		}
		return false
	})
}

// leads refuses a redirect of a request for from that leads to no HTTP address.
// The error that [http.Client] makes of one it cannot read quotes it, with all
// that the provider may have put there.
func leads(resp *http.Response, from *url.URL) error {
	switch resp.StatusCode {
	case 301, 302, 303, 307, 308:
	default:
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil // not followed, and no page either
	}
	if to, err := from.Parse(location); err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return &collection.Stop{Reason: collection.BadPage, Detail: "redirected to an address that is not HTTP"}
	}
	return nil
}

// checkRedirect bounds redirects. While there is a credential it lets none of them
// lower https to http: even a request without the credential tells a listener its
// address. A POST stays one, unless the answer to it is to be had by GET (303): a
// client may make a GET of it after 301 and 302 (RFC 9110, 15.4), which has no body
// and asks for something else.
func (g *guard) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects {
		return &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf("more than %d redirects", mostRedirects)}
	}
	if !g.provider.Anonymous() && req.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return &collection.Stop{Reason: collection.BadPage, Detail: "redirected from https to http"}
	}
	if was := via[len(via)-1].Method; req.Method != was && req.Response.StatusCode != http.StatusSeeOther {
		return &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf("a %s was redirected by %d, which loses its body: the address has changed", was, req.Response.StatusCode)}
	}
	return nil
}
