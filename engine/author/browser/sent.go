package browser

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"collect/engine/author/internal/sketch"
	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// sent writes the body of a list that is asked for with POST into s, and returns how it is
// cut into pages. What leads to a page stands in a member of the body, or in a variable
// of GraphQL: `${page}` takes its place.
func sent(s *sketch.Stream, g *group, key string) (block yamlfile.Map, why string) {
	first := g.visits[0].sent
	fields, graphQL := first, first.Get("query").Type == gjson.String && strings.Contains(first.Get("query").Str, "{")
	if graphQL {
		fields = first.Get("variables")
	}
	// Members are looked at as the parameters of a query are.
	asked := &group{}
	for _, v := range g.visits {
		values := v.sent
		if graphQL {
			values = v.sent.Get("variables")
		}
		like := &visit{query: url.Values{}, link: v.link, body: v.body, records: v.records, items: v.items}
		values.ForEach(func(name, value gjson.Result) bool {
			if value.Type == gjson.String || value.Type == gjson.Number {
				like.query.Set(name.Str, value.String())
			}
			return true
		})
		asked.visits = append(asked.visits, like)
	}
	block, why, used := paging(asked, key)
	param := ""
	if inner, ok := block[0].Value.(yamlfile.Map); ok && len(used) > 0 {
		param = used[0]
		inner = slices.DeleteFunc(slices.Clone(inner), func(p yamlfile.Pair) bool { return p.Key == "param" || strings.HasSuffix(p.Key, "_param") })
		block = yamlfile.Map{{Key: block[0].Key, Value: inner}}
		if from, _ := inner[0].Value.(string); graphQL && strings.HasSuffix(from, ".pageInfo.endCursor") {
			block = yamlfile.Map{{Key: "relay", Value: strings.TrimSuffix(from, ".pageInfo.endCursor")}}
		}
		why = strings.Replace(why, "the parameter ", "the member ", 1)
	}
	body := members(fields, param)
	if graphQL {
		inner := yamlfile.Map{{Key: "query", Value: first.Get("query").Str}}
		if len(body) > 0 {
			inner.Set("variables", body)
		}
		s.Set("graphql", inner, "")
	} else {
		s.Set("json", body, "")
	}
	if len(used) == 0 && slices.ContainsFunc(g.visits, func(v *visit) bool { return v.sent.Raw != first.Raw }) {
		s.Remarks = append(s.Remarks, "the bodies of the requests were not all the same: this is what the first one had")
	}
	return block, why
}

// subject returns the path that names what a list is of: of GraphQL the field of the
// answer, of a search what is searched.
func (g *group) subject(path string) string {
	if g.method != "POST" {
		return path
	}
	if first := g.visits[0]; first.records != "" && first.sent.Get("query").Exists() && strings.HasPrefix(first.records, "data.") {
		return strings.ReplaceAll(plainNames().ReplaceAllString(first.records, ""), ".", "/")
	}
	if at := strings.LastIndexByte(path, '/'); at > 0 && searches().MatchString(path[at+1:]) {
		return path[:at]
	}
	return path
}

var (
	plainNames = lazy.Regexp(`\.(nodes|edges|items)$`)
	mayLead    = lazy.Regexp(`(?i)^(next_?|page_?|next_?page_?|continuation_?)?(token|key)$`) // to a page, if an answer has it
	searches   = lazy.Regexp(`(?i)^_?(search|query|list|find|filter)$`)
)

// credentialsIn reports whether an object has a member that is named for a credential, and
// is not what leads to a page, which an answer has. It remembers the value.
func (d *drafter) credentialsIn(object gjson.Result, a *archive) (found bool) {
	object.ForEach(func(name, value gjson.Result) bool {
		if value.IsObject() || value.IsArray() {
			found = d.credentialsIn(value, a) || found
			return true
		}
		if value.Type != gjson.String || value.Str == "" || !sketch.SecretParam().MatchString(name.Str) {
			return true
		}
		for _, e := range a.Log.Entries {
			if mayLead().MatchString(name.Str) && strings.Contains(e.Response.Content.Text, value.Str) {
				return true
			}
		}
		found, d.secrets[value.Str] = true, true
		return true
	})
	return found
}

// members returns an object as it is written into a file, with `${page}` as the member
// called param.
func members(object gjson.Result, param string) (m yamlfile.Map) {
	object.ForEach(func(name, value gjson.Result) bool {
		if name.Str != param {
			m.Set(name.Str, written(value))
		}
		return true
	})
	if param != "" {
		m.Set(param, "${page}")
	}
	return m
}

// written returns a value of JSON as it is written into a file.
func written(value gjson.Result) any {
	switch {
	case value.IsObject():
		return members(value, "")
	case value.IsArray():
		list := []any{}
		for _, item := range value.Array() {
			list = append(list, written(item))
		}
		return list
	case value.Type == gjson.String:
		return strings.ReplaceAll(value.Str, "${", "$ {")
	}
	return yamlfile.Raw(value.Raw)
}
