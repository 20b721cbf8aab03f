package compile

import (
	"strings"

	"collect/connectors/declarative/internal/language"
)

// checkTLS sees to it that each part of tls is a secret, and that a certificate has its
// key.
func (c *checker) checkTLS(t *language.TLSSpec) {
	if t == nil {
		return
	}
	c.spec.TLS = t
	var secrets []string
	for _, s := range c.spec.Secrets {
		secrets = append(secrets, "secrets."+s.Name)
	}
	for _, part := range t.Templates() {
		switch {
		case !part.Refers("secrets."):
			c.writtenCredential(part.At)
		case len(part.Parts) != 1 || part.Writes():
			c.Fail(part.At, "each part of tls is one secret, as it is", "")
		default:
			c.secretTemplate(part, secrets)
			if name := strings.TrimPrefix(part.Parts[0].Name, "secrets."); len(c.spec.Secret(name).Others) > 0 {
				c.Fail(part.At, "a certificate cannot take turns with others: its secret has one place", "")
			}
		}
	}
	switch {
	case t.Certificate.Set != t.Key.Set:
		c.Fail(t.At, "a certificate needs its `key`, and a key its `certificate`", "")
	case !t.Certificate.Set && !t.CA.Set:
		c.Fail(t.At, "tls needs a `certificate` and its `key`, or a `ca`", "")
	}
	if base := c.spec.BaseURL; base.Set && !base.Refers("params.") && !strings.HasPrefix(strings.ToLower(base.Text), "https:") {
		c.Fail(base.At, "tls is for an https address", "")
	}
}
