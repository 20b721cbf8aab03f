package disk

import (
	"math/rand/v2"
	"slices"
)

const (
	pageSize   = 4096 // what a kernel writes back at once
	sectorSize = 512  // what a disk writes without a break
)

// A content is the bytes of a file: those that programs read, and those that
// would be there after a power cut, as far as that is known.
type content struct {
	now  []byte
	kept []byte // as of the last sync

	// pages holds, for each page that was written since, what it held after
	// each write, oldest first; and sizes each size that the file had since.
	pages map[int64][][]byte
	sizes []int64
}

// write puts data at off.
func (c *content) write(off int64, data []byte) {
	end := off + int64(len(data))
	if end > int64(len(c.now)) {
		c.resize(end)
	}
	copy(c.now[off:], data)
	c.note(off, end)
}

// truncate sets the size. What is beyond it is zero if the file grows again.
func (c *content) truncate(size int64) {
	before := int64(len(c.now))
	c.resize(size)
	c.note(min(before, size), max(before, size))
}

func (c *content) resize(size int64) {
	before := int64(len(c.now))
	if size > before {
		c.now = append(c.now, make([]byte, size-before)...)
	} else {
		c.now = c.now[:size:size] // growing again must not show what was cut off
	}
	if size != before {
		c.sizes = append(c.sizes, size)
	}
}

// note remembers what the pages from one offset to another hold now.
func (c *content) note(from, to int64) {
	if c.pages == nil {
		c.pages = map[int64][][]byte{}
	}
	for p := from / pageSize; p*pageSize < to; p++ {
		c.pages[p] = append(c.pages[p], page(c.now, p))
	}
}

// sync makes what programs read survive.
func (c *content) sync() {
	c.kept = grown(c.kept, int64(len(c.now)))
	for p := range c.pages {
		if from := p * pageSize; from < int64(len(c.now)) {
			copy(c.kept[from:min(from+pageSize, int64(len(c.now)))], c.now[from:])
		}
	}
	c.forget()
}

// syncFailed is a sync that the disk refused. As on Linux, programs go on
// reading what they wrote, nothing will try again to make it survive, and the
// next sync succeeds.
func (c *content) syncFailed() { c.forget() }

func (c *content) forget() {
	clear(c.pages)
	c.sizes = c.sizes[:0]
}

// cut leaves what survives, and counts what did not.
func (c *content) cut(rnd *rand.Rand, mode Mode, lost *Loss) {
	if mode == All {
		c.kept = slices.Clone(c.now)
		c.forget()
		return
	}
	size := int64(len(c.kept))
	if mode != Synced && len(c.sizes) > 0 {
		if i := rnd.IntN(len(c.sizes) + 1); i > 0 {
			size = c.sizes[i-1]
		}
	}
	after := grown(slices.Clone(c.kept), max(size, int64(len(c.kept))))
	for _, p := range sortedKeys(c.pages) {
		versions := append([][]byte{page(c.kept, p)}, c.pages[p]...)
		newest := len(versions) - 1
		i := 0
		if mode != Synced {
			i = rnd.IntN(len(versions))
		}
		survives := versions[i]
		if mode == Torn && i > 0 && rnd.IntN(2) == 0 {
			// The write that made this version broke off between two sectors.
			cut := sectorSize * (1 + rnd.IntN(pageSize/sectorSize-1))
			survives = append(slices.Clone(survives[:cut]), versions[i-1][cut:]...)
			lost.Torn++
		} else if i < newest {
			lost.Pages++
		}
		if from := p * pageSize; from < int64(len(after)) {
			copy(after[from:], survives)
		}
	}
	after = after[:min(size, int64(len(after)))]
	c.now, c.kept = after, slices.Clone(after)
	c.forget()
}

// page returns page p of data, filled up with zeros.
func page(data []byte, p int64) []byte {
	out := make([]byte, pageSize)
	if from := p * pageSize; from < int64(len(data)) {
		copy(out, data[from:])
	}
	return out
}

// grown returns data with a size, zeros at its end if that is more.
func grown(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}
