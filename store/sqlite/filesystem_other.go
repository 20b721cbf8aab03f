//go:build !linux

package sqlite

// refuseNetwork accepts every directory: only Linux says which file systems
// are remote.
func refuseNetwork(string) error { return nil }

// noSpace cannot tell, so that the driver's own word counts.
func noSpace(string) bool { return false }

// isOpen cannot tell.
func isOpen(string) bool { return false }

// canWrite leaves it to SQLite to find out.
func canWrite(string) bool { return true }
