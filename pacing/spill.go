package pacing

import (
	"errors"
	"io"
	"net/http"
)

// spillAt is how much of an answer is in memory before the rest goes to a spill,
// and how much of it rules then see.
const spillAt = 256 << 10

// A content is the body of an answer.
type content struct {
	head   []byte // all of it, or what rules see of a spill
	spill  Spill  // nil: it is in memory
	length int64  // of what is in the spill
}

func (c content) size() int64 {
	if c.spill != nil {
		return c.length
	}
	return int64(len(c.head))
}

// discard removes the spill of an answer that nobody gets.
func (c content) discard() {
	if c.spill != nil {
		_ = c.spill.Close() // what stays is removed when the next run starts
	}
}

// A spillError says that an answer could not be written. It is about this machine,
// and not about the provider.
type spillError struct{ err error }

func (e *spillError) Error() string { return "an answer could not be kept: " + e.err.Error() }
func (e *spillError) Unwrap() error { return e.err }

// spillRest writes head, and then what can be read of from, to a spill. counted is
// whether the length in the header is that of what is read.
func spillRest(resp *http.Response, head []byte, from io.Reader, counted bool, limit int64, open func() (Spill, error)) (content, error) {
	spill, err := open()
	if err != nil {
		return content{}, &spillError{err}
	}
	c := content{head: head, spill: spill}
	buffer := head
	for at := make([]byte, 256<<10); ; {
		if _, err := spill.Write(buffer); err != nil {
			return c, &spillError{err}
		}
		if c.length += int64(len(buffer)); c.length > limit {
			return c, tooLarge(limit)
		}
		n, err := from.Read(at)
		buffer = at[:n]
		switch {
		case errors.Is(err, io.EOF) && n > 0: // written first, and then asked again
		case err == io.EOF && counted && resp.ContentLength > c.length:
			return c, errShort
		case err == io.EOF:
			return c, nil
		case err != nil:
			return c, shortened(err)
		}
	}
}

// A spilled is a body in a spill.
type spilled struct {
	*io.SectionReader
	spill Spill
}

func (s spilled) Close() error { return s.spill.Close() }
