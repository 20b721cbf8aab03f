// Package disk is a file system whose power can be cut.
//
// A [Disk] remembers, beside what programs read, what would be there if the
// power failed: the bytes of a file as of its last sync, and the names in a
// directory as of the last sync of that directory. That is all that POSIX
// promises; a file that was synced and whose name was not may be gone. What
// happened since may survive or not, page by page, each page as it was after
// any of the writes to it, and torn between sectors; see [Mode].
//
// The disk counts its operations, so that its power can be cut at each of
// them, one after the other. It is in memory, and it is mounted with FUSE: see
// [Disk.Mount]. The kernel keeps its locks and its shared memory.
//
// A file that is given another name has it, and has lost the old one, as of the
// sync of each directory; until then either may be so without the other, which
// is more than most file systems allow themselves.
//
// There are no links and no owners.
package disk

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Mode says what survives of what was not synced.
type Mode string

// The modes.
const (
	Synced Mode = "synced" // nothing: only what was synced
	Some   Mode = "some"   // whatever chance leaves, page by page and name by name
	Torn   Mode = "torn"   // likewise, and pages that are half written
	All    Mode = "all"    // everything, as when only the program dies
)

// A Loss counts what a cut took away.
type Loss struct {
	Names int // names that were made or removed in vain
	Pages int // pages whose newest version did not survive
	Torn  int // pages that survived in part
}

// A Disk is a file system in memory. It is safe for concurrent use.
type Disk struct {
	mu      sync.Mutex
	root    *node
	numbers uint64
	off     bool

	steps  int
	cutAt  int           // the step at which to cut the power; 0: at none
	failAt int           // the step that fails; 0: none
	failOn bool          // all steps after it fail, too
	errno  syscall.Errno // how they fail
	failed int           // how many did
	last   string        // the step at which the power was cut
	cut    chan struct{} // closed when it was
}

// A node is a file or a directory.
type node struct {
	number  uint64
	mode    uint32
	changed time.Time
	content content // of a file
	names   *names  // of a directory
}

// The names in a directory: those that programs see, and those that survive.
type names struct{ now, kept map[string]*node }

// sync makes the names that programs see survive.
func (n *names) sync() { n.kept = maps.Clone(n.now) }

// New returns an empty disk.
func New() *Disk {
	d := &Disk{cut: make(chan struct{})}
	d.root = d.newNode(syscall.S_IFDIR | 0o755)
	return d
}

func (d *Disk) newNode(mode uint32) *node {
	d.numbers++
	n := &node{number: d.numbers, mode: mode, changed: time.Now()}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		n.names = &names{map[string]*node{}, map[string]*node{}}
	}
	return n
}

// Arm cuts the power instead of the step that comes n-th from now on, a step
// being whatever writes, makes, renames, removes or syncs. 0 disarms it.
func (d *Disk) Arm(n int) { d.plan(n, 0, false, 0) }

// Fail lets the step that comes n-th from now on fail with errno, and with on
// set all that follow it.
func (d *Disk) Fail(n int, on bool, errno syscall.Errno) { d.plan(0, n, on, errno) }

func (d *Disk) plan(cutAt, failAt int, on bool, errno syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps, d.failed = 0, 0
	d.cutAt, d.failAt, d.failOn, d.errno = cutAt, failAt, on, errno
}

// Steps returns how many steps there were since the disk was last armed, and
// how many of them failed because [Disk.Fail] said so.
func (d *Disk) Steps() (all, failed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps, d.failed
}

// Cut cuts the power now.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turnOff("by hand")
}

// Off returns a channel that is closed when the power is cut.
func (d *Disk) Off() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cut
}

// Last names the step at which the power was cut.
func (d *Disk) Last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *Disk) turnOff(what string) {
	if !d.off {
		d.off, d.last = true, what
		close(d.cut)
	}
}

// Settle makes all that is on the disk survive.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.survive(nil, All, &Loss{})
}

// Restore turns the power on again, after a cut, with what survived. The disk
// must not be mounted meanwhile: the kernel would go on showing what it knew.
func (d *Disk) Restore(mode Mode, seed uint64) Loss {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lost Loss
	d.root.survive(rand.New(rand.NewPCG(seed, 0)), mode, &lost)
	d.off, d.cutAt, d.failAt, d.cut = false, 0, 0, make(chan struct{})
	return lost
}

// survive leaves what survives below n.
func (n *node) survive(rnd *rand.Rand, mode Mode, lost *Loss) {
	if n.names == nil {
		n.content.cut(rnd, mode, lost)
		return
	}
	after := map[string]*node{}
	all := maps.Clone(n.names.now)
	maps.Copy(all, n.names.kept)
	for _, name := range sortedKeys(all) {
		now, kept := n.names.now[name], n.names.kept[name]
		survives := kept
		if now != kept && (mode == All || (mode == Some || mode == Torn) && rnd.IntN(2) == 0) {
			survives = now
		}
		if survives != now {
			lost.Names++
		}
		if survives != nil {
			after[name] = survives
			survives.survive(rnd, mode, lost)
		}
	}
	n.names.now, n.names.kept = after, maps.Clone(after)
}

// step begins a step. If it returns an error, the step has no effect.
func (d *Disk) step(what string) syscall.Errno {
	if d.off {
		return syscall.EIO
	}
	d.steps++
	if d.steps == d.cutAt {
		d.turnOff(what)
		return syscall.EIO
	}
	if d.failAt > 0 && (d.steps == d.failAt || d.failOn && d.steps > d.failAt) {
		d.failed++
		return d.errno
	}
	return 0
}

// look begins what changes nothing.
func (d *Disk) look() syscall.Errno {
	if d.off {
		return syscall.EIO
	}
	return 0
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
