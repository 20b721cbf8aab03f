package declarative

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
)

// told returns what p, which is at token and leads to next, says of the list
// that it is a part of. A detail is not a part of anything.
func (w *walk) told(p *page, asked, token, next string) collection.Told {
	if w.st.Role == collection.Detail {
		return collection.Told{First: token == ""}
	}
	told := w.total(p)
	told.First, told.Partial = token == "", asked != ""
	told.Counted = w.numbered(p, token, next)
	if next == "" {
		told.End = w.st.page.end(p)
	}
	if o, ok := w.st.page.(overlapping); ok && o.overlap(token) > 0 {
		told.Overlap, told.Seam = true, p.seam
	}
	told.Last = p.lastName
	return told
}

// totals are headers that tell how many records a list has: those of
// WordPress, of json-server and many others, of Kinto, and of Discourse and
// others.
var totals = []string{"X-WP-Total", "X-Total-Count", "Total-Records", "X-Total"}

// members of a body that are named for the number of records of a list: of
// GitHub and Redmine, of many that spell it otherwise, of SCIM (RFC 7644), of
// PocketBase, of Spring, of OData 4 and of Hydra; and what holds them.
var (
	members  = []string{"total_count", "totalCount", "total_results", "totalResults", "totalItems", "totalElements", "@odata.count", "hydra:totalItems", "total", "count"}
	wrappers = []string{"", "meta", "pagination", "paging", "page", "_meta"}
)

// total finds the total that p tells: where the file says, in a header, or in a
// member of the body that other APIs tell it with. A number that is no more than
// what stands on a page that is not the only one counts the page.
func (w *walk) total(p *page) (told collection.Told) {
	st := w.st
	if st.ignoreTotal {
		return told
	}
	if pg, ok := st.page.(byNumber); ok && pg.total.set {
		if n, err := totalAt(pg.total, p.body); err == nil {
			return collection.Told{Total: int64(n), By: "`" + pg.total.text + "`", Pages: true}
		}
	}
	declared := st.total
	if pg, ok := st.page.(byOffset); ok && pg.total.set {
		declared = pg.total
	}
	if declared.set {
		if n, err := totalAt(declared, p.body); err == nil && n > p.had() {
			told.Total, told.By = int64(n), "`"+declared.text+"`"
		}
		return told
	}
	for _, name := range totals {
		if n, err := strconv.ParseInt(p.header.Get(name), 10, 64); err == nil && n >= 0 {
			return collection.Told{Total: n, By: "the header " + name}
		}
	}
	if _, whole, ok := strings.Cut(p.header.Get("Content-Range"), "/"); ok {
		if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n >= 0 {
			return collection.Told{Total: n, By: "the header Content-Range"}
		}
	}
	if len(p.body) == 0 || p.body[0] != '{' {
		return told
	}
	if told = member(p); told.Total <= int64(p.had()) {
		return collection.Told{}
	}
	return told
}

// member returns the first of members in the body of p, or in one of its
// wrappers, that is a whole number.
func member(p *page) (told collection.Told) {
	best := len(wrappers) * len(members)
	look := func(wrapper int, key, value gjson.Result) {
		i := slices.Index(members, key.Str)
		if i < 0 || value.Type != gjson.Number || wrapper*len(members)+i >= best {
			return
		}
		if n, err := strconv.ParseInt(value.Raw, 10, 64); err == nil && n >= 0 {
			best = wrapper*len(members) + i
			told = collection.Told{Total: n, By: "`" + strings.TrimPrefix(wrappers[wrapper]+"."+key.Str, ".") + "`"}
		}
	}
	// One reading of the body, which holds the records, too.
	parse(p.body).ForEach(func(key, value gjson.Result) bool {
		look(0, key, value)
		if wrapper := slices.Index(wrappers, key.Str); wrapper > 0 && value.IsObject() {
			value.ForEach(func(key, value gjson.Result) bool {
				look(wrapper, key, value)
				return true
			})
		}
		return true
	})
	return told
}

// numbered reports whether the pages are cut by numbers, so that a record that
// is deleted or moved makes others change their page: numbers that we count, or
// that stand in the URL or the cursor which the provider hands out.
func (w *walk) numbered(p *page, token, next string) bool {
	switch w.st.page.(type) {
	case counted:
		return true
	case linked:
		return numberedURL(token) || numberedURL(next)
	}
	from, err := strconv.Atoi("0" + token) // "" is the first page
	to, err2 := strconv.Atoi(next)
	n := len(p.elements)
	if err != nil || err2 != nil || n == 0 {
		return false
	}
	// Some records of the page may be left out; and a cursor that is the key of the
	// last record counts nothing.
	return to-from >= n && to-from <= 2*n && w.nameOf(p.elements[n-1]) != next
}

// numberNames are parameters that number pages or records in the URLs of next
// pages.
var numberNames = []string{"page", "offset", "skip", "$skip", "start", "startat", "page[number]", "page[offset]"}

func numberedURL(link string) bool {
	u, err := url.Parse(link)
	if err != nil || link == "" {
		return false
	}
	for name, values := range u.Query() {
		for _, known := range numberNames {
			if _, err := strconv.Atoi(values[0]); err == nil && strings.EqualFold(name, known) {
				return true
			}
		}
	}
	return false
}
