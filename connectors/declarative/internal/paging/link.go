package paging

import "strings"

// LinkTarget returns the target of the first link with relation rel in the
// values of Link headers (RFC 8288, section 3), as it was sent; "" if there is
// none. Relations are compared without regard to case; a link may have several,
// separated by spaces. A link with an anchor is of another page than the one
// that has the header, and counts if there is no other.
//
// ok is false if a value breaks off before such a link was found, or has text
// that is no link: what could not be read might have been it.
func LinkTarget(values []string, rel string) (target string, ok bool) {
	anchored := ""
	for _, value := range values {
		for {
			before, rest, found := strings.Cut(value, "<")
			if strings.Trim(before, " \t,;") != "" {
				return anchored, anchored != ""
			}
			if !found {
				break
			}
			target, rest, found = strings.Cut(rest, ">")
			if !found {
				return "", false
			}
			var l link
			if l, value, ok = cutParams(rest); !ok {
				return "", false
			}
			switch {
			case l.is(rel) && !l.anchored:
				return target, true
			case l.is(rel) && anchored == "":
				anchored = target
			}
		}
	}
	return anchored, true
}

// A link is what the parameters of one say.
type link struct {
	relations string
	anchored  bool
}

func (l link) is(rel string) bool {
	for r := range strings.FieldsSeq(l.relations) {
		if strings.EqualFold(r, rel) {
			return true
		}
	}
	return false
}

// cutParams reads the parameters of one link, up to the comma that ends it. Of
// two rel parameters the first one counts. ok is false if a quoted string has
// no end.
func cutParams(s string) (l link, rest string, ok bool) {
	found := false
	for {
		s = strings.TrimLeft(s, " \t;")
		if s == "" || s[0] == ',' {
			return l, strings.TrimPrefix(s, ","), true
		}
		end := strings.IndexAny(s, "=;,")
		if end < 0 {
			return l, "", true
		}
		name := strings.TrimSpace(s[:end])
		if s[end] != '=' {
			s = s[end:]
			continue
		}
		var value string
		if value, s, ok = cutValue(strings.TrimLeft(s[end+1:], " \t")); !ok {
			return link{}, "", false
		}
		switch {
		case strings.EqualFold(name, "rel") && !found:
			l.relations, found = value, true
		case strings.EqualFold(name, "anchor"):
			l.anchored = true
		}
	}
}

// cutValue reads a token or a quoted string. ok is false if that has no end.
// Some servers quote as in a programming language, 'next', which a token may be.
func cutValue(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.Trim(s[:end], " \t'"), s[end:], true
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
