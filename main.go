// Collect pulls records from HTTP APIs with unknown rate limits, and
// resumes where it stopped.
package main

import "collect/cmd"

func main() { cmd.Main() }
