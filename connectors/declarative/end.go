package declarative

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// ends returns nil if p is the last page of a walk, in which there is nothing to
// go on with at the path of the next page, and otherwise why it may not be. A
// null, "" or false at the path says that it is the last one. That nothing is
// there may also mean that the path is wrong:
//
//   - What would lead on stands beside the path, under another name. MediaWiki
//     names it after what it lists: {"continue": {"rvcontinue": "…"}}.
//   - The first page of a walk looks full. For an API that ends without a word
//     the file says that the path is optional; remedy is how.
//
// Once a walk is on a later page, the path led there.
func (p *page) ends(at path, optional bool, remedy string) error {
	if !at.absent(p.body) {
		return nil
	}
	holder, names := at.beside(p.body)
	full := p.first && isRound(len(p.elements))
	switch {
	case len(names) > 0 && holder != "":
		return badPage("`%s` has no `%s`, and seems to lead on by `%s`: correct the path of the next page", holder, at.steps[len(at.steps)-1], strings.Join(names, "`, `"))
	case len(names) > 0 && full: // a last page may have a name for another purpose, such as the next synchronization
		return badPage("the page has no `%s`, looks full (%d records), and seems to lead on by `%s`: correct the path of the next page", at.text, len(p.elements), strings.Join(names, "`, `"))
	case full && !optional:
		return badPage("the page has no `%s` and looks full (%d records); if this API leaves it out at the end: %s", at.text, len(p.elements), remedy)
	}
	return nil
}

var (
	leadingOn   = regexp.MustCompile(`(?i)next|continu`) // names of what leads to the next page
	leadingAway = regexp.MustCompile(`(?i)sync|delta`)   // and of what leads to later changes: nextSyncToken of Google
	plainName   = regexp.MustCompile(`^[\w.@$:-]{1,40}$`)
)

// mostNames bounds how many names of a page an error has.
const mostNames = 3

// beside returns the path of the object in which doc has nothing at p, "" for
// doc itself, and the names of that object's members that seem to lead to the
// next page: those with such a name or, if the object is called so itself, all
// that have a value.
func (p path) beside(doc []byte) (holder string, names []string) {
	object, last := parse(doc), len(p.steps)-1
	for _, step := range p.steps[:last] {
		object = object.Get(gjson.Escape(step))
	}
	all := last > 0 && leadingOn.MatchString(p.steps[last-1])
	if !object.IsObject() {
		return "", nil
	}
	object.ForEach(func(name, value gjson.Result) bool {
		leads := all || leadingOn.MatchString(name.Str) && !leadingAway.MatchString(name.Str)
		if leads && hasValue(value) {
			said := "…"
			if plainName.MatchString(name.Str) {
				said = name.Str
			}
			names = append(names, said)
		}
		return len(names) < mostNames
	})
	return strings.Join(p.steps[:last], "."), names
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
