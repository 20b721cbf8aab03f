package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"collect/internal/lazy"
)

// Escape sequences a terminal acts on (ECMA-48): CSI, the string sequences
// (OSC, DCS, SOS, PM, APC) up to their terminator, and the two-byte ones.
var Escapes = lazy.Regexp("(?s)(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f]).*?(?:\x07|\x1b\\\\|\u009c|$)" +
	"|\x1b[ -/]*[0-~]?")

// What may be secret in a URL: the user's name before the host, and the path's query
// and fragment.
var urlSecrets = lazy.Regexp(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^\s/?#"']*@)?([^\s?#"']*)([?#][^\s"']*)?`)

// withoutSecrets returns a URL without what may be secret in it. The address of a
// database keeps its user and its parameters, without which it means another one, but
// for passwords.
func withoutSecrets(url string) string {
	part := urlSecrets().FindStringSubmatch(url)
	scheme, user, rest, query := part[1], part[2], part[3], part[4]
	if scheme != "postgres://" && scheme != "postgresql://" {
		return scheme + rest
	}
	if name, _, has := strings.Cut(user, ":"); has {
		user = name + "@"
	}
	if strings.Contains(query, "password") {
		query = ""
	}
	return scheme + user + rest + query
}

// cleanLimit bounds foreign text in one line of ours; a page of HTML is not a
// message.
const cleanLimit = 300

// Clean returns text that came from outside fit to be shown: one line, no
// terminal escapes, no control or bidirectional characters, no credentials or
// queries of URLs, and no more than 300 characters.
func Clean(s string) string {
	s = urlSecrets().ReplaceAllStringFunc(Plain(s), withoutSecrets)
	if utf8.RuneCountInString(s) > cleanLimit {
		s = string([]rune(s)[:cleanLimit-1]) + "…"
	}
	return strings.TrimSpace(s)
}

// Plain is [Clean] for text from which the credentials were taken out already: of
// any length, and with the queries of URLs.
func Plain(s string) string {
	s = Escapes().ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d':
			return -1
		}
		return r
	}, s)
}

// CleanLine is [Clean] for a line whose spaces matter: one of an excerpt.
func CleanLine(s string) string {
	body := strings.TrimLeft(s, " ")
	return s[:len(s)-len(body)] + Clean(body)
}
