package paging

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/usual"
)

// A Source is where a file says that a page tells a number: at a path of the body,
// or in a header.
type Source struct {
	notation.Path
	Header string // "" for a path; else the text of the path is its name, for messages
}

// inBody returns the path, if it is one of the body.
func (s Source) inBody() []notation.Path {
	if s.Header != "" {
		return nil
	}
	return []notation.Path{s.Path}
}

// totalAt returns the total at a place. A total that is missing is an error:
// without it, whether something is missing cannot be known.
func (p *Page) totalAt(at Source) (int, error) {
	text, ok := p.Header.Get(at.Header), true
	if at.Header == "" {
		if at.Twice(p.Body) {
			return 0, BadPage("the page has `%s` twice", at.Text)
		}
		text, ok = notation.TextOf(at.In(p.Body))
	}
	total, err := strconv.Atoi(text)
	if !ok || err != nil || total < 0 {
		also := ""
		if at.Header == "" {
			also = besides(at.Path, p.Body)
		}
		return 0, BadPage("there is no whole number at `%s`, where `page` looks for the total%s", at.Text, also)
	}
	return total, nil
}

// tells reports whether told stands where s says.
func (s Source) tells(told collection.Told) bool {
	return s.Set && (told.By == "`"+s.Text+"`" || s.Header != "" && strings.EqualFold(told.By, "the header "+s.Header))
}

// TotalOf returns the total that p tells, which is looked for once.
func TotalOf(p *Page, list Kind, declared Source) collection.Told {
	if p.total == nil {
		told := findTotal(p, list, declared)
		p.total = &told
	}
	return *p.total
}

// findTotal finds the total that p tells: of records, or, where it tells none, of pages. Pages may
// be as many as before while records moved between them.
func findTotal(p *Page, list Kind, declared Source) collection.Told {
	if pg, ok := list.(ByOffset); ok && pg.Total.Set {
		declared = pg.Total
	}
	pg, ok := list.(ByNumber)
	if told := findRecords(p, declared); told.By != "" && !(ok && pg.Total.tells(told)) {
		return told
	}
	if ok && pg.Total.Set {
		if n, err := p.totalAt(pg.Total); err == nil {
			return collection.Told{Total: int64(n), By: "`" + pg.Total.Text + "`", Pages: true}
		}
	}
	if declared.Set {
		return collection.Told{}
	}
	told := inHeader(p, usual.PageHeaders)
	told.Pages = true
	return told
}

// findRecords finds how many records the list has: where the file says, in a header, or in a
// member of the body that other APIs tell it with. A number that is no more than
// what stands on a page that is not the only one counts the page.
func findRecords(p *Page, declared Source) (told collection.Told) {
	if declared.Set {
		if n, err := p.totalAt(declared); err == nil && n > p.Had() {
			told.Total, told.By = int64(n), "`"+declared.Text+"`"
		}
		return told
	}
	if told = inHeader(p, usual.TotalHeaders); told.By != "" {
		return told
	}
	if _, whole, ok := strings.Cut(p.Header.Get("Content-Range"), "/"); ok {
		if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n >= 0 {
			return collection.Told{Total: n, By: "the header Content-Range"}
		}
	}
	if len(p.Body) > 0 && p.Body[0] == '{' {
		if told = member(p); told.Total > int64(p.Had()) {
			return told
		}
	}
	return collection.Told{}
}

// inHeader returns the first of some headers that is a whole number.
func inHeader(p *Page, names []string) collection.Told {
	for _, name := range names {
		if n, err := strconv.ParseInt(p.Header.Get(name), 10, 64); err == nil && n >= 0 {
			return collection.Told{Total: n, By: "the header " + name}
		}
	}
	return collection.Told{}
}

// member returns the first of usual.Totals in the body of p, or in one of its
// usual.Wrappers, that is a whole number.
func member(p *Page) (told collection.Told) {
	best := len(usual.Wrappers) * len(usual.Totals)
	look := func(wrapper int, key, value gjson.Result) {
		i := slices.Index(usual.Totals, key.Str)
		if i < 0 || value.Type != gjson.Number || wrapper*len(usual.Totals)+i >= best {
			return
		}
		if n, err := strconv.ParseInt(value.Raw, 10, 64); err == nil && n >= 0 {
			best = wrapper*len(usual.Totals) + i
			told = collection.Told{Total: n, By: "`" + strings.TrimPrefix(usual.Wrappers[wrapper]+"."+key.Str, ".") + "`"}
		}
	}
	// One reading of the body, which holds the records, too.
	notation.Parse(p.Body).ForEach(func(key, value gjson.Result) bool {
		look(0, key, value)
		if wrapper := slices.Index(usual.Wrappers, key.Str); wrapper > 0 && value.IsObject() {
			value.ForEach(func(key, value gjson.Result) bool {
				look(wrapper, key, value)
				return true
			})
		}
		return true
	})
	return told
}

// TellsAll reports whether p says, where the file does or in a member that other
// APIs tell it with, that its records are all there are.
func TellsAll(p *Page, declared Source) bool {
	told := member(p)
	if declared.Set {
		n, err := p.totalAt(declared)
		told = collection.Told{Total: int64(n), By: declared.Text}
		if err != nil {
			told.By = ""
		}
	}
	return told.By != "" && told.Total == int64(p.Had())
}
