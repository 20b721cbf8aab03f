package model_test

import "testing"

// A lockfile is the protocol by which processes share one path whose file they
// lock, and which is gone when nobody needs it.
type lockfile struct {
	processes int
	unread    bool // fault: whoever has locked a file does not ask whether the path still leads to it
	freed     bool // fault: a holder lets go before it removes the file
}

// files is the state of it. A file is a number; the same number is the same
// file, and 0 is none.
type files struct {
	path  uint8 // the file that the path leads to
	users [4]user
}

type user struct {
	stage stage
	file  uint8 // the file it has open
	locks bool  // it has locked it
}

type stage uint8

const (
	outside  stage = iota
	opened         // it has the file open
	looking        // and locked
	inside         // and knows that the path leads to it
	removing       // it has let go too early
	leaving        // it has removed the file
)

func (l lockfile) model() model[files] {
	return model[files]{
		steps: l.steps,
		promises: []promise[files]{{"one holder", func(_, f files) bool {
			holders := 0
			for _, u := range f.users {
				if u.stage == inside {
					holders++
				}
			}
			return holders > 1
		}}},
		end: func(f files) bool { return f.users[0].stage == inside },
	}
}

func (l lockfile) steps(f files, add func(who, what string, to files)) {
	for i := range l.processes {
		step := func(what string, change func(f *files, u *user)) {
			to := f
			change(&to, &to.users[i])
			add([...]string{"A", "B", "C", "D"}[i], what, to.renumbered())
		}
		switch u := f.users[i]; u.stage {
		case outside:
			step("opens the file", func(f *files, u *user) {
				if f.path == 0 {
					f.path = 100 // a file that was not there before
				}
				u.stage, u.file = opened, f.path
			})
			continue
		case opened:
			if f.locked(u.file) {
				step("finds it locked", func(_ *files, u *user) { *u = user{} })
			} else {
				step("locks it", func(_ *files, u *user) { u.stage, u.locks = looking, true })
			}
		case looking:
			if f.path == u.file || l.unread {
				step("has the lock", func(_ *files, u *user) { u.stage = inside })
			} else {
				step("has a file that nobody finds", func(_ *files, u *user) { *u = user{} })
			}
		case inside:
			if l.freed {
				step("lets go", func(_ *files, u *user) { u.stage, u.locks = removing, false })
			} else {
				step("removes the file", func(f *files, u *user) { f.path, u.stage = 0, leaving })
			}
		case removing:
			step("removes the file", func(f *files, u *user) { f.path, *u = 0, user{} })
		case leaving:
			step("lets go", func(_ *files, u *user) { *u = user{} })
		}
		step("is killed", func(_ *files, u *user) { *u = user{} })
	}
}

// locked reports whether somebody has locked a file.
func (f files) locked(file uint8) bool {
	for _, u := range f.users {
		if u.locks && u.file == file {
			return true
		}
	}
	return false
}

// renumbered gives files the lowest numbers, in the order in which they are
// met, so that what differs in the past of files alone is one state.
func (f files) renumbered() files {
	names := map[uint8]uint8{0: 0}
	name := func(file *uint8) {
		if _, ok := names[*file]; !ok {
			names[*file] = uint8(len(names))
		}
		*file = names[*file]
	}
	name(&f.path)
	for i := range f.users {
		name(&f.users[i].file)
	}
	return f
}

// TestLockFile: at most one process has the lock, at any time and after any
// deaths, and after them it can be had again.
func TestLockFile(t *testing.T) {
	for _, test := range []struct {
		name     string
		lockfile lockfile
		promise  string
		steps    int
	}{
		{"as it is", lockfile{processes: 4}, "", 0},
		{"without a look at the path", lockfile{processes: 3, unread: true}, "one holder", 11},
		{"let go, then removed", lockfile{processes: 3, freed: true}, "one holder", 11},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.lockfile.model().explore()
			if got.broken != test.promise || got.broken != "" && got.depth != test.steps {
				t.Errorf("%v, want %q broken in %d steps", got, test.promise, test.steps)
			}
			t.Logf("lock file %s: %v\n%s", test.name, got, got.story())
		})
	}
}
