package disk

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSurvives writes, syncs and cuts, and checks every byte that survives: it
// is one that was there at the last sync, or that was written since.
func TestSurvives(t *testing.T) {
	torn, mixed := 0, 0
	for seed := range uint64(60) {
		for _, mode := range []Mode{Synced, Some, Torn, All} {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var c content
			scribble(&c, rnd, func() {})
			c.sync()
			synced := slices.Clone(c.now)
			ever := make([][256]bool, 8*pageSize) // what a byte was since
			note := func() {
				for i := range ever {
					ever[i][at(c.now, i)] = true
				}
			}
			note()
			scribble(&c, rnd, note)
			newest := slices.Clone(c.now)
			var lost Loss
			c.cut(rnd, mode, &lost)
			torn += lost.Torn
			switch {
			case mode == Synced && !bytes.Equal(c.now, synced):
				t.Errorf("seed %d: what was not synced survived", seed)
			case mode == All && !bytes.Equal(c.now, newest):
				t.Errorf("seed %d: a kill lost something", seed)
			case mode == Some && !bytes.Equal(c.now, newest) && !bytes.Equal(c.now, synced):
				mixed++
			}
			for i, b := range c.now {
				if !ever[i][b] && b != 0 { // zero where the file grew over nothing
					t.Fatalf("seed %d, %s: byte %d is %d, which it never was", seed, mode, i, b)
				}
			}
			if !bytes.Equal(c.now, c.kept) || len(c.pages)+len(c.sizes) > 0 {
				t.Errorf("seed %d, %s: after a cut something is not settled", seed, mode)
			}
		}
	}
	if torn == 0 || mixed == 0 {
		t.Errorf("%d pages were torn, %d files were a mixture: this proves little", torn, mixed)
	}
}

// scribble writes and truncates, here and there, and calls then after each.
func scribble(c *content, rnd *rand.Rand, then func()) {
	for range 1 + rnd.IntN(6) {
		if off := rnd.Int64N(5 * pageSize); rnd.IntN(4) == 0 {
			c.truncate(off)
		} else {
			c.write(off, bytes.Repeat([]byte{byte(rnd.Uint32())}, 1+rnd.IntN(2*pageSize)))
		}
		then()
	}
}

func at(data []byte, i int) byte {
	if i < len(data) {
		return data[i]
	}
	return 0
}

// TestSyncFails checks that what a failed sync did not save stays unsaved,
// while it can be read, and that the next sync does not say so.
func TestSyncFails(t *testing.T) {
	var c content
	c.write(0, []byte("old"))
	c.sync()
	c.write(0, []byte("new"))
	c.syncFailed()
	c.sync()
	if got := string(c.now); got != "new" {
		t.Errorf("programs read %q", got)
	}
	c.cut(rand.New(rand.NewPCG(1, 1)), Some, &Loss{})
	if got := string(c.now); got != "old" {
		t.Errorf("%q survived, want what the disk had", got)
	}
}
