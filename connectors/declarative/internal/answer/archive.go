package answer

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"

	"collect/connectors/declarative/internal/paging"
)

// fromGzip inflates a body. That it ends where its own end mark says, and that
// its checksum is right, shows that it is whole.
func fromGzip(body []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, paging.BadPage("the page is no gzip file; where the answer is only sent as gzip (Content-Encoding), leave out `archive`")
	}
	inflated, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case int64(len(inflated)) > limit:
		return nil, tooLarge()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, paging.BadPage("the gzip file is cut off")
	case err != nil:
		return nil, paging.BadPage("the gzip file is damaged, or something stands behind its end")
	}
	return inflated, nil
}

// mostEntries bounds the files in a zip archive: each takes memory, whatever its
// size.
const mostEntries = 10_000

// headOfEntry begins each entry of the directory of a zip archive.
var headOfEntry = []byte("PK\x01\x02")

// fromZip returns the file of a zip archive that wanted names, or its only one.
// A name is compared and nothing else, so that one such as ../x leads nowhere.
func fromZip(body []byte, wanted string, limit int64) ([]byte, error) {
	if bytes.Count(body, headOfEntry) > mostEntries {
		return nil, paging.BadPage("the zip file has more than %d entries", mostEntries)
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, paging.BadPage("the page is no zip file, or it is cut off")
	}
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
	defer r.Close()
	inflated, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case int64(len(inflated)) > limit:
		return nil, tooLarge()
	case err != nil:
		return nil, paging.BadPage("the zip file is damaged, or it is encrypted")
	}
	return inflated, nil
}
