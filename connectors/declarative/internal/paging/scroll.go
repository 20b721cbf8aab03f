package paging

import (
	"fmt"
	"strconv"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// ByScroll follows a scroll: the provider keeps where it is, and each request for it is
// answered with the next page. Its id may be the same on all pages, so that a token is
// the number of pages before and the id: "3:DXF1ZXJ5". A page cannot be had again, so
// that a walk which is cut off begins anew.
type ByScroll struct{ From notation.Path }

func (b ByScroll) Ask(token string) []Field {
	_, id, ok := strings.Cut(token, ":")
	if !ok {
		return nil
	}
	return []Field{{Value: id}}
}

func (b ByScroll) Reads() []notation.Path { return []notation.Path{b.From} }

func (ByScroll) End(*Page) collection.End { return collection.EndEmpty }

// Next returns the token of the next page, until a page is empty.
func (b ByScroll) Next(p *Page, token string) (string, error) {
	if len(p.Elements) == 0 {
		return "", nil
	}
	id, err := tokenAt(b.From, p.Body)
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", BadPage("the page has no `%s`, by which the scroll goes on", b.From.Text)
	}
	before, _, _ := strings.Cut(token, ":")
	n, _ := strconv.Atoi(before) // "" is the first page
	return fmt.Sprintf("%d:%s", n+1, id), nil
}
