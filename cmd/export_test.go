package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestTerminalsAreShownNoControls: what records may hold does nothing to a
// terminal, wherever a write ends; elsewhere it is kept.
func TestTerminalsAreShownNoControls(t *testing.T) {
	const records = "a\tb\x1b]0;owned\a\x7f\n\u009b2J é \u00a0 …\r\n"
	for _, tc := range []struct {
		shown bool
		want  string
	}{
		{true, "a\tb?]0;owned??\n\xc2?2J é \u00a0 …\r\n"},
		{false, records},
	} {
		var out bytes.Buffer
		a := &app{out: &out, shown: tc.shown}
		err := a.writeTo("", func(w io.Writer) error {
			_, err := io.WriteString(w, records)
			return err
		})
		if err != nil || out.String() != tc.want {
			t.Errorf("to a terminal %t: %q, %v, want %q", tc.shown, out.String(), err, tc.want)
		}
	}
	var out bytes.Buffer
	for _, b := range []byte("\u009b") {
		if _, err := (harmless{&out}).Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); bytes.Contains(out.Bytes(), []byte("\u009b")) {
		t.Errorf("in two writes: %q", got)
	}
}

// TestExportsAreTheOwners: an export is 0600 although there was a file for all
// at its path, and takes no name that another user can know before.
func TestExportsAreTheOwners(t *testing.T) {
	dir := t.TempDir()
	path, bystander := filepath.Join(dir, "out.csv"), filepath.Join(dir, "bystander")
	if err := os.WriteFile(bystander, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, before := range []func() error{
		func() error { return nil },
		func() error { return os.WriteFile(path+".partial", []byte("old"), 0o666) },
		func() error { return os.Chmod(path, 0o666) },
		func() error {
			return errors.Join(os.Remove(path+".partial"), os.Symlink(bystander, path+".partial"))
		},
	} {
		if err := before(); err != nil {
			t.Fatal(err)
		}
		err := (&app{}).writeTo(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "records")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
		}
	}
	if kept, err := os.ReadFile(bystander); err != nil || string(kept) != "precious" {
		t.Errorf("the link was followed: %q, %v", kept, err)
	}
}
