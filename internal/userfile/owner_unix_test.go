//go:build unix

package userfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/internal/userfile"
)

// TestDistrust: what another user can have written is not ours, nor is a link
// of theirs to what is.
func TestDistrust(t *testing.T) {
	private := os.Getegid() == os.Geteuid() // a group of this user alone
	for _, tc := range []struct {
		mode os.FileMode
		want string // "": ours
	}{
		{0o600, ""}, {0o644, ""}, {0o755, ""}, {0o646, "every user"}, {0o666, "every user"}, {0o664, map[bool]string{false: "a group"}[private]},
	} {
		path := filepath.Join(t.TempDir(), "collect.yaml")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tc.mode); err != nil {
			t.Fatal(err)
		}
		link := path + ".link"
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, link} {
			if got := userfile.Distrust(p); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%v: %q, want %q", tc.mode, got, tc.want)
			}
		}
		if os.Geteuid() != 0 {
			continue
		}
		if err := os.Lchown(link, 1234, 1234); err != nil {
			t.Fatal(err)
		}
		if got := userfile.Distrust(link); !strings.Contains(got, "uid 1234") {
			t.Errorf("a link of another user: %q", got)
		}
		if err := os.Chown(path, 1234, 1234); err != nil {
			t.Fatal(err)
		}
		if got := userfile.Distrust(path); !strings.Contains(got, "uid 1234") {
			t.Errorf("a file of another user: %q", got)
		}
	}
	if got := userfile.Distrust(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("no file: %q", got)
	}
}
