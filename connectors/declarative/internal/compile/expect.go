package compile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
)

// An Expected is what a stream says that its records are like.
type Expected struct {
	collection.Expectation
	fields []expectedField
}

type expectedField struct {
	name string
	path string // for gjson
	kind collection.JSONKind
}

// expect compiles what is expected of the records of a stream.
func (c *checker) expect(spec language.StreamSpec, st *Stream) {
	s := spec.Expect
	if s == nil {
		return
	}
	c.OneOf(s.Zero, language.ZeroError, language.Off)
	e := Expected{}
	e.Zero = collection.Zero(s.Zero.Text)
	if s.Records.Set {
		least := language.AtLeast().FindStringSubmatch(s.Records.Text)
		if least == nil {
			c.Fail(s.Records.At, "`records` of `expect` says how many there are at least", "for example: records: '>= 1'")
		} else {
			e.Least, _ = strconv.ParseInt(least[1], 10, 64)
		}
	}
	if s.Drop.Set {
		switch {
		case !language.Share().MatchString(s.Drop.Text):
			c.Fail(s.Drop.At, "`drop` of `expect` is a share of the records of the walk before, below 100%, or off", "for example: drop: 50%")
		case s.Drop.Text == language.Off:
			e.AnyDrop = true
		default:
			e.Drop, _ = strconv.Atoi(strings.TrimSuffix(s.Drop.Text, "%"))
			e.Drops = true
		}
	}
	for _, f := range s.Fields {
		c.OneOf(f.Value, language.Kinds[:]...)
		kind, _ := collection.ParseJSONKind(f.Value.Text)
		e.fields = append(e.fields, expectedField{f.Key.Text, gjson.Escape(f.Key.Text), kind})
	}
	counts := e.Expectation != (collection.Expectation{})
	switch {
	case counts && st.Role == collection.Detail:
		c.Fail(s.At, "a detail is no list: `expect` has only `fields` there", "")
	case counts && st.Windows != nil:
		c.Fail(s.At, "a list that is asked for in `windows` is never walked whole again: `expect` has only `fields` there", "")
	}
	st.Expect = e
}

// Drift says which field of a record is not what is expected; "" if all are.
func (e Expected) Drift(data []byte) string {
	for _, f := range e.fields {
		value := gjson.GetBytes(data, f.path)
		is := kindOf(value)
		switch {
		case !value.Exists():
			return fmt.Sprintf("a record has no `%s`, and `expect` says that each has it", f.name)
		case is == 0:
			return fmt.Sprintf("`%s` of a record is null, and `expect` says that it is a %s", f.name, f.kind)
		case is != f.kind:
			return fmt.Sprintf("`%s` of a record is of the kind %s, and `expect` says %s", f.name, is, f.kind)
		}
	}
	return ""
}

// kindOf returns the kind of a JSON value; 0 for null.
func kindOf(value gjson.Result) collection.JSONKind {
	switch {
	case value.Type == gjson.String:
		return collection.JSONString
	case value.Type == gjson.Number:
		return collection.JSONNumber
	case value.Type == gjson.True, value.Type == gjson.False:
		return collection.JSONBoolean
	case value.IsArray():
		return collection.JSONArray
	case value.IsObject():
		return collection.JSONObject
	}
	return 0
}
