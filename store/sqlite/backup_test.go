package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// childBacksUp backs the store up beside itself, and is killed at a step.
func childBacksUp(path string) error {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(sqlite.BackupSteps(context.Background(), s, path+".bak", killAtStep()), s.Close())
}

// backedUp backs a store up to a new place.
func backedUp(t *testing.T, path string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "backup.db")
	s := open(t, path, sqlite.Options{ReadOnly: true})
	defer s.Close()
	if err := s.Backup(t.Context(), to, false); err != nil {
		t.Fatalf("Backup: %v", err)
	}
	checkFiles(t, to, "backup.db")
	return to
}

// checkBackup checks that a backup is one whole file for its owner's eyes, and
// holds so many pages.
func checkBackup(t *testing.T, path string, pages int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v, want 0600", info.Mode().Perm(), err)
	}
	report, err := salvage.Examine(t.Context(), path)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("Examine = %+v, %v, want no problem", report, err)
	}
	s := open(t, path, sqlite.Options{ReadOnly: true})
	checkFilled(t, s, pages)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestBackupBesideARun backs up while another process commits: each backup is
// one moment of it.
func TestBackupBesideARun(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "state.db")
	cmd := child(t, "collect", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	for range 5 {
		acknowledged := 0
		for range 20 {
			if !lines.Scan() {
				t.Fatal("the run ended")
			}
			fmt.Sscan(lines.Text(), &acknowledged)
		}
		s := open(t, backedUp(t, path), sqlite.Options{})
		l := begin(t, s, "acme", "run-9")
		cp, err := l.Checkpoint(t.Context(), issues)
		if err != nil {
			t.Fatal(err)
		}
		pages := 0
		fmt.Sscan(cp.Token, &pages)
		if pages < acknowledged {
			t.Errorf("the backup ends at page %d, and %d were acknowledged before", pages, acknowledged)
		}
		checkPages(t, s, l, pages)
		s.Close()
	}
}

// TestBackupInterrupted kills a backup at each step, and fails each: what is
// there is the backup of before or the new one, and the next one is made.
func TestBackupInterrupted(t *testing.T) {
	slow(t)
	for _, how := range []string{"killed", "failed"} {
		t.Run(how, func(t *testing.T) {
			steps := 0
			for ; ; steps++ {
				path := fixture(t, sqlite.Newest())
				s := open(t, path, sqlite.Options{})
				if err := s.Backup(t.Context(), path+".bak", false); err != nil {
					t.Fatal(err)
				}
				goOn(t, s, "run-3", 3)
				if how == "killed" {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					if !killedAt(t, "backup", path, steps) {
						break
					}
					s = open(t, path, sqlite.Options{})
				} else if err := sqlite.BackupSteps(t.Context(), s, path+".bak", failAtStep(steps)); !errors.Is(err, errInjected) {
					s.Close()
					break
				}
				pages := 3
				if steps == 3 {
					pages = 4 // it took effect
				}
				checkBackup(t, path+".bak", pages)
				if err := s.Backup(t.Context(), path+".bak", true); err != nil {
					t.Errorf("Backup again: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				checkBackup(t, path+".bak", 4)
				checkFiles(t, path, "state.db", "state.db.bak")
			}
			if steps != 4 {
				t.Errorf("interrupted at %d steps, want 4", steps)
			}
		})
	}
}

// TestBackupRefused: no file is written over that is not meant, and no backup
// is made that could not be restored.
func TestBackupRefused(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	backup := backedUp(t, path)
	live := made(t)
	other := open(t, live, sqlite.Options{})
	defer other.Close()
	begin(t, other, "acme", "run-2")
	log := filepath.Join(t.TempDir(), "state.db") // of a run that was killed before its first commit
	copyFile(t, backup, log)
	write("")(t, log+"-wal")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		to      string
		replace bool
		want    error
	}{
		{"a file that is there", t.Context(), backup, false, fs.ErrExist},
		{"itself", t.Context(), path, true, store.ErrInUse},
		{"a store in use", t.Context(), live, true, store.ErrInUse},
		{"a store with an empty log", t.Context(), log, true, store.ErrInUse},
		{"a directory", t.Context(), filepath.Dir(backup), true, store.ErrNotDatabase},
		{"no directory", t.Context(), filepath.Join(path, "x", "y"), false, store.ErrNoAccess},
		{"canceled", canceled, filepath.Join(t.TempDir(), "x"), false, context.Canceled},
	} {
		if err := s.Backup(c.ctx, c.to, c.replace); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	execute(`UPDATE records SET data = replace(data, 'page', 'pbge') WHERE id = 5`)(t, path)
	if err := s.Backup(t.Context(), backup, true); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("of a damaged store: %v, want %v", err, store.ErrDamaged)
	}
	checkBackup(t, backup, 3)
	checkFiles(t, backup, "backup.db")
}

// childRestores restores the backup beside the store, and is killed at a step.
func childRestores(path string) error {
	_, err := sqlite.RestoreSteps(context.Background(), path, os.Getenv("COLLECT_TEST_FROM"), killAtStep())
	return err
}

// restored restores a backup and returns where the old store is kept.
func restored(t *testing.T, path, from string) (kept string) {
	t.Helper()
	kept, err := sqlite.Restore(t.Context(), path, from, store.Audit{Who: "kim", Why: "lost"})
	if err != nil {
		t.Fatalf("Restore: %v", err)
	}
	return kept
}

// TestRestoreInterrupted kills a restore at each step, and fails each: there is
// always one whole store, the old one or the new one, with which a run goes
// on; and the next restore is done.
func TestRestoreInterrupted(t *testing.T) {
	slow(t)
	for _, how := range []string{"killed", "failed"} {
		t.Run(how, func(t *testing.T) {
			steps := 0
			for ; ; steps++ {
				path := fixture(t, sqlite.Newest())
				backup := backedUp(t, path)
				s := open(t, path, sqlite.Options{})
				goOn(t, s, "run-3", 3)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if how == "killed" {
					if !killedAt(t, "restore", path, steps, "COLLECT_TEST_FROM="+backup) {
						break
					}
				} else if _, err := sqlite.RestoreSteps(t.Context(), path, backup, failAtStep(steps)); !errors.Is(err, errInjected) {
					break
				}
				pages := 4
				if steps == 4 {
					pages = 3 // it took effect
				}
				checkGoesOn(t, path, fmt.Sprint("after step ", steps), pages)
				kept := restored(t, path, backup)
				checkGoesOn(t, kept, fmt.Sprint("kept after step ", steps), pages+1)
				checkGoesOn(t, path, fmt.Sprint("restored after step ", steps), 3)
			}
			if steps != 5 {
				t.Errorf("interrupted at %d steps, want 5", steps)
			}
		})
	}
}

// checkGoesOn checks that a store holds so many pages of issues, and lets a
// run add one.
func checkGoesOn(t *testing.T, path, run string, pages int) {
	t.Helper()
	report, err := salvage.Examine(t.Context(), path)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%s: Examine = %+v, %v, want no problem", run, report, err)
	}
	s := open(t, path, sqlite.Options{})
	checkFilled(t, s, pages)
	goOn(t, s, run, pages)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRestoreKeeps: what is learned of providers, and the epochs that keep
// processes apart, do not go back with the records.
func TestRestoreKeeps(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	backup := backedUp(t, path)
	s := open(t, path, sqlite.Options{})
	goOn(t, s, "run-3", 3)
	l := begin(t, s, "acme", "run-4")
	frozen := `{"frozen":"403"}`
	if err := l.SaveProvider(t.Context(), "acme/1", []byte(frozen)); err != nil {
		t.Fatal(err)
	}
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	restored(t, path, backup)
	s = open(t, path, sqlite.Options{})
	defer s.Close()
	if state, err := s.Provider(t.Context(), "acme/1"); err != nil || string(state) != frozen {
		t.Errorf("Provider = %s, %v, want the newer state", state, err)
	}
	if got := begin(t, s, "acme", "run-5").Epoch(); got <= l.Epoch() {
		t.Errorf("epoch %d after the restore, and %d before", got, l.Epoch())
	}
	events, err := s.Events(t.Context(), "acme", 100)
	found := false
	for _, e := range events {
		found = found || e.Kind == collection.StoreRestored && e.Message == "kim: lost"
	}
	if err != nil || !found {
		t.Errorf("Events = %v, %v, want the restore among them", events, err)
	}
}

// TestRestoreTouchesNoBackup: nor makes a file beside it, also if an empty log
// is there.
func TestRestoreTouchesNoBackup(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	backup := backedUp(t, path)
	write("")(t, backup+"-wal")
	before := hashOf(t, backup)
	restored(t, path, backup)
	checkFiles(t, backup, "backup.db", "backup.db-wal")
	if hashOf(t, backup) != before {
		t.Error("the backup was changed")
	}
}

// TestRestoreOften: each store that is replaced is kept under a name of its own,
// also if there is one of the same second.
func TestRestoreOften(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	backup := backedUp(t, path)
	now := time.Now().UTC()
	for s := range 30 { // the test may take as long
		write("of before")(t, path+now.Add(time.Duration(s)*time.Second).Format(".replaced-20060102T150405Z"))
	}
	for n := range 3 {
		kept := restored(t, path, backup)
		if want := fmt.Sprint("-", n+2); !strings.HasSuffix(kept, want) && n == 0 {
			t.Errorf("the old store is kept at %s, want a name that ends in %s", kept, want)
		}
		checkGoesOn(t, kept, fmt.Sprint("run-", 10+n), 3)
	}
	checkGoesOn(t, path, "run-9", 3)
	taken, err := filepath.Glob(path + ".replaced-*Z")
	for _, name := range taken {
		if data, err := os.ReadFile(name); err != nil || string(data) != "of before" {
			t.Errorf("%s was written over: %v", name, err)
		}
	}
	if all, _ := filepath.Glob(path + ".replaced-*"); err != nil || len(taken) != 30 || len(all) != 33 {
		t.Errorf("%d and %d files are kept, %v, want 30 and 33", len(taken), len(all), err)
	}
}

// TestRestoreForgetsSecondNames that one which was killed gave the store, and no
// other file.
func TestRestoreForgetsSecondNames(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	backup := backedUp(t, path)
	second, other := path+".replaced-20060102T150405Z", path+".replaced-20060102T150405Z-2"
	if err := os.Link(path, second); err != nil {
		t.Fatal(err)
	}
	write("of before")(t, other)
	kept := restored(t, path, backup)
	if got, err := filepath.Glob(path + ".replaced-*"); err != nil || !slices.Equal(got, []string{other, kept}) {
		t.Errorf("%q are kept, %v, want %q", got, err, []string{other, kept})
	}
}

// TestRestoreTakesBack what it did when it fails at the last moment: the store
// has its log, and no second name.
func TestRestoreTakesBack(t *testing.T) {
	for _, log := range []bool{true, false} {
		path := killed(t)
		backup := fixture(t, sqlite.Newest())
		if log { // it is moved, since nobody can merge it
			flipByte(t, path+"-wal", fileSize(t, path+"-wal")-100)
		} else if err := open(t, path, sqlite.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		hash := func() (all string) {
			for _, suffix := range []string{"", "-wal"} {
				if _, err := os.Stat(path + suffix); err == nil {
					all += hashOf(t, path+suffix) + suffix
				}
			}
			return all
		}
		before := hash()
		_, err := sqlite.RestoreSteps(t.Context(), path, backup, func(s sqlite.Step) error {
			if s == sqlite.RestoreKept {
				return errInjected
			}
			return nil
		})
		if err == nil || err.Error() != errInjected.Error() {
			t.Errorf("with a log, %t: %v, want %v and nothing else", log, err, errInjected)
		}
		if after := hash(); after != before && log || strings.Contains(after, "-wal") != log {
			t.Errorf("with a log, %t: the store was changed", log)
		}
		if left, err := filepath.Glob(path + ".re*"); len(left) > 0 || err != nil {
			t.Errorf("with a log, %t: left behind: %v, %v", log, left, err)
		}
	}
}

// TestRestoreKeepsOthersOut: a run whose connector nobody can read any more is
// not restored under, and nobody looks while the stores are switched.
func TestRestoreKeepsOthersOut(t *testing.T) {
	backup := fixture(t, sqlite.Newest())
	path := made(t)
	_, err := sqlite.RestoreSteps(t.Context(), path, backup, func(s sqlite.Step) error {
		if s != sqlite.RestoreClosed {
			return nil
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		if err != nil {
			return err
		}
		defer db.Close()
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM streams").Scan(&n); err == nil {
			t.Error("somebody looks into the store while it is replaced")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	path = made(t)
	lock, err := filelock.Acquire(sqlite.LockPath(path, "acme"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	execute("PRAGMA writable_schema = 1; DELETE FROM sqlite_schema")(t, path)
	before := hashOf(t, path)
	_, err = sqlite.Restore(t.Context(), path, backup, store.Audit{})
	if held, ok := errors.AsType[*store.HeldError](err); !ok || held.Run.Connector != "acme" || hashOf(t, path) != before {
		t.Errorf("a run of a store that cannot be read: %v, want that it is held by acme", err)
	}
}

// TestRestoreRefused: nothing is replaced that is in use, and nothing takes
// its place that is not whole.
func TestRestoreRefused(t *testing.T) {
	slow(t)
	held, isHeld := new(store.HeldError), func(err error) bool { _, ok := errors.AsType[*store.HeldError](err); return ok }
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, path, backup string) (path2, from string)
		want    error
	}{
		{"a run is on", func(t *testing.T, path, backup string) (string, string) {
			s := open(t, path, sqlite.Options{})
			t.Cleanup(func() { s.Close() })
			begin(t, s, "acme", "run-3")
			return path, backup
		}, held},
		{"somebody looks", func(t *testing.T, path, backup string) (string, string) {
			s := open(t, path, sqlite.Options{ReadOnly: true})
			t.Cleanup(func() { s.Close() })
			if _, err := s.Connectors(t.Context()); err != nil {
				t.Fatal(err)
			}
			return path, backup
		}, store.ErrInUse},
		{"the same file", func(_ *testing.T, path, _ string) (string, string) { return path, path }, store.ErrInUse},
		{"no backup", func(_ *testing.T, path, backup string) (string, string) { return path, backup + "x" }, store.ErrMissing},
		{"text", func(t *testing.T, path, backup string) (string, string) {
			write(strings.Repeat("not a backup\n", 1000))(t, backup)
			return path, backup
		}, store.ErrNotDatabase},
		{"empty", func(t *testing.T, path, backup string) (string, string) { write("")(t, backup); return path, backup }, store.ErrMissing},
		{"newer", func(t *testing.T, path, backup string) (string, string) {
			execute(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`)(t, backup)
			return path, backup
		}, store.ErrNewer},
		{"a damaged backup", func(t *testing.T, path, backup string) (string, string) {
			execute(`UPDATE records SET data = replace(data, 'page', 'pbge') WHERE id = 5`)(t, backup)
			return path, backup
		}, store.ErrDamaged},
		{"a text at the place of the store", func(t *testing.T, path, backup string) (string, string) {
			write(strings.Repeat("my notes\n", 1000))(t, path)
			return path, backup
		}, store.ErrNotDatabase},
		{"another program's file", func(t *testing.T, path, backup string) (string, string) {
			other := filepath.Join(t.TempDir(), "bookmarks.db")
			execute(`CREATE TABLE bookmarks (url TEXT)`)(t, other)
			return other, backup
		}, store.ErrNotDatabase},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fixture(t, sqlite.Newest())
			backup := backedUp(t, path)
			target, from := c.prepare(t, path, backup)
			before := hashOf(t, target)
			_, err := sqlite.Restore(t.Context(), target, from, store.Audit{})
			if !errors.Is(err, c.want) && !(c.want == error(held) && isHeld(err)) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
			if hashOf(t, target) != before {
				t.Error("the store was changed")
			}
			if leftovers, _ := filepath.Glob(path + ".re*"); len(leftovers) > 0 {
				t.Errorf("left behind: %v", leftovers)
			}
		})
	}
}

// TestRestoreOverDamage: a backup is restored when the store is damaged, in
// whatever way, with and without a log beside it. All that was there is kept.
func TestRestoreOverDamage(t *testing.T) {
	slow(t)
	at := func(offset int64, text string) func(*testing.T, string) {
		return func(t *testing.T, path string) { overwrite(t, path, offset, text) }
	}
	cut := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	clean := func(t *testing.T) string {
		path := killed(t)
		s := open(t, path, sqlite.Options{})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, damage := range map[string]func(*testing.T, string){
		"no magic":             at(0, "xQLite"),
		"a page size of 1":     at(16, "\x00\x01"),
		"other page sizes":     at(16, "\x20\x00"),
		"a read version":       at(19, "\x07"),
		"a write version":      at(18, "\x07"),
		"reserved bytes":       at(20, "\x30"),
		"another application":  at(68, "x"),
		"another encoding":     at(56, "\x00\x00\x00\x03"),
		"no header":            at(0, strings.Repeat("\x00", 100)),
		"no first page":        at(0, strings.Repeat("\x00", 4096)),
		"a first page of text": at(0, strings.Repeat("x", 4096)),
		"a damaged schema":     at(100, strings.Repeat("\xff", 3000)),
		"damaged inner pages":  at(4096, strings.Repeat("\xff", 30*4096)),
		"all pages":            at(100, strings.Repeat("\xff", 60*4096)),
		"only zeros": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, 0, strings.Repeat("\x00", int(info.Size())))
		},
		"half a file": cut(200_000), "a page and a half": cut(6000), "a header": cut(100), "half a header": cut(50),
		"no leases": execute(`DROP TABLE leases`), "no versions": execute(`DROP TABLE goose_db_version`),
		"an odd lease": execute(`UPDATE leases SET since = 'soon'`),
		"no pace":      execute(`DROP TABLE provider_state`),
	} {
		for how, base := range map[string]func(*testing.T) string{"closed": clean, "killed": killed} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				path, backup := base(t), fixture(t, sqlite.Newest())
				damage(t, path)
				before := map[string]string{}
				for _, suffix := range []string{"", "-wal", "-shm"} {
					if data, err := os.ReadFile(path + suffix); err == nil {
						before[suffix] = string(data)
					}
				}
				kept := restored(t, path, backup)
				if kept == "" {
					t.Fatal("the old store is not kept")
				}
				checkGoesOn(t, path, "run-9", 3)
				data, err := os.ReadFile(kept)
				if err != nil {
					t.Fatal(err)
				}
				_, logErr := os.Stat(kept + "-wal")
				if before["-wal"] != "" && logErr != nil && string(data) == before[""] {
					t.Error("the old log is neither kept nor merged")
				}
				if strings.Contains(before[""], strings.Repeat("a", 900)) && !bytes.Contains(data, []byte(strings.Repeat("a", 900))) {
					t.Error("what is kept has lost its records")
				}
			})
		}
	}
}

// overwrite writes text into a file.
func overwrite(t *testing.T, path string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreOver: whatever is wrong with the old store, a backup takes its
// place, and the old files are kept.
func TestRestoreOver(t *testing.T) {
	slow(t)
	flip := func(suffix string, at int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path+suffix, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 3000)), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(*testing.T, string){
		"an empty file": func(t *testing.T, path string) {
			os.Remove(path + "-wal")
			os.Remove(path + "-shm")
			write("")(t, path)
		},
		"nothing":            func(t *testing.T, path string) { os.Remove(path); os.Remove(path + "-wal"); os.Remove(path + "-shm") },
		"a damaged schema":   flip("", 100),
		"a damaged page":     flip("", 8192),
		"a damaged log":      flip("-wal", 100),
		"a killed run's log": func(*testing.T, string) {},
		"a newer store":      execute(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`),
	} {
		for version := range sqlite.Newest() {
			backup := fixture(t, version+1)
			path := killed(t)
			damage(t, path)
			kept, err := sqlite.Restore(t.Context(), path, backup, store.Audit{Who: "kim", Why: "lost"})
			if err != nil {
				t.Errorf("%s: Restore: %v", name, err)
				continue
			}
			if (kept == "") != (name == "nothing") {
				t.Errorf("%s: the old store is kept at %q", name, kept)
			}
			checkGoesOn(t, path, "run-9", 3)
			if name == "a damaged log" {
				found, err := salvaged(t.Context(), kept)
				if err != nil || len(found["issues"]) < 12*40-60 {
					t.Errorf("%s: %d records can be salvaged from what is kept, %v", name, len(found["issues"]), err)
				}
			}
		}
	}
}
