package paging

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/usual"
	"collect/internal/yamlfile"
)

// A lead is a member of a page that leads to the next page.
type lead struct {
	path string // as a connector file writes it
	url  bool   // its value is an address, and no token
}

// leads returns what else on the first page of a walk leads to the next one, if the
// path or the header of the file has nothing there; nil if nothing does. On a later
// page, the page before showed that the file is right.
//
// A false alarm stops a list that is whole, so that much is left alone:
//   - Only members that other APIs lead on with count, by their whole names (see
//     leadNames). `cursor` and `paging.cursors.after` are not among them: they also
//     tell the place of the page itself.
//   - Only in the envelope, as for [LeadsOn], and only with a text, or with a number
//     as a token. A bare `next` may be the next song: see leadAt.
//   - Not if its value is that of `self`, `current` or `first` beside it, which is the
//     page itself. `last` is not: it is also the second of two pages.
//   - Not if a member of the envelope says that there is no more, or a total that
//     these are all.
//   - Not on a page without records: a feed of changes says there where to go on later.
func (p *Page) leads() *lead {
	if !p.First || len(p.Elements) == 0 || len(p.Body) == 0 {
		return nil
	}
	var found *lead
	had := int64(p.Had())
	told := inHeader(p, usual.TotalHeaders)
	all, not := told.By != "" && told.Total == had, false // what totals say
	over := false
	inEnvelope(p.Body, p.List, func(in holder, key, value gjson.Result) bool {
		switch {
		case isLead(key.Str):
			if found == nil {
				found = leadAt(in, key.Str, value)
			}
		case isTotal(key.Str):
			all, not = all || value.Type == gjson.Number && value.Int() == had, not || value.Int() > had
		case saysOver(key.Str, value):
			over = true
		}
		return !over
	})
	if over || all && !not {
		return nil
	}
	return found
}

// saysOver reports whether a member of an envelope says that its page is the last one.
func saysOver(name string, value gjson.Result) bool {
	text, _ := notation.TextOf(value)
	switch is := fold(name); is {
	case "last", "islast", "islastpage", "done", "endofstream":
		return value.Type == gjson.True
	case "totalpages", "pages", "lastpage":
		return text == "1"
	default:
		more := is == "hasnext" || is == "moredataavailable" || spelled(name, usual.Mores)
		return more && (text == "false" || text == "0")
	}
}

// isTotal reports whether a member of an envelope is named for the number of records of
// its list. `count` may be how many are on the page.
func isTotal(name string) bool { return fold(name) != usual.Count && spelled(name, usual.Totals) }

// spelled reports whether a name is one of names in any spelling.
func spelled(name string, names []string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return fold(other) == fold(name) })
}

// leadAt returns the lead that value, the member name of in, is; nil if it is none. An
// object holds it: {"next": {"href": "…"}}. Outside of what says how a list goes on,
// `next` leads on only as an address: {"next": {"url": "/post/5"}, "comments": […]}.
func leadAt(in holder, name string, value gjson.Result) *lead {
	l := &lead{path: in.below(name)}
	bare := fold(name) == "next" && !in.pages
	if value.IsObject() {
		value, name = unwrapped(value)
		l.path += "." + name
		if bare {
			return nil
		}
	}
	text, _ := notation.TextOf(value)
	l.url = isAddress(text)
	switch {
	case value.Type == gjson.Number && (fold(name) == "next" || value.Num <= 0):
		return nil
	case value.Type != gjson.Number && value.Type != gjson.String, text == "", text == "0", text == "null", bare && !l.url:
		return nil
	}
	for _, own := range []string{"self", "current", "first"} {
		own, _ := unwrapped(in.Get(own))
		if is, ok := notation.TextOf(own); ok && (is == text || l.url && samePlace(is, text)) {
			return nil
		}
	}
	return l
}

// unwrapped returns what an object that holds a link has, and its name; anything else as
// it is.
func unwrapped(value gjson.Result) (inner gjson.Result, name string) {
	for _, name := range usual.Links {
		if inner := value.Get(name); value.IsObject() && inner.Exists() {
			return inner, name
		}
	}
	return value, ""
}

func isAddress(text string) bool {
	for _, begin := range []string{"http://", "https://", "/", "?"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// samePlace reports whether two addresses are the same, if one is relative to the other.
func samePlace(a, b string) bool {
	one, err := url.Parse(a)
	other, err2 := url.Parse(b)
	return err == nil && err2 == nil && (one.ResolveReference(other).String() == a || other.ResolveReference(one).String() == b)
}

// leadNames are the names of the members that other APIs lead on with, as fold has them.
var leadNames = sync.OnceValue(func() (names []string) {
	add := func(path string) {
		name := path
		if dot := strings.LastIndex(path, "."); dot > 0 && path[dot-1] != '\\' {
			name = path[dot+1:]
		}
		if leadingOn().MatchString(name) {
			names = append(names, fold(strings.ReplaceAll(name, `\.`, ".")))
		}
	}
	for _, path := range usual.NextURLs {
		add(path)
	}
	for _, token := range usual.NextTokens {
		add(token.Path)
	}
	return names
})

func isLead(name string) bool { return slices.Contains(leadNames(), fold(name)) }

// fold returns a name as all spellings of it: next_page_token is nextPageToken.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// inPlace is the parameter of a token that stands where the request has ${page}.
const inPlace = "${page}"

// astray is the error for a page that does not lead on by what the file says, which
// lacks describes, and does by another member. param is the parameter that takes a
// token, if the file names one. It returns nil if nothing leads on.
func (p *Page) astray(lacks, param string) error {
	l := p.leads()
	if l == nil {
		return nil
	}
	return BadPage("%s, but `%s` seems to lead to another page: %s", lacks, l.path, l.remedy(param))
}

// remedy returns how a connector file follows l.
func (l *lead) remedy(param string) string {
	if l.url {
		return "page: " + yamlfile.Flow(yamlfile.Map{{Key: "next_url", Value: l.path}})
	}
	cursor, also := yamlfile.Map{{Key: "from", Value: l.path}}, ""
	switch param {
	case inPlace:
	case "":
		param, also = "cursor", ", with the parameter of this API"
		if i := slices.IndexFunc(usual.NextTokens, func(t usual.Token) bool { return t.Path == l.path }); i >= 0 {
			param = usual.NextTokens[i].Param
		}
		fallthrough
	default:
		cursor.Set("param", param)
	}
	return "page: " + yamlfile.Flow(yamlfile.Map{{Key: "cursor", Value: cursor}}) + also
}

// inObject adds to err, which says that there is no token at a path, how a file follows what
// the object there has: the members that are usual for that, or else any text and number.
func (p *Page) inObject(err error, at notation.Path, param string) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	if object := at.In(p.Body); ok && object.IsObject() && !at.Twice(p.Body) {
		var remedies, others []string
		object.ForEach(func(key, value gjson.Result) bool {
			text, _ := notation.TextOf(value)
			if text == "" || value.Type != gjson.String && value.Type != gjson.Number || !plainName().MatchString(key.Str) {
				return true
			}
			l := lead{path: at.Text + "." + pathTo(key.Str), url: isAddress(text)}
			if slices.Contains(usual.Links, key.Str) {
				remedies = append(remedies, l.remedy(param))
			} else if len(others) < mostNames {
				others = append(others, l.remedy(param))
			}
			return len(remedies) < mostNames
		})
		if remedies == nil {
			remedies = others
		}
		if remedies != nil {
			stop.Detail += ": " + strings.Join(remedies, "; or ")
		}
	}
	return err
}

// noLinks reports whether no Link header of p is about pages. One that has another of
// their relations says by the absence of rel that this is the last one.
func (p *Page) noLinks() bool {
	links := p.Header.Values("Link")
	return !slices.ContainsFunc([]string{"next", "prev", "previous", "first", "last", "self"}, func(rel string) bool {
		target, _ := LinkTarget(links, rel)
		return target != ""
	})
}
