package pacing

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"collect/collection"
)

// ErrPrivate is the cause of a stop for a request that would have reached a
// private address although nobody but a response named its host. A provider
// could have us ask the machines behind our firewall in that way, and read
// what they answer in the records (server-side request forgery).
var ErrPrivate = errors.New("a private address")

func privateStop() *collection.Stop {
	return &collection.Stop{
		Reason: collection.BadPage, Detail: "a link or redirect of the provider leads to a private address", Err: ErrPrivate,
	}
}

// publicOnly is set in the context of a request that may not reach a private
// address.
type publicOnly struct{}

// confine returns out as it may leave: a request to a host that only a
// response named is refused if its host is a private address, and else looked
// at again when the connection is made, by [refusePrivate]. A proxy's address
// is the user's; what is behind it cannot be known here.
func (g *Governor) confine(out *http.Request) (*http.Request, error) {
	host := hostOf(out.URL)
	if g.provider.AllowPrivate || g.hosts[host] {
		return out, nil
	}
	addr, err := netip.ParseAddr(host)
	if err == nil && isPrivate(addr) || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil, privateStop()
	}
	if g.proxy != nil {
		if proxy, err := g.proxy(out); err == nil && proxy != nil {
			return out, nil
		}
	}
	return out.WithContext(context.WithValue(out.Context(), publicOnly{}, true)), nil
}

// refusePrivate keeps a connection from a private address if its request is
// confined. It sees the address that is connected to, whatever a name server
// said before.
func refusePrivate(ctx context.Context, _, address string, _ syscall.RawConn) error {
	if ctx.Value(publicOnly{}) == nil {
		return nil
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil || isPrivate(to.Addr()) {
		return privateStop()
	}
	return nil
}

// hostSet returns the hosts that the user wrote: those of the origins, and
// others.
func hostSet(origins, others []string) map[string]bool {
	set := map[string]bool{}
	for _, origin := range origins {
		if u, err := url.Parse(origin); err == nil {
			set[hostOf(u)] = true
		}
	}
	for _, host := range others {
		set[hostOf(&url.URL{Host: host})] = true
	}
	return set
}

// hostOf returns the host of u in one spelling, without its port.
func hostOf(u *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// private are the networks that no public provider is in: what the IANA
// registries of special-purpose addresses (RFC 6890) do not call globally
// reachable, and Azure's address of the platform inside each machine.
var private = func() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/3", "168.63.129.16/32",
		"::/127", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}()

// The networks whose addresses hold one of IPv4: NAT64 (RFC 6052, 8215), 6to4
// (RFC 3056), and the compatible addresses of old.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	compatible = netip.MustParsePrefix("::/96")
)

// isPrivate reports whether addr is an address that only machines near this
// one can reach, or leads to one.
func isPrivate(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, p := range private {
		if p.Contains(addr) {
			return true
		}
	}
	if !addr.Is6() {
		return false
	}
	bytes := addr.As16()
	switch {
	case nat64Local.Contains(addr):
		return true
	case nat64.Contains(addr), compatible.Contains(addr):
		return isPrivate(netip.AddrFrom4([4]byte(bytes[12:])))
	case sixToFour.Contains(addr):
		return isPrivate(netip.AddrFrom4([4]byte(bytes[2:6])))
	}
	return false
}
