package paging

import (
	"fmt"
	"net/http"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
)

// A Page is a response whose body was found to be JSON.
type Page struct {
	Header   http.Header
	Clock    time.Time     // of the provider, when the page was asked for; zero: not known
	First    bool          // of a walk: no page before it led here
	Body     []byte        // nil if the response had none
	Elements [][]byte      // of the array of records, as they were sent; parts of Body
	Deleted  []bool        // of each of Elements: it says that its record was deleted; nil: none does
	Last     []byte        // the last element that is an object
	List     notation.Path // where the file says that the records are
	Single   bool          // the page is one object, the detail of a parent, and no list
	Warnings []collection.Warning

	Digest      string   // of its rows, if Elements are some of many
	Overlapped  [][]byte // elements of the page before, in front of Elements
	Seam        string   // names the element that the page begins with, if it overlaps
	LastName    string   // names the last element, as Seam would
	ShortIsLast bool     // nothing is known to follow a short page
	Reached     bool     // the total that the provider tells ends with the page
	NotThere    bool     // the provider says that it has no such page: it is behind the last one
	Open        bool     // nothing but the end of the connection told where its rows end

	total *collection.Told // what the page tells of it; nil: it was not looked for
}

// Had returns how many records the provider sent.
func (p *Page) Had() int { return len(p.Overlapped) + len(p.Elements) }

// BadPage is the error for a response that is not what the connector file
// says. Its text names what the file says, and nothing of what the provider sent
// but a few names of members, which mend the file.
func BadPage(format string, args ...any) error {
	return &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf(format, args...)}
}

// isLast reports whether a page, of size records at most, is the last one where
// the file names no total: it is if it is empty, if it reaches a total that the
// provider tells, or if it is short where short pages are the last ones.
//
// A provider that grants fewer than asked for makes every page short, and one
// that leaves out what the caller may not see makes any: to take such a page
// for the last would lose the rest without a word.
func (p *Page) isLast(size int, short bool) bool {
	return len(p.Elements) == 0 || p.Reached || p.IsShort(size) && (short || p.ShortIsLast)
}

// IsShort reports whether a page that may have size records has fewer, but some.
func (p *Page) IsShort(size int) bool { return p.Had() > 0 && p.Had() < size }
