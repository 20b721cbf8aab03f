package model_test

// promises are the invariants that can be seen in a world. That the end stays
// within reach is one more: whatever happens, another process can go on
// without a person (I7, and of gaps I14).
var promises = []promise[world]{
	{"I1 data before cursor", func(_, w world) bool {
		for i := range w.cursor {
			if w.data[i] == 0 && !w.owed(i) {
				return true
			}
		}
		return false
	}},
	{"I3 newest version", func(was, w world) bool {
		for i := range w.data {
			if w.data[i] < was.data[i] {
				return true
			}
		}
		return false
	}},
	{"I4 monotone", func(was, w world) bool { return w.cursor < was.cursor || w.cursor > was.cursor+2 }},
	{"I6 one writer", func(_, w world) bool { return w.late }},
	{"I6 one holder", func(_, w world) bool {
		holders := 0
		for _, p := range w.procs {
			if p.doing != dead {
				holders++
			}
		}
		return holders > 1 && !w.removed
	}},
	{"I7 no orphan", func(_, w world) bool { return w.lock > 0 && w.procs[w.lock-1].doing == dead }},
	{"I14 closed with its data", func(_, w world) bool {
		for i, g := range w.gaps {
			if g == recovered && w.data[i] == 0 {
				return true
			}
		}
		return false
	}},
	{"I23 unknown is resolved", func(_, w world) bool { return w.blind }},
	{"I24 what is told is stored", func(_, w world) bool {
		for i := range w.data {
			if w.told&(1<<i) != 0 && w.data[i] == 0 {
				return true
			}
		}
		return false
	}},
}
