package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Resolve returns the path that all names of the same file share, so that its
// lock files have one name, too.
func Resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// LogSize returns the size of the WAL of the database at path, -1 if there is
// none.
func LogSize(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return -1
	}
	return info.Size()
}

// Missing reports whether there is no file at path.
func Missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Remove removes a database that is not open, and the files beside it.
func Remove(path string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(path + suffix)
	}
}

// LockPath names the lock file of a connector beside the database at path.
// Different connectors have different names, also where the file system does
// not tell upper from lower case.
func LockPath(path, connector string) string {
	const longest = 100 // leaves room in the 255 bytes of a name
	var b strings.Builder
	for _, c := range []byte(connector) {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	name := b.String()
	if len(name) > longest {
		sum := sha256.Sum256([]byte(connector))
		name = name[:32] + "~" + hex.EncodeToString(sum[:])
	}
	return path + "." + name + ".lock"
}

// Beside returns a free path beside path, with what and the date in its name.
func Beside(path, what string, now time.Time) string {
	dated := path + "." + what + "-" + now.UTC().Format("20060102T150405Z")
	name := dated
	for n := 2; !Missing(name); n++ {
		name = fmt.Sprintf("%s-%d", dated, n)
	}
	return name
}
