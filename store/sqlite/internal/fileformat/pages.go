package fileformat

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
)

// What a damaged database still holds is read from its pages, without SQLite:
// it gives up a whole tree for one page that is broken. The format is that of
// https://sqlite.org/fileformat2.html.

// usualPage is the size in bytes of the pages of a database, unless somebody
// changed it.
const usualPage = 4096

// Pages are the pages of a database and of its log, as they stand in the
// files.
type Pages struct {
	file, log *os.File // log: nil for none
	size      int64
	count     int64    // pages of file
	newest    versions // of the frames of this log
	last      versions // of all frames, also of a log before it
	copies    []int64  // offsets in log of all copies of pages
}

// versions are copies of pages in the log: their offsets, by the number of the
// page.
type versions map[int64]int64

// OpenPages opens the files of the database at path.
func OpenPages(path string) (*Pages, error) {
	p := &Pages{size: usualPage, newest: versions{}, last: versions{}}
	var err error
	if p.file, err = os.Open(path); err != nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	header := make([]byte, 18)
	if _, err := p.file.ReadAt(header, 0); err == nil {
		// A size that does not divide the file is one that a bit changed.
		said := int64(binary.BigEndian.Uint16(header[16:]))
		if said >= 512 && said&(said-1) == 0 && info.Size()%said == 0 && info.Size()%usualPage != 0 {
			p.size = said
		}
	}
	p.count = info.Size() / p.size
	if p.log, err = os.Open(path + "-wal"); err != nil {
		p.log = nil
		if errors.Is(err, fs.ErrNotExist) {
			return p, nil
		}
		return nil, errors.Join(err, p.Close())
	}
	return p, p.readLog()
}

// readLog finds the pages in the log, whatever its checksums say: a record has
// a sum of its own.
func (p *Pages) readLog() error {
	info, err := p.log.Stat()
	if err != nil {
		return err
	}
	head, first := make([]byte, frameHeaderSize), make([]byte, frameHeaderSize)
	if _, err := p.log.ReadAt(first, walHeaderSize); err != nil {
		return ended(err)
	}
	for at := int64(walHeaderSize); at+frameHeaderSize+p.size <= info.Size(); at += frameHeaderSize + p.size {
		if _, err := p.log.ReadAt(head, at); err != nil {
			return err
		}
		number := int64(binary.BigEndian.Uint32(head))
		p.last[number] = at + frameHeaderSize
		// Behind the frames of this log may stand those of one before it, which
		// was merged: the file is as new as they are, or newer.
		if string(head[8:16]) == string(first[8:16]) {
			p.newest[number] = at + frameHeaderSize
		}
		p.copies = append(p.copies, at+frameHeaderSize)
	}
	return nil
}

// Close closes the files.
func (p *Pages) Close() error {
	if p.log == nil {
		return p.file.Close()
	}
	return errors.Join(p.file.Close(), p.log.Close())
}

// Each calls leaf with each page that can hold rows of a table, those of the
// log last. The page may be used until leaf returns.
func (p *Pages) Each(leaf func(page []byte) error) error {
	page := make([]byte, p.size)
	read := func(from io.ReaderAt, at int64) error {
		if _, err := from.ReadAt(page, at); err != nil {
			return nil // a sector that cannot be read; the others can
		}
		if page[0] != 0x0d { // page 1, too, which has the schema and no records, begins otherwise
			return nil
		}
		return leaf(page)
	}
	for n := range p.count {
		if err := read(p.file, n*p.size); err != nil {
			return err
		}
	}
	for _, at := range p.copies {
		if err := read(p.log, at); err != nil {
			return err
		}
	}
	return nil
}

// Rows calls row with the number and the values of each row on a page, where they can be
// read.
func (p *Pages) Rows(page []byte, row func(number int64, values []any)) {
	cells := int(binary.BigEndian.Uint16(page[3:]))
	for i := range cells {
		at := 8 + 2*i
		if at+2 > len(page) {
			return
		}
		for _, log := range []versions{p.newest, nil, p.last} {
			number, payload, spilled, ok := p.cell(page, int(binary.BigEndian.Uint16(page[at:])), log)
			if ok {
				row(number, values(payload))
			}
			if !spilled {
				break
			}
		}
	}
}

// cell returns the number and the payload of the row at a place of a page. A
// payload that does not fit goes on in other pages: spilled is true then, and
// those that log does not have are read from the file.
func (p *Pages) cell(page []byte, at int, log versions) (number int64, payload []byte, spilled, ok bool) {
	if at >= len(page) {
		return 0, nil, false, false
	}
	length, n := varint(page[at:])
	number, m := varint(page[min(at+n, len(page)):])
	if at += n + m; n == 0 || m == 0 || length < 0 || length/p.size > p.count+int64(len(p.copies)) {
		return 0, nil, false, false
	}
	local := p.local(length)
	if at+int(local) > len(page) {
		return 0, nil, false, false
	}
	payload = page[at : at+int(local)]
	if local == length {
		return number, payload, false, true
	}
	at += int(local)
	if at+4 > len(page) {
		return 0, nil, true, false
	}
	payload = append(make([]byte, 0, length), payload...)
	next := make([]byte, p.size)
	for follows := int64(binary.BigEndian.Uint32(page[at:])); int64(len(payload)) < length; {
		if !p.read(next, follows, log) {
			return 0, nil, true, false
		}
		follows = int64(binary.BigEndian.Uint32(next))
		payload = append(payload, next[4:]...)
	}
	return number, payload[:length], true, true
}

// local returns how much of a payload stands in the cell itself.
func (p *Pages) local(length int64) int64 {
	most, least := p.size-35, (p.size-12)*32/255-23
	if length <= most {
		return length
	}
	if k := least + (length-least)%(p.size-4); k <= most {
		return k
	}
	return least
}

// read reads a page by its number, which counts from 1. There is none behind
// the end of the file, nor before its beginning.
func (p *Pages) read(page []byte, number int64, log versions) bool {
	if at, ok := log[number]; ok {
		_, err := p.log.ReadAt(page, at)
		return err == nil
	}
	_, err := p.file.ReadAt(page, (number-1)*p.size)
	return err == nil
}

// values returns the values of a row: nil, int64, float64, string, or []byte
// that share the payload; nil if it is none.
func values(payload []byte) (row []any) {
	size, n := varint(payload)
	if n == 0 || size < int64(n) || size > int64(len(payload)) {
		return nil
	}
	head, body := payload[n:size], payload[size:]
	for len(head) > 0 {
		kind, n := varint(head)
		if n == 0 {
			return nil
		}
		head = head[n:]
		value, width, ok := value(kind, body)
		if !ok {
			return nil
		}
		row, body = append(row, value), body[width:]
	}
	return row
}

// value returns the value of a serial type that body begins with.
func value(kind int64, body []byte) (v any, width int64, ok bool) {
	switch {
	case kind < 0:
		return nil, 0, false
	case kind <= 6:
		width = []int64{0, 1, 2, 3, 4, 6, 8}[kind]
	case kind == 7:
		width = 8
	case kind >= 12:
		width = (kind - 12) / 2
	}
	if width > int64(len(body)) {
		return nil, 0, false
	}
	body = body[:width]
	switch {
	case kind == 0:
		return nil, 0, true
	case kind <= 6:
		var n int64
		for i, b := range body {
			if i == 0 {
				n = int64(int8(b))
				continue
			}
			n = n<<8 | int64(b)
		}
		return n, width, true
	case kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(body)), width, true
	case kind == 8 || kind == 9:
		return kind - 8, 0, true
	case kind < 12:
		return nil, 0, false
	case kind%2 == 0:
		return body, width, true
	}
	return string(body), width, true
}

// varint returns the number that b begins with, of 1 to 9 bytes, and how many
// they are; 0 if b is too short.
func varint(b []byte) (v int64, n int) {
	for i, c := range b[:min(len(b), 9)] {
		if i == 8 {
			return v<<8 | int64(c), 9
		}
		v = v<<7 | int64(c&0x7f)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
