package answer

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"unicode/utf8"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// A Rows reads a page of JSON lines or CSV, row after row, without holding more
// than one of them.
//
// A line of JSON lines is a value as it came; blank ones count for nothing. A row
// of CSV (RFC 4180) is an array of texts, the first one included: what names the
// columns is a matter of the shape. Every value is a text as it came. Inside quotes,
// a line break of two characters becomes one, and "" a quote.
type Rows struct {
	format  Format
	in      *bufio.Reader
	text    *text
	csv     *csv.Reader
	openEnd bool
	line    int       // that was read last
	head    []byte    // the row of CSV that names the columns; nil: there is none
	row     []byte    // the one that was read last
	kept    bool      // row is still to be given
	count   int64     // rows that were given
	sum     hash.Hash // over these
	most    int       // elements of one document
	longest int64     // bytes of one row
}

// mostRow is how long a row may be, however small a record must be: of one that is
// too large for a record, quarantine keeps the beginning.
const mostRow = 16 << 20

// Rows begins to read a page. openEnd is whether nothing but the end of the
// connection told where the body ends. No archive may hold more than limit bytes,
// and no row may have more than twice those of a record.
func (f Format) Rows(body Body, openEnd bool, limit, record int64) (*Rows, error) {
	from, err := f.unpack(body, limit)
	if err != nil {
		return nil, err
	}
	r := &Rows{format: f, openEnd: openEnd, sum: sha256.New(), longest: max(2*record, mostRow), most: mostElements(limit)}
	r.text = &text{from: from, separator: string(cmp.Or(f.Separator, ','))[0], longest: r.longest, wide: f.Kind == CSV, column: 1}
	r.in = bufio.NewReaderSize(r.text, 64<<10)
	if err := r.begin(); err != nil {
		return nil, err
	}
	if f.Kind != CSV {
		return r, nil
	}
	r.csv = csv.NewReader(r.in)
	r.csv.Comma, r.csv.FieldsPerRecord, r.csv.ReuseRecord = cmp.Or(f.Separator, ','), -1, true
	if f.Header {
		switch ok, err := r.next(); {
		case err != nil:
			return nil, err
		case ok:
			r.head = bytes.Clone(r.row)
		}
	}
	return r, nil
}

// begin looks at the first bytes of the text, and leaves out what stands in front of
// its rows.
func (r *Rows) begin() error {
	head, err := r.in.Peek(64)
	if err != nil && err != io.EOF {
		return err
	}
	want := "CSV"
	if r.format.Kind == JSONL {
		want = "JSON lines"
	}
	if err := checkHead(head, want); err != nil {
		return err
	}
	if bytes.HasPrefix(head, byteOrderMark) {
		_, _ = r.in.Discard(len(byteOrderMark)) // it was peeked at
	}
	for range r.format.Skip {
		r.line++
		for {
			_, err := r.in.ReadSlice('\n')
			if err == nil || err == io.EOF {
				break
			}
			if err != bufio.ErrBufferFull {
				return err
			}
		}
	}
	return nil
}

// next reads a row; ok is false behind the last one.
func (r *Rows) next() (ok bool, err error) {
	if r.kept {
		r.kept = false
		return true, nil
	}
	if r.csv != nil {
		return r.nextCSV()
	}
	return r.nextLine()
}

func (r *Rows) nextLine() (bool, error) {
	for {
		r.row = r.row[:0]
		part, err := r.in.ReadSlice('\n')
		for ; err == bufio.ErrBufferFull; part, err = r.in.ReadSlice('\n') {
			r.row = append(r.row, part...)
		}
		if err != nil && err != io.EOF {
			return false, err
		}
		r.line++
		whole := part
		if len(r.row) > 0 {
			r.row = append(r.row, part...)
			whole = r.row
		}
		line := bytes.TrimSpace(whole)
		if len(line) == 0 {
			if err == io.EOF {
				return false, r.end()
			}
			continue
		}
		if !utf8.Valid(line) {
			return false, notUTF8()
		}
		if !json.Valid(line) {
			return false, cmp.Or(r.end(), paging.BadPage("line %d of the page is not valid JSON", r.line))
		}
		r.row = append(r.row[:0], line...)
		return true, nil
	}
}

func (r *Rows) nextCSV() (bool, error) {
	row, err := r.csv.Read()
	if err == io.EOF {
		return false, r.end()
	}
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		return false, cmp.Or(r.end(), paging.BadPage("line %d of the page is not valid CSV: %s", fault.Line+r.format.Skip, faultOf(fault.Err)))
	}
	if err != nil {
		return false, err
	}
	r.row = r.row[:0]
	for i, value := range row {
		if !utf8.ValidString(value) {
			return false, notUTF8()
		}
		r.row = appendText(append(r.row, "[,"[min(i, 1)]), value)
	}
	r.row = append(r.row, ']')
	return true, nil
}

// end refuses rows that may be cut off. Where a length or an end mark came with the
// body, the client has seen that it is whole; the last row of any other one is known
// to be whole only if a line break follows.
func (r *Rows) end() error {
	if r.openEnd && r.text.ended && r.text.last != 0 && r.text.last != '\n' {
		return paging.BadPage("the last line of the page does not end, and the answer did not say how long it is: it may be cut off")
	}
	return nil
}

// rowCost is how many bytes a row counts as at least, as an element does.
const rowCost = elementCost

// Document returns the next rows as one JSON array, about bytes of them and most at
// most, behind the one that names the columns; nil if that one is missing. last is
// whether there are no more.
func (r *Rows) Document(size int64, most int64) (doc []byte, last bool, err error) {
	if r.format.Kind == CSV && r.format.Header && r.head == nil {
		return nil, true, nil
	}
	room := int64(4 << 10)
	if size <= 4<<20 {
		room = size + size/8 // in one piece
	}
	doc = append(append(make([]byte, 0, room), '['), r.head...)
	for n := int64(0); ; n++ {
		ok, err := r.next()
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return append(doc, ']'), true, nil
		}
		if size <= 0 && n > 0 || n == most {
			r.kept = true
			return append(doc, ']'), false, nil
		}
		size -= max(int64(len(r.row)), rowCost)
		if len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc = append(doc, r.row...)
		r.given()
	}
}

func (r *Rows) given() {
	r.count++
	r.sum.Write(r.row)
	r.sum.Write([]byte{'\n'})
}

// At returns how many rows were given, and a digest of them.
func (r *Rows) At() (rows int64, digest string) {
	return r.count, hex.EncodeToString(r.sum.Sum(nil)[:16])
}

// Check reads all rows, so that what is wrong with any of them is known before the
// first is used. It returns what the rows cost, the digest of the first n, and whether
// there are as many.
func (r *Rows) Check(n int64) (cost int64, digest string, reached bool, err error) {
	for {
		if r.count == n {
			_, digest = r.At()
			reached = true
		}
		ok, err := r.next()
		if err != nil || !ok {
			return cost, digest, reached, err
		}
		cost += max(int64(len(r.row)), rowCost)
		if r.count < n {
			r.given()
		} else {
			r.count++
		}
	}
}

// Skip gives n rows to nobody.
func (r *Rows) Skip(n int64) error {
	for range n {
		if ok, err := r.next(); err != nil || !ok {
			return cmp.Or(err, io.ErrUnexpectedEOF)
		}
		r.given()
	}
	return nil
}

// A text is what is read of a body out of its archive. It refuses a row that is too
// long or too wide before a reader of rows takes it into memory.
type text struct {
	from      io.Reader
	longest   int64
	wide      bool // rows have columns, and quotes
	separator byte
	quoted    bool
	column    int
	row       int64
	last      byte
	ended     bool
	err       error
}

func (t *text) Read(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.from.Read(p)
	if n > 0 {
		t.last = p[n-1]
	}
	t.ended = t.ended || err == io.EOF
	if stop := t.see(p[:n]); stop != nil {
		err = stop
	}
	if err != nil {
		t.err = err
	}
	return n, err
}

// see counts the bytes and the columns of rows.
func (t *text) see(p []byte) error {
	if !t.wide {
		for len(p) > 0 {
			_, after, ok := bytes.Cut(p, []byte{'\n'})
			if !ok {
				t.row += int64(len(p))
				break
			}
			t.row, p = 0, after
		}
		if t.row > t.longest {
			return t.tooLong()
		}
		return nil
	}
	for _, c := range p {
		t.row++
		switch {
		case c == '"':
			t.quoted = !t.quoted
		case t.quoted:
		case c == '\n':
			t.column, t.row = 1, 0
		case c == t.separator:
			if t.column++; t.column > mostColumns {
				return paging.BadPage("a row of the page has more than %d columns", mostColumns)
			}
		}
	}
	if t.row > t.longest {
		return t.tooLong()
	}
	return nil
}

func (t *text) tooLong() error {
	return &collection.Stop{Reason: collection.TooLarge, Detail: "a row of the page is more than twice as long as `record` under `limits` allows, or a quote does not end"}
}

func notUTF8() error { return paging.BadPage("the page is not UTF-8 text") }
