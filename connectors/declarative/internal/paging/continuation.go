package paging

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// ByContinue asks for the next page with each member of an object as a parameter.
// The token is that object, with its members sorted by name.
//
// With Complete, an answer without that member is a part of a page: the parts that
// follow it have further fields of the same records. MediaWiki answers so:
//
//	{"continue": {"clcontinue": "1|Cats", "continue": "||"}, "query": …}
//	{"batchcomplete": true, "continue": {"gapcontinue": "B", "continue": "gapcontinue||"}, "query": …}
//	{"batchcomplete": true, "query": …}
type ByContinue struct {
	From     notation.Path
	Complete notation.Path // not set: each answer is a whole page
}

func (b ByContinue) Ask(token string) (fields []Field) {
	if !strings.HasPrefix(token, "{") {
		return nil // the first page, or what is no token of this paging
	}
	notation.Parse([]byte(token)).ForEach(func(name, value gjson.Result) bool {
		text, _ := notation.TextOf(value)
		fields = append(fields, Field{Name: name.Str, Value: text})
		return true
	})
	return fields
}

func (ByContinue) End(*Page) collection.End { return collection.EndMark }

func (b ByContinue) Reads() []notation.Path { return []notation.Path{b.From, b.Complete} }

// Next returns the token of the next answer, be it a part of the same page or the
// next page.
func (b ByContinue) Next(p *Page, _ string) (string, error) {
	if b.From.Twice(p.Body) {
		return "", BadPage("the page has `%s` twice", b.From.Text)
	}
	object := b.From.In(p.Body)
	switch {
	case !object.Exists(), object.Type == gjson.Null, object.Type == gjson.False, object.IsObject() && !hasValue(object):
		if !b.Whole(p) {
			return "", BadPage("the answer has neither `%s`, which leads on, nor `%s`, which says that the page is complete", b.From.Text, b.Complete.Text)
		}
		return "", p.ends(b.From, true, "", "")
	case !object.IsObject():
		return "", BadPage("the value at `%s` is not an object", b.From.Text)
	}
	type member struct{ name, raw string }
	var members []member
	bad := ""
	object.ForEach(func(name, value gjson.Result) bool {
		_, ok := notation.TextOf(value)
		switch {
		case value.Type == gjson.Null:
		case !ok, name.Str == "":
			bad = "a member of `%s` is neither text nor a number"
		case slices.ContainsFunc(members, func(m member) bool { return m.name == name.Str }):
			bad = "`%s` has a member twice"
		default:
			members = append(members, member{name.Str, name.Raw + ":" + value.Raw})
		}
		return bad == ""
	})
	if bad != "" {
		return "", BadPage(bad, b.From.Text)
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	raw := make([]string, len(members))
	for i, m := range members {
		raw[i] = m.raw
	}
	return "{" + strings.Join(raw, ",") + "}", nil
}

// Whole reports whether p is a whole page, and no part of one.
func (b ByContinue) Whole(p *Page) bool {
	if !b.Complete.Set || p.Body == nil {
		return true
	}
	said := b.Complete.In(p.Body)
	return said.Exists() && said.Type != gjson.Null && said.Type != gjson.False // "" is what old versions say
}

// Nothing reports whether an answer has no records because there are none: MediaWiki
// then leaves out all that would hold them. Such an answer says what b looks for,
// and nothing else in it can hold a list.
func (b ByContinue) Nothing(body []byte, records notation.Path) bool {
	doc := notation.Parse(body)
	if !records.Set || !doc.IsObject() || b.From.Absent(body) && (!b.Complete.Set || b.Complete.Absent(body)) {
		return false
	}
	nothing := true
	doc.ForEach(func(name, value gjson.Result) bool {
		if name.Str == records.Steps[0] {
			nothing = false
		} else if name.Str != b.From.Steps[0] && value.IsObject() {
			value.ForEach(func(_, inner gjson.Result) bool {
				nothing = nothing && inner.Type != gjson.JSON
				return nothing
			})
		} else if value.IsArray() {
			nothing = false
		}
		return nothing
	})
	return nothing
}
