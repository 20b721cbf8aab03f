package compile

import (
	"math"
	"reflect"
	"strings"

	"collect/connectors/declarative/internal/language"
	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// credentials returns the credentials that stand in a file as they are, in
// the places that become a part of a request, or of a parameter's default. Those
// of perhaps only look like one.
func credentials(doc *language.Document) (written, perhaps []yamlfile.Fault) {
	tell := func(s yamlfile.Scalar, offset, length int, sure bool) {
		f := yamlfile.Fault{At: s.Inside(offset, length), Hide: true}
		if sure {
			f.Message, f.Note = "a credential is never written into a connector file", secretForm
			written = append(written, f)
			return
		}
		f.Message = "this looks like a credential, which is never written into a connector file"
		f.Note = "if it is one: " + secretForm
		perhaps = append(perhaps, f)
	}
	pair := func(name string, value yamlfile.Scalar) {
		if looksSecret(value.Text) {
			tell(value, 0, len(value.Text), true)
		} else if secretName().MatchString(name) && literal(value.Text) {
			tell(value, 0, len(value.Text), longEnough(value.Text))
		} else if random(value.Text) {
			tell(value, 0, len(value.Text), false)
		}
	}
	for _, p := range doc.Params {
		pair(p.Key.Text, p.Value.Default)
	}
	pairs := func(list yamlfile.Ordered[yamlfile.Scalar]) {
		for _, e := range list {
			pair(e.Key.Text, e.Value)
		}
	}
	pairs(doc.Provider.Headers)
	for _, block := range []reflect.Value{reflect.ValueOf(doc.Defaults), reflect.ValueOf(doc.Streams), reflect.ValueOf(doc.Provider.BaseURL)} {
		entries(block, pair)
		scalars(block, func(s yamlfile.Scalar) {
			for _, at := range assigned().FindAllStringSubmatchIndex(s.Text, -1) {
				name, value := s.Text[at[2]:at[3]], s.Text[at[4]:at[5]]
				if looksSecret(value) || secretName().MatchString(name) && literal(value) && longEnough(value) {
					tell(s, at[4], at[5]-at[4], true)
				}
			}
		})
	}
	return written, perhaps
}

// entries calls each for every key with a single value below v.
func entries(v reflect.Value, each func(name string, value yamlfile.Scalar)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			entries(v.Elem(), each)
		}
	case reflect.Slice:
		for i := range v.Len() {
			entries(v.Index(i), each)
		}
	case reflect.Struct:
		switch e := v.Interface().(type) {
		case yamlfile.Entry[yamlfile.Scalar]:
			each(e.Key.Text, e.Value)
			return
		case yamlfile.Entry[language.Values]:
			for _, value := range e.Value.All {
				each(e.Key.Text, value)
			}
			return
		case yamlfile.Entry[language.JSON]:
			each(e.Key.Text, e.Value.Text)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				entries(v.Field(i), each)
			}
		}
	}
}

var (
	// secretName matches the names under which credentials are sent.
	secretName = lazy.Regexp(`(?i)^(?:x-)?(?:.*[-_.])?(?:api[-_]?key|apikey|access[-_]?key|access[-_]?token|auth[-_]?token|token|secret|client[-_]?secret|password|passwd|pwd|sig|signature|session[-_]?id)$`)

	// assigned matches what a query sets: name=value.
	assigned = lazy.Regexp(`[?&]([^=&?#\s]+)=([^&#\s]+)`)

	// issued matches the form of keys that their providers give a form to: GitHub,
	// GitLab, Slack, Stripe, AWS, Google, SendGrid, npm, JWT, and any Bearer.
	issued = lazy.Regexp(`(?:^|[\s"'=])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|[rsp]k_(?:live|test)_\w{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,}|SG\.[\w-]{16,}|npm_\w{20,}|sk-[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.|[Bb]earer\s+[\w.~+/-]{8,}|[Bb]asic\s+[\w+/]{8,}=*)`)
)

func looksSecret(text string) bool { return issued().MatchString(text) }

// literal reports whether a text is what is sent, and none of it comes from a
// reference.
func literal(text string) bool { return text != "" && !strings.Contains(text, "${") }

// longEnough tells a credential from a word such as none or public.
func longEnough(text string) bool {
	return len(text) >= 8 && strings.ContainsAny(text, "0123456789")
}

// random reports whether a text is as mixed as a key is: at least 24 letters and
// digits, of both, with more than 3.5 bits each. Dates, names and the ids of
// things are shorter, or written by people.
func random(text string) bool {
	if len(text) < 24 || !literal(text) || strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '=' || r == '+')
	}) || !strings.ContainsAny(text, "0123456789") || !strings.ContainsFunc(text, func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }) {
		return false
	}
	counts := map[rune]float64{}
	for _, r := range text {
		counts[r]++
	}
	bits := 0.0
	for _, n := range counts {
		p := n / float64(len(text))
		bits -= p * math.Log2(p)
	}
	return bits > 3.5
}
