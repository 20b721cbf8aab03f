package declarative

import "strings"

// linkTarget returns the target of the first link with relation rel in the
// values of Link headers (RFC 8288, section 3), as it was sent; "" if there is
// none. Relations are compared without regard to case; a link may have several,
// separated by spaces.
//
// ok is false if a value breaks off before such a link was found: what is
// missing might have been it.
func linkTarget(values []string, rel string) (target string, ok bool) {
	for _, value := range values {
		for {
			_, rest, found := strings.Cut(value, "<")
			if !found {
				break
			}
			target, rest, found = strings.Cut(rest, ">")
			if !found {
				return "", false
			}
			var relations string
			if relations, value, ok = cutParams(rest); !ok {
				return "", false
			}
			for r := range strings.FieldsSeq(relations) {
				if strings.EqualFold(r, rel) {
					return target, true
				}
			}
		}
	}
	return "", true
}

// cutParams reads the parameters of one link, up to the comma that ends it,
// and returns its relations. Of two rel parameters the first one counts. ok is
// false if a quoted string has no end.
func cutParams(s string) (relations, rest string, ok bool) {
	found := false
	for {
		s = strings.TrimLeft(s, " \t;")
		if s == "" || s[0] == ',' {
			return relations, strings.TrimPrefix(s, ","), true
		}
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			return relations, "", true
		}
		name := strings.TrimSpace(s[:end])
		if s[end] != '=' {
			s = s[end:]
			continue
		}
		var value string
		if value, s, ok = cutValue(strings.TrimLeft(s[end+1:], " \t")); !ok {
			return "", "", false
		}
		if strings.EqualFold(name, "rel") && !found {
			relations, found = value, true
		}
	}
}

// cutValue reads a token or a quoted string. ok is false if that has no end.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}
