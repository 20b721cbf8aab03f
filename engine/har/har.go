// Package har writes the requests of a run to a file in the HTTP Archive format,
// version 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which browsers and
// proxies open.
//
// The file is made to be passed on. It has no bodies. Of headers it has the values of
// those that say how a request was asked and answered, and of others at most the name. Of
// an address it has no user, and no value of a parameter whose name may be that of a
// credential. Whatever is left is searched for the secrets of the connector, the ones
// that were granted meanwhile included, in every spelling of [cassette.Scrubber].
//
// Each request is written as soon as it has ended, by one write that also ends the
// file. So the file can be read at any time, also after the process was killed.
package har

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"collect/connectors/cassette"
	"collect/internal/atomicfile"
)

// DefaultMost bounds a file, in bytes: about 50,000 requests.
const DefaultMost = 64 << 20

// A Config says what to write where.
type Config struct {
	Path    string
	Version string // of the program, for who reads the file
	Most    int64  // bytes; 0: DefaultMost
}

// A File is the file of one run. It is safe for concurrent use.
type File struct {
	most int64

	mu      sync.Mutex
	file    *os.File // nil once it is closed
	end     int64    // where the next entry goes
	written int
	cut     int   // requests for which there was no room
	err     error // of the first write that failed; nothing is written after it
}

// Create makes an archive without requests, which its owner alone can read. A file
// that is there already is replaced.
func Create(c Config) (*File, error) {
	path, special, err := atomicfile.Resolve(c.Path)
	if err == nil && special {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	creator, err := json.Marshal(map[string]string{"name": "collect", "version": cmp.Or(c.Version, "unknown")})
	if err != nil {
		return nil, err
	}
	head := `{"log":{"version":"1.2","creator":` + string(creator) + `,"entries":[`
	if err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, head+tail(""))
		return err
	}); err != nil {
		return nil, err
	}
	f := &File{most: cmp.Or(c.Most, DefaultMost), end: int64(len(head))}
	f.file, err = os.OpenFile(path, os.O_RDWR, 0) // #nosec G304 -- the path that the user gave
	return f, err
}

// tail ends an archive.
func tail(comment string) string {
	text, _ := json.Marshal(comment) // a text always marshals
	return "\n],\"comment\":" + string(text) + "}}\n"
}

// add writes an entry.
func (f *File) add(e entry) {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // people read addresses in it
	err := enc.Encode(e)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	if f.err != nil || f.file == nil {
		return
	}
	line := "\n" + strings.TrimSpace(text.String())
	if f.written > 0 {
		line = "," + line
	}
	if f.cut > 0 || f.end+int64(len(line)) > f.most {
		// Nothing is written behind a request that was left out.
		f.cut++
		if f.cut == 1 {
			_, f.err = f.file.WriteAt([]byte(tail("cut: there was no room for the requests behind these")), f.end)
		}
		return
	}
	if _, f.err = f.file.WriteAt([]byte(line+tail("")), f.end); f.err == nil {
		f.end += int64(len(line))
		f.written++
	}
}

// Close ends the archive. It returns how many requests are in it, how many there was
// no room for, and the first error of a write, after which nothing was written.
func (f *File) Close() (written, cut int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		closed := f.file.Close()
		if f.err == nil {
			f.err = closed
		}
		f.file = nil
	}
	return f.written, f.cut, f.err
}

// A scrubbed makes scrubbers, one as long as the secrets stay the same.
type scrubbed struct {
	secrets func() []string

	mu   sync.Mutex
	of   []string
	last *mask
}

// A mask takes secrets out of what is written.
type mask struct {
	*cassette.Scrubber
	lower *cassette.Scrubber // of the secrets in lower case, as names of headers are compared
}

func (s *scrubbed) scrubber() *mask {
	now := s.secrets()
	s.mu.Lock()
	defer s.mu.Unlock()
	// A secret that was replaced is still looked for: an answer may give it back.
	added := slices.DeleteFunc(slices.Clone(now), func(secret string) bool { return secret == "" || slices.Contains(s.of, secret) })
	if s.last == nil || len(added) > 0 {
		s.of = append(s.of, added...)
		s.of = s.of[max(0, len(s.of)-mostSecrets):]
		lower := make([]string, len(s.of))
		for i, secret := range s.of {
			lower[i] = strings.ToLower(secret)
		}
		s.last = &mask{cassette.NewScrubber(s.of...), cassette.NewScrubber(lower...)}
	}
	return s.last
}

// mostSecrets bounds the secrets that are looked for.
const mostSecrets = 256
