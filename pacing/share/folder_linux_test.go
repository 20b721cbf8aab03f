package share_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"collect/pacing/gate"
	"collect/pacing/share"
)

// TestFolderThatCannotBeRead: the state is kept in a folder that may be written
// and not listed, where only the kernel can make its names durable.
func TestFolderThatCannotBeRead(t *testing.T) {
	c := account(t, unpaced)
	if os.Getuid() == 0 {
		become(t, c.Dir, 65534)
	}
	if err := os.Chmod(c.Dir, 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(c.Dir, 0o700) // for who removes it
	if _, err := os.Open(c.Dir); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("the folder can be read: %v", err)
	}
	state, _, err := gate.ForceOpen(nil, time.Now(), "maintenance")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := share.Order(t.Context(), c.At, state); err != nil {
		t.Errorf("Order: %v", err)
	}
}

// become makes dir that of another user, who this goroutine then is to the file
// system: root may read everything.
func become(t *testing.T, dir string, uid int) {
	t.Helper()
	for _, folder := range []string{filepath.Dir(dir), dir} {
		if err := os.Chown(folder, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(uid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Fatal(err) // the thread ends with this goroutine, which keeps it
		}
		runtime.UnlockOSThread()
	})
}
