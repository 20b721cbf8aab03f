// Package live shows a run while it goes on: as a block on a terminal, as plain
// lines, or as events for programs.
//
// A [View] takes in what happens and makes a [Frame] of it, and what is drawn
// follows from a frame and the size of the terminal alone.
package live

import (
	"fmt"
	"io"
	"os"
	"strconv"

	xterm "golang.org/x/term"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
)

// A Progress shows a run while it goes on. Its methods may be called from
// several goroutines.
type Progress interface {
	// Observe takes in what happened. It does not wait for the output.
	Observe(collection.Event)
	// Say writes a line of text, which must be clean.
	Say(line string)
	// Write writes lines of a log where they disturb nothing else.
	io.Writer
	// Close ends the display and leaves the terminal as it was. It may be
	// called again, and belongs in a defer, so that a panic restores the cursor.
	Close()
}

// Mode resolves what was asked for into a way that suits the output. A block that repaints itself is for a terminal that is watched: not for a
// file, a dumb terminal, CI, or a reader who said so (screen readers say
// nothing on a repaint).
func Mode(want string, env func(string) string, terminal bool) (string, error) {
	terminal = terminal || env("COLLECT_FORCE_TTY") != ""
	switch want {
	case "", config.ProgressAuto:
		if terminal && env("TERM") != "dumb" && !config.Accessible(env) && !term.Truthy(env("CI")) {
			return config.ProgressLive, nil
		}
		return config.ProgressPlain, nil
	case config.ProgressLive:
		if !terminal {
			return config.ProgressPlain, nil
		}
		return want, nil
	case config.ProgressPlain, config.ProgressJSON, config.ProgressNone:
		return want, nil
	}
	return "", fmt.Errorf("progress %q: it is auto, live, plain, json or none", words.Clean(want))
}

// TerminalSize returns a function that measures f each time it is called. It
// falls back on COLUMNS and LINES, and on 80 by 24.
func TerminalSize(f *os.File, env func(string) string) func() (columns, rows int) {
	return func() (int, int) {
		columns, rows, err := xterm.GetSize(int(f.Fd()))
		if err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
		columns, rows = 80, 24
		if n, err := strconv.Atoi(env("COLUMNS")); err == nil && n > 0 {
			columns = n
		}
		if n, err := strconv.Atoi(env("LINES")); err == nil && n > 0 {
			rows = n
		}
		return columns, rows
	}
}
