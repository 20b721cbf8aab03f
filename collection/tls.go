package collection

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"time"
)

// A TLS is what connections to some origins need beside what this machine has. No
// other origin is shown the certificate, or trusts the authorities.
type TLS struct {
	Origins     []string         // those of the provider, and where its tokens are got
	Certificate *tls.Certificate // the client's, with its Leaf and its key; nil: none
	Authorities *x509.CertPool   // that may have signed the certificate of a server; nil: those of this machine
}

// client returns the certificate that tells the provider who asks; nil if there is none.
func (p *Provider) client() *x509.Certificate {
	if p.TLS == nil || p.TLS.Certificate == nil {
		return nil
	}
	return p.TLS.Certificate.Leaf
}

// CertificateEnds returns when the client certificate ends if that is soon: within 14
// days of now.
func (p *Provider) CertificateEnds(now time.Time) (ends time.Time, soon bool) {
	leaf := p.client()
	if leaf == nil || leaf.NotAfter.Sub(now) > 14*24*time.Hour {
		return time.Time{}, false
	}
	return leaf.NotAfter, true
}

// Anonymous reports whether nothing tells the provider who asks.
func (p *Provider) Anonymous() bool {
	return p.Authorize == nil && p.Renewal == nil && p.client() == nil
}

// Account returns what names the account, which may be a secret: the Credential or,
// where a client certificate is the only one, a hash of its public key. A certificate
// that is renewed for the same key is the same account. "": there is no account.
func (p *Provider) Account() string {
	leaf := p.client()
	if p.Credential != "" || leaf == nil {
		return p.Credential
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return "certificate " + hex.EncodeToString(sum[:])
}
