// Package salvage says how a database is, and reads the records that a damaged
// one still holds.
package salvage

import (
	"fmt"
	"time"

	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/internal/fileformat"
)

// CheckLog returns store.ErrDamaged if commits that were acknowledged cannot
// be read from the log of the database at path, and store.ErrDoubtful if some
// may have been: a power cut in the middle of a commit can look the same. It
// returns store.ErrDamaged, too, if the header of the database is not one that
// SQLite wrote there: one byte of it makes the log count for nothing, or the
// database one that cannot be written.
//
// It must be called while no store of this process is open there: it closes a
// file on which SQLite holds locks, which ends them.
func CheckLog(path string) error {
	path, err := disk.Resolve(path)
	if err != nil {
		return err
	}
	if err := fileformat.CheckHeader(path); err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	// A run that commits meanwhile may be in the middle of a frame, or begin
	// the log anew. What stays the same is no run.
	var last fileformat.Log
	for same := 0; same < 3; {
		now, readErr := fileformat.ReadLog(path)
		if readErr != nil {
			return disk.NoAccess(path, readErr)
		}
		if err = now.Check(); err == nil {
			return nil
		}
		if same++; now != last {
			same, last = 1, now
		}
		time.Sleep(logPoll)
	}
	return fmt.Errorf("store %s: %w", path, err)
}

// logPoll is how soon a log is looked at again.
const logPoll = 5 * time.Millisecond
