package hostile_test

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/internal/certtest"
)

// TestClientKeysDoNotShow: two runs that differ only in the client certificate print
// and store the same, and nothing of its key. No other host is shown the certificate,
// though its server asks for one and is trusted by this machine.
func TestClientKeysDoNotShow(t *testing.T) {
	ours := certtest.New(t)
	soon := time.Now().Add(100 * time.Hour)
	for name, sends := range map[string]answer{
		"success":       ok(page(1, 3, `"next":null`)),
		"401":           reply(401, `{"error":"no"}`),
		"403":           reply(403, `{"error":"no"}`),
		"a redirect":    to("$OTHER/x"),
		"a next origin": ok(page(1, 2, `"next":"$OTHER/x"`)),
		"no answer":     raw(""),
		"not accepted":  ok(three),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "ca.pem"), ours.PEM) // that this machine trusts
			showed := 0
			note := func(a answer) answer {
				return func(c call) bool {
					if conn, ok := c.conn.(*tls.Conn); ok && len(conn.ConnectionState().PeerCertificates) > 0 {
						showed++
					}
					return a(c)
				}
			}
			elsewhere := listen(t, ours.Server(t, tls.RequestClientCert), nil, note(ok(page(101, 102, `"next":null`))))
			required := 0
			p := listen(t, ours.Server(t, tls.RequireAndVerifyClientCert), nil, func(c call) bool {
				required++
				return sends(c)
			})
			write(t, filepath.Join(dir, "hostile.yaml"), fmt.Sprintf(`connector: hostile
secrets: {cert: {file: %[1]s/cert.pem}, key: {file: %[1]s/key.pem}, ca: {file: %[1]s/ca.pem}}
provider:
  name: hostile
  base_url: %[2]s
  tls: {certificate: "${secrets.cert}", key: "${secrets.key}", ca: "${secrets.ca}"}
  pace: off
  limits: {request_timeout: 3s, header_timeout: 2s, attempts: 1, longest_retry_after: 1s}
streams:
  things: {get: /things, %[3]s}
  others: {get: "%[4]s/others", key: id, page: {none: true}, records: items}
`, dir, p.base, walks["url"], elsewhere.base))
			var told [2]string
			for i := range told {
				issuer := ours
				if name == "not accepted" {
					issuer = certtest.New(t)
				}
				pair := issuer.Pair(t, soon)
				write(t, filepath.Join(dir, "cert.pem"), pair.Certificate)
				write(t, filepath.Join(dir, "key.pem"), pair.Key)
				p.restart(strings.NewReplacer("$BASE", p.base, "$OTHER", elsewhere.base))
				lines := strings.Split(pair.Key, "\n")
				told[i] = tell(t, dir, lines[1], lines[2], looks)
				warned := strings.Contains(told[i], "W0615")
				switch name {
				case "success":
					if !strings.Contains(told[i], "exit 0") || !warned {
						t.Errorf("no run that ended well, with a warning:\n%s", told[i])
					}
				case "not accepted":
					if !strings.Contains(told[i], "exit 77") || !strings.Contains(told[i], "does not accept this client") {
						t.Errorf("the refusal is not told:\n%s", told[i])
					}
				}
			}
			if !slices.Equal(lines(told[0]), lines(told[1])) {
				t.Errorf("what is told depends on the key:\n%s\n%s", told[0], told[1])
			}
			if showed > 0 {
				t.Errorf("another host was shown the certificate %d times", showed)
			}
			if name == "success" && (required == 0 || elsewhere.total() == 0) {
				t.Errorf("%d and %d requests: this proves nothing", required, elsewhere.total())
			}
		})
	}
}

// TestClientKeysThatCannotBeUsed: what is wrong is said before anything is asked, and
// quotes neither secret.
func TestClientKeysThatCannotBeUsed(t *testing.T) {
	ours := certtest.New(t)
	right, another, past := ours.Pair(t, time.Now().Add(time.Hour)), ours.Pair(t, time.Now().Add(time.Hour)), ours.Pair(t, time.Now().Add(-time.Hour))
	for name, pair := range map[string]certtest.Pair{
		"the key of another one": {Certificate: right.Certificate, Key: another.Key},
		"expired":                past,
		"damaged":                {Certificate: right.Certificate, Key: strings.Replace(right.Key, "\nM", "\nA", 1)},
		"the wrong way round":    {Certificate: right.Key, Key: right.Certificate},
	} {
		dir := t.TempDir()
		p := listen(t, ours.Server(t, tls.RequireAndVerifyClientCert), nil, ok(three))
		write(t, filepath.Join(dir, "cert.pem"), pair.Certificate)
		write(t, filepath.Join(dir, "key.pem"), pair.Key)
		write(t, filepath.Join(dir, "hostile.yaml"), fmt.Sprintf(`connector: hostile
secrets: {cert: {file: %[1]s/cert.pem}, key: {file: %[1]s/key.pem}}
provider: {name: hostile, base_url: %[2]s, tls: {certificate: "${secrets.cert}", key: "${secrets.key}"}}
streams:
  things: {get: /things, %[3]s}
`, dir, p.base, walks["url"]))
		r := execute(t, dir, nil, []string{"run", "hostile.yaml", "--state", filepath.Join(dir, "state.db"), "--create"})
		if r.code != 77 || !strings.Contains(string(r.printed), "E0302") || p.total() != 0 {
			t.Errorf("%s: exit code %d after %d requests:\n%s", name, r.code, p.total(), r.printed)
		}
		for line := range strings.SplitSeq(pair.Key, "\n") {
			if len(line) > 20 && !strings.Contains(line, "-----") {
				hidden(t, line, "printed", r.printed)
			}
		}
	}
}
