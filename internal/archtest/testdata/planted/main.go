package main

import (
	_ "example.test/m/a"
	_ "example.test/m/cmd"
)
