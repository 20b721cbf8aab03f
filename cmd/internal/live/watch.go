package live

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	xterm "golang.org/x/term"

	"collect/cmd/internal/term"
)

// watchEvery is how often a screen that is watched is drawn anew.
const watchEvery = 2 * time.Second

// Control sequences: the private mode of the other screen (xterm), the place of
// the cursor (ECMA-48, CUP), and erasing to the end of the line (EL).
const (
	screenBegin = "\x1b[?1049h"
	screenEnd   = "\x1b[?1049l"
	home        = "\x1b[H"
	eraseRest   = "\x1b[K"
)

// A Picture is what [Watch] draws: a text, and what there is to say in the last row.
type Picture struct{ Text, Note string }

// Watch draws a picture on the whole of a terminal, every two seconds anew, until
// somebody presses q or Ctrl-C, ctx is done, or there is no picture: that is the
// error which it returns. Without a keyboard, only the latter two end it.
func Watch(ctx context.Context, in io.Reader, out io.Writer, size func() (columns, rows int), look func(context.Context) (Picture, error)) error {
	looking, stop := context.WithCancel(ctx) // who quits does not wait for an answer
	defer stop()
	quit := make(chan struct{})
	if keyboard, ok := in.(*os.File); ok && xterm.IsTerminal(int(keyboard.Fd())) {
		before, err := xterm.MakeRaw(int(keyboard.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = xterm.Restore(int(keyboard.Fd()), before) }()
		go func() { // it ends with the process: nothing else can end a read of a terminal
			if pressedQuit(keyboard) {
				close(quit)
				stop()
			}
		}()
	}
	fmt.Fprint(out, screenBegin+cursorHide)
	defer fmt.Fprint(out, cursorShow+screenEnd)

	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		picture, err := look(looking)
		if err != nil {
			if ctx.Err() == nil && looking.Err() != nil {
				return nil
			}
			return err
		}
		columns, rows := size()
		screen := strings.Join(screenOf(picture, columns, rows), eraseRest+"\r\n") + eraseRest
		if _, err := fmt.Fprint(out, syncBegin+home+screen+syncEnd); err != nil {
			return err
		}
		select {
		case <-quit:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// pressedQuit reads keys until one of them means to quit. It reports false if
// there are no more keys.
func pressedQuit(keyboard io.Reader) bool {
	const ctrlC, ctrlD = 3, 4
	keys := make([]byte, 16)
	for {
		n, err := keyboard.Read(keys)
		for _, key := range keys[:n] {
			if key == 'q' || key == 'Q' || key == ctrlC || key == ctrlD {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// screenOf returns the rows of a screen: the first lines of a text, and in the last
// row what is to be said, how many lines there was no room for, and how to quit.
func screenOf(p Picture, columns, rows int) []string {
	lines := strings.Split(strings.TrimRight(p.Text, "\n"), "\n")
	room := max(rows-1, 0)
	foot := "q quits"
	if hidden := len(lines) - room; hidden > 0 {
		lines = lines[:room]
		foot = fmt.Sprintf("%d more below; q quits", hidden)
	}
	if p.Note != "" {
		foot = p.Note + "; " + foot
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	return append(lines, term.Fit(foot, columns))
}
