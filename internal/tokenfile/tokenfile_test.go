package tokenfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"collect/internal/filelock"
	"collect/internal/tokenfile"
)

// holding returns the path of a file in a folder of its own, with a token in it.
func holding(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alone checks that nothing stays beside the file.
func alone(t *testing.T, path string) {
	t.Helper()
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the file: %v, %v", entries, err)
	}
}

func to(next string) func(string) (string, error) {
	return func(string) (string, error) { return next, nil }
}

func TestReplace(t *testing.T) {
	path := holding(t, "one")
	err := tokenfile.Replace(t.Context(), path, func(token string) (string, error) {
		if token != "one" {
			t.Errorf("spends %q, want one", token)
		}
		if got := read(t, path); got != "one\n" {
			t.Errorf("%q is in the file while the token is spent", got)
		}
		return "two", nil
	})
	if got := read(t, path); err != nil || got != "two\n" {
		t.Errorf("%q, %v; want two", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is open to others: %v, %v", info.Mode(), err)
	}
	alone(t, path)

	// What stays the same, or is not had, changes nothing.
	before, _ := os.Stat(path)
	refused := errors.New("refused")
	if err := tokenfile.Replace(t.Context(), path, to("two")); err != nil {
		t.Error(err)
	}
	if err := tokenfile.Replace(t.Context(), path, func(string) (string, error) { return "three", refused }); !errors.Is(err, refused) {
		t.Errorf("the error of spending came back as %v", err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) || read(t, path) != "two\n" {
		t.Error("the file was written for nothing")
	}
	alone(t, path)
}

// A link to the file stays one: the file it leads to is replaced.
func TestLink(t *testing.T) {
	path := holding(t, "one")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := tokenfile.Replace(t.Context(), link, to("two")); err != nil || read(t, path) != "two\n" {
		t.Errorf("%q, %v; want two", read(t, path), err)
	}
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link is gone: %q, %v", to, err)
	}
	alone(t, path)
}

// Where the new token could not be kept, the old one is not spent.
func TestNothingIsSpentInVain(t *testing.T) {
	blocked := map[string]func(path string) error{
		"no file":             os.Remove,
		"no room beside it":   func(path string) error { return os.MkdirAll(path+".new/in/the/way", 0o700) },
		"no lock beside it":   func(path string) error { return os.MkdirAll(path+".lock/in/the/way", 0o700) },
		"a folder for a file": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	}
	for name, block := range blocked {
		path := holding(t, "one")
		if err := block(path); err != nil {
			t.Fatal(err)
		}
		err := tokenfile.Replace(t.Context(), path, func(string) (string, error) {
			t.Errorf("%s: the token was spent", name)
			return "two", nil
		})
		if e, ok := errors.AsType[*tokenfile.Error](err); !ok || e.Spent || e.Path == "" {
			t.Errorf("%s: %v, want that the file cannot be used", name, err)
		}
	}
}

// A new token that cannot be kept after all is told as lost.
func TestLost(t *testing.T) {
	path := holding(t, "one")
	err := tokenfile.Replace(t.Context(), path, func(string) (string, error) {
		return "two", errors.Join(os.Remove(path), os.MkdirAll(path+"/in/the/way", 0o700))
	})
	if e, ok := errors.AsType[*tokenfile.Error](err); !ok || !e.Spent {
		t.Errorf("%v, want that the token is lost", err)
	}
	path = holding(t, "one")
	if err := tokenfile.Replace(t.Context(), path, to(strings.Repeat("x", 1<<20))); err == nil || read(t, path) != "one\n" {
		t.Errorf("an endless token was taken: %v", err)
	}
}

// No two spend the same token: each replaces what the one before left.
func TestOneAtATime(t *testing.T) {
	path := holding(t, "0")
	const runs = 40
	var group sync.WaitGroup
	for range runs {
		group.Go(func() {
			err := tokenfile.Replace(t.Context(), path, func(token string) (string, error) {
				n, err := strconv.Atoi(token)
				return fmt.Sprint(n + 1), err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, want := read(t, path), fmt.Sprintln(runs); got != want {
		t.Errorf("%q is left by %d replacements: two spent the same token", got, runs)
	}
	alone(t, path)
}

// Who waits for another process can be called off.
func TestCalledOff(t *testing.T) {
	path := holding(t, "one")
	lock, err := filelock.Acquire(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	called := errors.New("called off")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(called)
	if err := tokenfile.Replace(ctx, path, to("two")); err != called || read(t, path) != "one\n" {
		t.Errorf("called off: %v, %q", err, read(t, path))
	}
}

// TestPut: the first token is its owner's alone, in a folder that is, too; another one
// takes its place whole, and a link stays one. It waits for who spends the token.
func TestPut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "token")
	for _, token := range []string{"one", "another, longer one", "3"} {
		if err := tokenfile.Put(t.Context(), path, token); err != nil || read(t, path) != token+"\n" {
			t.Errorf("%v, and %q is in the file, want %s", err, read(t, path), token)
		}
	}
	alone(t, path)
	if runtime.GOOS != "windows" {
		for at, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
			if info, err := os.Stat(at); err != nil || info.Mode() != want {
				t.Errorf("%s has mode %v, %v; want %v", filepath.Base(at), info.Mode(), err, want)
			}
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		if err := tokenfile.Put(t.Context(), link, "four"); err != nil || read(t, path) != "four\n" {
			t.Errorf("by a link: %v, %q", err, read(t, path))
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is %v, %v", info.Mode(), err)
		}
	}

	spending, spent, put := make(chan bool), make(chan error), make(chan error)
	go func() {
		spent <- tokenfile.Replace(t.Context(), path, func(string) (string, error) {
			spending <- true
			<-spending
			return "replaced", nil
		})
	}()
	<-spending
	go func() { put <- tokenfile.Put(t.Context(), path, "five") }()
	select {
	case err := <-put:
		t.Errorf("a token was put while another process spent the one before: %v", err)
	case spending <- true:
		if err := errors.Join(<-spent, <-put); err != nil || read(t, path) != "five\n" {
			t.Errorf("%v, and %q is in the file, want five", err, read(t, path))
		}
	}
}

// TestRemove: what is gone is gone, and to remove it again is no mistake.
func TestRemove(t *testing.T) {
	path := holding(t, "one")
	for _, want := range []bool{true, false} {
		if there, err := tokenfile.Remove(t.Context(), path); there != want || err != nil {
			t.Errorf("removed %t, %v; want %t", there, err, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("still there: %v, %v", entries, err)
	}
}
