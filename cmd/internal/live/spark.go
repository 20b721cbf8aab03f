package live

import (
	"io"
	"strings"

	"github.com/schollz/progressbar/v3"

	"collect/cmd/internal/term"
)

// sparkASCII are the bars of a spark where there are no [term.Eighths].
const sparkASCII = "_.-=+*#@"

// spark returns the requests of each cell as a line of bars, newest on the
// right, n columns wide. A blank is a time without requests; a low bar is a
// low rate. The highest bar is the highest rate shown.
func spark(cells []cell, n int, c term.Caps) string {
	glyphs := []rune(term.Eighths)
	if !c.UTF8 {
		glyphs = []rune(sparkASCII)
	}
	cells = newest(cells, n)
	var most int64
	for _, cell := range cells {
		most = max(most, cell.Requests)
	}
	var b strings.Builder
	for _, cell := range cells {
		if cell.Requests == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(glyphs[(cell.Requests*int64(len(glyphs))-1)/most])
	}
	return term.Pad(b.String(), n, false)
}

// marks returns the line under a spark: a cross where the provider throttled.
func marks(cells []cell, n int, c term.Caps) string {
	quiet, cross := "·", "×"
	if !c.UTF8 {
		quiet, cross = ".", "x"
	}
	var b strings.Builder
	for _, cell := range newest(cells, n) {
		if cell.Throttled {
			b.WriteString(cross)
		} else {
			b.WriteString(quiet)
		}
	}
	return term.Pad(b.String(), n, false)
}

func newest(cells []cell, n int) []cell { return cells[max(0, len(cells)-n):] }

// bar returns a bar of n columns, filled up to done of total. It is empty
// without a total: a bar that guesses is worse than none.
func bar(done, total int64, n int, c term.Caps) string {
	if total <= 0 {
		return ""
	}
	theme := progressbar.Theme{Saucer: "█", SaucerPadding: "░"}
	if !c.UTF8 {
		theme = progressbar.Theme{Saucer: "#", SaucerPadding: "."}
	}
	// The library writes to its writer whatever that is, and puts a percentage
	// of its own in front: it gets nowhere to write, and we take the word that
	// is the bar.
	b := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(n),
		progressbar.OptionSetTheme(theme),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetRenderBlankState(true))
	if err := b.Set64(min(done, total)); err != nil {
		return ""
	}
	words := strings.Fields(b.String())
	if len(words) < 2 {
		return ""
	}
	return words[1]
}
