package model_test

import "slices"

// A protocol is how processes work, within bounds. Without faults it is how
// runner and store/sqlite do.
type protocol struct {
	runners, slices int
	mishaps         int // how much goes wrong in one history
	faults
}

// faults take parts of the protocol away.
type faults struct {
	agedLock       bool // the lock is a file that counts as left behind after a while
	keptLock       bool // the lock is a file that stays until a person removes it
	noEpoch        bool // a write does not ask whether the lease is still its own
	earlyEpoch     bool // a write asks before its transaction
	noCompare      bool // a commit does not compare the checkpoint
	cursorFirst    bool // the checkpoint moves in a transaction before that of the records
	gapClosedFirst bool // a gap closes in a transaction before that of its records
	gapOpenedLater bool // the checkpoint passes a slice in a transaction before that of its gap
	gapsKept       bool // a gap that is leased stays so until it is filled
	believed       bool // a commit with an unknown outcome counts as done
	repeated       bool // a commit with an unknown outcome is done again without a look
	anyEpoch       bool // the look for a write asks for its number, whatever the lease
	anyCheckpoint  bool // a checkpoint that is read back counts, whoever moved it
	overtakes      bool // a slice may be committed before the one before it
	hasty          bool // a slice is committed though the outcome of the one before it is unknown
}

func (m protocol) model() model[world] {
	return model[world]{
		start:    world{version: 1, mishaps: uint8(m.mishaps)},
		steps:    m.steps,
		promises: promises,
		end:      func(w world) bool { return int(w.cursor) == m.slices && !w.owes() },
	}
}

// work reports whether a run would find anything to do.
func (m protocol) work(w world) bool {
	if m.gapsKept {
		return int(w.cursor) < m.slices || slices.Contains(w.gaps[:], open)
	}
	return int(w.cursor) < m.slices || w.owes()
}

func (m protocol) steps(w world, add func(who, what string, to world)) {
	for i := range m.runners {
		turn{m, w, w.procs[i], i, add}.take()
	}
	if w.version == 1 {
		to := w
		to.version = 2
		add("the provider", "changes every record", to)
	}
	if w.lock > 0 && w.mishaps > 0 && !m.keptLock {
		to := w
		to.mishaps--
		to.lock, to.removed = 0, true
		add("somebody", "removes the lock file", to)
	}
}

// A turn is a process that may take a step.
type turn struct {
	protocol
	world world
	me    process
	i     int
	add   func(who, what string, to world)
}

// does adds a step that changes the world and the process.
func (t turn) does(what string, change func(w *world, p *process)) {
	w := t.world
	change(&w, &w.procs[t.i])
	t.add([...]string{"A", "B", "C"}[t.i], what, w)
}

// fails adds a step that is one of those that go wrong.
func (t turn) fails(what string, change func(w *world, p *process)) {
	if t.world.mishaps > 0 {
		t.does(what, func(w *world, p *process) { w.mishaps--; change(w, p) })
	}
}

// take adds all that the process may do next, and its death.
func (t turn) take() {
	switch t.me.doing {
	case dead:
		t.begin()
		return
	case locked:
		t.sign()
	case signed:
		t.does("reads the checkpoint", func(w *world, p *process) { p.doing, p.at = ready, w.cursor })
	case ready:
		t.choose()
	case filling:
		t.does("fetches what the gap owes", func(w *world, p *process) { p.doing, p.holds = holding, w.version })
	case holding, checked:
		t.commit()
	case unknown:
		t.look()
	case unread:
		t.readCheckpoint()
	case ending:
		t.finish()
	case releasing:
		t.does("lets the lock go", func(w *world, p *process) { w.release(t.i); *p = process{} })
	}
	if t.canFetchBehind() {
		t.does("fetches the slice behind", func(w *world, p *process) { p.ahead = w.version })
	}
	t.fails("is killed", func(w *world, p *process) {
		if !t.agedLock && !t.keptLock {
			w.release(t.i) // the kernel does
		}
		*p = process{}
	})
}

// canFetchBehind reports whether a walk is storing a slice and has not fetched the
// one behind it.
func (t turn) canFetchBehind() bool {
	switch t.me.doing {
	case holding, unknown, unread:
		return t.me.fills == 0 && !t.me.leaves && t.me.part == 0 && t.me.ahead == 0 && int(t.me.at)+1 < t.slices
	}
	return false
}

// begin takes the lock, if there is work.
func (t turn) begin() {
	take := func(w *world, p *process) { w.lock, p.doing = uint8(t.i)+1, locked }
	switch {
	case !t.work(t.world):
	case t.world.lock == 0:
		t.does("takes the lock", take)
	case t.agedLock:
		t.fails("takes the lock, which is old", take)
	}
}

// sign takes the lease with a new epoch, and frees what dead processes leased.
func (t turn) sign() {
	change := func(w *world, p *process) {
		w.epoch++
		w.owner, w.writes = uint8(t.i)+1, 1
		t.freeGaps(w)
		p.doing, p.epoch, p.writes = signed, w.epoch, 1
	}
	t.does("signs the lease", change)
	t.fails("signs the lease and is not told", func(w *world, p *process) {
		change(w, p)
		w.release(t.i)
		*p = process{}
	})
}

// choose goes on with the walk, with a gap, or ends the run.
func (t turn) choose() {
	if int(t.me.at) < t.slices {
		t.does("fetches the next slice", func(w *world, p *process) { p.doing, p.holds = holding, w.version })
		t.fails("cannot have the next slice", func(w *world, p *process) { p.doing, p.leaves = holding, true })
	} else if !slices.Contains(t.world.gaps[:], open) {
		t.does("is done", func(w *world, p *process) { p.doing = ending })
	}
	t.fails("is stopped by a budget", func(w *world, p *process) { p.doing = ending })
	for i, g := range t.world.gaps {
		if g == open {
			t.lease(uint8(i))
		}
	}
}

// lease marks a gap as tried by this run.
func (t turn) lease(slice uint8) {
	if t.fenced() {
		t.does("is fenced", func(w *world, p *process) { p.doing = releasing })
		return
	}
	t.does("leases a gap", func(w *world, p *process) {
		w.gaps[slice] = leased
		p.doing, p.fills = filling, slice+1
		p.writes++
		w.writes = p.writes
	})
}

// fenced reports whether another process took the lease.
func (t turn) fenced() bool {
	return !t.noEpoch && (t.world.epoch != t.me.epoch || t.world.owner != uint8(t.i)+1)
}

// finish signs off, unless the process was fenced.
func (t turn) finish() {
	t.does("signs off", func(w *world, p *process) {
		if !t.fenced() {
			w.owner = 0
			t.freeGaps(w)
		}
		p.doing = releasing
	})
}

// freeGaps opens the gaps that are leased.
func (t turn) freeGaps(w *world) {
	for i, g := range w.gaps {
		if g == leased && !t.gapsKept {
			w.gaps[i] = open
		}
	}
}
