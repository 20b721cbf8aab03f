package model_test

// A part is what one transaction of a commit changes.
type part uint8

const (
	records part = 1 << iota
	checkpoint
	itsGap
)

// parts returns the transactions of the commit of p: one, if nothing is wrong.
func (m protocol) parts(p process) []part {
	switch {
	case m.cursorFirst && p.fills == 0 && !p.leaves:
		return []part{checkpoint | itsGap, records}
	case m.gapClosedFirst && p.fills > 0:
		return []part{itsGap, records}
	case m.gapOpenedLater && p.leaves:
		return []part{checkpoint, itsGap}
	}
	return []part{records | checkpoint | itsGap}
}

// commit makes the next transaction of a commit.
func (t turn) commit() {
	switch {
	case t.earlyEpoch && t.me.doing == holding:
		t.does("looks at the lease", func(w *world, p *process) {
			if p.doing = checked; t.fenced() {
				p.doing = releasing
			}
		})
		return
	case !t.earlyEpoch && t.fenced():
		t.does("is fenced", func(w *world, p *process) { p.doing = releasing })
		return
	case t.me.fills == 0 && t.me.part == 0 && t.world.cursor != t.me.at && !t.noCompare:
		t.does("finds the checkpoint moved", func(w *world, p *process) { p.doing = ending })
		return
	}
	t.does("commits", func(w *world, p *process) {
		t.effect(w, p)
		if int(p.part) == len(t.parts(*p)) {
			w.believe(p)
		}
	})
	if t.me.ahead > 0 && t.me.part == 0 && len(t.parts(t.me)) == 1 {
		t.commitBoth()
	}
	t.fails("commits and is not told", func(w *world, p *process) {
		t.effect(w, p)
		p.doing, p.part = unknown, 0
	})
	t.fails("commits in vain and is not told", func(w *world, p *process) {
		p.writes++
		p.doing, p.part = unknown, 0
	})
}

// commitBoth commits a slice and the one behind it, in one transaction.
func (t turn) commitBoth() {
	t.does("commits both", func(w *world, p *process) {
		for range 2 {
			t.effect(w, p)
			w.believe(p)
		}
	})
	t.fails("commits both and is not told", func(w *world, p *process) {
		t.effect(w, p)
		t.effectBehind(w, p)
		p.doing, p.part, p.both = unknown, 0, true
	})
	t.fails("commits both in vain and is not told", func(w *world, p *process) {
		p.writes++
		p.doing, p.part, p.both = unknown, 0, true
	})
	if t.overtakes {
		t.does("commits the slice behind", func(w *world, p *process) {
			t.effectBehind(w, p)
			p.ahead = 0
		})
	}
}

// effectBehind is what a transaction does with the slice behind.
func (t turn) effectBehind(w *world, p *process) {
	behind := process{epoch: p.epoch, at: p.at + 1, holds: p.ahead, writes: p.writes}
	t.effect(w, &behind)
	p.writes = behind.writes
}

// effect is what a transaction does.
func (t turn) effect(w *world, p *process) {
	changes := t.parts(*p)[p.part]
	slot := p.slot()
	if changes&records != 0 && !p.leaves {
		w.data[slot] = p.holds
	}
	if changes&checkpoint != 0 && p.fills == 0 {
		w.cursor, w.moved = p.at+1, p.epoch
	}
	if changes&itsGap != 0 {
		switch {
		case p.leaves:
			w.gaps[slot] = open
		case w.owed(slot):
			w.gaps[slot] = recovered
		}
	}
	w.late = w.late || p.epoch != w.epoch
	p.part++
	p.writes++
	w.writes = p.writes
}

// look asks the database whether the write with an unknown outcome is there.
func (t turn) look() {
	switch {
	case t.believed:
		t.does("takes the commit for done", func(w *world, p *process) { w.blind = true; w.believe(p) })
		return
	case t.repeated:
		t.does("commits again", func(w *world, p *process) { w.blind = true; p.doing, p.both = holding, false })
		return
	case t.hasty && t.me.ahead > 0:
		t.does("goes on with the slice behind", func(w *world, p *process) { w.blind = true; w.believe(p) })
		return
	}
	t.does("looks for its write", func(w *world, p *process) {
		if w.writes == p.writes && (w.epoch == p.epoch || t.anyEpoch) {
			both := p.both
			if w.believe(p); both {
				w.believe(p)
			}
		} else {
			p.doing = ending // with the error that the commit had
		}
	})
	t.fails("cannot look for its write", func(w *world, p *process) { p.doing = unread })
}

// readCheckpoint asks the checkpoint instead, which is all that the runner can
// do. A gap that was to be filled has none that would tell: the slice is
// committed again, as one is whose checkpoint this process has not moved. Of two slices
// the checkpoint tells of the first one if it is behind either, and then of the
// second.
func (t turn) readCheckpoint() {
	t.does("reads the checkpoint back", func(w *world, p *process) {
		there := w.cursor == p.at+1 || p.both && w.cursor == p.at+2
		both := p.both
		if p.both = false; p.fills > 0 || !there || w.moved != p.epoch && !t.anyCheckpoint {
			p.doing = holding
			return
		}
		if w.believe(p); both {
			p.doing = unread
		}
	})
}
