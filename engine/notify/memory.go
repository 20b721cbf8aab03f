package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"collect/engine"
	"collect/internal/atomicfile"
	"collect/internal/filelock"
	"collect/internal/userfile"
	"collect/report"
)

// A Memory is the file that holds what was told, to whom and of which connector. A
// mistake that keeps a run from beginning leaves nothing in a database, which may be
// what is broken; so this is beside it and not in it.
//
// Without the file everything is told again.
type Memory struct {
	Path string // in the user's folder for state; "": nothing is remembered
}

// Bounds of the file.
const (
	mostTold    = 2000    // entries; the oldest are forgotten
	longestFile = 4 << 20 // bytes that are read
	longestWord = 300     // bytes of a trouble, or of its words
	lockWait    = 2 * time.Second
)

// An entry is what one listener was told of one connector.
type entry struct {
	Listener  string `json:"listener"` // "stderr", or a channel
	Place     string `json:"place"`
	Connector string `json:"connector"`
	report.Told
}

type memoryFile struct {
	Version int     `json:"v"`
	Told    []entry `json:"told"`
}

// A Due is a hearing that a listener has not been told, with what it will have been
// told after it.
type Due struct {
	engine.Hearing
	Turn   report.Turn
	Before report.Told // what they were told
	After  report.Told
}

// Due returns what of heard a listener is to be told now. Hearings of no trouble are in
// it where they end one that was told.
func (m *Memory) Due(listener, place string, heard []engine.Hearing, now time.Time) ([]Due, error) {
	file, err := m.read()
	if err != nil {
		return nil, err
	}
	var due []Due
	told := map[string]report.Told{}
	for _, h := range heard {
		before, known := told[h.Connector]
		if !known {
			before = file.find(listener, place, h.Connector)
		}
		if turn, after := before.Hear(h.Trouble, now); turn != "" {
			due = append(due, Due{h, turn, before, after})
			told[h.Connector] = after // what is heard twice is told once
		}
	}
	return due, nil
}

// Told notes that a listener was told what was due.
func (m *Memory) Told(listener, place string, due []Due) error {
	if m.Path == "" || len(due) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o700); err != nil {
		return err
	}
	// Who is told has waited for the deliveries; a signal does not keep it from being noted.
	lock, err := filelock.AcquireWait(context.Background(), m.Path+".lock", lockWait)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	file, err := m.read()
	if err != nil {
		return err
	}
	for _, d := range due {
		file.set(entry{listener, place, d.Connector, d.After})
	}
	return atomicfile.Write(m.Path, func(w io.Writer) error { return json.NewEncoder(w).Encode(file) })
}

// read returns what was told. A file that cannot be understood is an empty one: it
// costs a message that is told twice.
func (m *Memory) read() (file memoryFile, err error) {
	file.Version = 1
	if m.Path == "" {
		return file, nil
	}
	text, err := userfile.ReadAtMost(m.Path, longestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, err
	}
	if json.Unmarshal(text, &file) != nil || file.Version != 1 {
		return memoryFile{Version: 1}, nil
	}
	return file, nil
}

func (f *memoryFile) place(listener, place, connector string) int {
	return slices.IndexFunc(f.Told, func(e entry) bool {
		return e.Listener == listener && e.Place == place && e.Connector == connector
	})
}

func (f *memoryFile) find(listener, place, connector string) report.Told {
	if i := f.place(listener, place, connector); i >= 0 {
		return f.Told[i].Told
	}
	return report.Told{}
}

// set puts an entry in the place of the one before it; one of no trouble is left out.
func (f *memoryFile) set(e entry) {
	if i := f.place(e.Listener, e.Place, e.Connector); i >= 0 {
		f.Told = slices.Delete(f.Told, i, i+1)
	}
	if e.Trouble == "" {
		return
	}
	e.Trouble, e.Words = e.Trouble[:min(len(e.Trouble), longestWord)], e.Words[:min(len(e.Words), longestWord)]
	f.Told = append(f.Told, e)
	f.Told = f.Told[max(0, len(f.Told)-mostTold):]
}
