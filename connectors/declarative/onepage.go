package declarative

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
)

// usualSizes are how many records a page has where nobody asks for another
// number, or for the most.
var usualSizes = []int{20, 25, 30, 50, 100, 200, 250, 500, 1000}

// manySizes are those of usualSizes that a list which is whole seldom has: of
// thousands of lists, one for each parent, some have twenty records.
const manySizes = 100

// maybeCut returns a warning if a list that is declared as one page seems to be
// cut into several: its envelope leads on to another one, or it has exactly as
// many records as a page.
func (w *walk) maybeCut(p *page) *collection.Warning {
	if one, ok := w.st.page.(onePage); !ok || one.detail || p.body == nil {
		return nil
	}
	n := len(p.elements)
	if name := leadsOn(p.body, w.st.records); name != "" {
		if w.c.secrets.in(name) {
			name = "…"
		}
		return &collection.Warning{Code: collection.MaybeOnePage, Text: fmt.Sprintf(
			"%d records came, `%s` leads on, and `page` says that there is one page: say how the list is cut into pages", n, name)}
	}
	usual := slices.Contains(usualSizes, n) && (n >= manySizes || w.at.Partition == "")
	if !usual || w.tellsTotal(p) {
		return nil
	}
	return &collection.Warning{Code: collection.MaybeOnePage, Text: fmt.Sprintf(
		"exactly %d records came, as many as one page often has, and `page` says that there is one page: if the list is cut, say how", n)}
}

// limits are parameters that say how many records a page may have.
var limits = []string{"limit", "per_page", "page_size", "pagesize", "size", "count", "top", "$top", "max", "max_results", "maxresults", "rows", "first", "take"}

// asksFor returns the parameter with which the query of the stream asks for n
// records; "" if there is none.
func (w *walk) asksFor(n int) string {
	for _, q := range w.st.query {
		if n > 1 && slices.Contains(limits, strings.ToLower(q.name)) && q.value.expand(w.scope) == strconv.Itoa(n) {
			return q.name
		}
	}
	return ""
}

// tellsTotal reports whether p says that its records are all there are.
func (w *walk) tellsTotal(p *page) bool {
	told := member(p)
	if w.st.total.set {
		n, err := totalAt(w.st.total, p.body)
		told = collection.Told{Total: int64(n), By: w.st.total.text}
		if err != nil {
			told.By = ""
		}
	}
	return told.By != "" && told.Total == int64(p.had())
}

// holders are the objects of an envelope that say how a list goes on.
var holders = []string{"links", "_links", "meta", "_meta", "metadata", "paging", "pagination", "page_info", "pageInfo", "response_metadata"}

// mores are members that are true while there is more.
var mores = []string{"has_more", "hasMore", "more", "has_next_page", "hasNextPage"}

// saysMore returns the name of a member of the envelope of a list that says that
// there is more; "" if none does.
func saysMore(body []byte, records path) (name string) {
	if body == nil {
		return ""
	}
	inEnvelope(body, records, func(key, value gjson.Result) bool {
		if value.Type == gjson.True && slices.Contains(mores, key.Str) {
			name = key.Str
		}
		return name == ""
	})
	return name
}

// leadsOn returns the name of a member of the envelope of a list that leads to
// another page, or says that there is one; "" if there is none.
func leadsOn(body []byte, records path) (name string) {
	inEnvelope(body, records, func(key, value gjson.Result) bool {
		if leadingOn.MatchString(key.Str) && !leadingAway.MatchString(key.Str) && hasValue(value) {
			name = "…"
			if plainName.MatchString(key.Str) {
				name = key.Str
			}
		}
		return name == ""
	})
	return name
}

// inEnvelope calls see with the members of the envelope of a list, and of the
// objects in it that say how it goes on, until it returns false.
func inEnvelope(body []byte, records path, see func(key, value gjson.Result) bool) {
	if !records.set || body[0] != '{' {
		return
	}
	on := true
	parse(body).ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.Str == records.steps[0]:
		case slices.Contains(holders, key.Str) && value.IsObject():
			value.ForEach(func(key, value gjson.Result) bool {
				on = see(key, value)
				return on
			})
		default:
			on = see(key, value)
		}
		return on
	})
}
