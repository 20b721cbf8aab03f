package sketch

import (
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/usual"
	"collect/internal/lazy"
)

// Longest returns the path of the array with the most objects, three names deep
// at most.
func Longest(value gjson.Result) (at string, items []gjson.Result) { return longest(value, "", 0) }

func longest(value gjson.Result, path string, depth int) (at string, items []gjson.Result) {
	if value.IsArray() {
		for _, item := range value.Array() {
			if item.IsObject() {
				items = append(items, item)
			}
		}
		return path, items
	}
	if !value.IsObject() || depth == 3 {
		return path, nil
	}
	value.ForEach(func(name, inner gjson.Result) bool {
		if deeper, found := longest(inner, Below(path, name.Str), depth+1); len(found) > len(items) {
			at, items = deeper, found
		}
		return true
	})
	return at, items
}

// NextURL returns the path of the address of the next page in an answer; "" if it has none. An
// object that has a token has no address: the token is to be looked for.
func NextURL(answer gjson.Result) string {
	if !answer.IsObject() {
		return ""
	}
	for _, path := range usual.NextURLs {
		next := answer.Get(path)
		for _, name := range usual.Links {
			if inner := next.Get(name); next.IsObject() && inner.Exists() {
				next, path = inner, path+"."+name
			}
		}
		if text := next.Str; strings.HasPrefix(text, "/") || strings.HasPrefix(text, "?") || strings.Contains(text, "://") {
			return path
		}
	}
	return ""
}

// Fields returns the names in the first record, in its order.
func Fields(items []gjson.Result) (names []string) {
	items[0].ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.Str)
		return true
	})
	return names
}

// Inner returns the objects that all items have by a name; nil if one has none.
func Inner(items []gjson.Result, name string) (inner []gjson.Result) {
	for _, item := range items {
		object := item.Get(gjson.Escape(name))
		if !object.IsObject() {
			return nil
		}
		inner = append(inner, object)
	}
	return inner
}

// Unique tells whether all items have a text or a number called name, and never one
// twice.
func Unique(items []gjson.Result, name string) bool {
	had := map[string]bool{}
	for _, item := range items {
		value := item.Get(gjson.Escape(name))
		if value.Type != gjson.String && value.Type != gjson.Number || value.String() == "" || had[value.Raw] {
			return false
		}
		had[value.Raw] = true
	}
	return true
}

// leads matches the names of members that lead to another page.
var leads = lazy.Regexp(`(?i)next|cursor|token|continu|after|scroll`)

// Find returns the path at which a body has value, beside its records; "" if it is
// nowhere. A short value or a number is found only where the name says that it leads on.
func Find(body gjson.Result, records, value string) string {
	plain := len(value) < 4 || strings.Trim(value, "0123456789") == ""
	return find(body, "", records, value, plain, 0)
}

func find(at gjson.Result, path, records, value string, plain bool, depth int) (found string) {
	if !at.IsObject() || depth == 4 {
		return ""
	}
	at.ForEach(func(name, inner gjson.Result) bool {
		here := Below(path, name.Str)
		switch {
		case here == records:
		case inner.IsObject():
			found = find(inner, here, records, value, plain, depth+1)
		case inner.String() == value && (!plain || leads().MatchString(here)):
			found = here
		}
		return found == ""
	})
	return found
}
