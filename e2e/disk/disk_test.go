package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"collect/e2e/disk"
)

// mounted is a disk that is mounted, and mounted anew after its power was cut.
type mounted struct {
	*disk.Disk
	dir     string
	unmount func() error
}

func mount(t *testing.T) *mounted {
	t.Helper()
	m := &mounted{Disk: disk.New(), dir: t.TempDir()}
	var err error
	if m.unmount, err = m.Mount(m.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.unmount(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *mounted) path(name string) string { return filepath.Join(m.dir, name) }

// powerCut cuts the power and turns it on again.
func (m *mounted) powerCut(t *testing.T, mode disk.Mode) {
	t.Helper()
	m.Cut()
	if _, err := os.Stat(m.path("nothing")); !errors.Is(err, syscall.EIO) {
		t.Errorf("without power: %v", err)
	}
	if err := m.unmount(); err != nil {
		t.Fatal(err)
	}
	m.Restore(mode, 1)
	var err error
	if m.unmount, err = m.Mount(m.dir); err != nil {
		t.Fatal(err)
	}
}

// put writes a file, and syncs it and its directory if it is told to.
func (m *mounted) put(t *testing.T, name, text string, syncFile, syncDir bool) {
	t.Helper()
	f, err := os.OpenFile(m.path(name), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if syncFile {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if syncDir {
		m.syncDir(t)
	}
}

func (m *mounted) syncDir(t *testing.T) {
	t.Helper()
	dir, err := os.Open(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		t.Fatal(err)
	}
}

// TestPower cuts the power of a mounted disk and reads what is there then.
func TestPower(t *testing.T) {
	m := mount(t)
	m.put(t, "both", "old", true, true)
	m.put(t, "both", "new", false, false)
	m.put(t, "name only", "text", false, true)
	m.put(t, "bytes only", "text", true, false)
	m.powerCut(t, disk.Synced)

	for name, want := range map[string]string{"both": "old", "name only": ""} {
		if got, err := os.ReadFile(m.path(name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Stat(m.path("bytes only")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a name that was not synced: %v", err)
	}

	// Removing is no different.
	if err := os.Remove(m.path("both")); err != nil {
		t.Fatal(err)
	}
	m.powerCut(t, disk.Synced)
	if _, err := os.Stat(m.path("both")); err != nil {
		t.Errorf("removed, and not synced: %v", err)
	}
	if err := os.Remove(m.path("both")); err != nil {
		t.Fatal(err)
	}
	m.syncDir(t)
	m.powerCut(t, disk.Synced)
	if _, err := os.Stat(m.path("both")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed, and synced: %v", err)
	}
}

// TestSteps cuts the power, and fails, at the step that was asked for.
func TestSteps(t *testing.T) {
	m := mount(t)
	m.Fail(2, false, syscall.ENOSPC) // create is the first
	f, err := os.Create(m.path("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the step that fails: %v", err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Errorf("the step after it: %v", err)
	}
	if all, failed := m.Steps(); all != 3 || failed != 1 {
		t.Errorf("%d steps, %d failed; want 3 and 1", all, failed)
	}
	m.Arm(1)
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the step at which the power is cut: %v", err)
	}
	select {
	case <-m.Off():
	default:
		t.Error("the power is on")
	}
	if got := m.Last(); got != "fsync" {
		t.Errorf("cut at %q, want fsync", got)
	}
}

// TestRename: a new name takes the place of the old file at once, and for good
// when the directory is synced.
func TestRename(t *testing.T) {
	m := mount(t)
	read := func(name string) string {
		text, err := os.ReadFile(m.path(name))
		if err != nil {
			return err.(*os.PathError).Err.Error()
		}
		return string(text)
	}
	m.put(t, "file", "old", true, true)
	for _, synced := range []bool{false, true} {
		m.put(t, "next", "new", true, true)
		if err := os.Rename(m.path("next"), m.path("file")); err != nil {
			t.Fatal(err)
		}
		if file, next := read("file"), read("next"); file != "new" || next != syscall.ENOENT.Error() {
			t.Errorf("renamed: %q, and %q by the old name", file, next)
		}
		want := "old"
		if synced {
			m.syncDir(t)
			want = "new"
		}
		m.powerCut(t, disk.Synced)
		if got := read("file"); got != want {
			t.Errorf("after a power cut, synced %t: %q, want %q", synced, got, want)
		}
	}
	m.Arm(1)
	if err := os.Rename(m.path("file"), m.path("next")); !errors.Is(err, syscall.EIO) || m.Last() != "rename" {
		t.Errorf("the step at which the power is cut: %v, at %q", err, m.Last())
	}
}
