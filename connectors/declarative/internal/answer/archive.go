package answer

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// unpack returns the text of a body, out of its archive. What is in an archive may
// have limit bytes. Reading to the end shows whether it is whole: by its own end
// mark, and by its checksum.
func (f Format) unpack(body Body, limit int64) (io.Reader, error) {
	all := io.NewSectionReader(body, 0, body.Size())
	switch f.Archive {
	case Gzip:
		r, err := gzip.NewReader(bufio.NewReaderSize(all, 64<<10))
		if err != nil {
			return nil, paging.BadPage("the page is no gzip file; where the answer is only sent as gzip (Content-Encoding), leave out `archive`")
		}
		return &inflated{from: r, left: limit, damaged: gzipFault}, nil
	case Zip:
		r, err := entryOf(body, f.Entry)
		if err != nil {
			return nil, err
		}
		return &inflated{from: r, left: limit, damaged: zipFault}, nil
	}
	return all, nil
}

// An inflated is read up to a limit, and says what is wrong with its archive.
type inflated struct {
	from    io.Reader
	left    int64
	damaged func(error) error
}

func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, tooLarge()
	}
	if err != nil && err != io.EOF {
		err = r.damaged(err)
	}
	return n, err
}

func gzipFault(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return paging.BadPage("the gzip file is cut off")
	}
	return paging.BadPage("the gzip file is damaged, or something stands behind its end")
}

func zipFault(error) error {
	return paging.BadPage("the zip file is damaged, or it is encrypted")
}

// mostEntries bounds the files in a zip archive, and mostDirectory the bytes of their
// names and of all else in its directory, which is read into memory.
const (
	mostEntries   = 10_000
	mostDirectory = 4 << 20
)

// entryOf opens the file of a zip archive that wanted names, or its only one.
// A name is compared and nothing else, so that one such as ../x leads nowhere.
func entryOf(body Body, wanted string) (io.Reader, error) {
	if entriesOf(body) > mostEntries {
		return nil, tooManyEntries()
	}
	from := &directory{ReaderAt: body, left: mostDirectory}
	archive, err := zip.NewReader(from, body.Size())
	if from.left < 0 {
		return nil, tooManyEntries()
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, paging.BadPage("the page is no zip file, or it is cut off")
	}
	if len(archive.File) > mostEntries {
		return nil, tooManyEntries()
	}
	from.all = true
	var found []*zip.File
	for _, entry := range archive.File {
		is, _ := path.Match(wanted, entry.Name)
		if is = is || wanted == "" || wanted == entry.Name; is && !strings.HasSuffix(entry.Name, "/") {
			found = append(found, entry)
		}
	}
	switch {
	case len(found) == 0 && wanted == "":
		return nil, paging.BadPage("the zip file is empty")
	case len(found) == 0:
		return nil, paging.BadPage("the zip file has no entry `%s`", wanted)
	case len(found) > 1:
		return nil, paging.BadPage("the zip file has %d entries that may be meant: name one with `entry`", len(found))
	}
	r, err := found[0].Open()
	if err != nil {
		return nil, paging.BadPage("the entry of the zip file is packed in a way that is not read")
	}
	return r, nil
}

func tooManyEntries() error {
	return paging.BadPage("the zip file has more than %d entries, or their names have more than %d MiB", mostEntries, mostDirectory>>20)
}

// A directory is a zip archive of which only so much may be read until all of it may.
type directory struct {
	io.ReaderAt
	left int64
	all  bool
}

func (d *directory) ReadAt(p []byte, at int64) (int, error) {
	if !d.all {
		if d.left -= int64(len(p)); d.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return d.ReaderAt.ReadAt(p, at)
}

// entriesOf returns how many entries the end of a zip archive claims: that much room
// is made for them before any is read. 0 if it has no end.
//
// The layout is that of APPNOTE.TXT, sections 4.3.14 to 4.3.16.
func entriesOf(body Body) uint64 {
	const end, locator, longestComment = 22, 20, 1<<16 - 1
	tail := make([]byte, min(body.Size(), end+locator+longestComment))
	if n, _ := body.ReadAt(tail, body.Size()-int64(len(tail))); n < len(tail) {
		return 0
	}
	at := strings.LastIndex(string(tail), "PK\x05\x06")
	if at < 0 || len(tail)-at < end {
		return 0
	}
	entries := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	if at < locator || string(tail[at-locator:at-locator+4]) != "PK\x06\x07" {
		return entries
	}
	var large [40]byte
	offset := binary.LittleEndian.Uint64(tail[at-locator+8:])
	if offset > uint64(body.Size()) {
		return entries
	}
	if n, _ := body.ReadAt(large[:], int64(offset)); n < len(large) { //nolint:gosec // it is less than the size
		return entries
	}
	return max(entries, binary.LittleEndian.Uint64(large[32:]))
}

// tooLarge is the error for what is larger, taken out of its archive, than a body
// may be.
func tooLarge() error {
	return &collection.Stop{Reason: collection.TooLarge, Detail: "the page, taken out of its archive, is larger than `body` under `limits` allows"}
}
