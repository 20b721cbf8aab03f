// Package fileformat reads the files of SQLite without SQLite: the header of a
// database, its log, and its pages. SQLite takes much that is damaged for true,
// and gives up much that is not.
package fileformat

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"collect/store"
)

// What stands in the header of a database: https://sqlite.org/fileformat2.html#the_database_header.
const (
	headerSize     = 100
	headerMagic    = "SQLite format 3\x00"
	atPageSize     = 16
	atWriteVersion = 18
	atReadVersion  = 19
	atReserved     = 20 // bytes at the end of each page, which we do not have
	atFractions    = 21 // three bytes that never change
	atFormat       = 44 // of the schema
	atEncoding     = 56
	atApplication  = 68
	atExpansion    = 72 // twenty bytes of zeros
	afterExpansion = 92
)

// To close a file ends the locks that SQLite holds on it in this process: no
// function of this package may be called while the process has the database open.

// readHeader returns the header of the database at path; nil if the file is
// too short to have one.
func readHeader(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil // the next open says why
	}
	defer f.Close() // it was only read
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil
	}
	return header
}

// IsOurs reports whether the header of the database at path names this program.
func IsOurs(path string) bool { return ours(readHeader(path)) }

func ours(header []byte) bool {
	return len(header) == headerSize && binary.BigEndian.Uint32(header[atApplication:]) == ApplicationID
}

// CheckHeader returns store.ErrDamaged if the header of a store at path is not
// as SQLite writes it. Of most of its bytes SQLite takes any for true.
func CheckHeader(path string) error {
	h := readHeader(path)
	if !ours(h) {
		return nil // it is none, or its header is in the log yet
	}
	wrong := func(at int) error {
		return fmt.Errorf("%w: byte %d of its header is not one that SQLite writes", store.ErrDamaged, at)
	}
	size := int(binary.BigEndian.Uint16(h[atPageSize:]))
	switch {
	case string(h[:len(headerMagic)]) != headerMagic:
		return wrong(0)
	case size != 1 && (size < 512 || size&(size-1) != 0): // 1 stands for 65536
		return wrong(atPageSize)
	case h[atReadVersion] != 1 && h[atReadVersion] != 2: // 2: with a log
		return wrong(atReadVersion)
	case h[atWriteVersion] != h[atReadVersion]:
		return wrong(atWriteVersion)
	case h[atReserved] != 0:
		return wrong(atReserved)
	case !bytes.Equal(h[atFractions:atFractions+3], []byte{64, 32, 32}):
		return wrong(atFractions)
	case binary.BigEndian.Uint32(h[atFormat:]) != 4:
		return wrong(atFormat)
	case binary.BigEndian.Uint32(h[atEncoding:]) != 1: // UTF-8
		return wrong(atEncoding)
	case !bytes.Equal(h[atExpansion:afterExpansion], make([]byte, afterExpansion-atExpansion)):
		return wrong(atExpansion)
	}
	return nil
}

// ApplicationID is "coll"; the first migration writes it into the file's
// header, where it tells a store from other SQLite files.
const ApplicationID = 0x636f6c6c
