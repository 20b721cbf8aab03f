package cmd

import (
	"collect/cmd/internal/term"
	"collect/report"
)

// healthMarks are the glyph and the colour of each state. The glyph never stands
// without its word.
var healthMarks = map[report.Health]struct{ glyph, color string }{
	report.Frozen:     {"×", term.Red},
	report.Blocked:    {"×", term.Red},
	report.Stuck:      {"×", term.Red},
	report.Waiting:    {"‖", term.Yellow},
	report.Behind:     {"…", ""},
	report.Collecting: {"▸", term.Green},
	report.Unmeasured: {"?", ""},
	report.UpToDate:   {"✓", term.Green},
}

// healthWords says a state with its glyph.
func healthWords(h report.Health) string { return healthMarks[h].glyph + " " + h.Words() }
