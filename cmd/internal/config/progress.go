package config

import (
	"time"

	"collect/cmd/internal/term"
)

// The ways to show progress.
const (
	ProgressAuto  = "auto"
	ProgressLive  = "live"
	ProgressPlain = "plain"
	ProgressJSON  = "json"
	ProgressNone  = "none"
)

var ProgressModes = []string{ProgressAuto, ProgressLive, ProgressPlain, ProgressJSON, ProgressNone}

const (
	// PlainEvery is the time between two heartbeats of a run that writes plain lines.
	PlainEvery = time.Minute
	// AccessibleEvery is the same for a person who listens to a screen reader.
	AccessibleEvery = 30 * time.Second
)

// Accessible reports whether the reader is a person who listens: to a program
// that says every line on a screen.
func Accessible(env func(string) string) bool {
	return term.Truthy(env("ACCESSIBLE")) || term.Truthy(env("COLLECT_ACCESSIBLE"))
}
