package wire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Encode returns a text as the database has it.
func Encode(s string) string {
	if !special(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case s[0] == 0:
			b.WriteString("\x01\x01")
		case s[0] == 1:
			b.WriteString("\x01\x02")
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "\x01\x03%02x", s[0])
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// special reports whether a text is not written as it is.
func special(s string) bool {
	return strings.IndexByte(s, 0) >= 0 || strings.IndexByte(s, 1) >= 0 || !utf8.ValidString(s)
}

// Decode returns the text that Encode was given. What Encode never returned comes
// back as it is.
func Decode(s string) string {
	at := strings.IndexByte(s, 1)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for ; at >= 0 && at+1 < len(s); at = strings.IndexByte(s, 1) {
		b.WriteString(s[:at])
		size := 2
		switch s[at+1] {
		case 1:
			b.WriteByte(0)
		case 2:
			b.WriteByte(1)
		case 3:
			size = 4
			c, err := strconv.ParseUint(s[at+2:min(at+size, len(s))], 16, 8)
			if err != nil {
				return s
			}
			b.WriteByte(byte(c))
		default:
			return s
		}
		s = s[at+size:]
	}
	b.WriteString(s)
	return b.String()
}
