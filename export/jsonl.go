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
	Options
	w    io.Writer
	line bytes.Buffer
	flat bytes.Buffer
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
	if l.Options != (Options{}) {
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

// What the options add to a record.
type (
	meta struct {
		Key         string `json:"_key"`
		CommittedAt string `json:"_committed_at"`
		Run         string `json:"_run"`
	}
	deletion struct {
		At *string `json:"_deleted_at"`
	}
)

// lead begins the line with what the store knows of the record, and returns
// what of data follows.
func (l *lines) lead(r store.Stored, data []byte) (rest []byte, err error) {
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, " \t"), []byte("{"))
	if !ok {
		return nil, errNotObject
	}
	about := json.NewEncoder(&l.line)
	about.SetEscapeHTML(false)
	var is struct { // of what is nil, there is no member
		*meta
		*deletion
	}
	if l.Meta {
		is.meta = &meta{r.Key, r.CommittedAt.UTC().Format(time.RFC3339Nano), r.Run}
	}
	if l.Deleted {
		is.deletion = &deletion{}
	}
	if l.Deleted && r.Deleted {
		at := r.DeletedAt.UTC().Format(time.RFC3339Nano)
		is.At = &at
	}
	if err := about.Encode(is); err != nil {
		return nil, err
	}
	l.line.Truncate(l.line.Len() - len("}\n"))
	if bytes.TrimLeft(rest, " \t")[0] != '}' {
		l.line.WriteByte(',')
	}
	return rest, nil
}
