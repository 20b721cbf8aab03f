package pacing_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/pacing"
)

func TestPrivateAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.255.0.9": true, "0.0.0.0": true, "10.0.0.1": true, "172.16.0.1": true, "172.31.255.255": true,
		"192.168.1.1": true, "169.254.169.254": true, "100.100.100.200": true, "192.0.0.192": true, "168.63.129.16": true,
		"198.18.0.1": true, "224.0.0.1": true, "240.0.0.1": true, "255.255.255.255": true,
		"::1": true, "::": true, "fe80::1": true, "fe80::1%eth0": true, "fd00:ec2::254": true, "fc00::1": true, "ff02::1": true, "2001:db8::1": true,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "::7f00:1": true, "64:ff9b::7f00:1": true, "64:ff9b::a9fe:a9fe": true,
		"64:ff9b:1::1": true, "2002:7f00:1::": true, "2002:a9fe:a9fe::1": true,

		"8.8.8.8": false, "172.15.0.1": false, "172.32.0.1": false, "100.63.0.1": false, "100.128.0.1": false, "169.253.0.1": false,
		"192.0.1.1": false, "223.255.255.255": false, "2606:4700::1": false, "64:ff9b::808:808": false, "2002:808:808::": false, "::ffff:8.8.8.8": false,
	} {
		if got := pacing.IsPrivate(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is private: %t, want %t", text, got, want)
		}
	}
}

// TestPrivateHosts: what the user wrote is asked wherever it is; what only a
// response names is not asked at a private address. No name is looked up here.
func TestPrivateHosts(t *testing.T) {
	for _, tc := range []struct {
		url   string
		hosts []string
		allow bool
		sent  bool
	}{
		{url: "https://other.test/", sent: true},
		{url: "https://8.8.8.8/", sent: true},
		{url: "http://127.0.0.1/"},
		{url: "http://127.0.0.1:8080/", allow: true, sent: true},
		{url: "http://127.0.0.1:8080/", hosts: []string{"127.0.0.1:80"}, sent: true},
		{url: "http://10.1.1.1/", hosts: []string{"10.1.1.2"}},
		{url: "http://[::1]/"},
		{url: "http://[::1]/", hosts: []string{"[::1]:9"}, sent: true},
		{url: "http://[fe80::1%25eth0]/"},
		{url: "http://localhost/"},
		{url: "http://LOCALHOST./"},
		{url: "http://db.localhost/"},
		{url: "http://localhost.evil.test/", sent: true},
		{url: "http://169.254.169.254/latest/meta-data/"},
	} {
		m := serve(ok)
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true, Hosts: tc.hosts, AllowPrivate: tc.allow}})
		resp, err := g.Client().Get(tc.url)
		if err == nil {
			resp.Body.Close()
		}
		if sent := m.count() == 1; sent != tc.sent || errors.Is(err, pacing.ErrPrivate) == sent {
			t.Errorf("%s, hosts %q, allowed %t: sent %t, %v, want %t", tc.url, tc.hosts, tc.allow, sent, err, tc.sent)
		}
	}
}

// TestRebinding: a name that leads to a private address is found out when the
// connection is made, with the address that it is made to.
func TestRebinding(t *testing.T) {
	names := nameServer(t, [4]byte{127, 0, 0, 1})
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", names)
	}}
	defer func() { net.DefaultResolver = before }()

	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer srv.Close()
	port := srv.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
	rebound := &url.URL{Scheme: "http", Host: net.JoinHostPort("rebound.example.", itoa(port))}
	for _, tc := range []struct {
		name     string
		provider collection.Provider
		sent     int
	}{
		{"named by a response", collection.Provider{}, 0},
		{"written by the user", collection.Provider{Hosts: []string{"rebound.example"}}, 1},
		{"an origin", collection.Provider{Origins: []string{rebound.String()}}, 1},
		{"allowed", collection.Provider{AllowPrivate: true}, 1},
	} {
		asked = 0
		tc.provider.Unpaced, tc.provider.Limits.Attempts = true, 3
		if tc.provider.Origins == nil {
			tc.provider.Origins = []string{acme}
		}
		g := govern(t, pacing.Config{Provider: tc.provider})
		resp, err := g.Client().Get(rebound.String())
		if err == nil {
			resp.Body.Close()
		}
		if asked != tc.sent || errors.Is(err, pacing.ErrPrivate) != (tc.sent == 0) {
			t.Errorf("%s: %d requests arrived, %v, want %d", tc.name, asked, err, tc.sent)
		}
		if stop := asStop(err); tc.sent == 0 && (stop == nil || stop.Reason != collection.BadPage || strings.Contains(err.Error(), "127.0.0.1")) {
			t.Errorf("%s: %v, want bad_page and no address", tc.name, err)
		}
		g.Close()
	}
}

func itoa(port uint16) string { return strconv.Itoa(int(port)) }

// nameServer answers every question for IPv4 with addr, and others with
// nothing (RFC 1035, section 4). It returns where it listens.
func nameServer(t *testing.T, addr [4]byte) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		query := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil || n < 12 {
				return
			}
			end := 12
			for query[end] != 0 {
				end += int(query[end]) + 1
			}
			end += 5 // the root, the type and the class
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
			if query[end-3] == 1 { // type A
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, addr[0], addr[1], addr[2], addr[3])
			}
			if _, err := conn.WriteTo(reply, from); err != nil {
				return
			}
		}
	}()
	return conn.LocalAddr().String()
}

// TestRedirectsThatLeadNowhere stop with a reason and quote nothing; an error
// of net/http would quote the whole address.
func TestRedirectsThatLeadNowhere(t *testing.T) {
	for _, location := range []string{"http://[::1", "http://me:" + secret + "@acme.test:x/", "file:///etc/passwd", "javascript:alert(1)", "http:///x", "https://"} {
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(302)
			io.WriteString(w, secret)
		})
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true, Credential: secret, Authorize: ways["bearer"]}})
		resp, err := g.Client().Get(acme + "/start")
		if err == nil {
			resp.Body.Close()
		}
		if stop := asStop(err); stop == nil || stop.Reason != collection.BadPage || stop.Detail != "redirected to what is no HTTP address" || m.count() != 1 || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v after %d requests, want bad_page after one", location, err, m.count())
		}
	}
}
