package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"collect/store"
)

// lines writes records as JSON, one a line. Its buffers are used again for
// each record.
type lines struct {
	w        io.Writer
	withMeta bool
	line     bytes.Buffer
	flat     bytes.Buffer
}

var errNotObject = errors.New("not a JSON object")

func (l *lines) write(r store.Stored) error {
	data := r.Data
	if bytes.ContainsAny(data, "\r\n") {
		l.flat.Reset()
		if err := json.Compact(&l.flat, data); err != nil {
			return errNotObject // the error of json may quote the record
		}
		data = l.flat.Bytes()
	}
	l.line.Reset()
	if l.withMeta {
		rest, err := l.lead(r, data)
		if err != nil {
			return err
		}
		data = rest
	}
	l.line.Write(data)
	l.line.WriteByte('\n')
	_, err := l.w.Write(l.line.Bytes())
	return err
}

// lead begins the line with what the store knows of the record, and returns
// what of data follows.
func (l *lines) lead(r store.Stored, data []byte) (rest []byte, err error) {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t"), []byte("{"))
	if !ok {
		return nil, errNotObject
	}
	about := json.NewEncoder(&l.line)
	about.SetEscapeHTML(false)
	err = about.Encode(struct {
		Key         string `json:"_key"`
		CommittedAt string `json:"_committed_at"`
		Run         string `json:"_run"`
	}{r.Key, r.CommittedAt.UTC().Format(time.RFC3339Nano), r.Run})
	if err != nil {
		return nil, err
	}
	l.line.Truncate(l.line.Len() - len("}\n"))
	if bytes.TrimLeft(rest, " \t")[0] != '}' {
		l.line.WriteByte(',')
	}
	return rest, nil
}
