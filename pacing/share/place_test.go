package share_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/pacing/share"
)

// TestOtherTemporaryFolder: processes that share an account need not share
// their temporary folders, as those of containers and of services with
// PrivateTmp do not. The folder of the account may be deep, and mounted
// elsewhere.
func TestOtherTemporaryFolder(t *testing.T) {
	for _, depth := range []int{1, 200} {
		c := account(t, unpaced)
		c.Dir = filepath.Join(c.Dir, strings.Repeat("d", depth))
		private := filepath.Join(t.TempDir(), "private")
		if err := os.Mkdir(private, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", private)
		first := join(t, c)
		defer first.Close()
		t.Setenv("TMPDIR", t.TempDir())
		if err := os.Rename(private, private+"-of-another"); err != nil {
			t.Fatal(err)
		}
		second := join(t, c)
		if second.Leads() || !first.Leads() {
			t.Errorf("depth %d: they depose each other", depth)
		}
		second.Close()
		first.Close()
		left, err := filepath.Glob(filepath.Join(c.Dir, "*.sock"))
		if err != nil || len(left) != 0 {
			t.Errorf("depth %d: left behind: %q, %v", depth, left, err)
		}
	}
}

// TestTemporaryMeetingPlace: where there can be no socket beside the files of an
// account, here because its name would be too long, it is told.
func TestTemporaryMeetingPlace(t *testing.T) {
	for name, want := range map[string]bool{"acme": false, strings.Repeat("a", 245): true} {
		c := account(t, unpaced)
		c.Account = name
		leads, guest := join(t, c), join(t, c)
		for _, d := range []*share.Desk{leads, guest} {
			if got := d.Temporary(); got != want {
				t.Errorf("an account with a name of %d bytes: temporary is %t, want %t", len(name), got, want)
			}
		}
		guest.Close()
		leads.Close()
	}
}
