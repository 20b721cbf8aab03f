package a_test

import (
	"os"

	_ "example.test/m/b"
)

func init() { os.Exit(1) }
