//go:build unix

package atomicfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"collect/internal/atomicfile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// content returns what is in the file at path, and fails the test if anything
// is left beside those that are expected.
func content(t *testing.T, path string, left ...string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(left)+1 {
		t.Errorf("%d files beside %s, want %d", len(entries)-1, path, len(left))
	}
	return string(data)
}

// TestFiles: a file is made or replaced whole, and is its owner's alone; an
// error leaves what was there.
func TestFiles(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "out")
	for _, want := range []string{"one", "two"} {
		if err := atomicfile.Write(path, text(want)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != want {
			t.Errorf("it holds %q, want %q", got, want)
		}
	}
	if info, _ := os.Stat(path); info.Mode() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	broken := errors.New("broken")
	err := atomicfile.Write(path, func(w io.Writer) error {
		return errors.Join(text("three")(w), broken)
	})
	if got := content(t, path); !errors.Is(err, broken) || got != "two" {
		t.Errorf("after an error (%v) it holds %q, want what it held", err, got)
	}
}

// TestLinks are followed, also to a file that is not there yet, and stay links.
func TestLinks(t *testing.T) {
	for _, exists := range []bool{false, true} {
		dir, beside := t.TempDir(), t.TempDir()
		path, link, first := filepath.Join(dir, "out"), filepath.Join(beside, "link"), filepath.Join(beside, "first")
		if exists {
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		to, err := filepath.Rel(beside, path)
		if err := errors.Join(err, os.Symlink(to, link), os.Symlink("link", first), atomicfile.Write(first, text("new"))); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != "new" {
			t.Errorf("it holds %q", got)
		}
		for _, l := range []string{link, first} {
			if info, err := os.Lstat(l); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("%s is no link any more: %v", l, err)
			}
		}
	}
	circle := filepath.Join(t.TempDir(), "circle")
	if err := errors.Join(os.Symlink("circle", circle)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(circle, text("x")); err == nil {
		t.Error("a circle of links was written to")
	}
}

// TestSpecialFiles are written to, and stay what they are: a pipe, a device,
// and a file that is open already.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string)
	go func() {
		data, _ := os.ReadFile(pipe)
		heard <- string(data)
	}()
	if err := atomicfile.Write(pipe, text("through it")); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "through it" {
		t.Errorf("%q came out of the pipe", got)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info.Mode(), err)
	}

	null := filepath.Join(dir, "null") // as root, one of our own: that of the system is not put at risk
	if os.Geteuid() == 0 && syscall.Mknod(null, syscall.S_IFCHR|0o600, 1<<8|3) == nil {
		if err := atomicfile.Write(null, text("x")); err != nil {
			t.Errorf("a device: %v", err)
		}
		if info, err := os.Lstat(null); err != nil || info.Mode()&fs.ModeDevice == 0 {
			t.Errorf("the device is %v, %v", info.Mode(), err)
		}
	}

	open, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		_, err := open.WriteString("before, ")
		if err := errors.Join(err, atomicfile.Write("/proc/self/fd/"+itoa(open.Fd()), text("after"))); err != nil {
			t.Fatal(err)
		}
		if got := content(t, open.Name()); got != "before, after" {
			t.Errorf("a file that was open holds %q", got)
		}
	}

	if err := atomicfile.Write(dir, text("x")); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
}

func itoa(fd uintptr) string {
	if fd < 10 {
		return string(rune('0' + fd))
	}
	return itoa(fd/10) + itoa(fd%10)
}

// TestPlanted: in a directory that all users share, what another user put at
// the path decides nothing.
func TestPlanted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to be another user")
	}
	dir, home := t.TempDir(), t.TempDir()
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	victim, link, pipe := filepath.Join(home, "victim"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	err := errors.Join(os.WriteFile(victim, []byte("old"), 0o600), os.Symlink(victim, link), syscall.Mkfifo(pipe, 0o666))
	if err := errors.Join(err, os.Lchown(link, 1234, 1234), os.Lchown(pipe, 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe} {
		if err := atomicfile.Write(path, text("new")); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := content(t, victim); got != "old" {
		t.Errorf("the victim holds %q", got)
	}
	if err := os.Lchown(link, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, text("new")); err != nil || content(t, victim) != "new" {
		t.Errorf("a link of our own: %v", err)
	}
}
