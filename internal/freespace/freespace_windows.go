package freespace

import "golang.org/x/sys/windows"

// Of returns how many bytes this user may still write to the disk of
// dir.
func Of(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), err
}
