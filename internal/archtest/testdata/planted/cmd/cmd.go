package cmd

import "os"
import _ "example.test/m/stray"

func end() { os.Exit(0) }
