package compile

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// Doubts returns what a sound file has that is probably not meant: names that
// nothing uses, rules that never decide, and what looks like a credential.
func Doubts(doc *language.Document) []yamlfile.Fault {
	d := &yamlfile.Decoder{}
	_, d.Faults = credentials(doc)
	unused(d, doc)
	for _, list := range [][]language.RuleSpec{doc.Provider.Throttle, doc.Defaults.On} {
		unreachable(d, list)
	}
	for _, st := range doc.Streams {
		unreachable(d, st.Value.On)
	}
	return d.Faults
}

// NoLists returns the streams whose page is read in the body, where the body is to be
// the list, too: such a body is one record, and nothing leads to the next page.
func NoLists(doc *language.Document, f *File) []yamlfile.Fault {
	d := &yamlfile.Decoder{}
	for _, e := range doc.Streams {
		st, page := f.Stream(e.Key.Text), e.Value.Page
		if page == nil {
			page = doc.Defaults.Page
		}
		if page == nil || st.Records.Path.Set || st.Records.Map != "" || st.Records.One || e.Value.Format.At.Line > 0 {
			continue
		}
		for _, path := range st.Page.Reads() {
			if path.Set {
				d.Fail(page.At, fmt.Sprintf("`page` reads `%s` in the body, which is then an object and no list: say with `records` where in it the list of `%s` is", path.Text, st.Name), "read as one record")
				break
			}
		}
	}
	return d.Faults
}

// FetchedOnce returns the streams whose details are fetched once, although the records that
// they belong to say when they change.
func FetchedOnce(doc *language.Document, f *File) []yamlfile.Fault {
	d := &yamlfile.Decoder{}
	for _, e := range doc.Streams {
		st := f.Stream(e.Key.Text)
		if st.Refresh != collection.Once {
			continue
		}
		if each, known := f.WithChanged(st, nil); known {
			d.Fail(e.Value.Each[0].Key.At, fmt.Sprintf("a detail of `%s` is fetched once: when its record of `%s` changes, it stays as it was. To have it fetched again: `%s`", st.Name, st.Parent, each), "not fetched again")
		}
	}
	return d.Faults
}

// unused looks for the params, secrets and bindings that nothing refers to.
func unused(d *yamlfile.Decoder, doc *language.Document) {
	used := map[string]bool{}
	note := func(s yamlfile.Scalar) {
		for _, name := range named().FindAllString(s.Text, -1) {
			used[name] = true
		}
	}
	scalars(reflect.ValueOf(doc.Provider), note)
	scalars(reflect.ValueOf(doc.Defaults), note)
	scalars(reflect.ValueOf(doc.Streams), note)
	tell := func(at yamlfile.Span, what string) {
		d.Fail(at, fmt.Sprintf("nothing uses %s", what), "it can be left out")
	}
	for _, p := range doc.Params {
		if !used["params."+p.Key.Text] {
			tell(p.Key.At, fmt.Sprintf("the param `%s`: write ${params.%s} where it belongs", p.Key.Text, p.Key.Text))
		}
	}
	for _, s := range doc.Secrets {
		if !used["secrets."+s.Key.Text] {
			tell(s.Key.At, fmt.Sprintf("the secret `%s`: write ${secrets.%s} in `auth`", s.Key.Text, s.Key.Text))
		}
	}
	for _, st := range doc.Streams {
		for _, b := range st.Value.Each {
			if b.Key.Text != "when" && b.Key.Text != "changed" && !bound(doc, st, b.Key.Text) {
				tell(b.Key.At, fmt.Sprintf("the name `%s` that `each` binds: write ${%s} where it belongs", b.Key.Text, b.Key.Text))
			}
		}
	}
}

// named matches a reference to a parameter or a secret, in a template or in a
// predicate.
var named = lazy.Regexp(`\b(?:params|secrets)\.[a-z0-9_]+`)

// bound reports whether something uses a name that `each` of st binds: st itself,
// or a stream whose parent it is.
func bound(doc *language.Document, st yamlfile.Entry[language.StreamSpec], name string) bool {
	reference := regexp.MustCompile(`\$\{\s*` + regexp.QuoteMeta(name) + `\s*\}`)
	found := false
	spec := st.Value
	spec.Each = nil
	for _, part := range []any{spec, doc.Defaults, doc.Provider} {
		scalars(reflect.ValueOf(part), func(s yamlfile.Scalar) { found = found || reference.MatchString(s.Text) })
	}
	keys := spec.Key.Paths
	if len(keys) == 0 {
		keys = doc.Defaults.Key.Paths
	}
	for _, p := range keys {
		found = found || p.Text == name
	}
	for _, child := range doc.Streams {
		for _, b := range child.Value.Each {
			found = found || b.Value.Text == st.Key.Text+"."+name
		}
	}
	return found
}

// unreachable looks for rules that never decide, because each answer that they
// match is matched by the rules before them.
func unreachable(d *yamlfile.Decoder, rules []language.RuleSpec) {
	for i, r := range rules {
		var left []int // statuses that no earlier rule takes whole
		for _, status := range r.Status {
			left = append(left, status.Value)
		}
		for _, before := range rules[:i] {
			if !laxer(before, r) {
				continue
			}
			takes := func(status int) bool {
				return len(before.Status) == 0 || slices.ContainsFunc(before.Status, func(c yamlfile.Count) bool { return c.Value == status })
			}
			left = slices.DeleteFunc(left, takes)
			if len(left) == 0 && (len(before.Status) == 0 || len(r.Status) > 0) {
				d.Fail(r.At, fmt.Sprintf("this rule never decides: the rule in line %d takes all that it matches", before.At.Line), "never reached")
				break
			}
		}
	}
}

// laxer reports whether a asks for nothing, besides a status, that b does not ask
// for in the same words.
func laxer(a, b language.RuleSpec) bool {
	for _, test := range a.Header {
		same := func(other string, is, when string) bool {
			return strings.EqualFold(other, test.Key.Text) && is == test.Value.Is.Text && when == test.Value.When.Text
		}
		found := false
		for _, of := range b.Header {
			found = found || same(of.Key.Text, of.Value.Is.Text, of.Value.When.Text)
		}
		if !found {
			return false
		}
	}
	return !a.Body.Set || b.Body.Set && a.Body.Text == b.Body.Text
}

// scalars calls each for every single value and key below v, in the order of the
// file. What is added to the language is found without a word here.
func scalars(v reflect.Value, each func(yamlfile.Scalar)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scalars(v.Elem(), each)
		}
	case reflect.Slice:
		for i := range v.Len() {
			scalars(v.Index(i), each)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			scalars(it.Value(), each)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[yamlfile.Scalar]() {
			if s := v.Interface().(yamlfile.Scalar); s.Text != "" {
				each(s)
			}
			return
		}
		for i := range v.NumField() {
			// What an embedded block holds is exported, though its type may not be.
			if field := v.Type().Field(i); field.IsExported() || field.Anonymous {
				scalars(v.Field(i), each)
			}
		}
	}
}
