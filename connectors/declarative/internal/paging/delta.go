package paging

import (
	"cmp"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// A Resuming paging ends with what the next walk begins with: the provider keeps
// for us what was read, so that the next walk has the changes since.
type Resuming interface {
	Kind

	// Resume returns what p, the last page of a walk, says that the next one begins
	// with.
	Resume(p *Page) (string, error)

	// Begins reports whether a walk begins with the page at its resume token, and
	// not with one that is asked for with a parameter on all pages; see Since.
	Begins() bool

	// Since returns the parameter in which all pages of a walk have the resume token
	// that it began with, if Begins is false.
	Since(resume string) Field
}

// ByDelta follows a list of changes page by page, by tokens.
type ByDelta struct {
	From        notation.Path // the path of the token of the next page; not set: To leads on
	Param       string
	To          notation.Path // the path of the resume token
	ResumeParam string        // "" or Param: the token of a page and that of a walk stand in one place
	More        notation.Path
}

// ByDeltaURL does, by URLs.
type ByDeltaURL struct{ ByDelta }

func (ByDeltaURL) linked()            {}
func (ByDeltaURL) Ask(string) []Field { return nil }

func (b ByDelta) Ask(token string) []Field {
	if token == "" {
		return nil
	}
	return []Field{{Name: b.Param, Value: token}}
}

func (b ByDelta) Begins() bool { return b.ResumeParam == "" || b.ResumeParam == b.Param }

func (b ByDelta) Since(resume string) Field { return Field{Name: b.ResumeParam, Value: resume} }

func (b ByDelta) End(*Page) collection.End {
	if !b.From.Set && !b.More.Set {
		return collection.EndEmpty
	}
	return collection.EndMark
}

func (b ByDelta) Reads() []notation.Path { return []notation.Path{b.From, b.To, b.More} }

// Next returns the token of the next page. Where the resume token of a page leads
// on, too, a page without records is the last one: it names where to go on later.
// So it does where a page with records names no next one: if From is wrong, there
// are more behind it, and if it is right, the answer is empty.
func (b ByDelta) Next(p *Page, _ string) (string, error) {
	more, err := moreAt(b.More, p.Body, b.From.Set || len(p.Elements) > 0)
	if err != nil || !more {
		return "", err
	}
	at := b.To
	if b.From.Set {
		at = b.From
	}
	token, err := tokenAt(at, p.Body)
	if err == nil && token == "" && b.From.Set && !b.More.Set && b.Begins() && len(p.Elements) > 0 {
		return tokenAt(b.To, p.Body)
	}
	if err == nil && token == "" && (b.More.Set || !b.From.Set) {
		err = BadPage("the page has no `%s`, by which the next one is asked for", at.Text)
	}
	return token, err
}

func (b ByDelta) Resume(p *Page) (string, error) {
	if p.Body == nil {
		return "", BadPage("the last page has no body, and so no `%s`, with which the next walk begins", b.To.Text)
	}
	resume, err := tokenAt(b.To, p.Body)
	if err != nil || resume != "" {
		return resume, err
	}
	if b.From.Set {
		return "", BadPage("the page has neither `%s`, which leads to the next page, nor `%s`, with which the next walk begins%s", b.From.Text, b.To.Text, cmp.Or(besides(b.From, p.Body), besides(b.To, p.Body)))
	}
	return "", BadPage("the last page has no `%s`, with which the next walk begins%s", b.To.Text, besides(b.To, p.Body))
}

// Next and Resume refuse what is a token: without a parameter it would be asked for
// as the name of a page.
func (b ByDeltaURL) Next(p *Page, token string) (string, error) {
	next, err := b.ByDelta.Next(p, token)
	at := b.From
	if !at.Set || at.Absent(p.Body) {
		at = b.To // which may lead on, too
	}
	return aLink(next, at, err)
}

func (b ByDeltaURL) Resume(p *Page) (string, error) {
	resume, err := b.ByDelta.Resume(p)
	return aLink(resume, b.To, err)
}

// aLink refuses a token from a path that is no link.
func aLink(token string, at notation.Path, err error) (string, error) {
	if err != nil || token == "" || strings.HasPrefix(token, "/") || strings.Contains(token, "?") || strings.Contains(token, "://") {
		return token, err
	}
	return "", BadPage("`%s` is a token and no URL: name the parameter that takes it, with `param` in `delta`", at.Text)
}
