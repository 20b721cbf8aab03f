package userfile

import "io/fs"

// Distrust trusts every file: directories that every user can write to are
// rare here, and the owner alone does not say who wrote a file.
func Distrust(string) string { return "" }

// OwnerOf returns the user that a file belongs to, as far as this system tells.
func OwnerOf(fs.FileInfo) uint32 { return 0 }
