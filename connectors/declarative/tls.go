package declarative

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
)

// secure fills in what connections to the provider need, and to where its tokens are got.
// Its secrets are no part of the Credential: they are never sent, so that there is
// nothing of them to look for in what a provider sends.
func (c *connector) secure(given map[string]SecretValue) error {
	spec := c.spec.TLS
	if spec == nil {
		return nil
	}
	origins, err := c.trusted()
	if err != nil {
		return err
	}
	t := &collection.TLS{Origins: origins}
	part := func(from notation.Template) (name, text string, err error) {
		if name = secretIn(from); name != "" && given[name].Value == "" && !c.spec.Secret(name).Optional {
			err = &MissingSecretError{Name: name, Looked: []string{c.spec.Secret(name).From()}}
		}
		return name, given[name].Value, err
	}
	certificate, shown, err := part(spec.Certificate)
	if err != nil {
		return err
	}
	key, private, err := part(spec.Key)
	if err != nil {
		return err
	}
	ca, authorities, err := part(spec.CA)
	if err != nil {
		return err
	}
	switch { // both may be optional, and neither is of use alone
	case shown != "" && private == "":
		return &MissingSecretError{Name: key, Looked: []string{c.spec.Secret(key).From()}}
	case shown == "" && private != "":
		return &MissingSecretError{Name: certificate, Looked: []string{c.spec.Secret(certificate).From()}}
	case shown != "":
		if t.Certificate, err = clientCertificate(certificate, key, shown, private, time.Now()); err != nil {
			return err
		}
		c.provider.CredentialFrom = strings.Join(slices.DeleteFunc([]string{c.provider.CredentialFrom, given[certificate].From}, func(from string) bool { return from == "" }), ", ")
	}
	if authorities != "" {
		if t.Authorities, err = withAuthorities(ca, authorities); err != nil {
			return err
		}
	}
	if t.Certificate != nil || t.Authorities != nil {
		c.provider.TLS = t
	}
	return nil
}

// trusted returns the origins that are given the secrets of the file, or what is got for
// them: those of the API, then that of the token endpoint or of the login.
func (c *connector) trusted() ([]string, error) {
	origins := c.provider.Origins
	scope := notation.Scope{Params: c.params}
	var asked *url.URL // for a token
	var err error
	switch auth := c.spec.Auth; {
	case auth == nil:
	case auth.OAuth2 != nil:
		if asked, err = compile.BaseAddress(auth.OAuth2.TokenURL.Expand(scope)); err != nil {
			return nil, &BadParamError{Name: "token_url", Problem: err.Error()}
		}
	case auth.Session != nil:
		if asked, err = c.spec.Login.URL(c.baseURL, scope, nil); err != nil {
			return nil, &BadParamError{Name: "post", Problem: err.Error()}
		}
	}
	if asked != nil && !slices.Contains(origins, collection.Origin(asked)) {
		origins = append(slices.Clone(origins), collection.Origin(asked))
	}
	return origins, nil
}

// clientCertificate returns the certificate of two secrets. Its errors quote nothing of
// either: those of crypto/tls are read here, and not passed on.
func clientCertificate(name, key, shown, private string, now time.Time) (*tls.Certificate, error) {
	if !holds(shown, func(kind string) bool { return kind == "CERTIFICATE" }) {
		return nil, &BadSecretError{Name: name, Problem: "holds no certificate in PEM: it has a part that begins with -----BEGIN CERTIFICATE-----"}
	}
	if holds(private, func(kind string) bool { return kind == "ENCRYPTED PRIVATE KEY" }) || strings.Contains(private, "Proc-Type: 4,ENCRYPTED") {
		return nil, &BadSecretError{Name: key, Problem: "is encrypted with a passphrase, for which nobody is there to be asked: keep it without one, as `openssl pkey -in FILE` prints it"}
	}
	if !holds(private, func(kind string) bool { return kind == "PRIVATE KEY" || strings.HasSuffix(kind, " PRIVATE KEY") }) {
		return nil, &BadSecretError{Name: key, Problem: "holds no private key in PEM: it has a part that begins with -----BEGIN PRIVATE KEY-----"}
	}
	pair, err := tls.X509KeyPair([]byte(shown), []byte(private))
	switch {
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return nil, &BadSecretError{Name: key, Problem: fmt.Sprintf("is not the key of the certificate in `%s`, whose first one has to be the client's", name)}
	case err != nil:
		return nil, &BadSecretError{Name: key, Problem: fmt.Sprintf("and `%s` make no pair that can be used: one of them is damaged, or of a kind other than RSA, ECDSA and Ed25519", name)}
	case now.After(pair.Leaf.NotAfter):
		return nil, &BadSecretError{Name: name, Problem: fmt.Sprintf("is a certificate that expired on %s: get a new one from the provider", pair.Leaf.NotAfter.UTC().Format(time.DateOnly))}
	case now.Before(pair.Leaf.NotBefore):
		return nil, &BadSecretError{Name: name, Problem: fmt.Sprintf("is a certificate that is valid from %s, by the clock of this machine", pair.Leaf.NotBefore.UTC().Format(time.RFC3339))}
	}
	return &pair, nil
}

// withAuthorities returns the authorities of this machine and those of a secret.
func withAuthorities(name, text string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // this machine has none
	}
	if !pool.AppendCertsFromPEM([]byte(text)) {
		return nil, &BadSecretError{Name: name, Problem: "holds no certificate in PEM that can be read: it has parts that begin with -----BEGIN CERTIFICATE-----"}
	}
	return pool, nil
}

// holds reports whether a text in PEM has a part of a kind.
func holds(text string, kind func(string) bool) bool {
	for rest := bytes.TrimSpace([]byte(text)); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return false
		} else if kind(block.Type) {
			return true
		}
	}
	return false
}
