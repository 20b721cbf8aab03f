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
	// plainEvery is how often a run that is not watched says that it lives.
	PlainEvery = time.Minute
	// accessibleEvery is the same for a person who listens.
	AccessibleEvery = 30 * time.Second
)

// Accessible reports whether the reader is a person who listens: to a program
// that says every line on a screen.
func Accessible(env func(string) string) bool {
	return term.Truthy(env("ACCESSIBLE")) || term.Truthy(env("COLLECT_ACCESSIBLE"))
}
