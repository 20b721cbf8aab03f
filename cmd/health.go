package cmd

import (
	"collect/cmd/internal/term"
	"collect/report"
)

// healthColors are the colours of the states; none where there is none.
var healthColors = map[report.Health]string{
	report.Frozen:     term.Red,
	report.Blocked:    term.Red,
	report.Stuck:      term.Red,
	report.Waiting:    term.Yellow,
	report.Collecting: term.Green,
	report.UpToDate:   term.Green,
}

// healthWords says a state with its glyph.
func healthWords(h report.Health) string { return h.Glyph() + " " + h.Words() }
