// Collect pulls records from HTTP APIs whose rate limits nobody knows, and
// resumes where it stopped.
package main

import "collect/cmd"

func main() { cmd.Main() }
