package crash_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestDiskFull runs each scenario on disks of many sizes, most of them too
// small, and goes on when there is room.
func TestDiskFull(t *testing.T) {
	type small struct {
		scenario
		kilobytes int
	}
	var sizes []small
	for i, sc := range chosen() {
		if *every > 0 {
			for size := 0; size < 1200; size += 4 * *every {
				sizes = append(sizes, small{sc, 8 + 4*i + size}) // a page of the kernel is 4 KiB
			}
			continue
		}
		for _, size := range []int{60, 420, 780} {
			sizes = append(sizes, small{sc, size + 28*i})
		}
	}
	n := newTally()
	each(t, sizes, func(b *bench, s small) {
		dir := b.path("small")
		if err := b.mountMemory(dir, 64<<10); err != nil {
			t.Error(err)
			return
		}
		defer func() {
			if err := unmount(dir); err != nil {
				t.Error(err)
			}
		}()
		c := b.try(s.scenario, dir, "on a disk of %d KiB beside what was there", s.kilobytes)
		used := len(b.undisturbed(s.scenario).before) >> 10
		if err := b.mountMemory(dir, used+s.kilobytes); err != nil {
			c.fail("%v", err)
			return
		}
		e, ok := c.run(c.collecting())
		if !ok {
			return
		}
		n.add("disks", 1)
		n.add(fmt.Sprint("exit code ", e.code), 1)
		n.add("reported commits", len(e.acked))
		if e.code != 0 && e.code != 74 {
			c.fail("no answer to a full disk: %v", e)
		}
		if err := b.mountMemory(dir, 64<<10); err != nil {
			c.fail("%v", err)
			return
		}
		c.judge(e, 1)
		n.add("signed in again", c.signedIn)
	})
	t.Logf("%d small disks: %v", n.count("disks"), n.n)
	for _, what := range []string{"exit code 0", "exit code 74", "reported commits"} {
		if n.count(what) == 0 {
			t.Errorf("%s: none", what)
		}
	}
}

// mountMemory mounts a file system of so many kilobytes in memory at a
// directory, or gives the one that is there another size.
func (b *bench) mountMemory(dir string, kilobytes int) error {
	options := fmt.Sprintf("size=%dk,uid=%d,mode=0700", kilobytes, os.Getuid())
	if err := os.Mkdir(dir, 0o700); err == nil || asRoot("mountpoint", "-q", dir) != nil {
		return asRoot("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir)
	}
	return asRoot("mount", "-o", "remount,"+options, dir)
}

// unmount takes the file system at a directory away. For a moment, a process
// that another bench is starting may still have its files.
func unmount(dir string) error {
	for deadline := time.Now().Add(patience); ; {
		err := asRoot("umount", dir)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// asRoot runs a command as root, or with sudo without a password.
func asRoot(command ...string) error {
	if os.Getuid() != 0 {
		command = append([]string{"sudo", "-n"}, command...)
	}
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", command, err, out)
	}
	return nil
}
