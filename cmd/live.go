package cmd

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	xterm "golang.org/x/term"

	"collect/cmd/internal/config"
	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
)

// A progress shows a run while it goes on. Its methods may be called from
// several goroutines.
type progress interface {
	// Observe takes in what happened. It does not wait for the output.
	Observe(collection.Event)
	// Say writes a line of text, which must be clean.
	Say(line string)
	// Close ends the display and leaves the terminal as it was. It may be
	// called again, and belongs in a defer, so that a panic restores the cursor.
	Close()
}

// progressMode resolves what was asked for into a way that suits the output.
// A block that repaints itself is for a terminal that is watched: not for a
// file, a dumb terminal, CI, or a reader who said so (screen readers say
// nothing on a repaint).
func progressMode(want string, env func(string) string, terminal bool) (string, error) {
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

// terminalSize returns a function that measures f each time it is called. It
// falls back on COLUMNS and LINES, and on 80 by 24.
func terminalSize(f *os.File, env func(string) string) func() (columns, rows int) {
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

const (
	// framesPerSecond is fast enough for a countdown, and slow enough for a
	// remote terminal.
	framesPerSecond = 2
	// linesPerFrame bounds what scrolls above the block in one frame.
	linesPerFrame = 20
)

// Control sequences: the private modes of synchronized output and of the
// cursor (DEC), and erasing a line (ECMA-48, EL). To the end of the screen (ED)
// nothing is erased: from its first row on, a terminal such as tmux moves what
// was there into its history, where each frame would be found again.
const (
	syncBegin  = "\x1b[?2026h"
	syncEnd    = "\x1b[?2026l"
	cursorHide = "\x1b[?25l"
	cursorShow = "\x1b[?25h"
	eraseLine  = "\x1b[2K"
)

// A live is the block at the bottom of a terminal. It redraws itself twice a
// second; what is said scrolls above it.
type live struct {
	out  io.Writer
	size func() (columns, rows int)
	caps term.Caps
	view *view
	tale *story

	mu      sync.Mutex
	said    []string
	unsaid  int   // lines that did not fit into the frame
	drawn   []int // widths of the lines of the block on the screen
	closed  bool
	stop    chan struct{}
	stopped chan struct{}
}

var _ progress = (*live)(nil)

// startLive draws v on out, which is a terminal, until it is closed.
func startLive(out io.Writer, size func() (columns, rows int), c term.Caps, v *view) *live {
	l := &live{
		out: out, size: size, caps: c, view: v, tale: &story{},
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	io.WriteString(out, cursorHide)
	go l.redraw()
	return l
}

func (l *live) redraw() {
	defer close(l.stopped)
	tick := time.NewTicker(time.Second / framesPerSecond)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case now := <-tick.C:
			l.draw(now)
		}
	}
}

// Observe takes in what happened.
func (l *live) Observe(e collection.Event) {
	l.view.Observe(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.tale.tell(e) {
		l.say(line)
	}
}

// Say writes a line above the block.
func (l *live) Say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		fmt.Fprintln(l.out, l.caps.Text(line))
		return
	}
	l.say(line)
}

func (l *live) say(line string) {
	if len(l.said) >= linesPerFrame {
		l.unsaid++
		return
	}
	l.said = append(l.said, line)
}

// Close erases the block, writes what was said and shows the cursor again.
func (l *live) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	l.mu.Unlock()

	close(l.stop)
	<-l.stopped
	l.draw(time.Now())
}

// draw replaces the block on the screen by what was said and a new block; when
// closed, by nothing and a visible cursor.
func (l *live) draw(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	columns, rows := l.size()

	var b strings.Builder
	b.WriteString(syncBegin)
	b.WriteString(erase(min(l.height(columns), rows-1)))
	gathered := l.tale.due(now)
	if l.closed {
		gathered = append(gathered, l.tale.rest(now)...)
	}
	l.said = append(l.said, gathered...)
	for _, line := range l.said {
		b.WriteString(l.caps.Text(line) + "\n")
	}
	if l.unsaid > 0 {
		fmt.Fprintf(&b, "          and %s\n", words.Counted(int64(l.unsaid), "more line", "more lines"))
	}
	l.said, l.unsaid, l.drawn = nil, 0, nil
	if l.closed {
		b.WriteString(cursorShow)
	} else {
		for _, line := range render(l.view.Frame(now), columns, rows, l.caps) {
			b.WriteString(line + "\n")
			l.drawn = append(l.drawn, term.Width(words.Escapes.ReplaceAllString(line, "")))
		}
	}
	b.WriteString(syncEnd)
	io.WriteString(l.out, b.String())
}

// erase returns what empties the rows above the cursor and goes to the first of
// them.
func erase(rows int) string {
	if rows <= 0 {
		return "\r"
	}
	up := fmt.Sprintf("\r\x1b[%dA", rows)
	return up + strings.Repeat(eraseLine+"\x1b[1B", rows) + up
}

// height returns the rows that the block takes on the screen now: a terminal
// that became narrower has wrapped its lines.
func (l *live) height(columns int) int {
	rows := 0
	for _, w := range l.drawn {
		rows += max(1, (w+columns-1)/max(1, columns))
	}
	return rows
}
