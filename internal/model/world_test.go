package model_test

// What a world has room for; a test may use less.
const (
	mostRunners = 3
	mostSlices  = 3
)

// A world is the database, the kernel, the provider and the processes at one
// moment, and a little of what was.
type world struct {
	// The database survives whatever happens to a process.
	data   [mostSlices]uint8 // the version of a slice's records that is stored; 0: none
	gaps   [mostSlices]gap
	cursor uint8 // the checkpoint: the slice that is next
	moved  uint8 // the epoch it was moved under
	epoch  uint8 // the lease: how often it was taken,
	owner  uint8 // by which process (number plus one; 0: it signed off),
	writes uint8 // and the number of the newest write under it

	lock    uint8 // which process has the lock file, as the kernel sees it (number plus one)
	version uint8 // what the provider serves
	procs   [mostRunners]process
	mishaps uint8 // how much may still go wrong

	// No process sees these.
	told    uint8 // a bit for each slice that a process believes to be stored
	late    bool  // a write took effect under an epoch that was over
	blind   bool  // a process went on after an unknown commit without a look
	removed bool  // somebody removed the lock file
}

// A gap is what is known of a slice that could not be had.
type gap uint8

const (
	noGap gap = iota
	open
	leased
	recovered
)

// A process runs the connector; dead, it can be started again.
type process struct {
	doing  doing
	epoch  uint8
	at     uint8 // the slice that its walk stands at
	fills  uint8 // the gap that it fills (slice plus one; 0: it walks)
	leaves bool  // it commits a gap in place of the slice
	holds  uint8 // the version of the records that it fetched
	ahead  uint8 // that of the slice behind, which it fetched meanwhile; 0: none
	both   bool  // the commit with an unknown outcome was of both
	part   uint8 // how many transactions of its commit took effect
	writes uint8 // the number of its newest write
}

// doing is where a process stands in its program.
type doing uint8

const (
	dead      doing = iota
	locked          // it has the lock
	signed          // and the lease
	ready           // and knows the checkpoint
	filling         // it leased a gap
	holding         // it has what it will commit
	checked         // and has looked at the lease: only with a fault
	unknown         // its commit failed, and may have taken effect
	unread          // and the look for that failed, too
	ending          // it will sign off
	releasing       // it will let the lock go
)

// slot is the slice that a process is busy with.
func (p process) slot() uint8 {
	if p.fills > 0 {
		return p.fills - 1
	}
	return p.at
}

// believe makes a process go on as after a commit: with the slice behind, if it has
// that already.
func (w *world) believe(p *process) {
	if !p.leaves {
		w.told |= 1 << p.slot()
	}
	at := p.at
	if p.fills == 0 {
		at++
	}
	next := process{doing: ready, epoch: p.epoch, at: at, writes: p.writes}
	if p.ahead > 0 {
		next.doing, next.holds = holding, p.ahead
	}
	*p = next
}

// owed reports whether there is a gap for a slice.
func (w *world) owed(slice uint8) bool { return w.gaps[slice] == open || w.gaps[slice] == leased }

// owes reports whether there is any.
func (w *world) owes() bool {
	for i := range w.gaps {
		if w.owed(uint8(i)) {
			return true
		}
	}
	return false
}

// release frees the lock if process i has it.
func (w *world) release(i int) {
	if w.lock == uint8(i)+1 {
		w.lock = 0
	}
}
