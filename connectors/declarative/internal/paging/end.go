package paging

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/declarative/internal/notation"
	"collect/connectors/usual"
	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// ends returns nil if p is the last page of a walk, in which there is nothing to
// go on with at the path of the next page, and otherwise why it may not be. A
// null, "" or false at the path says that it is the last one. That nothing is
// there may also mean that the path is wrong:
//
//   - The name differs in small and large letters.
//   - What would lead on stands beside the path, under another name. MediaWiki
//     names it after what it lists: {"continue": {"rvcontinue": "…"}}.
//   - The first page of a walk looks full. For an API that ends without a word
//     the file says that the path is optional; remedy is how.
//   - A member elsewhere leads on: see [Page.leads].
//
// Once a walk is on a later page, the path led there. param is the parameter that takes
// the token at the path; "" if the file names none.
func (p *Page) ends(at notation.Path, optional bool, remedy, param string) error {
	if !at.Absent(p.Body) {
		return nil
	}
	switch is := Meant(at, p.Body); {
	case is == "":
	case strings.EqualFold(is, at.Text):
		return BadPage("the page has no `%s`, but it has `%s`: a path has the letters of the name, large and small; correct it in `page`", at.Text, is)
	default:
		return BadPage("the page has no `%s`, but it has a member of that whole name: a dot inside a name has a backslash in front; write %s in `page`", at.Text, yamlfile.Quote(is))
	}
	if err := p.astray("the page has no `"+at.Text+"`", param); err != nil {
		return err
	}
	holder, names := beside(at, p.Body)
	full := p.First && isRound(len(p.Elements))
	switch {
	case len(names) > 0 && holder != "":
		return BadPage("`%s` has no `%s`, but it has `%s`, which may lead to the next page: correct the path in `page`", holder, at.Steps[len(at.Steps)-1], strings.Join(names, "`, `"))
	case len(names) > 0 && full: // a last page may have a name for another purpose, such as the next synchronization
		return BadPage("the page has no `%s`, but it looks full (%d records) and has `%s`, which may lead to the next page: correct the path in `page`", at.Text, len(p.Elements), strings.Join(names, "`, `"))
	case full && !optional:
		return BadPage("the page has no `%s`, but it looks full (%d records); if this API leaves it out on the last page: %s", at.Text, len(p.Elements), remedy)
	}
	return nil
}

// EndsByPath says why p, the first page of a walk, is its only one, if that rests on a path or a header of the file that
// may be another one: what may be missing is, or what says that there is no more has a name of its own, and the next
// page is named beside it. "" if p goes on, or ends otherwise.
func EndsByPath(p *Page, list Kind) string {
	if !p.First || p.Body == nil {
		return ""
	}
	var at, more notation.Path
	header, optional := "", false
	switch by := list.(type) {
	case ByURL:
		at, header, optional = by.At, by.Header, by.Optional
	case ByCursor:
		at, header, optional, more = by.From, by.Header, by.Optional, by.More
	default:
		return ""
	}
	switch {
	case more.Set:
		is, err := moreAt(more, p.Body, true)
		token, _ := tokenAt(at, p.Body)
		if err == nil && !is && header == "" && token != "" && !spelled(more.Steps[len(more.Steps)-1], usual.Mores) {
			return "`" + more.Text + "` says that there are no more, but `" + at.Text + "` has a cursor"
		}
	case !optional:
	case header != "" && len(p.Header.Values(header)) == 0:
		return "the page has no header " + header
	case header == "" && at.Absent(p.Body):
		return "the page has nothing at `" + at.Text + "`"
	}
	return ""
}

var (
	leadingOn   = lazy.Regexp(`(?i)next|continu`) // names of what leads to the next page
	leadingAway = lazy.Regexp(`(?i)sync|delta`)   // and of what leads to later changes: nextSyncToken of Google
)

// beside returns the path of the object in which doc has nothing at p, "" for
// doc itself, and the names of that object's members that seem to lead to the
// next page: those with such a name or, if the object is called so itself, all
// that have a value.
func beside(p notation.Path, doc []byte) (holder string, names []string) {
	object, last := notation.Parse(doc), len(p.Steps)-1
	for _, step := range p.Steps[:last] {
		object = object.Get(gjson.Escape(step))
	}
	all := last > 0 && leadingOn().MatchString(p.Steps[last-1])
	if !object.IsObject() {
		return "", nil
	}
	object.ForEach(func(name, value gjson.Result) bool {
		leads := all || leadingOn().MatchString(name.Str) && !leadingAway().MatchString(name.Str)
		if leads && hasValue(value) {
			said := "…"
			if plainName().MatchString(name.Str) {
				said = name.Str
			}
			names = append(names, said)
		}
		return len(names) < mostNames
	})
	return strings.Join(p.Steps[:last], "."), names
}

// headersLeadingOn names the headers that seem to lead to the next page, behind a
// message; "" if there are none.
func headersLeadingOn(h http.Header) string {
	var names []string
	for name := range h {
		if (leadingOn().MatchString(name) || strings.Contains(name, "Cursor")) && !leadingAway().MatchString(name) && plainName().MatchString(name) && h.Get(name) != "" {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return " and has " + strings.Join(names[:min(len(names), mostNames)], ", ")
}

// hasValue reports whether a value says anything but that there is none.
func hasValue(value gjson.Result) bool {
	switch value.Type {
	case gjson.Null, gjson.False:
		return false
	case gjson.Number:
		return value.Num > 0
	case gjson.String:
		return value.Str != ""
	}
	return value.Raw != "{}" && value.Raw != "[]"
}

// isRound reports whether a page of n records can be a full one: a number of
// tens or quarter hundreds, 15 (of Laravel), dozens for pages with columns, or a
// power of two.
func isRound(n int) bool {
	return n > 0 && (n%10 == 0 || n%25 == 0 || n == 15 || n%12 == 0 || n >= 16 && n&(n-1) == 0)
}

// noSuchPage matches what Django REST framework says of a page behind the last one; the
// second form is that of its releases before 3.2, with the words of Django's paginator.
var noSuchPage = lazy.Regexp(`^Invalid page( "?[0-9]+"?: That page contains no results)?\.?$`)

// NoSuchPage reports whether body says that a list has no page of the number that was
// asked for: {"detail": "Invalid page."}. "Not found" does not say it: it may mean the list.
func NoSuchPage(body []byte) bool {
	return noSuchPage().MatchString(gjson.GetBytes(body, "detail").String())
}

// Numbered reports whether pages are asked for by their numbers.
func Numbered(list Kind) bool {
	switch list.(type) {
	case ByNumber, BySize:
		return true
	}
	return false
}
