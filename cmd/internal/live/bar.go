package live

import (
	"io"
	"strings"

	"github.com/schollz/progressbar/v3"

	"collect/cmd/internal/term"
)

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
