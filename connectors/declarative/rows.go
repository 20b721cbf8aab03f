package declarative

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// partSize is how many bytes of rows are one slice of a page that is larger.
const partSize = 256 << 10

// inRows reports whether a large page of the stream is stored in several slices: it
// is rows, and nothing else goes by the page as a whole.
func (w *walk) inRows() bool {
	_, counted := w.st.Page.(paging.Counted)
	s := w.st.Since
	return w.st.Format.IsRows() && w.st.Role == collection.List && w.st.Size == nil && w.st.Windows == nil && !counted && (s == nil || !s.Ordered && !s.Newest)
}

// A part is a place inside a page: behind so many rows, which have that digest. The
// zero part is the start of the page.
type part struct {
	rows   int64
	digest string
}

// partMark begins the High of a cursor inside a page; a line break and what High
// is otherwise follow.
const partMark = "rows "

// partOf takes the place inside a page out of a cursor.
func partOf(from collection.Cursor) (part, collection.Cursor, error) {
	place, ok := strings.CutPrefix(from.High, partMark)
	if !ok {
		return part{}, from, nil
	}
	place, high, _ := strings.Cut(place, "\n")
	rows, digest, _ := strings.Cut(place, " ")
	n, err := strconv.ParseInt(rows, 10, 64)
	if err != nil || n < 1 {
		return part{}, from, paging.BadPage("the cursor was not made by this connector")
	}
	from.High = high
	return part{n, digest}, from, nil
}

// in returns the cursor of a part of the page at from.
func (p part) in(from collection.Cursor) collection.Cursor {
	from.High = fmt.Sprintf("%s%d %s\n%s", partMark, p.rows, p.digest, from.High)
	return from
}

// An openPage is a page that is read in parts.
type openPage struct {
	*paging.Page
	body  io.Closer
	rows  *answer.Rows
	begun bool // parts of it were read
}

// close ends the reading of a page, if one is read in parts.
func (w *walk) close() {
	if w.open != nil {
		_ = w.open.body.Close() // what stays is removed when the next run starts
		w.open = nil
	}
}

// openRows reads all of the body of resp once, so that a page that is cut off, or
// damaged, is refused before any of it is stored. One that is large is open then: it
// stands behind those rows, or at its start if they are others than they were.
func (w *walk) openRows(resp *http.Response, body answer.Body, p *paging.Page) error {
	behind := w.behind
	open := func() (*answer.Rows, error) {
		return w.st.Format.Rows(body, openEnd(resp), w.c.limits.Body, w.c.limits.Record)
	}
	rows, err := open()
	if err != nil {
		return err
	}
	cost, digest, reached, err := rows.Check(behind.rows)
	if err != nil {
		return err
	}
	if rows, err = open(); err != nil {
		return err
	}
	if cost <= partSize && behind.rows == 0 {
		p.Body, _, err = rows.Document(math.MaxInt64, math.MaxInt64)
		return err
	}
	w.marks = since.Marks{}
	w.open = &openPage{Page: p, body: resp.Body, rows: rows}
	if behind.rows > 0 && (!reached || digest != behind.digest) {
		p.Warnings = append(p.Warnings, collection.Warning{Text: fmt.Sprintf(
			"%s: the first %d rows of the answer, which are stored, are not what they were: it is read from its start", w.st.Name, behind.rows)})
		behind = part{}
	}
	if err := w.skip(behind.rows); err != nil {
		w.close()
		return err
	}
	return nil
}

// skip passes by the rows that are stored. Their marks still count for the page.
func (w *walk) skip(rows int64) error {
	if rows == 0 {
		return nil
	}
	w.open.begun = true
	if w.st.Since == nil {
		return w.open.rows.Skip(rows)
	}
	for {
		at, _ := w.open.rows.At()
		if at >= rows {
			return nil
		}
		doc, _, err := w.open.rows.Document(partSize, rows-at)
		if err == nil {
			err = w.partOfPage(doc)
		}
		if err != nil {
			return err
		}
		var s collection.Slice
		w.split(w.open.Page, &s)
		w.marks = w.marks.And(since.MarksOf(w.st.Since.Field, speaking(s.Records)))
	}
}

// partOfPage makes doc, some rows, what is read of the open page.
func (w *walk) partOfPage(doc []byte) (err error) {
	p := w.open.Page
	p.Body = doc
	p.Elements, p.Single, err = w.st.Records.Elements(doc, false, w.c.limits.Body)
	w.noteDeleted(p)
	p.Elements = w.st.Filter.Apply(p.Elements)
	return w.discreet(err)
}

// nextPart reads the next rows of p, the open page at from, into s. It reports
// whether these are the last ones, and closes the page then.
func (w *walk) nextPart(p *paging.Page, from collection.Cursor, s *collection.Slice) (last bool, err error) {
	doc, last, err := w.open.rows.Document(partSize, math.MaxInt64)
	if err == nil {
		err = w.partOfPage(doc)
	}
	if err != nil {
		return false, err
	}
	w.split(p, s)
	if w.st.Since != nil {
		w.marks = w.marks.And(since.MarksOf(w.st.Since.Field, speaking(s.Records)))
	}
	rows, digest := w.open.rows.At()
	p.Digest = digest
	s.Told.Within, w.open.begun = w.open.begun, true
	if last {
		w.close()
		return true, nil
	}
	if err := w.keyless(p, s); err != nil {
		return false, w.discreet(err)
	}
	s.Warnings, p.Warnings = p.Warnings, nil
	s.Told = collection.Told{First: from.Token == "", Parts: true}.Part(s.Told.Within)
	s.Told.Left = w.delivered(p, s)
	s.Next = part{rows, digest}.in(from)
	return false, nil
}

// bodyOf returns the body of resp, if that is in memory or in a file of the client.
func bodyOf(resp *http.Response, data []byte) answer.Body {
	if file, ok := resp.Body.(answer.Body); ok && data == nil {
		return file
	}
	return bytes.NewReader(data)
}
