package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"collect/collection"
)

// Redacted stands where a secret was.
const Redacted = "REDACTED"

// A Scrubber takes secrets out of exchanges, by their values: as they are, in
// base64 (also as a part of something longer, as user and password are), in
// hexadecimal, percent-encoded, and escaped as in JSON.
type Scrubber struct{ spellings [][]byte }

// NewScrubber returns a scrubber of secrets. One of less than three characters is
// taken for none: it would be everywhere.
func NewScrubber(secrets ...string) *Scrubber {
	s := &Scrubber{}
	for _, secret := range secrets {
		for _, line := range append(strings.Fields(secret), secret) { // of several lines or words, each
			s.add(line)
		}
	}
	// The longest first: it may hold a shorter one.
	slices.SortFunc(s.spellings, func(a, b []byte) int { return len(b) - len(a) })
	return s
}

func (s *Scrubber) add(secret string) {
	if len(secret) < 3 {
		return
	}
	of := []byte(secret)
	quoted, _ := json.Marshal(secret) // a text always marshals
	var bare bytes.Buffer
	enc := json.NewEncoder(&bare)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(secret)
	var escaped strings.Builder
	for _, b := range of {
		escaped.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{b})))
	}
	spellings := append(collection.InURL(secret), escaped.String(), strings.ToLower(escaped.String()),
		strings.Trim(string(quoted), `"`), strings.Trim(strings.TrimSpace(bare.String()), `"`), hex.EncodeToString(of), strings.ToUpper(hex.EncodeToString(of)))
	for _, spelling := range slices.Clone(spellings) {
		spellings = append(spellings, lowerEscapes(spelling))
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		spellings = append(spellings, encoding.EncodeToString(of))
		for before := range 3 {
			if len(of) < 6 {
				break // what is left of it would be found everywhere
			}
			// The bits of the secret fill whole letters from here to there,
			// whatever stands around it.
			whole := encoding.EncodeToString(append(make([]byte, before), of...))
			from, to := (before*8+5)/6, (before+len(of))*8/6
			spellings = append(spellings, whole[from:to])
		}
	}
	for _, spelling := range spellings {
		if !slices.ContainsFunc(s.spellings, func(had []byte) bool { return string(had) == spelling }) {
			s.spellings = append(s.spellings, []byte(spelling))
		}
	}
}

// lowerEscapes returns text with the digits of its percent escapes in lower case.
func lowerEscapes(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// Bytes returns text without the secrets.
func (s *Scrubber) Bytes(text []byte) []byte {
	for _, spelling := range s.spellings {
		text = bytes.ReplaceAll(text, spelling, []byte(Redacted))
	}
	return text
}

// Text is Bytes for a string.
func (s *Scrubber) Text(text string) string { return string(s.Bytes([]byte(text))) }

// dropped are headers that hold credentials, or say how an answer travelled.
var dropped = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Set-Cookie2", "Authentication-Info", "Proxy-Authenticate",
	"Accept-Encoding", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "User-Agent",
	"Alt-Svc", "Nel", "Report-To", "Reporting-Endpoints", "Content-Security-Policy", "Strict-Transport-Security", "X-Request-Id",
}

// Scrub returns what was noted without the secrets, and without the headers that
// hold credentials.
func (s *Scrubber) Scrub(n Noted) Noted {
	n.URL, n.Sent, n.Body = s.Text(n.URL), s.Bytes(n.Sent), s.Bytes(n.Body)
	n.Asked, n.Header = s.header(n.Asked), s.header(n.Header)
	return n
}

func (s *Scrubber) header(h http.Header) http.Header {
	clean := h.Clone()
	for _, name := range dropped {
		clean.Del(name)
	}
	for _, values := range clean {
		for i, value := range values {
			values[i] = s.Text(value)
		}
	}
	return clean
}
