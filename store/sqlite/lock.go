package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// lockPath names the lock file of a connector beside the database at path.
// Different connectors have different names, also where the file system does
// not tell upper from lower case.
func lockPath(path, connector string) string {
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
