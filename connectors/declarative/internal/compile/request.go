package compile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/request"
	"collect/internal/yamlfile"
)

// request compiles the method, the path and the body of a request. The path knows
// no mark: what it names would be another thing with each run.
func (c *checker) request(at yamlfile.Span, what string, spec language.RequestSpec, inPath, k known) request.Request {
	r := request.Request{}
	methods := 0
	for _, m := range []struct {
		name string
		path notation.Template
	}{{"", spec.Get}, {http.MethodPost, spec.Post}, {http.MethodPut, spec.Put}} {
		if m.path.Text != "" {
			methods++
			r.Method, r.Path = m.name, m.path
		}
	}
	switch methods {
	case 0:
		c.Fail(at, fmt.Sprintf("%s has no `get`: the path of its records", what), "")
	case 1:
		c.template(r.Path, inPath)
	default:
		c.Fail(r.Path.At, fmt.Sprintf("%s has one of `get`, `post` and `put`", what), "")
	}
	bodies := 0
	if spec.JSON != nil {
		bodies++
		node := c.node(spec.JSON.JSON, k)
		r.Body.JSON = &node
	}
	if spec.Form != nil {
		bodies++
		r.Body.Form = c.fields(k, spec.Form)
	}
	if spec.GraphQL != nil {
		bodies++
		r.Body.JSON, r.Body.GraphQL = c.graphQL(spec.GraphQL, k), true
	}
	switch {
	case bodies > 1:
		c.Fail(at, fmt.Sprintf("%s has one body: `json`, `form` or `graphql`", what), "")
	case bodies == 1 && r.Method == "" && methods == 1:
		c.Fail(r.Path.At, fmt.Sprintf("%s has a body, which needs `post` or `put` instead of `get`", what), "")
	}
	return r
}

// graphQL compiles a query and its variables. What is replaced stands in variables
// alone: a value in the text of a query could be more than a value.
func (c *checker) graphQL(spec *language.GraphQLSpec, k known) *request.Node {
	if spec.Query.Text == "" {
		c.Fail(spec.At, "graphql needs a `query`", "")
	}
	if i := strings.Index(spec.Query.Text, "${"); i >= 0 {
		c.Fail(spec.Query.Inside(i, 2), "nothing is replaced in a query: declare a variable in it, and give it under `variables`", "")
	}
	text, _ := json.Marshal(spec.Query.Text) // a text always marshals
	n := &request.Node{Members: []request.Member{{Name: "query", Value: request.Node{Constant: text}}}}
	if spec.Variables != nil {
		variables := c.node(language.JSON{Members: spec.Variables}, k)
		n.Members = append(n.Members, request.Member{Name: "variables", Value: variables})
	}
	return n
}

// node compiles a value of a JSON body.
func (c *checker) node(spec language.JSON, k known) request.Node {
	n := request.Node{Constant: spec.Constant}
	for _, m := range spec.Members {
		n.Members = append(n.Members, request.Member{Name: m.Key.Text, Value: c.node(m.Value, k)})
	}
	for _, item := range spec.Items {
		n.Items = append(n.Items, c.node(item, k))
	}
	if spec.Text.Set {
		n.Text = c.checkedTemplate(spec.Text, k)
	}
	return n
}

// headers merges the headers of a stream: the nearer declaration wins.
func (c *checker) headers(k known, lists ...yamlfile.Ordered[yamlfile.Scalar]) []request.Field {
	merged := []request.Field{}
	for _, list := range lists {
		for _, e := range list {
			name := textproto.CanonicalMIMEHeaderKey(e.Key.Text)
			if !isToken(e.Key.Text) {
				c.Fail(e.Key.At, "not the name of a header", "")
			}
			if slices.Contains(language.Reserved, name) {
				c.Fail(e.Key.At, fmt.Sprintf("the header %s cannot be set here", name), "")
			}
			merged = slices.DeleteFunc(merged, func(t request.Field) bool { return t.Name == name })
			if !e.Value.Null {
				value := c.checkedTemplate(e.Value, k)
				if slices.ContainsFunc(value.Parts, func(p notation.Part) bool { return strings.ContainsFunc(p.Text, request.Unsendable) }) {
					c.Fail(e.Value.At, "a header holds no line break, and no other control character", "")
				}
				merged = append(merged, request.Field{Name: name, Value: value})
			}
		}
	}
	return merged
}

// fields merges the parameters of a query or a form: the nearer declaration wins,
// and one with no value takes a default away.
func (c *checker) fields(k known, lists ...yamlfile.Ordered[language.Values]) []request.Field {
	merged := []request.Field{}
	for _, list := range lists {
		for _, e := range list {
			merged = slices.DeleteFunc(merged, func(t request.Field) bool { return t.Name == e.Key.Text })
			for _, value := range e.Value.All {
				if !e.Value.Null {
					merged = append(merged, request.Field{Name: e.Key.Text, Value: c.checkedTemplate(value, k)})
				}
			}
		}
	}
	return merged
}

// isToken reports whether s can name a header (RFC 9110, section 5.1).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}
