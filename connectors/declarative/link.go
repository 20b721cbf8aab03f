package declarative

import "strings"

// linkTarget returns the target of the first link with relation rel in the
// values of Link headers (RFC 8288, section 3), as it was sent; "" if there is
// none. Relations are compared without regard to case; a link may have several,
// separated by spaces.
func linkTarget(values []string, rel string) string {
	for _, value := range values {
		for value != "" {
			var target string
			target, value = cutTarget(value)
			if target == "" {
				break
			}
			var relations string
			relations, value = cutParams(value)
			for r := range strings.FieldsSeq(relations) {
				if strings.EqualFold(r, rel) {
					return target
				}
			}
		}
	}
	return ""
}

// cutTarget returns what is between < and >, and what follows.
func cutTarget(s string) (target, rest string) {
	_, s, found := strings.Cut(s, "<")
	if !found {
		return "", ""
	}
	target, rest, found = strings.Cut(s, ">")
	if !found {
		return "", ""
	}
	return target, rest
}

// cutParams reads the parameters of one link, up to the comma that ends it,
// and returns its relations. Of two rel parameters the first one counts.
func cutParams(s string) (relations, rest string) {
	found := false
	for {
		s = strings.TrimLeft(s, " \t;")
		if s == "" || s[0] == ',' {
			return relations, strings.TrimPrefix(s, ",")
		}
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			return relations, ""
		}
		name := strings.TrimSpace(s[:end])
		if s[end] != '=' {
			s = s[end:]
			continue
		}
		var value string
		value, s = cutValue(strings.TrimLeft(s[end+1:], " \t"))
		if strings.EqualFold(name, "rel") && !found {
			relations, found = value, true
		}
	}
}

// cutValue reads a token or a quoted string.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
