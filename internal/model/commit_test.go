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
	t.fails("commits and is not told", func(w *world, p *process) {
		t.effect(w, p)
		p.doing, p.part = unknown, 0
	})
	t.fails("commits in vain and is not told", func(w *world, p *process) {
		p.writes++
		p.doing, p.part = unknown, 0
	})
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
		t.does("commits again", func(w *world, p *process) { w.blind = true; p.doing = holding })
		return
	}
	t.does("looks for its write", func(w *world, p *process) {
		if w.writes == p.writes && (w.epoch == p.epoch || t.anyEpoch) {
			w.believe(p)
		} else {
			p.doing = ending // with the error that the commit had
		}
	})
	t.fails("cannot look for its write", func(w *world, p *process) { p.doing = unread })
}

// readCheckpoint asks the checkpoint instead, which is all that the runner can
// do. A gap that was to be filled has none that would tell: the slice is
// committed again, as one is whose checkpoint this process has not moved.
func (t turn) readCheckpoint() {
	t.does("reads the checkpoint back", func(w *world, p *process) {
		if p.fills == 0 && w.cursor == p.at+1 && (w.moved == p.epoch || t.anyCheckpoint) {
			w.believe(p)
		} else {
			p.doing = holding
		}
	})
}
