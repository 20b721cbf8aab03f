//go:build !linux

package disk

// RefuseNetwork accepts every directory: only Linux says which file systems
// are remote.
func RefuseNetwork(string) error { return nil }

// NoSpace cannot tell, so that the driver's own word counts.
func NoSpace(string) bool { return false }

// isOpen cannot tell.
func isOpen(string) bool { return false }

// CanWrite leaves it to SQLite to find out.
func CanWrite(string) bool { return true }
