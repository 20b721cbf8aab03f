package live

import "os"

// identity returns nothing: there is no journald.
func identity(*os.File) string { return "" }
