package fileformat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"collect/store"
)

// The log of a database (-wal) holds its newest commits until they are merged.
// SQLite reads it up to the first frame whose checksum is wrong and takes that
// for its end, as after a power cut: a bit that flips there takes commits away
// without a word. The rest is an earlier state, whole in itself. A run collects
// the missing records again from there; but to a person who only looks it must
// not pass for the newest. Opening the database makes SQLite forget what it
// had, so the log is looked at before.
//
// The formats are those of https://sqlite.org/fileformat2.html#walformat and
// https://sqlite.org/walformat.html.

const (
	walHeaderSize   = 32
	frameHeaderSize = 24
)

// A Log is a log, and what the shared memory beside it knows of it. It can be
// compared with another.
type Log struct {
	log   walLog
	index walIndex
}

// ReadLog reads the log of the database at path. One that does not exist is
// empty.
func ReadLog(path string) (l Log, err error) {
	l.index = readIndex(path + "-shm")
	l.log, err = readLog(path + "-wal")
	return l, err
}

// Check returns store.ErrDamaged if commits that were acknowledged cannot be
// read from the log, and store.ErrDoubtful if some may have been.
func (l Log) Check() error { return l.log.check(l.index) }

// A walIndex is what the shared memory (-shm) knows of a log. It survives the
// death of processes, not of the machine.
type walIndex struct {
	known  bool
	salts  [8]byte
	frames uint32 // committed
	merged uint32 // of these, in the database already
}

// readIndex reads the shared memory at path. Two copies of its header and a
// checksum tell whether it can be believed.
func readIndex(path string) (index walIndex) {
	const copySize = 48
	b := make([]byte, 2*copySize+4)
	f, err := os.Open(path)
	if err != nil {
		return walIndex{}
	}
	defer f.Close() // it was only read
	if _, err := io.ReadFull(f, b); err != nil || !bytes.Equal(b[:copySize], b[copySize:2*copySize]) {
		return walIndex{}
	}
	native := binary.NativeEndian
	sum := walSum{}.over(b[:40], native)
	if b[12] == 0 || sum != (walSum{native.Uint32(b[40:]), native.Uint32(b[44:])}) { // byte 12: initialized
		return walIndex{}
	}
	return walIndex{true, [8]byte(b[32:40]), native.Uint32(b[16:]), native.Uint32(b[2*copySize:])}
}

// A walLog is a log as it stands in its file.
type walLog struct {
	size      int64
	readable  bool // its header is
	salts     [8]byte
	pageSize  int64
	committed uint32 // frames up to the last commit before a wrong checksum
	beyond    uint32 // frames from a wrong checksum on that belong to this log, not to one before it
	lost      uint32 // commits behind the first of them
}

// readLog reads the log at path. One that does not exist is empty.
func readLog(path string) (log walLog, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return log, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return log, err
	}
	log.size = info.Size()
	sound := true
	var n uint32
	err = frames(f, &log, func(frame []byte, sum bool) {
		n++
		commit := binary.BigEndian.Uint32(frame[4:]) != 0
		switch sound = sound && sum; {
		case sound && commit:
			log.committed = n
		case !sound:
			// The first may be the one in which a process was killed.
			if log.beyond++; log.beyond > 1 && commit {
				log.lost++
			}
		}
	})
	return log, err
}

// frames reads the header of a log into log and calls each with the frames
// that belong to it, and whether their checksums and all before are right.
func frames(r io.Reader, log *walLog, each func(frame []byte, sound bool)) error {
	header := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return ended(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch binary.BigEndian.Uint32(header) {
	case 0x377f0683:
		order = binary.BigEndian
	case 0x377f0682:
	default:
		return nil
	}
	sum := walSum{}.over(header[:24], order)
	if sum != (walSum{binary.BigEndian.Uint32(header[24:]), binary.BigEndian.Uint32(header[28:])}) {
		return nil
	}
	log.readable, log.salts = true, [8]byte(header[16:24])
	log.pageSize = int64(binary.BigEndian.Uint32(header[8:]))
	frame := make([]byte, frameHeaderSize+log.pageSize)
	for sound := true; ; {
		if _, err := io.ReadFull(r, frame); err != nil {
			return ended(err)
		}
		// Another log's frames differ in both salts: one is counted up, the
		// other is random.
		if !bytes.Equal(frame[8:12], log.salts[:4]) && !bytes.Equal(frame[12:16], log.salts[4:]) {
			sound = false
			continue
		}
		sum = sum.over(frame[:8], order).over(frame[frameHeaderSize:], order)
		sound = sound && bytes.Equal(frame[8:16], log.salts[:]) &&
			sum == walSum{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])}
		each(frame, sound)
	}
}

// ended takes the end of a file for no error: a process may be killed in the
// middle of a frame.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// check compares the log with what the shared memory knows of it, and looks
// for commits behind a wrong checksum. The first finds more, the second is left
// when a program that did not look has opened the database.
//
// Only where both are of the same log is it sure: a commit is on the disk
// before the shared memory knows of it, also after a power cut, but a log may
// have been begun anew since the shared memory was last written.
func (log walLog) check(index walIndex) error {
	same := log.readable && index.known && index.salts == log.salts
	switch {
	case same && log.committed < index.frames:
		return fmt.Errorf("%w: its log holds %d pages of the newest commits, and %d can be read",
			store.ErrDamaged, index.frames, log.committed)
	case log.lost > 0:
		return fmt.Errorf("%w: its log holds commits behind a place that cannot be read", store.ErrDoubtful)
	case log.beyond > 0 && !same:
		return fmt.Errorf("%w: its log ends with %d pages that cannot be read", store.ErrDoubtful, log.beyond)
	case !log.readable && index.known && index.frames > index.merged:
		return fmt.Errorf("%w: its log with %d pages of the newest commits is gone or cannot be read", store.ErrDoubtful, index.frames)
	case !log.readable && !index.known && log.size > walHeaderSize:
		return fmt.Errorf("%w: its log cannot be read", store.ErrDoubtful)
	}
	return nil
}

// A walSum is the running checksum of a log.
type walSum [2]uint32

// over continues the sum over b, whose length is a multiple of 8.
func (s walSum) over(b []byte, order binary.ByteOrder) walSum {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}
