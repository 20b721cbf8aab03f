package pacing_test

import (
	"net/url"
	"strings"
	"testing"

	"collect/collection"
)

// FuzzOrigin: an address has the origin that a client dials, whatever else is
// in it: the same for every path, user and fragment, and another for another
// host, port or scheme.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://api.test/x", "HTTPS://API.test:443", "http://a.test.", "https://a.test@b.test/", "http://[::1]:80/", "https://a.test:0443", "//x", "https://ä.test"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return
		}
		origin := collection.Origin(u)
		if !strings.HasPrefix(origin, u.Scheme+"://") {
			t.Errorf("%q has the origin %q", address, origin)
		}
		dressed := *u
		dressed.Path, dressed.RawPath, dressed.RawQuery, dressed.Fragment, dressed.User = "/elsewhere", "", "a=b", "c", url.UserPassword("x", "y")
		dressed.Host = strings.ToUpper(u.Host)
		if strings.EqualFold(dressed.Host, u.Host) && collection.Origin(&dressed) != origin {
			t.Errorf("%q has the origin %q, and %q has %q", address, origin, &dressed, collection.Origin(&dressed))
		}
		for _, host := range []string{"x" + u.Host, u.Hostname() + ".evil.test"} {
			other := *u
			if other.Host = host; collection.Origin(&other) == origin {
				t.Errorf("%q and %q have the origin %q", address, host, origin)
			}
		}
	})
}
