package paging

import (
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/declarative/internal/notation"
	"collect/internal/lazy"
)

// What a page has instead of what the file names is the quickest way to the
// mistake in the file. Its texts follow a message, and are "" if there is nothing
// to name. Only names of members are said, and no values.

// plainName matches a name that is fit to be said.
var plainName = lazy.Regexp(`^[\w.@$:-]{1,40}$`)

// mostFields bounds how many fields of a record a message names.
const mostFields = 8

// FieldNames names the fields of a record.
func FieldNames(record []byte) string {
	var names []string
	if object := notation.Parse(record); object.IsObject() {
		object.ForEach(func(key, _ gjson.Result) bool {
			if len(names) == mostFields {
				names = append(names, "…")
				return false
			}
			if plainName().MatchString(key.Str) {
				names = append(names, key.Str)
			}
			return true
		})
	}
	if names == nil {
		return ""
	}
	return "; the records have: " + strings.Join(names, ", ")
}

// ListNames names where in a body there are lists of objects, which `records` may
// mean, except at the path that it does mean.
func ListNames(body []byte, records notation.Path) string {
	var names []string
	look := func(at string, value gjson.Result) {
		if value.IsArray() && value.Get("0").IsObject() && at != records.Text && at != "errors" && len(names) < mostNames {
			names = append(names, "`"+at+"`")
		}
	}
	if object := notation.Parse(body); object.IsObject() {
		object.ForEach(func(key, value gjson.Result) bool {
			if !plainName().MatchString(key.Str) {
				return true
			}
			name := pathTo(key.Str)
			look(name, value)
			if value.IsObject() {
				value.ForEach(func(inner, value gjson.Result) bool {
					if plainName().MatchString(inner.Str) {
						look(name+"."+pathTo(inner.Str), value)
					}
					return true
				})
			}
			return true
		})
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "; the page has a list of objects at " + names[0]
	}
	return "; the page has lists of objects at " + strings.Join(names, ", ")
}

// Meant returns the path at which doc has a value, if it differs from p in small and
// large letters alone, or in the backslashes in front of the dots of one name; "" if
// there is none.
func Meant(p notation.Path, doc []byte) string {
	object, steps := notation.Parse(doc), make([]string, len(p.Steps))
	if whole := strings.Join(p.Steps, "."); len(p.Steps) > 1 && plainName().MatchString(whole) && hasValue(object.Get(gjson.Escape(whole))) {
		return pathTo(whole)
	}
	for i, step := range p.Steps {
		next, name := object.Get(gjson.Escape(step)), step
		if !next.Exists() && object.IsObject() {
			object.ForEach(func(key, value gjson.Result) bool {
				if strings.EqualFold(key.Str, step) && plainName().MatchString(key.Str) {
					next, name = value, key.Str
				}
				return !next.Exists()
			})
		}
		object, steps[i] = next, pathTo(name)
	}
	if at := strings.Join(steps, "."); at != p.Text && hasValue(object) {
		return at
	}
	return ""
}

// besides names the path that [Meant] returns, behind a message.
func besides(p notation.Path, doc []byte) string {
	if at := Meant(p, doc); at != "" {
		return "; the page has `" + at + "`"
	}
	return ""
}

// pathTo returns a member's name as a path has it.
func pathTo(name string) string { return strings.ReplaceAll(name, ".", `\.`) }

// mostNames bounds how many names of a page an error has.
const mostNames = 3
